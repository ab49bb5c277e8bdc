"""Results made by hand, as if read from a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
from matplotlib.figure import Figure

from gauntlet.games.capabilities import WIN, Measure
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.registry import Results, figures
from gauntlet.pipeline.tables.sweep.claims import choose_pairs
from gauntlet.pipeline.tables.sweep.pairs import compare_pairs

SCORE = Measure("score", 0.0, 10.0)
OF_A_FOLDER = ("obfuscation", "seeds")
"""Tables that depend on how a folder was made."""
RANDOM = Baseline("random", 495_700, 1_000_000)


@dataclass(frozen=True)
class KnownBaseline:
    """A baseline of any measure: its mean and the mean's standard error."""

    rate: float
    error: float = 0.0
    policy: str = "random"
    wins: int = 0
    games: int = 1_000_000


def about(
    name: str,
    measure: Measure = WIN,
    rotations: int = 1,
    baseline: Baseline | KnownBaseline | None = None,
    measured: int = 1,
    model: str | None = None,
) -> CellInfo:
    labels = {"game": "uno", "agent": "llm", "model": model or name, "prompt": "cloze"}
    labels["seats"] = "solo"
    known = cast(Any, baseline)
    return CellInfo(name, name, "x", labels, rotations, known, "deck", False, measure, measured)


def results(cell: CellInfo, figures: Sequence[float], winners: Sequence[int]) -> CellResults:
    """figures: values of the measure, by deal and rotation. winners: number of measured seats that
    won each match."""
    outcomes = []
    for at, (figure, won) in enumerate(zip(figures, winners, strict=True)):
        place = (f"match{at}", cell.key, *divmod(at, cell.rotations))
        ended = (2 * won / cell.measured - 1, figure, won)
        turns = (9, 5 + at % 3, 4, at % 2, 99, 0.5, 120, 0.25, 5, 1, 0, 0)
        outcomes.append(Outcome(*place, *ended, *turns, cell.measured))
    deals = len(figures) // cell.rotations
    return CellResults(cell, Outcomes.from_outcomes(cell.key, outcomes), deals, 0)


def won(cell: CellInfo, winners: Sequence[int]) -> CellResults:
    return results(cell, [each / cell.measured for each in winners], winners)


def scored(name: str, figures: Sequence[float], **more: Any) -> CellResults:
    """A cell measured by a score of 0 to 10."""
    return results(about(name, SCORE, **more), figures, [0] * len(figures))


def made_of(cells: Sequence[CellResults], known: Mapping[Any, Any] | None = None) -> Results:
    """Results without a folder. known: as `Results.cache`."""
    none = {name: pd.DataFrame() for name in OF_A_FOLDER}
    return Results(Path("/nowhere"), cells, {**none, **(known or {})})


def summary_table(
    cells: Sequence[CellResults], known: Mapping[Any, Any] | None = None
) -> pd.DataFrame:
    """summary.csv of the cells."""
    return made_of(cells, known)["summary"]


def pairs_table(cells: Sequence[CellResults], rule: str = "auto") -> pd.DataFrame:
    """pairs.csv of the cells, every pair in one family. rule: which are compared."""
    chosen = choose_pairs(cells, rule).chosen
    return compare_pairs((cells[a], cells[b]) for a, b in chosen)


def drawn_of(results: Results, *names: str) -> dict[str, Figure]:
    """The registered figures of these names."""
    drawn: dict[str, Figure] = {}
    for name in names:
        found = figures()[name](results)
        drawn |= {name: found} if isinstance(found, Figure) else found or {}
    return drawn
