"""Runs of generated games."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.pipeline.conftest import Sweep


def test_perfect_players_keep_all_value(sweep: Sweep, folder: Path) -> None:
    players = ("agent=rule", "agent.policy=perfect,one_ply", "baseline=null", "rotate=true")
    game = ("game=evergreen", "game.family=takeaway", "measure=value_kept")
    assert sweep(*game, *players, "deals=20") == 0
    rows = pd.read_csv(folder / "summary.csv")
    perfect, one_ply = rows["estimate"]
    assert rows["measure"].eq("value_kept").all()
    assert perfect == 1.0
    assert one_ply < 0.98
