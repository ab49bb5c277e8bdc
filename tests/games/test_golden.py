"""Golden playthroughs: any change in our games' behaviour or text is noticed."""

from __future__ import annotations

import pytest

from tests.agents.hints import Hints
from tests.golden import FOLDER, GAMES, METHODS, playthrough, prompts
from tests.nodes import nodes

OURS = {"holdem", "rock_paper_scissors", "tic_tac_toe", "uno", "uno_arena"}


def test_our_own_games_have_a_golden_file() -> None:
    assert OURS <= GAMES.keys() <= nodes("game").keys()
    assert GAMES.keys() == {file.stem for file in FOLDER.glob("*.txt")}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_plays_as_written_down(name: str) -> None:
    """After an intended change: `python -m tests.golden`, then review the diff."""
    assert playthrough(*GAMES[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", METHODS)
def test_a_method_asks_as_written_down(name: str) -> None:
    assert prompts(name) == (FOLDER / "prompts" / f"{name}.txt").read_text(encoding="utf-8")


def test_words_roles_and_several_lines_are_written_down() -> None:
    text = playthrough(Hints(forced=True), 3)
    said = text.partition("    chooses: give a hint: ")[2].partition("\n")[0]
    assert said in ("tomato", "grass", "sky")
    assert "player 0, the teller is told:\n    Colours:\n    red\n    green\n    blue\n" in text
    assert f"last move: player 0 hinted {said}" in text
