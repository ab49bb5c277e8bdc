"""Sweeps of players without skill: their logs are written match by match, with random results, and
every claim about them is read from the tables and pages themselves."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from gauntlet.pipeline.compare import compare
from gauntlet.pipeline.library import Shelf
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.pages.run_status import finished
from gauntlet.pipeline.tables.registry import Results, write_tables
from gauntlet.pipeline.tables.sweep import report, terminal
from gauntlet.pipeline.tracking import track
from tests.pipeline.records import placed, write

CLAIMS = re.compile(
    r"(?<!shown to )(?<!shown to be )(?<!they )"
    r"(\bbeats? (random|the baseline)|\bdo(es)? worse than|harms? the|"
    r"helps? the partner|this matters|is better than|keeps? up with)|[1-9]\d* of \d+ cells"
)
"""Matches a sentence that claims that a player is better or worse."""

Ends = tuple[float, float]
"""The chances of a win and a draw."""
FIRST: Ends = (0.6, 0.1)
LAST: Ends = (0.2, 0.1)
"""Of players that always take the first or the last option; the baseline wins 29%."""


@dataclass(frozen=True)
class Nulls:
    """A folder of one played deal, whose log is rewritten for every run.

    habits: how often a cell at this place in the order takes the first option; otherwise it plays
    like the baseline.
    """

    folder: Path
    habits: Sequence[float]

    def run(self, rng: np.random.Generator, deals: int) -> str:
        """All output of the pipeline about a simulated log: terminal and pages."""
        self.simulate(rng, deals)
        results = Results.load(self.folder)
        write_tables(results)
        return "\n".join(_said(results))

    def simulate(self, rng: np.random.Generator, deals: int) -> None:
        """Rewrite every cell's log."""
        place = Folder(self.folder)
        first, last = (_drawn(rng, ends, deals) for ends in (FIRST, LAST))
        for about, often in zip(place.sweep_cells(), self.habits, strict=True):
            by_habit = rng.random(deals) < often
            own = _drawn(rng, _as_baseline(about), deals)
            _write(place, about, np.where(by_habit, first, own))
        controls = [about for about in place.all_cells() if about.role == "control"]
        for about, worth in zip(controls, (first, last), strict=False):
            _write(place, about, worth)


def _as_baseline(about: CellInfo) -> Ends:
    base = about.baseline
    assert base is not None
    won = base.wins / base.games
    return won, 0.1


def _drawn(rng: np.random.Generator, ends: Ends, deals: int) -> np.ndarray:
    """1 a win, 0 a draw, -1 a loss, of each deal."""
    won, drawn = ends
    return rng.choice([1.0, 0.0, -1.0], deals, p=[won, drawn, 1 - won - drawn])


def _write(place: Folder, about: CellInfo, worth: np.ndarray) -> None:
    """Return the cell's log: its first match, cut to one decision, with these results for the
    measured seat."""
    path = place.records_file(about.stem)
    (one, *_) = place.matches(about.stem)
    write(path, (placed(_ended(one, deal, own)) for deal, own in enumerate(worth.tolist())))


def _ended(record: MatchRecord, deal: int, worth: float) -> MatchRecord:
    (seat,) = record.measured
    returns = tuple(worth if at == seat else -worth for at in range(2))
    wins = {"win": tuple(float(one > 0) for one in returns)}
    own = [one for one in record.decisions if one.seat == seat][:1]
    texts = {} if deal else record.statics  # once a file
    told = {"deal": deal, "returns": returns, "measures": wins, "statics": texts}
    return replace(record, plies=len(own), decisions=tuple(own), clock=None, **told)


def _said(results: Results) -> Iterator[str]:
    """The terminal, the report, the run's page, and the MLflow notes of the sweep and its cells."""
    folder, summary = results.folder, results["summary"]
    with redirect_stdout(io.StringIO()) as printed:
        terminal.show(results)
        terminal.show_all(results)
    yield " ".join(printed.getvalue().split())
    report.write_report(results, draw=False)
    page = (folder / "report.html").read_text(encoding="utf-8")
    yield html.unescape(re.sub(r"<[^>]+>", " ", page))
    run = finished(folder.name, Shelf(Folder(folder)))
    yield " ".join(
        [run.headline, *run.verdict, *(one.text for one in run.estimates), *run.warnings]
    )
    yield track.sweep_note(results, summary, None)
    for result, (_, row) in zip(results.cells, summary.iterrows(), strict=True):
        yield track.cell_note(results, row, result.about.helping)


def claims(nulls: Nulls, seed: int, runs: int, deals: int) -> int:
    """Count the runs with any claim."""
    rng = np.random.default_rng(seed)
    return sum(bool(CLAIMS.search(nulls.run(rng, deals))) for _ in range(runs))


def differences(first: Nulls, second: Nulls, seed: int, runs: int, deals: int) -> int:
    """Count the runs in which a comparison of two folders shows any difference between a
    cell of one and a cell of the other, at 5% after Holm."""
    rng = np.random.default_rng(seed)
    shown = 0
    for _ in range(runs):
        first.simulate(rng, deals)
        second.simulate(rng, deals)
        pairs = compare(first.folder, second.folder)["pairs"]
        shown += bool((pairs["p_holm"] <= 0.05).any())
    return shown
