"""`pipeline.matches`: the matches of a folder, by player and result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gauntlet.pipeline import replay
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.matches import Wanted, main, matching
from tests.pipeline.conftest import Capsys, Once, Refusal
from tests.pipeline.logs import matches

TWO = ("game=tic_tac_toe", "prompt=cloze,counterfactual", "deals=12", "rotate=true")


@pytest.fixture
def played(once: Once) -> Path:
    return once(*TWO)


def test_every_match_is_lost_won_or_drawn_as_a_replay_shows(played: Path) -> None:
    log, listed = matches(played), {}
    for name in ("won", "drawn", "lost", "shared"):
        for line in matching(Folder(played), Wanted(results=(name,))):
            listed[line.record.match] = (name, line.players)
    assert listed.keys() == log.keys()
    assert {name for name, _ in listed.values()} == {"won", "drawn", "lost"}
    for match, (name, players) in listed.items():
        shown = replay.replay(match, [played])
        assert [one == "random" for one in players] == [one == "Random" for one in shown.players]
        (seat,) = shown.measured
        assert name == {1.0: "won", 0.0: "drawn", -1.0: "lost"}[shown.returns[seat]]


def test_a_players_losses_are_the_other_ones_wins(played: Path) -> None:
    folder = Folder(played)
    lost = [line.record.match for line in matching(folder, Wanted("random", ["lost"]))]
    won = [line.record.match for line in matching(folder, Wanted("llm", ["won"]))]
    assert lost == won != []
    cell = [line.cell for line in matching(folder, Wanted(cell="counterfactual", deal=3))]
    assert len(cell) == 2
    assert len(set(cell)) == 1
    for line in matching(folder, Wanted(fallbacks=True)):
        assert any(decision.fallback for decision in line.record.decisions)


def test_the_command_prints_a_line_a_match(played: Path, capsys: Capsys) -> None:
    assert main([str(played), "--lost", "--most", "5"]) == 0
    shown = capsys.readouterr().out
    count = len([*matching(Folder(played), Wanted(results=["lost"]))])
    assert f"{count} matches; --most {count} lists all" in shown
    assert len(re.findall(r"(?m)^[0-9a-f]{16} ", shown)) == 5


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--player", "nobody"], "no such player; there are llm.fake.cloze"),
        (["--cell", "nothing"], "no such cell"),
    ],
)
def test_a_player_or_cell_that_is_not_there_is_refused(
    words: list[str], why: str, played: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert why in refusal(main([str(played), *words]))
    assert "holds no sweep" in refusal(main([str(played / "cells"), *words]))
