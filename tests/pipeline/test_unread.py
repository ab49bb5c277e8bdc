"""No claims about a player that does not read: beating a baseline by habit is not skill."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline.tables.controls import CONTROLS
from gauntlet.pipeline.tables.findings import answers, cell_sentence, verdicts
from gauntlet.pipeline.tables.primary_test import Rival, strongest_controls
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from gauntlet.stats.multiple import holm
from gauntlet.stats.proportions import clopper_pearson
from tests.models.conftest import (  # noqa: F401, a network with random weights
    MakeCheckpoint,
    decisions,
    make_checkpoint,
    tokenizer,
)
from tests.pipeline.conftest import Sweep
from tests.pipeline.made import made_of
from tests.pipeline.nulls import Nulls, claims, differences
from tests.pipeline.test_best import cell

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
    assert "the control that the cell beats least clearly" in sheet.foot


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
    assert found == {"a": Rival("last option", 0.9, 1.0)}


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
def test_the_compare_page_shows_no_more_than_it_may(
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
