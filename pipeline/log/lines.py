"""Records as JSON lines, to and fro."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.json import Decoder, encode

from gauntlet.common.disk import sealed
from gauntlet.pipeline.log.schema import MatchRecord, Record


def line(data: Record | Mapping[str, Any]) -> bytes:
    """A record, or any plain data, as a line with its checksum; null stands for infinities."""
    return sealed(encode(data)) + b"\n"


class Lines:
    """Reads objects as records of the given kinds: a Struct, or a union of them, each a `Record`
    with a tag of its own."""

    def __init__(self, kinds: Any = MatchRecord) -> None:
        self._decoder: Decoder[Record] = Decoder(kinds)

    def record(self, text: bytes) -> Record:
        """The record. Raises ValueError, in words, for what is none."""
        try:
            return self._decoder.decode(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"it is no record: {error}") from None


LINES = Lines()


def check(record: Record) -> None:
    """Raises ValueError where a reader would take the record's line for damaged."""
    LINES.record(encode(record))
