"""The verdict: what is said where something is shown, and where nothing is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import conditions
from gauntlet.pipeline.tables.controls import CONTROLS
from gauntlet.pipeline.tables.stopped import verdicts
from gauntlet.pipeline.tables.verdict import GROUPS, first_paragraphs, verdict
from tests.pipeline.made import SCORE, KnownBaseline, about, made_of, results
from tests.pipeline.test_answers import cell


def said(*cells: CellResults, **tables: pd.DataFrame) -> str:
    return " ".join(verdict(made_of(cells, tables)))


def test_two_prompts_that_beat_the_baseline_and_do_not_differ() -> None:
    text = said(cell("a", "cloze", 0.56), cell("a", "rap", 0.57))
    assert text.startswith("Both prompts beat random (+6.0 and +7.0 points). ")
    assert "is shown (rap instead of cloze: +1.0 points, 95% interval -" in text
    assert "; 1,200 deals could have shown 6." in text


def test_one_that_does_and_one_that_does_not() -> None:
    text = said(cell("a", "cloze", 0.50), cell("b", "cloze", 0.60))
    assert text.startswith("b beats random (+10.0 points, 95% interval +")
    assert "a is not shown to beat random (+0.0 points, 95% interval -" in text
    assert "b instead of a changes the win rate by +10.0 points (95% interval +" in text
    assert "this" not in text


def test_many_cells_are_counted() -> None:
    cells = [cell("a", f"p{at}", 0.5) for at in range(5)]
    assert said(*cells).startswith("None of the 5 prompts is shown to beat random (+0.0 to +0.0")
    cells = [cell("a", f"p{at}", 0.5 + 0.1 * (at < 4)) for at in range(5)]
    assert said(*cells).startswith("p0, p1 and 2 other prompts beat random (+10.0 to +10.0 points)")


def test_helpers_and_the_worse() -> None:
    text = said(cell("a", "cloze", 0.45, helping=True), cell("b", "cloze", 0.56, helping=True))
    assert text.startswith("b helps the partner (+6.0 points")
    assert "a harms the partner (-5.0 points" in text
    assert said(cell("a", "cloze", 0.4)).startswith("a cloze does worse than random (-10.0 points")


def test_a_habit_is_not_said_to_read() -> None:
    beside = [("a-cloze", "first option", 1200, "win", 0.6, 0.6, 0.0, -0.1, 0.1, 1.0)]
    text = said(cell("a", "cloze", 0.6), controls=pd.DataFrame(beside, columns=[*CONTROLS]))
    assert text.startswith(
        "a cloze is not shown to read the game: always taking one option may do as well (+10.0"
    )


def test_a_rule_speaks_for_its_cells() -> None:
    results = made_of([cell("a", "cloze", 0.6)])
    results.cache[verdicts] = {"a-cloze": "above the baseline"}
    assert verdict(results) == ("a cloze: above the baseline.",)


def test_the_first_paragraphs_are_shown_and_the_rest_counted() -> None:
    many = [f"{at}." for at in range(GROUPS + 2)]
    assert first_paragraphs(many) == (*many[:GROUPS], "And 2 more groups of cells: verdict.csv.")
    assert first_paragraphs(many[:GROUPS]) == tuple(many[:GROUPS])


# --- cells without skill

NOTHING = re.compile(
    r"None of the 8 prompts is shown to beat random \([^)]*\)\. "
    r"No difference between the prompts is shown( \([^)]*\))?\."
)
DEALS = 200
DRAWS: Mapping[str, Callable[[np.random.Generator], list[float]]] = {
    "wins": lambda rng: rng.binomial(1, 0.3, DEALS).tolist(),
    "scores": lambda rng: np.round(10 * rng.beta(0.5, 1, DEALS), 1).tolist(),
}
"""Results of a deal, whose means are those of the baselines."""


def null_cells(kind: str, rng: np.random.Generator) -> list[CellResults]:
    """Eight prompts that all play like the baseline."""
    baseline = KnownBaseline(0.3, 0.0005) if kind == "wins" else KnownBaseline(10 / 3, 0.005)
    cells = []
    for at in range(8):
        info = about(f"p{at}", WIN if kind == "wins" else SCORE, baseline=baseline, model="m")
        info = replace(info, labels={**info.labels, "prompt": f"p{at}"})
        figures = DRAWS[kind](rng)
        cells.append(results(info, figures, [int(kind == "wins" and f) for f in figures]))
    return cells


def false_verdicts(kind: str, seed: int, runs: int) -> int:
    """Count the runs in which any sentence says that something is shown."""
    rng = np.random.default_rng(seed)
    return sum(not NOTHING.fullmatch(said(*null_cells(kind, rng))) for _ in range(runs))


@pytest.mark.parametrize("kind", [*DRAWS])
def test_nothing_is_said_of_cells_without_skill(kind: str) -> None:
    assert false_verdicts(kind, 1, 24) <= 6  # of 24 at 5%, more in 0.01% of all seeds


@pytest.mark.parametrize("kind", [*DRAWS])
def test_without_correction_much_would_be_said(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "holm", np.asarray)
    assert false_verdicts(kind, 1, 24) > 6
