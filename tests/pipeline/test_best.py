"""The leading estimate, the primary test declared for it, and the sentences about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables import findings
from gauntlet.pipeline.tables.conditions import conditions
from gauntlet.pipeline.tables.findings import answers
from gauntlet.stats.multiple import holm
from tests.pipeline.made import about, made_of, pairs_table, summary_table, won

HALF = Baseline("random", 500_000, 1_000_000)


def cell(name: str, wins: Sequence[int], test: DeclaredTest | None = None) -> CellResults:
    told = about(name, baseline=HALF)
    return won(replace(told, test=test or told.test), wins)


def judged(result: CellResults, values: Sequence[float], rate: float = 0.5) -> CellResults:
    found = Adjusted(np.arange(len(values)), np.array(values, float), "rule", rate, 0.0005)
    return replace(result, adjusted=found)


def row(result: CellResults) -> dict[str, object]:
    (found,) = summary_table([result]).to_dict("records")
    return found


def sentences(*cells: CellResults, verdicts: dict[str, str] | None = None) -> str:
    found = answers(made_of(cells, {findings.verdicts: verdicts or {}}))
    return " ".join(sentence for answer in found for sentence in answer.sentences)


EVEN = [0, 1] * 200
BETTER = np.tile([0.56, 0.58, 0.60], 134)[:400].tolist()
WORSE = np.tile([0.40, 0.42, 0.44], 134)[:400].tolist()


def test_the_adjusted_estimate_leads_where_there_is_one() -> None:
    """Half of the raw matches are won; without luck the cell is 8 points above its baseline."""
    found = row(judged(cell("a", EVEN), BETTER))
    assert found["raw"] == 0.5
    assert row(cell("a", EVEN))["p"] > 0.4
    assert found["estimate"] == pytest.approx(0.58, abs=1e-3)
    assert found["estimator"] == "adjusted"
    assert found["difference"] == pytest.approx(0.08, abs=1e-3)
    assert found["difference_low"] < found["difference"] < found["difference_high"]
    assert found["p"] < 1e-6
    above = judged(cell("a", EVEN, DeclaredTest("above")), BETTER)
    assert found["p"] == pytest.approx(2 * row(above)["p"])
    text = sentences(judged(cell("a", EVEN), BETTER))
    assert "a cloze beats the baseline: luck-adjusted 58.0% instead of 50.0% (+8.0 points" in text
    assert "raw 50.0% of 400 matches" in text


def test_a_two_sided_test_finds_harm_and_a_one_sided_does_not() -> None:
    assert "a cloze does worse than the baseline" in sentences(judged(cell("a", EVEN), WORSE))
    above = judged(cell("a", EVEN, DeclaredTest("above")), WORSE)
    assert "a cloze is not shown to beat the baseline" in sentences(above)
    assert row(above)["p"] > 0.99


def test_not_inferior_means_not_below_by_more_than_the_margin() -> None:
    slightly = np.tile([0.48, 0.49, 0.50], 134)[:400].tolist()
    for margin, told in (
        (0.03, "is not inferior to the baseline"),
        (0.005, "is not shown to keep"),
    ):
        text = sentences(judged(cell("a", EVEN, DeclaredTest("non_inferior", margin)), slightly))
        assert f"a cloze {told}" in text


def test_differences_of_adjusted_results_are_paired_by_deal() -> None:
    """The luck that both cells share cancels: the differences hardly vary, the rates do."""
    shared = np.random.default_rng(1).normal(0.5, 0.3, 400)
    own = np.random.default_rng(2).normal(0.0, 0.02, 400)
    a, b = judged(cell("a", EVEN), shared + 0.02 + own), judged(cell("b", EVEN), shared)
    (found,) = pairs_table([a, b]).to_dict("records")
    assert found["raw"] == 0
    assert found["difference"] == pytest.approx(0.02 + own.mean())
    assert found["ci_low"] > 0
    assert (found["test"], found["p"] < 0.001) == ("adjusted", True)
    other = replace(b, adjusted=replace(b.adjusted, reference="random", error=0.05))
    (wider,) = pairs_table([a, other]).to_dict("records")
    assert wider["ci_low"] < 0, "of another reference, whose error does not cancel"


def test_after_a_stopping_rule_no_test_is_made_and_the_verdict_is_told() -> None:
    stopped = replace(judged(cell("a", EVEN), BETTER), stopped=True)
    assert np.isnan(row(stopped)["p"])
    (pair,) = pairs_table([stopped, replace(stopped, about=about("b"))]).to_dict("records")
    assert np.isnan(pair["p"])
    text = sentences(stopped, verdicts={"a": "above the baseline"})
    assert "a cloze: above the baseline. luck-adjusted 58.0%" in text
    assert "not corrected for where it stopped" in text


def test_the_family_is_all_that_sentences_could_claim() -> None:
    """Two cells and their difference: Holm over three."""
    cells = [cell("a", EVEN), cell("b", [0, 1, 1] * 133 + [1])]
    results = made_of(cells)
    table = results["summary"]
    (term,) = (effect.p for found in conditions(results) for effect in found.effects)
    expected = holm([*table["p"], term])[:2]
    assert table["p_holm"].to_numpy() == pytest.approx(expected)
    assert (table["p_holm"] >= holm(table["p"])).all()
