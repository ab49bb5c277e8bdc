"""Records as JSON lines: encoding and decoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder, encode

from gauntlet.common.disk import add_checksum
from gauntlet.pipeline.log.schema import MatchRecord, Record


def line(data: Struct | Mapping[str, Any]) -> bytes:
    """Encode a record or plain data as a line with its checksum; infinities become null."""
    return add_checksum(encode(data)) + b"\n"


class Lines:
    """Decodes records of the given kinds: a Struct, or a union of tagged `Record` subclasses."""

    def __init__(self, kinds: Any = MatchRecord) -> None:
        self._decoder: Decoder[Record] = Decoder(kinds)

    def record(self, text: bytes) -> Record:
        """Decode a record. Raises ValueError with a readable reason."""
        try:
            return self._decoder.decode(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"it is no record: {error}") from None


LINES = Lines()


def check(record: Record) -> None:
    """Raises ValueError if a reader would reject the record's line as damaged, or if it cannot be
    written."""
    try:
        text = encode(record)
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"it cannot be written: {error}") from error
    LINES.record(text)
