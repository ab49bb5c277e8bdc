"""What happens in a run beyond its matches, a JSON line each: <output_dir>/run.log.

    {"time": "2026-11-21T06:00:00.000Z", "level": "warning", "event": "worker lost", "lease": 8}

Whoever has something to tell calls `event`; nobody needs to know whether a log is open, and no
run ends because a line could not be written. Secrets are cut out of every line.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.json import encode

from gauntlet.common.sanitize import SHORTEST, visible, without, without_parts
from gauntlet.pipeline.log.folder import Folder

PROJECT = logging.getLogger("gauntlet")
"""What models and others warn of: told on the terminal too."""
EVENTS = logging.getLogger("gauntlet.events")
EVENTS.propagate = False
EVENTS.addHandler(logging.NullHandler())  # nor is the terminal told where no log is open

CUT = "[redacted]"
PATH = re.compile(r"[/~.]")
"""How the value of a variable begins that names a file: parts of it are no secret."""
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW(OR)?D|CREDENTIAL|AUTHORIZATION", re.IGNORECASE)
COUNT_NAME = re.compile(r"(^|_)tokens($|_)", re.IGNORECASE)
SHAPES = (
    re.compile(r"\b(?:sk|pk|rk|hf|ghp|gho|ghs|github_pat|xox[abp]|glpat)[-_][A-Za-z0-9_\-]{8,}"),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"(?i)(?<=authorization)(\W{1,4})(?:(?:bearer|basic|token)\s+)?[^\s\"',;}]+"),
    re.compile(r"(?i)(?<=\bbearer )[^\s\"',;}]+"),
    re.compile(
        r"(?i)(?:(?<=api_key)|(?<=api-key)|(?<=apikey)|(?<=password)|(?<=secret)|(?<=_token))"
        r"([\"']?\s*[=:]\s*[\"']?)[^\s\"',;}&]+"
    ),
)
"""What a secret looks like wherever it stands; a first group is kept."""


def event(name: str, level: int = logging.INFO, **data: Any) -> None:
    """Tells of something notable. `data` is plain: what a reader needs to understand it."""
    EVENTS.log(level, name, extra={"data": data})


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Appends every event, and every warning of the project, to <folder>/run.log meanwhile."""
    lines = _Lines(Folder(folder).events_file)
    added = [(EVENTS, lines), (PROJECT, lines), (PROJECT, logging.lastResort)]
    EVENTS.setLevel(logging.INFO)
    for logger, handler in added:
        if handler is not None:
            logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, handler in added:
            if handler is not None:
                logger.removeHandler(handler)


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The text without control characters and what looks like a key or password, or is the value
    of a variable of the environment whose name says so: whole, encoded or in part."""
    for secret in _secrets(os.environ if environment is None else environment):
        text = (without if PATH.match(secret) else without_parts)(text, secret, CUT)
    for shape in SHAPES:
        text = shape.sub(lambda found: (found.group(1) if found.re.groups else "") + CUT, text)
    return visible(text)


def cleaned(data: Any) -> Any:
    """Plain data with every text in it redacted, and every value whose key names a secret."""
    if isinstance(data, Mapping):
        return {str(key): _cleaned_entry(str(key), value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [cleaned(item) for item in data]
    if data is None or isinstance(data, (bool, int, float)):
        return data
    return redact(str(data))


def _cleaned_entry(key: str, value: Any) -> Any:
    secret = SECRET_NAME.search(key) and not COUNT_NAME.search(key)
    return CUT if secret and isinstance(value, str) else cleaned(value)


def _secrets(environment: Mapping[str, str]) -> list[str]:
    """The longest first, so that one that holds another goes whole."""
    found = {
        value
        for name, value in environment.items()
        if SECRET_NAME.search(name) and len(value) >= SHORTEST
    }
    return sorted(found, key=len, reverse=True)


class _Lines(logging.Handler):
    """Appends a line an event, opened anew each time: a disk that fails and comes back, or a file
    that was moved away, costs the lines of that time only."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        milliseconds = f"{int(record.msecs):03d}"
        told = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{told}.{milliseconds}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **cleaned(getattr(record, "data", {})),
        }
        try:
            with self._path.open("ab") as file:
                file.write(encode(line) + b"\n")
        except OSError:
            return  # the log of matches reports a failing disk; this one must not end the run
