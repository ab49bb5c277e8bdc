"""The records of a folder as they come in, each read once, however often somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.reading import Reader, whole_records
from gauntlet.pipeline.log.schema import MatchRecord


@dataclass(frozen=True, slots=True)
class Place:
    """Where the line of a record lies: from which byte of its file on, and how many."""

    file: Path
    start: int
    size: int


@dataclass
class Tail:
    """Reads the records of a folder, each once, however often it looks."""

    folder: Folder
    seen: set[str] = field(default_factory=set)
    _read: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _readers: dict[Path, Reader] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """How many damaged lines were met."""
        return sum(reader.left_out for reader in self._readers.values())

    def new(self) -> Iterator[tuple[MatchRecord, Place]]:
        """The matches that came into the log since the last look; a line in the making waits."""
        for path in self.folder.record_files():
            now = path.stat()
            inode, start = self._read.get(path, (now.st_ino, 0))
            if now.st_ino != inode or now.st_size < start:
                start = 0  # mended by a run that started since
            if not start:
                self._readers[path] = self.folder.reader(path.stem)
            with path.open("rb") as file:
                file.seek(start)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    place = Place(path, start, len(line))
                    start += len(line)
                    for record in whole_records(self._readers[path], [line]):
                        if isinstance(record, MatchRecord) and record.match not in self.seen:
                            self.seen.add(record.match)
                            yield record, place
            self._read[path] = (now.st_ino, start)
