"""Control players that always take the same list position: which are played, and the report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gauntlet.agents.fixed import Fixed
from gauntlet.pipeline import report
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.control_cells import controls_of
from tests.agents.play import drive, turn_with, unasked
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Full, Sweep
from tests.pipeline.logs import control_matches, matches


@pytest.mark.parametrize(
    ("place", "options", "taken"),
    [(1, "abc", "a"), (2, "abc", "b"), (-1, "abc", "c"), (9, "abc", "c"), (-9, "abc", "a")],
)
def test_a_fixed_player_takes_the_option_of_its_place(place: int, options: str, taken: str) -> None:
    decision, asked = drive(Fixed(place), turn_with(*options), unasked)
    assert (options[decision.option], asked) == (taken, [])


def test_there_is_no_place_0() -> None:
    with pytest.raises(ValueError, match="the first option is 1"):
        Fixed(0)


def test_controls_are_played_on_the_same_deals_and_are_in_no_table(
    sweep: Sweep, folder: Path, full: Full
) -> None:
    """Two cells that differ only in the subject share their controls; the report shows them."""
    assert sweep("game=tic_tac_toe", "controls=auto", "deals=30") == 0
    played = control_matches(folder)
    assert sorted(record.deal for record in played.values()) == sorted([*range(30)] * 2)
    for record in played.values():
        own = [made for made in record.decisions if made.seat in record.subjects]
        first = all(made.chosen == 0 for made in own)
        assert first or all(made.chosen == len(made.options) - 1 for made in own)
    assert len(pd.read_csv(folder / "summary.csv")) == 2
    assert len(pd.read_csv(folder / "pairs.csv")) == 1
    table, text = pd.read_csv(folder / "controls.csv"), (folder / "controls.csv").read_bytes()
    assert list(table["control"]) == ["first option", "last option"] * 2
    assert table["cell"].nunique() == 2
    pd.testing.assert_series_equal(
        table["difference"], table["mean"] - table["control_mean"], check_names=False
    )
    assert "A fixed option in the subject's seat" in full()
    assert (folder / "controls.csv").read_bytes() == text


def test_a_control_that_was_not_played_is_named(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "game=tic_tac_toe", "controls=auto", "deals=30") == 0
    (first, *_) = (one for one in Folder(folder).all_cells() if "first" in one.name)
    for file in Folder(folder).record_files(first.stem):
        file.write_bytes(b"")
    assert report.main([str(folder)]) == 0
    (warning,) = pd.read_csv(folder / "summary.csv")["warning"]
    assert (
        "the control 'first option' has no matches that count, so p Holm leaves it out" in warning
    )


def test_more_controls_and_more_deals_play_only_what_is_missing(sweep: Sweep, folder: Path) -> None:
    given = ("prompt=cloze", "game=tic_tac_toe")
    sweep(*given, "deals=2", "controls=[first]")
    before, own = matches(folder), control_matches(folder)
    sweep(*given, "deals=3", "controls=[first,2]")
    assert before.items() <= matches(folder).items(), "controls change no match of a cell"
    assert own.items() <= control_matches(folder).items()
    assert len(own) == 2
    assert len(control_matches(folder)) == 6
    table = pd.read_csv(folder / "controls.csv")
    assert list(table["control"]) == ["first option", "option 2"]
    assert list(table["deals"]) == [3, 3]


def test_auto_is_where_the_subject_alone_asks_a_model() -> None:
    swept = ("agent=llm,random", "seats=solo,play", "controls=[last,first,3,last]")
    configs, settings = composed("game=tic_tac_toe", "model=fake", "prompt=cloze", *swept)
    assert settings.controls == (-1, 1, 3)
    cells = build_cells(configs)
    found = {(cell.labels["agent"], cell.labels["seats"]): cell for cell in cells}
    ends = ["first option", "last option"]
    played = {names: list(controls_of(cell, "auto")) for names, cell in found.items()}
    assert played.pop(("llm", "solo")) == ends
    assert list(played.values()) == [[], [], []]
    for cell in found.values():
        asked = controls_of(cell, (-1, 3))
        assert list(asked) == ["last option", "option 3"]
        assert len({cell.key, *(control.key for control in asked.values())}) == 3
        assert controls_of(cell, ()) == {}
