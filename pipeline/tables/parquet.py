"""An output folder as Parquet: a file of matches, one of decisions, and a card that tells what they
hold. All that the log holds is in them; `counted` says which matches the tables count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.common.disk import replacing, write_atomically
from gauntlet.common.errors import extra
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.columns import DECISIONS, MATCHES, Column, OfDecision, OfMatch
from gauntlet.pipeline.tables.dataset_card import card

ROWS = 2000
"""Of a row group: what is held in memory, and what a reader takes at once."""
FILES = ("matches.parquet", "decisions.parquet")


@dataclass(frozen=True)
class Exported:
    """What was written, and how many rows of each."""

    files: tuple[Path, ...]
    matches: int
    decisions: int


def export(
    folder: Path,
    results: Sequence[CellResults],
    to: Path,
    reach: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Writes the files into a folder, which is made if need be; each is there whole or as it was
    before. reach: told how many matches are written, of about how many. Raises UserError where
    pyarrow is not installed, OSError where the files cannot be written."""
    place, total = Folder(folder), sum(len(result.outcomes) for result in results)
    to.mkdir(parents=True, exist_ok=True)
    paths = tuple(to / name for name in FILES)
    with ExitStack() as whole:
        partial = [whole.enter_context(replacing(path)) for path in paths]
        matches = whole.enter_context(_Table(partial[0], MATCHES))
        decisions = whole.enter_context(_Table(partial[1], DECISIONS))
        for one in _matches(place, results):
            matches.add(one)
            for turn, decision in enumerate(one.record.decisions):
                decisions.add(OfDecision(one.result, one.record, turn, decision))
            reach(matches.rows, max(total, matches.rows))
        told = card(folder, results, matches.rows, decisions.rows)
    readme = to / "README.md"
    write_atomically(readme, told)
    return Exported((*paths, readme), matches.rows, decisions.rows)


def _matches(place: Folder, results: Sequence[CellResults]) -> Iterator[OfMatch]:
    for result in results:
        for record in place.matches(result.about.stem):
            yield OfMatch(result, record)


@dataclass
class _Table:
    """A Parquet file in the making, row group after row group."""

    path: Path
    columns: Sequence[Column[Any]]
    rows: int = 0
    _held: list[OfMatch] = field(default_factory=list)
    _writer: Any = None

    def __enter__(self) -> _Table:
        self._arrow, parquet = extra("pyarrow", "export"), extra("pyarrow.parquet", "export")
        fields = [(one.name, _type(self._arrow, one.type)) for one in self.columns]
        self._schema = self._arrow.schema(fields)
        self._writer = parquet.ParquetWriter(self.path, self._schema, compression="zstd")
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self._write()
        self._writer.close()

    def add(self, row: OfMatch) -> None:
        self._held.append(row)
        self.rows += 1
        if len(self._held) >= ROWS:
            self._write()

    def _write(self) -> None:
        arrays = [
            self._arrow.array([one.of(row) for row in self._held], type=kind.type)
            for one, kind in zip(self.columns, self._schema, strict=True)
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._held.clear()


def _type(arrow: Any, name: str) -> Any:
    """Arrow's type of this name."""
    if name.startswith("list<"):
        return arrow.list_(_type(arrow, name[5:-1]))
    made = {"bool": arrow.bool_, "double": arrow.float64, "int64": arrow.int64}
    return made.get(name, arrow.string)()
