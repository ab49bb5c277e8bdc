"""Server-sent events: the form in which servers stream a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

BREAK = re.compile(r"\r\n|\n|\r")


def events(text: str) -> Iterator[dict[str, Any]]:
    """The data of each event, without pings, comments and the closing mark. Raises ValueError for
    data that is no JSON object."""
    lines: list[str] = []
    for line in [*BREAK.split(text), ""]:
        name, _, value = line.partition(":")
        if name == "data":
            lines.append(value.removeprefix(" "))
        elif not line and lines:
            data, lines = "\n".join(lines), []
            if data.strip() != "[DONE]":
                yield _parsed(data)


def _parsed(data: str) -> dict[str, Any]:
    event = json.loads(data)
    if not isinstance(event, dict):
        raise ValueError(f"an event of its stream is {type(event).__name__}")
    return event
