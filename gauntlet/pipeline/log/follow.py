"""Follow the records of a folder while a run writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.reading import Reader, whole_records
from gauntlet.pipeline.log.schema import MatchRecord


@dataclass(frozen=True, slots=True)
class LinePosition:
    """The byte offset and length of a record's line in its file."""

    file: Path
    start: int
    size: int


@dataclass
class RecordFollower:
    """Reads each record of a folder once over repeated calls."""

    folder: Folder
    seen: set[str] = field(default_factory=set)
    _read: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _readers: dict[Path, Reader] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """The number of damaged lines so far."""
        return sum(reader.left_out for reader in self._readers.values())

    def new_matches(self) -> Iterator[tuple[MatchRecord, LinePosition]]:
        """The matches logged since the last call; an unterminated line waits for the next."""
        for path in self.folder.record_files():
            now = path.stat()
            inode, start = self._read.get(path, (now.st_ino, 0))
            if now.st_ino != inode or now.st_size < start:
                start = 0  # repaired by a run that started since
            if not start:
                self._readers[path] = self.folder.reader(path.stem)
            with path.open("rb") as file:
                file.seek(start)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    place = LinePosition(path, start, len(line))
                    start += len(line)
                    for record in whole_records(self._readers[path], [line]):
                        if isinstance(record, MatchRecord) and record.match not in self.seen:
                            self.seen.add(record.match)
                            yield record, place
            self._read[path] = (now.st_ino, start)
