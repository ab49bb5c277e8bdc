"""Luck out of matches in which nobody is scripted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.chance import ROWS, measured
from gauntlet.pipeline import report
from gauntlet.pipeline.tables.registry import load_cells
from tests.pipeline.conftest import Capsys, Sweep

LEAST = {"Kuhn, both known": 1.5, "hold'em, a hand": 1.5}
"""The least ratio of variances."""


@pytest.mark.parametrize("name", LEAST)
def test_corrections_have_mean_0_and_take_luck_out(name: str) -> None:
    ratio, z = measured(ROWS[name], 150)
    assert np.abs(z).max() < 4.5
    assert ratio > LEAST[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_corrections_have_mean_0_over_many_deals(name: str) -> None:
    ratio, z = measured(ROWS[name], 3_000)
    assert np.abs(z).max() < 4.5
    assert ratio > 1.0


LEDUC = ("game=openspiel", "game.name=leduc_poker", "seats.0.agent=llm", "prompt=cloze")


def test_a_sweep_of_models_against_models_is_adjusted(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    words = (*LEDUC, "seats.0.model=fake", "seats.0.prompt=counterfactual", "rotate=true")
    assert sweep(*words, "deals=12") == 0
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    before, values = stored(folder), by_deal(folder)
    assert row["estimator"] == "adjusted"
    assert row["estimate"] == pytest.approx(values.mean())
    assert report.main([str(folder), "--full"]) == 0
    shown = capsys.readouterr().out
    assert "chance: what no player had seen yet" in shown
    shutil.rmtree(folder / "luck")
    assert sweep(*words, "deals=30") == 0
    again = stored(folder)["corrections"]
    assert {match: again[match] for match in before["corrections"]} == before["corrections"]
    assert np.array_equal(by_deal(folder)[:12], values), "later deals change nothing"


def stored(folder: Path) -> dict[str, Any]:
    (path,) = (folder / "luck").iterdir()
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def by_deal(folder: Path) -> np.ndarray:

    (cell,) = load_cells(folder)
    assert cell.adjusted is not None
    return cell.adjusted.values


def test_a_game_without_redeals_keeps_its_reason(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "prompt=cloze", "deals=2", "seats.0.agent=llm") == 0
    assert "tic_tac_toe has no `redealt`" in stored(folder)["reason"]
