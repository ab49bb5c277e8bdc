"""The noise floor: noise cells next to a sweep's own, and their analysis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.sweep import play
from gauntlet.pipeline.tables import controls
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tracking import values
from tests.pipeline.conftest import Capsys, Full, Sweep
from tests.pipeline.logs import control_matches, matches
from tests.pipeline.made import about, made_of, won

TWO_PROMPTS = ("game=tic_tac_toe", "prompt=cloze,vanilla")
FIRST = '+model.texts=[\'{"thoughts": "So.", "action": "1"}\']'


def test_noise_cells_are_played_on_the_same_deals_and_change_no_match(
    sweep: Sweep, folder: Path, tmp_path: Path, full: Full
) -> None:
    """A model that answers every prompt the same has a floor of pure luck; cloze changes."""
    assert sweep(*TWO_PROMPTS, FIRST, "deals=8", f"output_dir={tmp_path / 'plain'}") == 0
    assert not (tmp_path / "plain" / "noise.csv").exists()
    assert sweep(*TWO_PROMPTS, FIRST, "deals=8", "noise_floor=true") == 0
    assert matches(folder) == matches(tmp_path / "plain")
    assert len(control_matches(folder)) == 16
    cloze, vanilla = (row for _, row in pd.read_csv(folder / "noise.csv").iterrows())
    assert (cloze.cell[-5:], vanilla.cell[-7:]) == ("cloze", "vanilla")
    assert (vanilla.changed, vanilla.changed_matches, vanilla.difference) == (0, 0, 0)
    assert vanilla.decisions == pd.read_csv(folder / "summary.csv").decisions[1]
    assert 0 < cloze.changed < 1
    assert cloze.floor == max(-cloze.ci_low, cloze.ci_high)
    assert (cloze.difference, cloze.deals) == (cloze["mean"] - cloze.noise_mean, 8)
    logged = values.of_cells(Results.load(folder))[vanilla.cell]
    assert (logged["noise/changed"], logged["noise/floor"]) == (0, vanilla.floor)
    assert (logged["parser/empty"], logged["parser/reasked"]) == (0, 0)
    assert "The noise floor" in full()
    assert "a meaningless change, " in _report(folder)


def test_a_floor_that_was_measured_stays_and_grows(sweep: Sweep, folder: Path) -> None:
    given = ("game=tic_tac_toe", "prompt=cloze")
    sweep(*given, "deals=2", "noise_floor=true")
    before = control_matches(folder)
    sweep(*given, "deals=4")
    assert list(pd.read_csv(folder / "noise.csv").deals) == [2]
    sweep(*given, "deals=4", "noise_floor=true")
    assert before.items() <= control_matches(folder).items()
    assert list(pd.read_csv(folder / "noise.csv").deals) == [4]


def test_noise_matches_that_all_fail_are_told_and_have_no_floor(
    sweep: Sweep, folder: Path, tmp_path: Path
) -> None:
    """A replayed log has no reply to another prompt."""
    given = ("game=tic_tac_toe", "prompt=cloze", "deals=2")
    sweep(*given)
    kept = Folder(folder).records_folder
    replayed = tmp_path / "replayed"
    model = ("model._target_=models.replay.Replay", "~model.seed", f"+model.records={kept}")
    words = [*given, *model, f"output_dir={replayed}", "noise_floor=true"]
    assert sweep(*words) == 0
    (row,) = pd.read_csv(replayed / "noise.csv").to_dict("records")
    assert (row["deals"], row["failed"]) == (0, 2)
    assert math.isnan(row["floor"])
    assert "a meaningless change" not in _report(replayed)


def test_an_interrupted_floor_goes_on(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    class Stopped(play.Driver):
        def run(self, tasks: Iterator[Task | None]) -> None:
            if matches(folder):
                raise KeyboardInterrupt
            super().run(tasks)

    given = ("game=tic_tac_toe", "prompt=cloze", "deals=2", "noise_floor=true")
    with monkeypatch.context() as patch:
        patch.setattr(play, "Driver", Stopped)
        assert sweep(*given) == 130
    assert "interrupted: 2 matches are left" in capsys.readouterr().out
    assert len(matches(folder)) == 2
    assert not control_matches(folder)
    assert sweep(*given) == 0
    assert len(control_matches(folder)) == 2


def test_a_difference_is_held_against_the_larger_floor_of_both() -> None:
    """A - B is 0.5, A - C is 0.25 and B - C is -0.25; the floors are 0.3, 0.1 and unknown."""
    wins = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [1, 1, 0, 0]}
    cells = [won(about(name), figures) for name, figures in wins.items()]
    assert inside(cells, [0.3, 0.1, None]) == [False, None, None]
    assert inside(cells, [0.1, 0.5, 0.25]) == [True, True, True]
    assert inside(cells, []) == [None, None, None]


def inside(cells: list[CellResults], floors: list[float | None]) -> list[bool | None]:
    """Whether each pair of cells is within its noise, with the floors of the first cells."""
    names = [cell.about.name for cell in cells][: len(floors)]
    made = made_of(cells, {"noise": pd.DataFrame({"cell": names, "floor": floors})})
    return [controls.within_floor(made, row) for row in made["pairs"].to_dict("records")]


def _report(folder: Path) -> str:
    return (folder / "report.html").read_text()
