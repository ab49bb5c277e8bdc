"""The verdict: what is said where something is shown, and where nothing is."""

from __future__ import annotations

import pandas as pd

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.controls import CONTROLS
from gauntlet.pipeline.tables.stopped import verdicts
from gauntlet.pipeline.tables.verdict import GROUPS, first_paragraphs, verdict
from tests.pipeline.made import made_of
from tests.pipeline.test_answers import cell


def said(*cells: CellResults, **tables: pd.DataFrame) -> str:
    return " ".join(verdict(made_of(cells, tables)))


def test_two_prompts_that_beat_the_baseline_and_do_not_differ() -> None:
    text = said(cell("a", "cloze", 0.56), cell("a", "rap", 0.57))
    assert text.startswith("Both prompts beat random (+6.0 and +7.0 points). ")
    assert "No difference between the prompts is shown (+1.0 points, 95% interval -" in text
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
