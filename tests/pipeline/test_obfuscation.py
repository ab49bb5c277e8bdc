"""obfuscation.csv: a renamed game next to the plain one, deal by deal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.pipeline.conftest import Sweep

GAMES = "game=tic_tac_toe,obfuscated_tic_tac_toe"


def test_both_games_make_a_row_on_the_deals_of_both(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(GAMES, "prompt=cloze", "deals=12") == 0
    (row,) = pd.read_csv(folder / "obfuscation.csv").to_dict("records")
    assert (row["game"], row["obfuscated_game"]) == ("tic_tac_toe", "obfuscated_tic_tac_toe")
    assert (row["deals"], row["names"]) == (12, 1)
    won = pd.read_csv(folder / "summary.csv").set_index("game")["raw"]
    assert row["plain"] == won["tic_tac_toe"]
    assert row["obfuscated"] == won["obfuscated_tic_tac_toe"]
    assert row["difference"] == pytest.approx(row["obfuscated"] - row["plain"])
    assert row["low"] <= row["difference"] <= row["high"]
    assert "Under other names" in capsys.readouterr().out
    assert "Under other names" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_game_that_differs_in_more_than_names_is_no_pair(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "game.size=4", "prompt=cloze", "deals=2") == 0
    assert sweep("game=obfuscated_tic_tac_toe", "prompt=cloze", "deals=2") == 0
    assert not (folder / "obfuscation.csv").exists()
