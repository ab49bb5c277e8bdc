"""The tables and figures of a folder: each is one function of its `Results`.

    @table("plies", columns={"cell": "the cell's name", "plies": "mean moves per match"}, ...)
    def plies(results: Results) -> Rows:
        for cell in results.cells:
            yield {"cell": cell.about.name, "plies": cell.outcomes.column("plies").mean()}

A table may use others: `results["summary"]`. One without rows does not apply: it has no file and is
not shown. Every module of this package is imported before tables are listed, so a new table or
figure is one new file here. CSV, terminal, report, LaTeX, Parquet, MLflow and the column reference
of the documentation are made from what is registered.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import visible
from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.judging import luck, stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, collect, measures, told_apart
from gauntlet.pipeline.tables.scale import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
Rows = Iterable[Mapping[str, Any]]
"""A table's rows: its columns by name. A column that a row lacks is empty there."""

TERMINAL, PAGE, PAPER = "terminal", "page", "paper"
MEDIA = (TERMINAL, PAGE, PAPER)
ROWS = {TERMINAL: 40, PAGE: 100, PAPER: 30}
"""Rows of a table that each medium shows; its CSV has all."""
LABELS = ("experiment", *GROUPS)


@dataclass(frozen=True)
class Results:
    """The cells of a folder and all that is made of them, each once.

    made: tables and other values that are known, by name or by the function that makes them.
    """

    folder: Path
    cells: Sequence[CellResults]
    made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, folder: Path) -> Results:
        """Of an output_dir. Raises UserError."""
        return cls(folder, told_apart(results_of(folder)))

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The table of this name."""
        if name not in self.made:
            self.made[name] = tables()[name].frame(self)
        found: pd.DataFrame = self.made[name]
        return found

    def once(self, make: Callable[[Results], T]) -> T:
        """What this function makes of the results."""
        if make not in self.made:
            self.made[make] = make(self)
        found: T = self.made[make]
        return found

    @property
    def names(self) -> dict[str, str]:
        """Each cell's short name."""
        return self.once(names_of)

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """How the figures of each cell's measure are written."""
        return {cell.about.name: Scale.of(cell.about.measure) for cell in self.cells}

    def scale(self, row: Mapping[Any, Any]) -> Scale:
        """That of a table's row: of the measure whose range it has, of its cell (or its first one),
        or of the measure that it names."""
        if "measure_low" in row:
            return Scale.row(row)
        if (cell := row.get("cell", row.get("cell_a"))) in self.scales:
            return self.scales[cell]
        by_measure = {cell.about.measure.name: cell.about.measure for cell in self.cells}
        return Scale.of(by_measure.get(row.get("measure", ""), WIN))


def names_of(results: Results) -> dict[str, str]:
    """Each cell's short name."""
    labels = [{"experiment": c.about.experiment, **c.about.labels} for c in results.cells]
    short = short_names(pd.DataFrame(labels, columns=[*LABELS]))
    return {cell.about.name: name for cell, name in zip(results.cells, short, strict=True)}


def results_of(folder: Path) -> list[CellResults]:
    """Every cell of an output_dir with the outcomes of its gap-free deals,
    up to where it was stopped. Raises UserError."""
    place = Folder(folder)
    abouts = place.abouts()
    results = collect(abouts, place.outcomes(measures(abouts)), place.failed_matches)
    return luck.attach(folder, stopping.cut(folder, results))


def short_names(table: pd.DataFrame) -> list[str]:
    """For each row, the choices that tell it from the others (at least model and prompt). table:
    has the columns LABELS, as summary.csv does."""
    varying = [group for group in LABELS if table[group].nunique() > 1]
    shown = [group for group in LABELS if group in varying or group in ("model", "prompt")]
    told = zip(table["agent"], *(table[group] for group in shown), strict=True)
    return [
        visible(" ".join(str(part) for part in parts if part != "-") or str(agent))
        for agent, *parts in told
    ]


@dataclass(frozen=True)
class Sheet:
    """A table as text, for every medium; its first column names the rows.

    file: the CSV that has every row. sums: how many rows at the end add up the others.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str
    file: str = ""
    sums: int = 0

    def first(self, rows: int) -> Sheet:
        """The sheet with at most this many rows, and its sums; the foot says where all are."""
        own = len(self.rows) - self.sums
        if own <= rows:
            return self
        kept = [*self.rows[:rows], *self.rows[own:]]
        return replace(self, rows=kept, foot=f"{left_out(rows, own, self.file)}\n{self.foot}")


def left_out(shown: int, of: int, file: str, which: str = "first") -> str:
    """The note under a table of which not all rows are shown; "" under a complete one."""
    return f"The {which} {shown:,} of {of:,}; all: {file}." if shown < of else ""


@dataclass(frozen=True)
class Part:
    """What a sheet is made of: the rows of a table, in one medium. file: the table's CSV."""

    results: Results
    rows: pd.DataFrame
    medium: str
    file: str


@dataclass(frozen=True)
class Table:
    """A registered table. Arguments: see `table`."""

    name: str
    make: Callable[[Results], pd.DataFrame | Rows]
    columns: Mapping[str, str]
    views: Sequence[Callable[[Part], Iterable[Sheet]]] = ()
    metrics: Sequence[str] | None = None
    key: str = ""
    place: int = 50
    elsewhere: str = ""

    @property
    def file(self) -> str:
        return self.elsewhere or f"{self.name}.csv"

    def frame(self, results: Results) -> pd.DataFrame:
        """The table of these results. Raises TypeError for a column that is not declared."""
        made = self.make(results)
        if isinstance(made, pd.DataFrame):
            frame = made
        else:
            rows = list(made)
            frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*self.columns])
        if unknown := [name for name in frame if name not in self.columns]:
            raise TypeError(f"table {self.name} does not declare its columns {unknown}")
        return frame.reindex(columns=[*self.columns])

    def sheets(self, results: Results, medium: str) -> Iterator[Sheet]:
        """The table as a person reads it; none where it does not apply."""
        frame = results[self.name]
        if frame.empty:
            return
        for view in self.views:
            yield from view(Part(results, frame, medium, self.file))

    def of_cells(self, results: Results) -> Iterator[tuple[str, str, float]]:
        """The numbers that a cell's run in MLflow shows: cell, column and value. A table that is
        not of cells has none."""
        frame = results[self.name]
        if "cell" not in frame or (not self.key and not frame["cell"].is_unique):
            return
        numbers = frame.select_dtypes("number").columns
        chosen = [name for name in (self.metrics or numbers) if name in frame]
        for row in frame.to_dict("records") if self.metrics != () else ():
            ending = f"_{row[self.key]}" if self.key else ""
            yield from ((row["cell"], name + ending, float(row[name])) for name in chosen)


Draw = Callable[[Results], "Figure | Mapping[str, Figure] | None"]
_TABLES: dict[str, Table] = {}
_FIGURES: dict[str, tuple[int, Draw]] = {}

Make = TypeVar("Make", bound=Callable[..., Any])


def table(
    name: str,
    columns: Mapping[str, str],
    views: Sequence[Callable[[Part], Iterable[Sheet]]] = (),
    metrics: Sequence[str] | None = None,
    key: str = "",
    place: int = 50,
    file: str = "",
) -> Callable[[Make], Make]:
    """Registers a function of `Results` that returns a DataFrame or rows, as NAME.csv.

    columns: what each column means, in their order. views: how it is shown (`sheets.View`).
    metrics: the columns that a cell's run in MLflow has; by default all numbers, where the table
    has one row a cell. key: the column that tells several rows of a cell apart. place: tables are
    shown in the order of this number, then in that of their names. file: where the table lies, if
    another command writes it.
    """

    def register(make: Make) -> Make:
        _TABLES[name] = Table(name, make, columns, views, metrics, key, place, file)
        return make

    return register


def figure(name: str, place: int = 50) -> Callable[[Make], Make]:
    """Registers a function of `Results` that draws: it returns one figure, several by their names,
    or None where there is nothing to draw. place: as of a table."""

    def register(make: Make) -> Make:
        _FIGURES[name] = place, make
        return make

    return register


@cache
def _load() -> None:
    """Imports every module beside this one, so that what they register is known."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def tables() -> dict[str, Table]:
    """Every table by its name, in the order in which they are shown."""
    _load()
    return dict(sorted(_TABLES.items(), key=lambda one: (one[1].place, one[0])))


def figures() -> dict[str, Draw]:
    """Every figure by its name, in the order in which they are shown."""
    _load()
    ordered = sorted(_FIGURES, key=lambda name: (_FIGURES[name][0], name))
    return {name: _FIGURES[name][1] for name in ordered}


def sheets(results: Results, medium: str) -> Iterator[tuple[Table, Sheet]]:
    """All that there is to show, in order."""
    for one in tables().values():
        yield from ((one, sheet) for sheet in one.sheets(results, medium))


def write_tables(folder: Path, cells: Sequence[CellResults]) -> Results:
    """Writes every table as CSV; one that no longer applies is deleted."""
    results = Results(folder, told_apart(cells))
    for one in (own for own in tables().values() if not own.elsewhere):
        file, frame = folder / one.file, results[one.name]
        if frame.empty:
            file.unlink(missing_ok=True)
        else:
            write_atomically(file, frame.to_csv(index=False))
    return results
