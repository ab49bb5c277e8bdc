"""The report's findings: what is said when an effect is there, and when it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.results import Adjusted, CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.findings import answers
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import made_of

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
    assert "With 1,200 deals that spread as these did and Holm over 3 tests, a diff" in limits
    assert "a difference from the baseline of less than 4.7 points would have been missed" in limits
    assert "Between two cells on the same deals a difference of less than 6." in limits


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
    assert "a difference from the baseline of less than 2.4 points would have been missed" in limits
    assert "Between two cells on the same deals a difference of less than 3." in limits


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
