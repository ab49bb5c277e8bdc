"""Records as JSON lines, to and fro."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder, encode
from msgspec.structs import force_setattr

from pipeline.log import schema1
from pipeline.log.schema import MatchRecord, Record


def line(data: Record | Mapping[str, Any]) -> bytes:
    """A record, or any plain data, as a line; null stands for infinities."""
    return encode(data) + b"\n"


class Lines:
    """Reads lines as records of the given kinds: a Struct, or a union of them, each a `Record` with
    a tag of its own."""

    def __init__(self, kinds: Any = MatchRecord) -> None:
        self._decoder: Decoder[Record] = Decoder(kinds)

    def record(self, line: bytes) -> Record | None:
        """The record, a match of schema 1 as it would be today; None for a line that is none."""
        try:
            return self._decoder.decode(line)
        except (DecodeError, RecursionError):
            pass
        try:
            return schema1.upgraded(line)
        except (ValueError, RecursionError):
            return None

    def records(self, lines: Iterable[bytes]) -> Iterator[Record]:
        """Those of a file's lines that are whole; each has all the statics that stand before it."""
        statics: dict[str, str] = {}
        for one in lines:
            record = self.record(one) if one.endswith(b"\n") else None
            if record is not None:
                statics.update(record.statics)
                force_setattr(record, "statics", statics)  # nobody else holds the record yet
                yield record


LINES = Lines()
