"""The leading estimate, its declared test and the sentences about it; and no claim about a player
that does not read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from gauntlet.pipeline.tables.sweep import findings
from gauntlet.pipeline.tables.sweep.conditions import conditions
from gauntlet.pipeline.tables.sweep.controls import CONTROLS
from gauntlet.pipeline.tables.sweep.findings import answers, cell_sentence, verdicts
from gauntlet.pipeline.tables.sweep.primary_test import Rival, strongest_controls
from gauntlet.stats.multiple import holm
from gauntlet.stats.proportions import clopper_pearson
from tests.models.conftest import (  # noqa: F401, a network with random weights
    MakeCheckpoint,
    decisions,
    make_checkpoint,
    tokenizer,
)
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import about, made_of, pairs_table, summary_table, won
from tests.pipeline.nulls import Nulls, claims, differences

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
        (0.03, "keeps up with the baseline"),
        (0.005, "is not shown to keep up with the baseline"),
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


# --- players that do not read


NO_SKILL = "which reads nothing, so this is no sign of skill"
BESIDE = f"is not shown to do better than always taking the first option (50.0%), {NO_SKILL}"
SIXTY, SEVENTY = [1] * 240 + [0] * 160, [1] * 280 + [0] * 120


def claims_with(**p_values: float) -> tuple[Results, str]:
    """Return two cells that win 60 and 70% against a baseline of 50, each ahead of its only control
    with this p-value."""
    found = [cell("a", SIXTY), cell("b", SEVENTY)]
    beside = pd.DataFrame(
        [
            (name, "first option", 400, "win", 0.6, 0.5, 0.1, 0.0, 0.2, p)
            for name, p in p_values.items()
        ],
        columns=[*CONTROLS],
    )
    results = made_of(found, {"controls": beside})
    said = answers(results)
    return results, " ".join(sentence for answer in said for sentence in answer.sentences)


def test_a_claim_is_one_about_the_baseline_and_all_controls() -> None:
    """The larger p-value of both is in the family, of a cell and of a term."""
    results, text = claims_with(a=0.001, b=0.3)
    table = results["summary"]
    assert (
        "1 of 2 cells win more than their baseline and do better than always taking one option"
        in text
    )
    assert "a cloze beats the baseline: 60.0% instead of 50.0%" in text
    assert f"b cloze {BESIDE}: 70.0% instead of 50.0%" in text
    assert "this is not shown to matter, as not all of its cells are shown to do better" in text
    assert table["p"].max() < 0.001
    assert table["p_holm"].to_numpy() == pytest.approx(holm([0.001, 0.3, 0.3])[:2])
    (sheet,) = tables()["summary"].sheets(results, TERMINAL)
    assert "against always taking one option" in " ".join(sheet.foot.split())


def test_who_beats_all_controls_is_judged_as_before() -> None:
    for text in (claims_with(a=0.001, b=0.001)[1], claims_with()[1]):
        assert text.startswith("2 of 2 cells win more than their baseline")
        assert "this matters." in text


def test_a_rules_verdict_carries_the_warning() -> None:
    results, _ = claims_with(b=0.3)
    results.cache[verdicts] = {"b": "above the baseline"}
    _, row = (row for _, row in results["summary"].iterrows())
    said = cell_sentence(results, row, False)
    assert (
        "b cloze: above the baseline, but not shown to do better than always taking the first"
        in said
    )


def test_who_is_behind_its_control_is_not_shown_to_beat_it() -> None:
    beside = [("a", "last option", 9, "win", 0.1, 0.9, -0.8, -0.9, -0.7, 0.001)]
    found = strongest_controls(pd.DataFrame(beside, columns=[*CONTROLS]))
    assert found == {"a": Rival("last option", 0.9, -0.8, -0.9, -0.7, 1.0)}


def test_random_weights_are_said_to_show_no_skill(
    sweep: Sweep,
    folder: Path,
    make_checkpoint: MakeCheckpoint,  # noqa: F811
) -> None:
    """A network that hardly reads answers A to every question: it always takes the first option,
    which wins 44% against a random player, who wins 29%."""
    weights = make_checkpoint(max_position_embeddings=2048, initializer_range=1e-6)
    model = ("model=hf", f"model.path={weights}", "model.dtype=float32", "prompt=cloze")
    baseline = ("baseline=random", "controls=auto")
    assert sweep("game=tic_tac_toe", "measure=win", *model, *baseline, "deals=80") == 0
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    rival = strongest_controls(pd.read_csv(folder / "controls.csv"))[row["cell"]]
    assert row["p"] < 0.05 < rival.p <= row["p_holm"]
    page = (folder / "report.html").read_text()
    assert f"is not shown to do better than always taking the {rival.control}" in page
    assert NO_SKILL in page
    assert "0 of 1 cells win more than their baseline" in page


CELLS = ("game=tic_tac_toe", "measure=win", "model.seed=1,2,3,4", "prompt=cloze,counterfactual")
ANY, HABITS = (0.0,) * 8, (0.0, 0.9, 0.9, 0.0, 1.0, 0.0, 0.5, 0.9)
"""How often each of eight cells takes the first option without reading, otherwise a random one."""
DEALS = 60


@pytest.fixture
def eight(sweep: Sweep, folder: Path) -> Callable[..., Nulls]:
    """A folder of eight cells with a model, with their controls, next to a random baseline."""

    def played(habits: tuple[float, ...], beside: bool) -> Nulls:
        controls = "controls=auto" if beside else "controls=[]"
        assert sweep(*CELLS, "deals=1", "baseline=random", controls) == 0
        return Nulls(folder, habits)

    return played


@pytest.mark.parametrize("beside", [True, False])
def test_habits_are_claimed_where_no_control_is_beside_them(
    eight: Callable[..., Nulls], beside: bool
) -> None:
    """Against a random player the habit wins 60% and not 29%."""
    runs = 4
    assert claims(eight(HABITS, beside), 1, runs, DEALS) == (0 if beside else runs)


def four(sweep: Sweep, folder: Path, *seeds: int) -> Nulls:
    """A folder of cells of models with these seeds, which play like the random baseline."""
    models = f"model.seed={','.join(map(str, seeds))}"
    game, measure, _, prompts = CELLS
    words = (game, measure, models, prompts, f"output_dir={folder}")
    assert sweep(*words, "deals=1", "baseline=random", "controls=[]") == 0
    return Nulls(folder, (0.0,) * 2 * len(seeds))


@pytest.mark.slow
def test_two_folders_compared_show_no_more_than_they_may(
    sweep: Sweep, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """Sixteen pairs of cells that play alike."""
    first, second = four(sweep, tmp_path / "a", 1, 2), four(sweep, tmp_path / "b", 3, 4)
    runs, started = 1_000, time.monotonic()
    false = differences(first, second, 7, runs, DEALS)
    found = clopper_pearson(false, runs)
    figure(
        f"two folders compared: a difference in {false} of {runs:,} runs of 16 pairs "
        f"({found.low:.3f} to {found.high:.3f}), {time.monotonic() - started:.0f} s"
    )
    assert found.low <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("habits", "beside"), [(ANY, False), (HABITS, True)])
def test_pages_claim_no_more_than_they_may(
    eight: Callable[..., Nulls],
    habits: tuple[float, ...],
    beside: bool,
    figure: Callable[[str], None],
) -> None:
    """Any claim of a difference between cells that do not read is false."""
    runs, started = 1_000, time.monotonic()
    false = claims(eight(habits, beside), 5, runs, DEALS)
    found = clopper_pearson(false, runs)
    figure(
        f"{'habits with controls' if beside else 'random players'}: a page claimed a difference in "
        f"{false} of {runs:,} runs of 8 cells ({found.low:.3f} to {found.high:.3f}), "
        f"{time.monotonic() - started:.0f} s"
    )
    assert found.low <= 0.05
