"""Invalid settings of games: one line that names the value and what it should be."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.games.arctic_scavengers import ArcticScavengers
from gauntlet.games.are_you_the_traitor import AreYouTheTraitor
from gauntlet.games.hive import Hive
from gauntlet.games.holdem import Holdem
from gauntlet.games.pit import Pit
from gauntlet.games.rock_paper_scissors import RockPaperScissors, strategies
from gauntlet.games.santorini import Santorini
from gauntlet.games.sea_battle import SeaBattle
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.two_rooms import TwoRooms
from gauntlet.games.watch import Watch

BLINDS = "1 <= small_blind <= big_blind <= stack"
ROUNDS = "a game has 1 to 10,000"


def watching(**settings: Any) -> Watch:
    return Watch(**{"of": RockPaperScissors(rounds=16), **settings})


def settling(**settings: Any) -> object:
    return strategies.steady([("X", "Y")], **settings)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (AreYouTheTraitor, {"points": 0}, "0"),
    (AreYouTheTraitor, {"points": 16}, "16"),
    (AreYouTheTraitor, {"exchanges": 0}, "0"),
    (AreYouTheTraitor, {"num_seats": 3}, "3"),
    (ArcticScavengers, {"rounds": 0}, "0"),
    (ArcticScavengers, {"rounds": 21}, "21"),
    (Hive, {"max_turns": 3}, "max_turns is 3; a side has 4 to 2,500 turns"),
    (Holdem, {"hands": 0}, "hands is 0; a match has 1 to 10,000"),
    (Holdem, {"small_blind": 3}, BLINDS),
    (Holdem, {"big_blind": 300}, BLINDS),
    (Holdem, {"small_blind": 0}, BLINDS),
    (Pit, {"num_seats": 4, "paper_bugs": True}, "got 4"),
    (RockPaperScissors, {"num_seats": 3}, "rock-paper-scissors seats 2 players, got 3"),
    (RockPaperScissors, {"rounds": 0}, f"rounds is 0; {ROUNDS}"),
    (RockPaperScissors, {"rounds": 10**9}, ROUNDS),
    (RockPaperScissors, {"react": "lag2"}, "react is 'lag2'; it is lag1 or iid"),
    (Santorini, {"num_seats": 3}, "santorini seats 2 players here, got 3"),
    (SeaBattle, {"num_seats": 3}, "sea battle seats 2 or 6 players, got 3"),
    (SeaBattle, {"most_turns": 0}, "most_turns is 0; a game has 1 to 1,000"),
    (TicTacToe, {"num_seats": 3}, "tic-tac-toe seats 2 players, got 3"),
    (TicTacToe, {"size": 1}, "size is 1; a grid has 2 to 32 cells a side"),
    (TicTacToe, {"size": 33}, "size is 33; a grid has 2 to 32 cells a side"),
    (TicTacToe, {"size": 4, "win_length": 5}, "win_length is 5; .* has 2 to 4 marks"),
    (TicTacToe, {"win_length": 1}, "win_length is 1; .* has 2 to 3 marks"),
    (TwoRooms, {"rounds": 0}, "rounds is 0"),
    (TwoRooms, {"rounds": 21}, "rounds is 21"),
    (settling, {"damping": 1.0}, "damping must lie strictly between 0 and 1, got 1"),
    (settling, {"cap": 0}, "cap must be a whole number from 1, got 0"),
    (settling, {"init": [0.5, 0.5]}, r"a mix of 3 chances, or one a seat, got shape \(2,\)"),
    (settling, {"init": [0.5, 0.6, 0.1]}, "chances that sum to 1, got"),
    (watching, {"num_seats": 2}, r"1 player \(seats=observer\), got 2"),
    (watching, {"catalogue": ("A", "Q")}, "RockPaperScissors has no policy 'Q'"),
    (watching, {"catalogue": ("A",)}, "a catalogue has 2 policies or more"),
    (watching, {"catalogue": ("A", "B", "A")}, "each once"),
    (watching, {"players": ("A",)}, "2 seats of RockPaperScissors need as many players, got 1"),
    (watching, {"catalogue": ("A", "B"), "players": ("A", "C")}, "'C' is not in the catalogue"),
    (watching, {"window": 0}, "games and window are 1 or more"),
    (watching, {"games": 0}, "games=0"),
    (watching, {"warmup": -1}, "warmup 0 or more"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), REFUSED)
def test_impossible_settings_are_refused(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**settings)
