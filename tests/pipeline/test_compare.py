"""Two finished sweeps, or a game and the same under other names, paired on their deals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import compare
from tests.pipeline.conftest import Capsys, Full, Refusal, Sweep


def run(*arguments: object) -> int:
    return compare.main([str(argument) for argument in arguments])


def test_two_folders_pair_as_one_sweep_of_both_would(
    sweep: Sweep, folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """Cells of two folders give the same row as in one folder."""
    sweep("game=tic_tac_toe", "measure=win", "deals=30")
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("game=tic_tac_toe", "measure=win", "deals=30", "prompt=cloze", f"output_dir={one}")
    sweep(
        "game=tic_tac_toe", "measure=win", "deals=40", "prompt=counterfactual", f"output_dir={two}"
    )
    capsys.readouterr()
    assert run(one, two, "--csv", tmp_path / "pairs.csv") == 0
    said = capsys.readouterr().out
    assert "A only" in said
    assert "one fake cloze" in said
    assert max(len(line) for line in said.splitlines() if str(tmp_path) not in line) <= 100
    (across,) = pd.read_csv(tmp_path / "pairs.csv").to_dict("records")
    (within,) = pd.read_csv(folder / "pairs.csv").to_dict("records")
    for key in within.keys() - {"cell_a", "cell_b"}:
        assert across[key] == pytest.approx(within[key], nan_ok=True), key
    assert across["cell_a"].startswith("one: ")


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ("seed=2", "has seed 1 and"),
        ("game.size=4", "no two different cells"),
        ("", "no two different cells"),
    ],
)
def test_cells_that_met_other_cards_or_are_one_cell_are_not_paired(
    sweep: Sweep, tmp_path: Path, refusal: Refusal, other: str, line: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    words = ("game=tic_tac_toe", "deals=1", "prompt=cloze")
    sweep(*words, f"output_dir={one}")
    sweep(*words, f"output_dir={two}", *other.split())
    assert line in refusal(run(one, two))


# --- obfuscation


GAMES = "game=tic_tac_toe,obfuscated_tic_tac_toe"


def test_both_games_make_a_row_on_the_deals_of_both(sweep: Sweep, folder: Path, full: Full) -> None:
    assert sweep(GAMES, "prompt=cloze", "deals=12") == 0
    (row,) = pd.read_csv(folder / "obfuscation.csv").to_dict("records")
    assert (row["game"], row["obfuscated_game"]) == ("tic_tac_toe", "obfuscated_tic_tac_toe")
    assert (row["deals"], row["names"]) == (12, 1)
    won = pd.read_csv(folder / "summary.csv").set_index("game")["raw"]
    assert row["plain"] == won["tic_tac_toe"]
    assert row["obfuscated"] == won["obfuscated_tic_tac_toe"]
    assert row["difference"] == pytest.approx(row["obfuscated"] - row["plain"])
    assert row["low"] <= row["difference"] <= row["high"]
    assert "Under other names" in full()
    assert "Under other names" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_game_that_differs_in_more_than_names_is_no_pair(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "game.size=4", "prompt=cloze", "deals=2") == 0
    assert sweep("game=obfuscated_tic_tac_toe", "prompt=cloze", "deals=2") == 0
    assert not (folder / "obfuscation.csv").exists()
