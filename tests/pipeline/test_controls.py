"""Cells beside a sweep's own: controls that always take one place of the list, cells without a
part, and the noise floor."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.agents.fixed import Fixed
from gauntlet.pipeline import report
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.control_cells import controls_of
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep import controls
from gauntlet.pipeline.tables.sweep.verdict import FIXED, PARTIAL
from gauntlet.pipeline.tracking import params
from tests.agents.play import drive, turn_with, unasked
from tests.pipeline.composing import cells_of, composed
from tests.pipeline.conftest import Full, Sweep
from tests.pipeline.logs import control_matches, matches
from tests.pipeline.made import about, made_of, won


@pytest.mark.parametrize(
    ("place", "options", "taken"),
    [(1, "abc", "a"), (2, "abc", "b"), (-1, "abc", "c"), (9, "abc", "c"), (-9, "abc", "a")],
)
def test_a_fixed_player_takes_the_option_of_its_place(place: int, options: str, taken: str) -> None:
    decision, asked = drive(Fixed(place), turn_with(*options), unasked)
    assert (options[decision.option], asked) == (taken, [])


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


@pytest.mark.parametrize("lacking", ["deals", "controls"])
def test_nothing_is_tested_before_all_deals_and_controls_are_played(
    sweep: Sweep, folder: Path, lacking: str
) -> None:
    """As Ctrl-C leaves a sweep, and as it is while it plays."""
    given = ("prompt=cloze", "game=tic_tac_toe", "controls=auto", "deals=30")
    assert sweep(*given, "baseline=random") == 0
    finished = pd.read_csv(folder / "summary.csv")
    assert 0 <= finished["p_holm"][0] <= 1
    log = Folder(folder)
    status = log.status or {}
    (cell,) = log.sweep_cells()
    planned = {**status["cells"], cell.key: 60} if lacking == "deals" else status["cells"]
    log.status_file.write_bytes(to_bytes({**status, "state": "interrupted", "cells": planned}))
    if lacking == "controls":
        for file in log.record_files(f"*{cell.controls['first option']}"):
            file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert report.main([str(folder)]) == 0
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert np.isnan([row["p"], row["p_holm"]]).all()
    assert (row["estimate"], row["ci_low"]) == tuple(finished.loc[0, ["estimate", "ci_low"]])
    (verdict,) = pd.read_csv(folder / "verdict.csv")["verdict"]
    assert PARTIAL in verdict
    assert FIXED not in verdict, "its baseline sits in the same seat"


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


# --- ablation


PARTS = "ablate={prompt.history:false,prompt.strategy:false,prompt:vanilla}"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_cell_comes_again_without_each_part() -> None:
    cells, _ = composed("prompt=tutri", "game=uno,tic_tac_toe", "model=fake", PARTS)
    assert [(cell.labels["game"], cell.labels["prompt"], cell.without) for cell in cells] == [
        (game, prompt, without)
        for game in ("uno", "tic_tac_toe")
        for prompt, without in (
            ("tutri", ""),
            ("tutri[history=false]", "prompt.history=false"),
            ("tutri[strategy=false]", "prompt.strategy=false"),
            ("vanilla", "prompt=vanilla"),
        )
    ]


def test_a_part_plays_as_if_its_setting_had_been_typed() -> None:
    cells = cells_of("prompt=tutri", "model=fake", PARTS)
    typed = cells_of("prompt=tutri", "model=fake", "prompt.history=true,false")
    assert [cell.key for cell in cells[:2]] == [cell.key for cell in typed]


def test_the_table_has_the_paired_differences(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "model=fake", "deals=40", "ablate={model.seed:7}") == 0
    table = pd.read_csv(folder / "ablation.csv", keep_default_na=False, na_values=[""])
    names = [about.name for about in Folder(folder).sweep_cells()]
    assert table["cell"].tolist() == [names[0]] * 2
    assert table["without"].fillna("").tolist() == ["", "model.seed=7"]
    summary = pd.read_csv(folder / "summary.csv").set_index("cell")
    assert table["estimate"].tolist() == summary["estimate"][names].tolist()
    pair = pd.read_csv(folder / "pairs.csv").iloc[0]
    sign = 1 if pair["cell_a"] == names[0] else -1
    part = table.iloc[1]
    assert part["difference"] == pytest.approx(sign * pair["difference"])
    assert part["difference"] == pytest.approx(table["estimate"][0] - table["estimate"][1])
    assert part["difference"] != 0
    assert part["ci_low"] < part["difference"] < part["ci_high"]
    assert (part["p"], part["p_holm"]) == (pair["p"], pair["p_holm"])
    assert "what each part contributes" in (folder / "report.html").read_text()


# --- noise floor


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
    logged = params.of_cells(Results.load(folder))[vanilla.cell]
    assert (logged["noise/changed"], logged["noise/floor"]) == (0, vanilla.floor)
    assert (logged["parser/empty"], logged["parser/reasked"]) == (0, 0)
    assert "The noise floor" in full()
    assert "a meaningless change, " in _report(folder)


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
