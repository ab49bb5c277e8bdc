"""Placing a player on a ladder, by its matches in a log."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.placing import placed
from gauntlet.games import ladder as ladders
from gauntlet.pipeline import place, verify
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.place import Placed, rated, read_words, rung_cells
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.stats.placing import Placement
from tests.pipeline.conftest import Capsys, Refusal

SEARCH = ("game=tic_tac_toe", "agent=search", "agent.playouts=5")


def run(*words: object) -> int:
    return place.main([str(word) for word in words])


def test_a_killed_placement_goes_on_with_the_same_decisions(tmp_path: Path, capsys: Capsys) -> None:
    """Of the second folder the last matches against every rung are lost, one in mid line."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert run(*SEARCH, "--most", 12, f"output_dir={whole}") == 0
    expected = capsys.readouterr().out
    assert "search[playouts=5] plays Tic-Tac-Toe like UCT of" in expected
    assert "12 pairs of matches" in expected
    assert run(*SEARCH, "--most", 8, f"output_dir={cut}") == 0
    for file in (cut / "records").iterdir():
        file.write_bytes(file.read_bytes()[:-2000])
    capsys.readouterr()
    assert run(*SEARCH, "--most", 12, f"output_dir={cut}") == 0
    told = capsys.readouterr().out.replace(str(cut), str(whole)).splitlines()
    lines = expected.splitlines()
    assert told[-len(lines) :] == lines  # after notes of the lines that were cut
    assert verify.main([str(whole), "--replay", "all"]) == 0


def test_both_seatings_of_a_deal_have_the_same_random_opening(tmp_path: Path) -> None:
    assert run(*SEARCH, "--most", 8, "--batch", 8, f"output_dir={tmp_path / 'run'}") == 0
    openings: dict[tuple[str, int], list[object]] = {}
    folder = Folder(tmp_path / "run")
    for about in folder.sweep_cells():
        for record in folder.matches(about.stem):
            first = record.decisions[:2]
            assert all(one.forced for one in first)
            assert not record.decisions[2].forced
            openings.setdefault((about.stem, record.deal), []).append([one.move for one in first])
    assert all(one == other for one, other in openings.values())
    assert len({str(two) for two in openings.values()}) > 4  # of 72


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["agent=random"], "game=NAME"),
        (["game=hexx"], "did you mean 'hex'"),
        ([*SEARCH, "seats=solo"], "a placement settles seats itself"),
        ([*SEARCH, "game.size=4"], "a placement settles game itself"),
        (["game=hex", "agent=random,search"], "takes one player"),
        ([*SEARCH, "--rungs", "4", "5"], "rungs 4, 5: two or more of 1, 4, 16"),
    ],
)
def test_mistakes_are_told_in_a_line(
    tmp_path: Path, refusal: Refusal, words: list[str], told: str
) -> None:
    assert told in refusal(run(f"output_dir={tmp_path / 'run'}", *words))


def test_a_folder_of_other_cells_is_left_alone(tmp_path: Path, refusal: Refusal) -> None:
    out = tmp_path / "run"
    assert run(*SEARCH, "--most", 4, f"output_dir={out}") == 0
    config = (out / "config.yaml").read_bytes()
    told = refusal(run("game=tic_tac_toe", "agent=random", f"output_dir={out}"))
    assert "holds cells that are not of this placement" in told
    assert (out / "config.yaml").read_bytes() == config


@cache
def random_player() -> tuple[ladders.Ladder, Cell]:
    ladder, words = read_words(["game=tic_tac_toe", "agent=random"])
    return ladder, rung_cells(composed(words)[0])[0]


@pytest.mark.parametrize(
    ("elo", "low", "high", "verdict"),
    [  # Tic-Tac-Toe's rungs: 0, 162, 328, 451, 500, 531
        (245, 180, 310, "like UCT of 8 playouts (4.6 to 14), 0 pairs of matches"),
        (500, 328, 600, "like UCT of 254 playouts (16 or more), 0 pairs of matches"),
        (600, 540, 700, "like UCT of more than 1,024 playouts, 0 pairs of matches"),
        (60, -20, 140, "like a random player or UCT of up to 3 playouts, 0 pairs of matches"),
        (-90, -300, -20, "like a random player, 0 pairs of matches"),
        (200, -100, 700, "like UCT of 5.5 playouts (1 or more), 0 pairs of matches"),
    ],
)
def test_verdicts(elo: float, low: float, high: float, verdict: str) -> None:
    """Only an interval without random play says what a player is like."""
    ladder, cell = random_player()
    placement = Placement(elo, low, high, (), (), True)
    placed = Placed(ladder, cell, rated(ladder), placement, 0.0, Path())
    assert placed.verdict == f"random plays Tic-Tac-Toe {verdict}"


def test_a_random_player_is_rarely_likened_to_more() -> None:
    """n = 200; 2.5% is nominal, and more than 14 have a chance of one in 1,000."""
    ladder, cell = random_player()
    rungs, rng = rated(ladder), np.random.default_rng(1)
    every = [
        Placed(ladder, cell, rungs, placed(0, 75, rng, 4, rungs), 0.0, Path()) for _ in range(200)
    ]
    assert sum("like UCT of" in one.verdict for one in every) <= 14


@pytest.mark.parametrize("ladder", ladders.ladders().values(), ids=lambda ladder: ladder.name)
def test_every_ladder_rises(ladder: ladders.Ladder) -> None:
    """The shipped matches: every rung met others, none is below the one before it by more than its
    error, and the highest is far above random play."""
    rungs = rated(ladder)
    steps = np.diff(rungs.elo)
    variance = np.diag(rungs.covariance)
    apart = np.sqrt(variance[1:] + variance[:-1] - 2 * np.diag(rungs.covariance, 1))
    assert (steps > -2 * apart).all()
    assert rungs.elo[-1] > 5 * rungs.error[-1] > 0


def test_ladders_are_small() -> None:
    assert sum(file.stat().st_size for file in ladders.FOLDER.iterdir() if file.is_file()) < 50_000
