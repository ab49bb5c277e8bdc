"""Input from users who know Hydra, but not this project: it works, or one line says what to do."""

from __future__ import annotations

import re
import resource
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from gauntlet.common.conf_folders import CONF
from gauntlet.common.errors import UserError
from gauntlet.pipeline.config.output_dir import short_name
from gauntlet.pipeline.config.read import KEYS, TWO_SIDED, DeclaredTest, Expect
from gauntlet.pipeline.launch import session
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.plan.deals import planned_deals
from gauntlet.pipeline.sweep.announce import power_line
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Refusal, Sweep


def test_words_of_hydra_that_change_nothing(tmp_path: Path) -> None:
    """Options between the overrides, and a user's own experiment."""
    (tmp_path / "experiment").mkdir()
    mine = "# @package _global_\nname: mine\ndeals: 7\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(mine)
    words = (
        "-r",
        "~tracking",
        "--config-dir",
        str(tmp_path),
        "experiment=mine",
        "concurrent_matches=2",
    )
    (cell,), sweep = composed(*words)
    assert (cell.experiment, sweep.deals, sweep.concurrent_matches) == ("mine", 7, 2)
    assert sweep.tracking["kind"] == "none"
    assert sweep.output_dir == Path("outputs/mine")


def test_every_key_of_the_config_is_known() -> None:
    from omegaconf import OmegaConf

    written = OmegaConf.load(CONF / "config.yaml")
    groups = {str(key) for one in written.defaults if one != "_self_" for key in one}
    known = {group for group in groups if " " not in group} - {"experiment"}
    assert known | {str(key) for key in written} - {"defaults", "sweep"} | {"name"} == set(KEYS)


FOLDERS = {
    "": "quickstart",
    "prompt=cloze deals=7 model=fake": "quickstart",
    "game=uno paper_bugs=false seats=solo": "quickstart",
    "game=tic_tac_toe": "quickstart-tic_tac_toe",
    "game.size=4 game=tic_tac_toe": "quickstart-tic_tac_toe-size_4",
    "game=uno,tic_tac_toe": "quickstart-uno_tic_tac_toe",
    "seats=coop paper_bugs=true": "quickstart-coop-paper_bugs_true",
    "seats.0.player=rule": "quickstart-seats.0.player_rule",
    "experiment=robust": "robust",
    "experiment=robust game=uno": "robust",
    "experiment=robust game=rock_paper_scissors": "robust-rock_paper_scissors",
    "game=tic_tac_toe output_dir=outputs/quickstart": "quickstart",
}


NAMES = {
    "output_dir=outputs/mine": "mine",
    "output_dir=outputs/mine name=other": "other",
    "output_dir='outputs/a b'": "a b",
    "output_dir=outputs/${name}-x": "quickstart",
    "~experiment output_dir=outputs/mine +name=own": "own",
}


@pytest.mark.parametrize(("words", "name"), NAMES.items())
def test_a_run_is_called_as_its_folder(words: str, name: str) -> None:
    """Two folders are two experiments in MLflow and in reports, unless they are named alike."""
    cells, _ = composed(*re.split(" (?=[~+\\w]+=)", words))
    assert {cell.experiment for cell in cells} == {name}


OFTEN = ("game=uno paper_bugs=false seats=solo", "game.size=4 game=tic_tac_toe")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        pytest.param(*one, marks=() if one[0] in OFTEN else pytest.mark.slow)
        for one in FOLDERS.items()
    ],
)
def test_another_game_has_another_folder(words: str, name: str) -> None:
    _, sweep = composed(*words.split())
    assert sweep.output_dir == Path("outputs") / name


def test_long_lists_of_seats_do_not_share_a_folder() -> None:
    """Nor do lists that differ only in characters a file name cannot have; all names are valid."""
    names = [
        short_name([told]) for told in ("players_[a,b]", "players_[a_b]", 30 * "a,b", 31 * "a,b")
    ]
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"[\w-]{1,70}", name) for name in names)


PLACES = {
    "lock": "lock cannot be written: Is a directory",
    "runs.jsonl": "runs.jsonl cannot be written: Is a directory",
    "stop.json": "stop.json: Is a directory",
    "summary.csv": "summary.csv: Is a directory",
}


@pytest.mark.parametrize(("name", "line"), PLACES.items())
def test_a_folder_where_a_file_belongs_is_named(
    sweep: Sweep, folder: Path, refusal: Refusal, name: str, line: str
) -> None:
    (folder / name).mkdir(parents=True)
    said = refusal(sweep("game=tic_tac_toe", "prompt=cloze", "deals=1"))
    assert f"{folder}/{line}" in said
    assert "safe" not in said, "nothing was played"


def test_a_place_that_cannot_be_written_is_named(
    sweep: Sweep, tmp_path: Path, refusal: Refusal
) -> None:
    (file := tmp_path / "file").touch()
    for folder in (file, file / "x"):
        line = refusal(sweep(f"output_dir={folder}", "deals=1"))
        assert line.startswith(f"gauntlet: output_dir={folder}: {file} is a file")


@pytest.mark.parametrize(
    ("limit", "limits", "line"),
    [
        ("RLIMIT_NOFILE", (60, 60), "needs 80 file descriptors, and this process may have 60"),
        ("RLIMIT_AS", (2**32, 2**32), "an address space of 15 GiB, and this process may have 4.0"),
        ("", (10**6, 10**6), "2 workers needs 500 MB of memory beside the models, and 1 MB are"),
    ],
)
def test_a_small_machine_is_told_before_ray_starts(
    monkeypatch: pytest.MonkeyPatch, limit: str, limits: tuple[int, int], line: str
) -> None:
    """The machine's limits are faked."""
    much = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    asked = getattr(resource, limit, None)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits if which == asked else much)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**20))
    with pytest.raises(UserError, match=re.escape(line)):
        session.check_resources(workers=2)


ABOVE = DeclaredTest("above")
EXPECT = Expect(win_rate=None, gain=0.05, power=0.9, half_width=0.03)


def test_what_is_expected_is_above_each_baseline() -> None:
    assert EXPECT.above(0.3) == pytest.approx(0.35)
    assert EXPECT.above(0.98) == pytest.approx(0.99), "half the way where there is less to gain"
    assert replace(EXPECT, win_rate=0.4).above(0.5) == 0.4, "what a person said counts"


@pytest.mark.parametrize(
    ("baseline", "test", "words", "planned", "line"),
    [
        (0.2878, ABOVE, {}, 938, "one-sided alpha 0.05, Holm over 2 tests)"),
        (0.4957, ABOVE, {}, 1088, "(to 54.6%) with 91%"),
        (0.2878, ABOVE, {"win_rate": 0.545}, 43, "(to 54.5%) with 9"),
        (0.4957, TWO_SIDED, {}, 1282, "two-sided alpha 0.05, Holm over 2 tests)"),
        (0.4957, DeclaredTest("non_inferior", 0.05), {}, 277, "49.57%, margin 5 points, one-sided"),
    ],
)
def test_auto_plans_for_the_baseline_at_hand_by_the_declared_test(
    baseline: float, test: DeclaredTest, words: dict[str, float], planned: int, line: str
) -> None:
    """The baselines of tic-tac-toe and of UNO, two cells each; a gain of 5 points over a baseline
    less a margin of as many takes a quarter of the deals. Exact binomial tests, and the baseline's
    own error adds its share: 1,275 deals against 249,982 games take 1,282."""
    sweep: Any = SimpleNamespace(deals="auto", seed=1, expect=EXPECT)
    sweep.expect = replace(EXPECT, **words)
    cells: list[Any] = [
        SimpleNamespace(key=key, name=key, measure="win", test=test) for key in "ab"
    ]
    known = {key: Baseline("random", 0, 1, baseline, 0.001) for key in "ab"}
    assert planned_deals(sweep, cells, known, tests=2) == planned
    assert line in power_line(planned, known["a"], test, sweep.expect, tests=2)
    few = power_line(1, known["a"], test, sweep.expect, tests=2)
    assert few.startswith("1 deal cannot detect any difference with 80% power, ")
    sweep.expect = replace(EXPECT, win_rate=0.2)
    with pytest.raises(
        UserError, match=r"expect.win_rate=0.2 is not above what the test of a is against, 0\."
    ):
        planned_deals(sweep, cells, known, tests=2)


def test_the_line_allows_for_a_baseline_that_is_not_known_well() -> None:
    """2,000 deals against 2,000 games are worth 1,000 against a rate that is known."""
    known_well, measured = (Baseline("random", games // 2, games) for games in (10**9, 2_000))
    assert (
        power_line(1_000, known_well, TWO_SIDED, EXPECT, 1).partition(" deals ")[2]
        == (power_line(2_000, measured, TWO_SIDED, EXPECT, 1).partition(" deals ")[2])
    )
    sweep: Any = SimpleNamespace(deals="auto", seed=1, expect=replace(EXPECT, gain=0.02))
    cell: Any = SimpleNamespace(key="a", name="a", measure="win", test=TWO_SIDED)
    with pytest.raises(UserError, match="known as from 2,000 games, too few to show 2 points"):
        planned_deals(sweep, [cell], {"a": measured}, tests=1)
