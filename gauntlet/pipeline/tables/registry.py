"""The tables and figures of a folder: each is one function of its `Results`.

    @table("plies", columns={"cell": "the cell's name", "plies": "mean moves per match"}, ...)
    def plies(results: Results) -> Rows:
        for cell in results.cells:
            yield {"cell": cell.about.name, "plies": cell.outcomes.column("plies").mean()}

Tables may use each other: `results["summary"]`. A table without rows is neither written nor shown.
All modules of this package, and the module `tables` of each of the user's packages, are imported
before tables are listed, so a new table or figure is one new file. CSV, terminal, report, LaTeX,
MLflow and the column reference are rendered from it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import visible
from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.config.nodes import loading
from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.judging import luck, stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import trusted
from gauntlet.pipeline.log.results import CellResults, collect, disambiguate_names, measures
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.formatting import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = (*("cell", "key", "name", "experiment", "seats"), *("game", "agent", "model", "prompt"))
"""Columns of names."""

T = TypeVar("T")
Rows = Iterable[Mapping[str, Any]]
"""A table's rows, by column name. Missing columns are empty."""

TERMINAL, PAGE, PAPER = "terminal", "page", "paper"
MEDIA = (TERMINAL, PAGE, PAPER)
BRIEF = "brief"
"""The end of a run, in a terminal: the verdict and one table."""
ROWS = {BRIEF: 8, TERMINAL: 40, PAGE: 100, PAPER: 30}
"""Rows of a table that each medium shows; its CSV has all."""
NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?[%kMG]?")
LABELS = ("experiment", *GROUPS)
MEANINGS = {
    "cell": "the cell's name",
    "experiment": "as in the config",
    "game": "the game, with settings that were swept",
    "agent": "the agent of the subject, the player under study",
    "model": "its model, `-` without one",
    "prompt": "its prompting method, `-` without one",
    "seats": "who sits where",
    "deals": "deals that both cells finished",
    "measure": "what the cell is judged by",
    "measure_low": "the lowest value of the measure; empty without one",
    "measure_high": "the highest value of the measure; empty without one",
    "matches": "matches that count",
}
"""What columns mean that several tables have."""
LIMITS = {
    "low": "lower end of its 95% interval by deals",
    "high": "upper end of its 95% interval by deals",
}
"""What columns mean that end in these words."""


def columns(*names: str) -> dict[str, str]:
    """Columns with their usual meanings."""
    return {name: MEANINGS.get(name) or LIMITS[name.rpartition("_")[2]] for name in names}


@dataclass(frozen=True)
class Results:
    """The cells of a folder and everything computed from them, each once.

    cache: tables by name, other values by the function that computes them.
    """

    folder: Path
    cells: Sequence[CellResults]
    cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(cls, folder: Path) -> Results:
        """The results of an output_dir. Raises UserError."""
        return cls(folder, disambiguate_names(load_cells(folder)))

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The table of this name."""
        if name not in self.cache:
            self.cache[name] = tables()[name].frame(self)
        frame: pd.DataFrame = self.cache[name]
        return frame

    def cached(self, compute: Callable[[Results], T]) -> T:
        """The value of this function of the results."""
        if compute not in self.cache:
            self.cache[compute] = compute(self)
        value: T = self.cache[compute]
        return value

    @property
    def names(self) -> dict[str, str]:
        """Each cell's short name."""
        return self.cached(cell_names)

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """How each cell's measure is written."""
        return {cell.about.name: Scale.from_measure(cell.about.measure) for cell in self.cells}

    def scale(self, row: Mapping[Any, Any]) -> Scale:
        """The scale of a row: by its measure's range, its (first) cell, or its measure's name."""
        if "measure_low" in row:
            return Scale.from_row(row)
        if (cell := row.get("cell", row.get("cell_a"))) in self.scales:
            return self.scales[cell]
        by_name = {cell.about.measure.name: cell.about.measure for cell in self.cells}
        return Scale.from_measure(by_name.get(row.get("measure", ""), WIN))


def cell_names(results: Results) -> dict[str, str]:
    """Each cell's short name."""
    labels = [{"experiment": c.about.experiment, **c.about.labels} for c in results.cells]
    short = short_names(pd.DataFrame(labels, columns=[*LABELS]))
    return {cell.about.name: name for cell, name in zip(results.cells, short, strict=True)}


def load_cells(folder: Path) -> list[CellResults]:
    """Every cell of an output_dir with its gap-free deals, up to where it was stopped. Raises
    UserError."""
    log = Folder(folder)
    abouts = log.sweep_cells()
    outcomes = log.outcomes(measures(abouts))
    cells = collect(abouts, outcomes, log.failed_matches, log.rounds)
    return marked(folder, luck.with_adjustment(folder, stopping.cut_at_stop(folder, cells)))


def marked(folder: Path, cells: Sequence[CellResults]) -> list[CellResults]:
    """The results, of which those are marked that are not reproducible, or that lack deals or
    controls of a run that has not finished. An adaptive sweep may be looked at at any time."""
    log = Folder(folder)
    why, run = log.unrepeatable, log.status or {}
    cells = [replace(cell, unrepeatable=why.get(cell.about.key, "")) for cell in cells]
    if run.get("state") == "finished" or log.rounds:
        return cells
    played = beside(log, cells)

    def is_partial(cell: CellResults) -> bool:
        due = run.get("cells", {}).get(cell.about.key, 0)
        controls = [key for name, key in cell.about.controls.items() if name != NOISE]
        return cell.complete_deals * cell.about.rotations < due or any(
            key not in played or played[key].complete_deals < cell.complete_deals
            for key in controls
        )

    return [replace(cell, partial=is_partial(cell)) for cell in cells]


def beside(log: Folder, cells: Iterable[CellResults]) -> dict[str, CellResults]:
    """The cells' controls and noise cells, by key."""
    keys = {key for cell in cells for key in cell.about.controls.values()}
    if not keys:
        return {}
    abouts = [about for about in log.all_cells() if about.key in keys]
    results = collect(abouts, log.outcomes(measures(abouts)), log.failed_matches)
    return {result.about.key: result for result in results}


def short_names(table: pd.DataFrame) -> list[str]:
    """For each row of a table with LABELS, the labels that vary (at least model and prompt)."""
    varying = {group for group in LABELS if table[group].nunique() > 1} | {"model", "prompt"}
    parts = zip(*(table[group] for group in LABELS if group in varying), strict=True)
    return [
        visible(" ".join(str(part) for part in labels if part != "-") or str(agent))
        for agent, labels in zip(table["agent"], parts, strict=True)
    ]


@dataclass(frozen=True)
class Sheet:
    """A table as text, for every medium; its first column names the rows.

    file: the CSV that has every row.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str
    file: str = ""

    @property
    def numeric(self) -> list[bool]:
        """Whether a column holds only numbers; never the first."""
        columns = [[str(row[at]) for row in self.rows] for at in range(len(self.headings))]
        return [
            bool(at)
            and all(
                part in ("", "-") or NUMBER.fullmatch(part)
                for text in column
                for part in re.split(r" to |[ ()<]|(?<=\d)-", text)  # <1e-15 is a number too
            )
            for at, column in enumerate(columns)
        ]


def truncation_note(rows: int, total: int, file: str, which: str = "first") -> str:
    """The note under a table that shows only some rows; "" if it shows all."""
    return f"The {which} {rows:,} of {total:,}; all: {file}." if rows < total else ""


@dataclass(frozen=True)
class Part:
    """What a sheet shows: the rows of a table, in one medium. file: the table's CSV."""

    results: Results
    rows: pd.DataFrame
    medium: str
    file: str


@dataclass(frozen=True)
class Table:
    """A registered table. Arguments: see `table`."""

    name: str
    compute: Callable[[Results], pd.DataFrame | Rows]
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
        frame = self.compute(results)
        if not isinstance(frame, pd.DataFrame):
            rows = list(frame)
            frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*self.columns])
        if unknown := [name for name in frame if name not in self.columns]:
            raise TypeError(f"table {self.name} does not declare its columns {unknown}")
        return frame.reindex(columns=[*self.columns])

    def sheets(self, results: Results, medium: str) -> Iterator[Sheet]:
        """The table as text; nothing if it has no rows."""
        frame = results[self.name]
        if not frame.empty:
            for view in self.views:
                yield from view(Part(results, frame, medium, self.file))

    def cell_metrics(self, results: Results) -> Iterator[tuple[str, str, float]]:
        """The numbers for a cell's run in MLflow: cell, column and value."""
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

    columns: what each column means, in order. views: how it is shown (`sheets.View`). metrics: the
    columns logged to a cell's MLflow run; by default all numbers, if the table has one row per
    cell. key: the column that distinguishes several rows of a cell. place: tables are shown in
    this order, then by name. file: where the table lies if another command writes it.
    """

    def register(make: Make) -> Make:
        if name in _TABLES and _TABLES[name].compute.__module__ != make.__module__:
            raise ValueError(f"there is a table {name} already")
        _TABLES[name] = Table(name, make, columns, views, metrics, key, place, file)
        return make

    return register


def figure(name: str, place: int = 50) -> Callable[[Make], Make]:
    """Registers a function of `Results` that returns a figure, several by name, or None. place: as
    for tables."""

    def register(make: Make) -> Make:
        if name in _FIGURES and _FIGURES[name][1].__module__ != make.__module__:
            raise ValueError(f"there is a figure {name} already")
        _FIGURES[name] = place, make
        return make

    return register


@cache
def _load() -> None:
    """Imports every module of this package, which registers its tables and figures."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    load_packages(trusted())


def load_packages(names: Iterable[str]) -> None:
    """Registers the tables and figures of the user's packages, which are in their modules `tables`.
    Raises UserError if one cannot be imported."""
    for name in names:
        with loading(name, f"{name}.tables", [name]):
            spec = find_spec(name)
            if spec and spec.submodule_search_locations and find_spec(f"{name}.tables"):
                importlib.import_module(f"{name}.tables")


def tables() -> dict[str, Table]:
    """Every table by name, in display order."""
    _load()
    return dict(sorted(_TABLES.items(), key=lambda item: (item[1].place, item[0])))


def figures() -> dict[str, Draw]:
    """Every figure by name, in display order."""
    _load()
    ordered = sorted(_FIGURES, key=lambda name: (_FIGURES[name][0], name))
    return {name: _FIGURES[name][1] for name in ordered}


def sheets(results: Results, medium: str) -> Iterator[tuple[Table, Sheet]]:
    """Every sheet with its table, in display order."""
    for entry in tables().values():
        yield from ((entry, sheet) for sheet in entry.sheets(results, medium))


def read_table(file: Path, *words: str) -> pd.DataFrame:
    """Read one of our tables; only an empty field is missing, as a player may be called `null`, and
    names are text, as one may be called 007. Raises OSError and ValueError.

    words: further columns to read as text, whatever they contain (`true`).
    """
    text = dict.fromkeys((*NAMES, *words), str)
    return pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=text)


def write_tables(results: Results) -> None:
    """Writes every table as CSV; deletes those that no longer have rows."""
    for entry in tables().values():
        if not entry.elsewhere:
            file, frame = results.folder / entry.file, results[entry.name]
            if frame.empty:
                file.unlink(missing_ok=True)
            else:
                write_atomically(file, frame.to_csv(index=False))
