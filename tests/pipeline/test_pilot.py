"""`pipeline.plan --pilot`: the deals that a pilot's spread asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp

from gauntlet.pipeline.plan.__main__ import main
from gauntlet.pipeline.tables.primary_test import results_by_deal
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.stats.power import deals_from_pilot
from tests.pipeline.conftest import Capsys, Refusal, Sweep


def test_the_deals_are_those_of_the_normal_formula() -> None:
    likely, safe = deals_from_pilot(50, 0.6, 0.1, power=0.9, alpha=0.05, cells=2)
    wanted = (0.6 * (norm.ppf(1 - 0.05 / 4) + norm.ppf(0.9)) / 0.1) ** 2
    assert likely == int(np.ceil(wanted))
    assert likely < safe < 1.4 * likely
    assert deals_from_pilot(5000, 0.6, 0.1, 0.9, 0.05, 2)[1] < 1.03 * likely


def test_what_is_planned_finds_the_effect_as_often_as_it_says() -> None:
    """2,000 pilots of 20 deals, each followed by a sweep of the safe number of deals: at least 80%
    of the numbers have the power, so over all more than it is reached."""
    numbers = np.random.default_rng(0)
    enough = found = 0
    exact = (2.0 * (norm.ppf(0.975) + norm.ppf(0.8)) / 0.7) ** 2
    for _ in range(2000):
        spread = numbers.normal(0, 2.0, 20).std(ddof=1)
        safe = deals_from_pilot(20, spread, 0.7)[1]
        enough += safe >= exact
        found += ttest_1samp(numbers.normal(0.7, 2.0, safe), 0).pvalue < 0.05
    assert enough / 2000 == pytest.approx(0.8, abs=0.03)
    assert found / 2000 > 0.8


@pytest.mark.parametrize("numbers", [(1, 0.5, 0.1), (9, 0.0, 0.1), (9, 0.5, 0.0)])
def test_no_pilot_no_spread_and_no_gain_are_refused(numbers: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="pilot"):
        deals_from_pilot(*numbers)


def test_the_command_lists_every_comparison(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep("prompt=cloze,counterfactual", "deals=30", "baseline=random") == 0
    capsys.readouterr()
    assert main(["--pilot", str(folder), "expect.gain=0.1"]) == 0
    shown = capsys.readouterr().out
    assert "cloze - baseline" in shown
    assert "cloze - fake counterfactual" in shown or "counterfactual - fake cloze" in shown
    assert "To show 10.0 points with 90% power" in " ".join(shown.split())
    assert "3 tests" in shown


def test_the_spread_is_that_of_the_deals(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    """Intervals of few deals are wider than normal ones, so they do not tell it."""
    assert sweep("game=tic_tac_toe", "prompt=cloze,counterfactual", "deals=12") == 0
    cells = load_cells(folder)
    won = [cell.outcomes.column("figure")[cell.outcomes.column("deal").argsort()] for cell in cells]
    assert results_by_deal(cells[0]) == pytest.approx(won[0])
    assert results_by_deal(*cells) == pytest.approx(won[0] - won[1])
    capsys.readouterr()
    assert main(["--pilot", str(folder), "expect.gain=0.1", "game=tic_tac_toe"]) == 0
    assert f"{100 * (won[0] - won[1]).std(ddof=1):.1f}" in capsys.readouterr().out


def test_a_folder_that_compares_nothing_is_refused(
    sweep: Sweep, folder: Path, refusal: Refusal, capsys: Capsys
) -> None:
    assert sweep("prompt=cloze", "deals=3") == 0
    capsys.readouterr()
    assert "is no pilot" in refusal(main(["--pilot", str(folder)]))
