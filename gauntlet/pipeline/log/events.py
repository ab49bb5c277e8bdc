"""Events of a run other than matches, one JSON line each: <output_dir>/run.log.

    {"time": "2026-11-21T06:00:00.000Z", "level": "warning", "event": "worker lost", "lease": 8}

Code reports an event with `event`, whether a log is open or not, and a failed write never stops a
run. Secrets are cut out of every line.
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

from gauntlet.common.sanitize import SHORTEST, mask_secret, mask_secret_parts, visible
from gauntlet.pipeline.log.folder import Folder

PROJECT = logging.getLogger("gauntlet")
"""Warnings of models and others; also shown in the terminal."""
EVENTS = logging.getLogger("gauntlet.events")
EVENTS.propagate = False
EVENTS.addHandler(logging.NullHandler())  # keep events off the terminal without a log

CUT = "[redacted]"
PATH = re.compile(r"[/~.]")
"""How a variable's value begins if it names a file: parts of a path are no secret."""
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
"""Patterns of secrets in any text; a first group is kept."""


def event(name: str, level: int = logging.INFO, **data: Any) -> None:
    """Report a notable event. `data` is plain data that explains it."""
    EVENTS.log(level, name, extra={"data": data})


@contextmanager
def log_events(folder: Path) -> Iterator[None]:
    """Append every event, and every warning of the project, to <folder>/run.log meanwhile."""
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
    """Remove control characters and secrets from a text: whatever looks like a key or password, and
    the values of environment variables whose names suggest one, whole, encoded or in part."""
    for secret in _secrets(os.environ if environment is None else environment):
        text = (mask_secret if PATH.match(secret) else mask_secret_parts)(text, secret, CUT)
    for shape in SHAPES:
        text = shape.sub(lambda match: (match.group(1) if match.re.groups else "") + CUT, text)
    return visible(text)


def redact_data(data: Any) -> Any:
    """Plain data with every text redacted, and every value whose key names a secret cut."""
    if isinstance(data, Mapping):
        cleaned = {str(key): redact_data(value) for key, value in data.items()}
        secret = (key for key in cleaned if SECRET_NAME.search(key) and not COUNT_NAME.search(key))
        return cleaned | {key: CUT for key in secret if isinstance(cleaned[key], str)}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [redact_data(item) for item in data]
    if data is None or isinstance(data, (bool, int, float)):
        return data
    return redact(str(data))


def _secrets(environment: Mapping[str, str]) -> list[str]:
    """Longest first, so that a secret that contains another is cut as a whole."""
    values = {
        value
        for name, value in environment.items()
        if SECRET_NAME.search(name) and len(value) >= SHORTEST
    }
    return sorted(values, key=len, reverse=True)


class _Lines(logging.Handler):
    """Appends one line per event and reopens the file each time, so a disk failure or a moved file
    loses only the lines of that time."""

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
            **redact_data(getattr(record, "data", {})),
        }
        try:
            with self._path.open("ab") as file:
                file.write(encode(line) + b"\n")
        except OSError:
            return  # the match log reports a failing disk; this one must not stop the run
