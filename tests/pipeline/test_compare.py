"""Two finished sweeps paired on their deals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline import compare
from tests.pipeline.conftest import Sweep


def run(*arguments: object) -> int:
    return compare.main([str(argument) for argument in arguments])


def test_two_folders_pair_as_one_sweep_of_both_would(
    sweep: Sweep, folder: Path, tmp_path: Path
) -> None:
    """Cells of two folders give the same row as in one folder."""
    sweep("deals=30")
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("deals=30", "prompt=cloze", f"output_dir={one}")
    sweep("deals=40", "prompt=counterfactual", f"output_dir={two}")
    assert run(one, two, "--csv", tmp_path / "pairs.csv") == 0
    (across,) = pd.read_csv(tmp_path / "pairs.csv").to_dict("records")
    (within,) = pd.read_csv(folder / "pairs.csv").to_dict("records")
    for key in within.keys() - {"cell_a", "cell_b"}:
        assert across[key] == pytest.approx(within[key], nan_ok=True), key
    assert across["cell_a"].startswith("one: ")


def test_the_table_fits_a_terminal(
    sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("deals=5", f"output_dir={one}")
    sweep("deals=5", "agent=random", f"output_dir={two}")
    capsys.readouterr()
    assert run(one, two) == 0
    said = capsys.readouterr().out
    assert "A only" in said
    assert max(map(len, said.splitlines())) <= 100


def test_other_seeds_cannot_be_paired(
    sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("deals=3", f"output_dir={one}")
    sweep("deals=3", "seed=2", f"output_dir={two}")
    assert run(one, two) == 2
    assert "has seed 1 and" in capsys.readouterr().err


@pytest.mark.parametrize("other", [["seats=coop"], ["game=tic_tac_toe"], []])
def test_cells_that_met_other_cards_or_are_one_cell_are_not_paired(
    sweep: Sweep, tmp_path: Path, other: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    sweep("deals=3", "prompt=cloze", f"output_dir={one}")
    sweep("deals=3", "prompt=cloze", f"output_dir={two}", *other)
    assert run(one, two) == 2
    assert "no two different cells" in capsys.readouterr().err


def test_a_folder_without_a_sweep_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, tmp_path) == 2
    assert "holds no finished or begun sweep" in capsys.readouterr().err
