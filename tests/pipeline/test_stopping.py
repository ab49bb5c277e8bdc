"""Sweeps that stop early: at the deal given by the rule, whatever else was in progress."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import report
from gauntlet.stats.sequential import FIRST_LOOK, sprt
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

STRONG = ("game=tic_tac_toe", "agent=minimax", "baseline=random", "expect.win_rate=0.9")


def deals(folder: Path) -> int:
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    return int(row["deals"])


def test_sprt_stops_at_the_deal_that_the_log_says(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(*STRONG, "stop=sprt", "deals=400") == 0
    found = matches(folder)
    scores = {
        record.deal: (1 + record.returns[record.measured[0]]) / 2 for record in found.values()
    }
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    said = sprt([scores[deal] for deal in range(deals(folder))], row["baseline"], 0.9)
    assert said is not None
    assert said.deals == deals(folder) <= len(scores) < 400
    shown = capsys.readouterr().out
    assert "above the baseline" in shown
    assert "take the number of deals as fixed" in shown


def test_a_stopped_sweep_plays_nothing_more_and_reports_the_same(
    sweep: Sweep, folder: Path
) -> None:
    sweep(*STRONG, "stop=sprt", "deals=400")
    before, stopped = matches(folder), deals(folder)
    assert sweep(*STRONG, "stop=sprt", "deals=400") == 0
    assert matches(folder) == before
    assert report.main([str(folder)]) == 0
    assert deals(folder) == stopped
    more = str(len(before) + 5)
    assert sweep(*STRONG, f"deals={more}") == 0
    assert deals(folder) == len(before) + 5
    assert not (folder / "stop.json").exists()


def test_precision_waits_for_its_first_look(sweep: Sweep, folder: Path) -> None:
    sweep(
        "game=tic_tac_toe", "agent=random", "stop=precision", "expect.half_width=0.4", "deals=300"
    )
    assert deals(folder) == FIRST_LOOK
    (stop,) = json.loads((folder / "stop.json").read_text())["cells"].values()
    assert stop == {"deals": FIRST_LOOK, "above": False}


def test_an_undecided_cell_plays_all_its_deals(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("game=tic_tac_toe", "agent=random", "stop=precision", "deals=20")
    assert deals(folder) == 20
    assert "undecided" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["stop=sprt"], "tests against a baseline"),
        (["stop=early"], "stop is 'early'; it must be fixed or sprt or precision"),
        ([*STRONG, "stop=sprt", "rotate=true"], "use stop=precision"),
        ([*STRONG[:3], "stop=sprt", "expect.win_rate=0.2"], "needs expect.win_rate above"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(
    sweep: Sweep, capsys: pytest.CaptureFixture[str], overrides: list[str], message: str
) -> None:
    assert sweep(*overrides) != 0
    assert message in " ".join(capsys.readouterr().err.split())
