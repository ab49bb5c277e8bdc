"""Read the lines of one cell's file and check each record.

All readers of a log share this: a resumed run moves bad lines aside, tables leave them out, and
`python -m pipeline.verify` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from msgspec.structs import force_setattr

from gauntlet.common.disk import strip_checksum
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.lines import Lines
from gauntlet.pipeline.log.schema import MatchRecord, Record
from gauntlet.pipeline.plan.cells import digest, match_id


@dataclass
class Reader:
    """Reads the lines of a file, each once.

    cell: its key. seed: the sweep's; None skips the check of match ids. left_out: how many damaged
    lines `records` left out.
    """

    kinds: Lines
    cell: str
    seed: Seed | None
    left_out: int = 0
    _places: dict[int, bytearray] = field(default_factory=dict)

    def record(self, line: bytes) -> Record:
        """Decode a line. Raises ValueError with a readable reason if it does not belong here."""
        if not line.endswith(b"\n"):
            raise ValueError("it is cut off")
        record = self.kinds.record(strip_checksum(line))
        self._check(record)
        if isinstance(record, MatchRecord) and not self._is_first(record.deal, record.rotation):
            raise ValueError("its match is there twice")
        return record

    def again(self) -> Reader:
        """A fresh reader of the same file."""
        return replace(self, left_out=0, _places={})

    def _is_first(self, deal: int, rotation: int) -> bool:
        """Whether the place had no match yet; one byte per place, as there may be millions."""
        places = self._places.setdefault(rotation, bytearray())
        places.extend(bytes(max(0, deal + 1 - len(places))))
        first, places[deal] = not places[deal], 1
        return first

    def _check(self, record: Record) -> None:
        if record.cell != self.cell:
            raise ValueError(f"it is of cell {record.cell!r}")
        if self.seed is not None and record.match != match_id(
            record.cell, self.seed, record.deal, record.rotation
        ):
            raise ValueError("its match id is not that of its cell, seed, deal and rotation")
        for name, text in record.statics.items():
            if digest(text) != name:
                raise ValueError("a text of its prompts is not the one that its name says")


def records(reader: Reader, lines: Iterable[bytes], again: Iterable[bytes]) -> Iterator[Record]:
    """Yield the records of a file, each with all the texts that its prompts share, wherever in the
    file they are. Damaged records, and those whose texts are lost, are left out.

    again: the same lines, read a second time if a text comes after the record that needs it.
    """
    statics: dict[str, str] = {}
    looked = False
    for record in whole_records(reader, lines):
        statics.update(record.statics)
        if not looked and not statics.keys() >= record.named:
            looked = True
            for one in whole_records(reader.again(), again):
                statics.update(one.statics)
        if statics.keys() >= record.named:
            force_setattr(record, "statics", statics)  # safe: no other references yet
            yield record
        else:
            reader.left_out += 1


def whole_records(reader: Reader, lines: Iterable[bytes]) -> Iterator[Record]:
    """The valid records among the lines. An unterminated last line may still be being written and
    is not counted as damaged."""
    for line in lines:
        try:
            yield reader.record(line)
        except ValueError:
            reader.left_out += line.endswith(b"\n")
