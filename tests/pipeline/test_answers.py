"""What is said where an effect is there, and where none is: the report's findings, the verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.results import Adjusted, CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.sweep import conditions
from gauntlet.pipeline.tables.sweep.controls import CONTROLS
from gauntlet.pipeline.tables.sweep.findings import answers
from gauntlet.pipeline.tables.sweep.stopped import verdicts
from gauntlet.pipeline.tables.sweep.verdict import GROUPS, first_paragraphs, verdict
from gauntlet.stats.proportions import clopper_pearson
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import SCORE, KnownBaseline, about, made_of, results

DEALS = 1200


def cell(model: str, prompt: str, rate: float, helping: bool = False) -> CellResults:
    """Return a cell of DEALS deals with a win rate of exactly `rate`, spread over the deals."""
    labels = {"game": "uno", "agent": "llm", "model": model, "prompt": prompt, "seats": "solo"}
    baseline = Baseline("random", 500_000, 1_000_000)
    name = f"{model}-{prompt}"
    about = CellInfo(name, name, "x", labels, 1, baseline, "cards", helping)
    key = sum(map(ord, model + prompt))
    order = np.random.default_rng(key).permutation(DEALS)
    won = np.arange(DEALS)[np.argsort(order)] < round(rate * DEALS)
    outcomes = (
        Outcome(f"match{deal}", about.key, deal, 0, 2 * w - 1, w, w, 9, 5, 4, 0, 99, 0.1)
        for deal, w in enumerate(won.tolist())
    )
    return CellResults(about, Outcomes.from_outcomes(about.key, outcomes), DEALS, 0)


def sentences(*cells: CellResults) -> dict[str, str]:
    found = answers(made_of(cells))
    return {answer.question: " ".join(answer.sentences) for answer in found}


def test_an_effect_is_stated_and_none_is_not() -> None:
    text = sentences(cell("llama1b", "cloze", 0.5), cell("llama8b", "cloze", 0.56))
    beats = text["Do they beat the baseline?"]
    assert beats.startswith("1 of 2 cells win more than their baseline")
    assert "llama1b cloze is not shown to beat the baseline: 50.0% instead of 50.0%" in beats
    assert "llama8b cloze beats the baseline: 56.0% instead of 50.0% (+6.0 points" in beats


def test_scale_is_the_logarithm_of_the_size_where_it_is_known() -> None:
    """Odds of 1 at 1B and (.56/.44) at 100B, and the mean of their logarithms half-way: a factor of
    sqrt(1.2727) = 1.128 for ten times."""
    half = 1.128 / 2.128
    sizes = {"llama": (1e9, 0.5), "other": (1e10, half), "big": (1e11, 0.56)}
    cells = [(cell(name, "cloze", rate), size) for name, (size, rate) in sizes.items()]
    text = sentences(
        *(replace(one, about=replace(one.about, parameters=size)) for one, size in cells)
    )
    matters = text["Do scale and prompting matter?"]
    assert "Ten times the parameters multiplies the odds of a win by 1.128" in matters
    assert "this matters." in matters
    assert "Only cloze was asked" in matters


def test_models_of_unknown_size_are_compared_by_name() -> None:
    text = sentences(
        *(cell(m, p, 0.5) for m in ("one", "two") for p in ("cloze", "counterfactual"))
    )
    matters = text["Do scale and prompting matter?"]
    assert "two instead of one multiplies the odds of a win by 1.000" in matters
    assert "counterfactual instead of cloze multiplies the odds of a win by 1.000" in matters
    assert "this is not shown to matter" in matters


def test_what_determines_each_other_settles_nothing() -> None:
    text = sentences(cell("one", "cloze", 0.5), cell("two", "counterfactual", 0.6))
    assert "settle no finite effect" in text["Do scale and prompting matter?"]


def test_the_limits_are_those_of_the_declared_tests_and_their_estimates() -> None:
    """1,200 deals, Holm over 3 (two cells, and their difference), two-sided: alpha .05 / 6 and 80%
    power give (2.394 + .8416) x .5 / sqrt(1200) = 4.67 points."""
    text = sentences(cell("a", "cloze", 0.5), cell("b", "cloze", 0.5))
    limits = text["What could this not have shown?"]
    assert "a difference from the baseline of 4.7 points is found 4 times in 5" in limits
    assert "(Holm over 3 tests)" in limits
    assert "Between two cells on the same deals, a difference of 6." in limits


def test_the_luck_adjusted_estimate_shows_less() -> None:
    """The limits follow the estimate that the verdict uses: half the spread, half the effect."""
    cells = [cell("a", "cloze", 0.5), cell("b", "cloze", 0.5)]
    adjusted = [
        replace(
            one, adjusted=Adjusted(np.arange(DEALS), 0.25 + one.outcomes.won / 2, "rule", 0.5, 0.0)
        )
        for one in cells
    ]
    limits = sentences(*adjusted)["What could this not have shown?"]
    assert "a difference from the baseline of 2.4 points is found 4 times in 5" in limits
    assert "Between two cells on the same deals, a difference of 3." in limits


def test_a_prompt_beside_the_first_is_the_pair_of_both_cells() -> None:
    """Where only one cell has each prompt the sentence is the row of pairs.csv, p and all."""
    cells = [cell("a", "cloze", 0.5), cell("a", "rap", 0.55), cell("a", "cot", 0.52)]
    matters = sentences(*cells)["Do scale and prompting matter?"]
    for row in made_of(cells)["pairs"].to_dict("records")[:2]:
        told = f"{-100 * row['difference']:+.1f} points (95% interval {-100 * row['ci_high']:+.1f}"
        assert told in matters
        assert f"p Holm {row['p_holm']:.4f}" in matters


def test_one_model_and_scripted_players_are_not_regressed(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_yardsticks", "agent=helper", "deals=5") == 0
    page = (folder / "report.html").read_text()
    assert "No language model took part." in page
    assert "Do they help the partner?" in page


def test_without_a_baseline_the_win_rate_is_told_alone() -> None:
    played = cell("a", "cloze", 0.5)
    (beats, *_) = sentences(replace(played, about=replace(played.about, baseline=None))).values()
    assert beats == (
        "a cloze: wins 50.0% of 1,200 matches, 95% interval 47.2% to 52.8%; there is no baseline "
        "to compare with."
    )


def test_a_cell_without_a_deal_is_not_passed_over() -> None:
    waiting = replace(cell("b", "cloze", 0.5), outcomes=Outcomes("b-cloze"))
    assert sentences(waiting) == {"Do they beat the baseline?": "b cloze: no deal is finished yet."}
    beats = sentences(cell("a", "cloze", 0.6), waiting)["Do they beat the baseline?"]
    assert beats.startswith("1 of 1 cells win more than their baseline")
    assert beats.endswith("b cloze: no deal is finished yet.")


def test_each_seating_has_its_own_answers() -> None:
    helping = cell("a", "cloze", 0.5, helping=True)
    about = replace(helping.about, labels={**helping.about.labels, "seats": "coop"}, name="other")
    questions = list(sentences(cell("a", "cloze", 0.5), replace(helping, about=about)))
    assert "Do they beat the baseline? (x, uno, solo)" in questions
    assert "Do they help the partner? (x, uno, coop)" in questions


def test_limits_name_their_game_where_there_are_several() -> None:
    first = cell("a", "cloze", 0.5)
    nim = replace(first.about, labels={**first.about.labels, "game": "nim"}, name="other")
    cautions = answers(made_of([first, replace(first, about=nim)]))
    limits = [sentence for one in cautions if one.caution for sentence in one.sentences]
    assert [sentence.partition(":")[0] for sentence in limits] == ["uno solo", "nim solo"]


# --- verdict


def few(*results: CellResults) -> list[CellResults]:
    """The same cells after three deals."""
    firsts = [Outcomes.from_outcomes(one.about.key, [*one.outcomes][:3]) for one in results]
    return [
        replace(one, outcomes=own, complete_deals=3)
        for one, own in zip(results, firsts, strict=True)
    ]


def test_too_few_deals_to_show_any_difference_are_said_to_be_so() -> None:
    cells = few(cell("a", "cloze", 0.56), cell("a", "rap", 0.57))
    assert "with 3 deals no difference could be shown" in said(*cells)
    (limits,) = [one.sentences for one in answers(made_of(cells)) if one.caution]
    assert "a difference is found less than 4 times in 5, whatever its size" in limits[-1]


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
    assert "b is better than a by 10.0 points (95% interval +" in text
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
    assert text.startswith("a cloze beats random (+10.0 points,")
    assert "always takes the first option (+0.0, -10.0 to +10.0), so no skill is claimed." in text


def test_what_is_not_inferior_keeps_up() -> None:
    even = cell("a", "cloze", 0.5)
    declared = DeclaredTest("non_inferior", 0.005)
    text = said(replace(even, about=replace(even.about, test=declared)))
    assert "a cloze is not shown to keep up with random" in text


def test_a_rule_speaks_for_its_cells() -> None:
    results = made_of([cell("a", "cloze", 0.6)])
    results.cache[verdicts] = {"a-cloze": "above the baseline"}
    assert verdict(results) == ("a cloze: above the baseline.",)


def test_of_many_groups_those_that_show_something_come_first() -> None:
    games = [f"game {at}" for at in range(GROUPS + 1)]
    cells = [cell(f"m{at}", "cloze", 0.6 if at == GROUPS else 0.5) for at, _ in enumerate(games)]
    labelled = [
        replace(one, about=replace(one.about, labels={**one.about.labels, "game": game}))
        for one, game in zip(cells, games, strict=True)
    ]
    first, second, third, *_ = verdict(made_of(labelled))
    assert first == (
        "Of 7 cells in 7 groups, 1 is shown to do better than the baseline or the other side, and "
        "0 worse."
    )
    assert second.startswith(f"{games[-1]} solo: ")
    assert third.startswith(f"{games[0]} solo: ")


def test_the_first_paragraphs_are_shown_and_the_rest_counted() -> None:
    many = [f"{at}." for at in range(GROUPS + 2)]
    assert first_paragraphs(many) == (*many[:GROUPS], "And 2 more groups of cells: verdict.csv.")
    assert first_paragraphs(many[:GROUPS]) == tuple(many[:GROUPS])


# --- cells without skill

NOTHING = re.compile(
    r"None of the 8 prompts is shown to beat random \([^)]*\)\. "
    r"No difference between the prompts is shown( \([^)]*\))?\."
)
FEW = 200
DRAWS: Mapping[str, Callable[[np.random.Generator], list[float]]] = {
    "wins": lambda rng: rng.binomial(1, 0.3, FEW).tolist(),
    "scores": lambda rng: np.round(10 * rng.beta(0.5, 1, FEW), 1).tolist(),
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*DRAWS])
def test_at_most_5_percent_of_verdicts_on_cells_without_skill_are_false(
    kind: str, figure: Callable[[str], None]
) -> None:
    runs = 1_000
    false = false_verdicts(kind, 2, runs)
    found = clopper_pearson(false, runs)
    figure(
        f"verdicts of 8 cells without skill, by {kind}: something is shown in {false} of "
        f"{runs:,} runs ({found.low:.3f} to {found.high:.3f})"
    )
    assert found.low <= 0.05
