"""What players are told of the games of other libraries is what is played: a referee that knows
only the told rules and the observations plays random matches alike."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.games.openspiel import OpenSpiel
from gauntlet.games.openspiel.engine import entries
from gauntlet.games.openspiel.game import usual_seats
from gauntlet.games.pettingzoo import PettingZoo
from gauntlet.games.pettingzoo.classics import CLASSICS as ALL_CLASSICS
from gauntlet.games.textarena import TextArena
from gauntlet.games.textarena.words import DEAD_ENDS, NOTES
from tests.games.cases import final
from tests.games.referees import Rules, plays_alike

for _library in ("pettingzoo", "textarena", "chess"):
    pytest.importorskip(_library, reason=f"{_library} is not installed")

from tests.games.referees import arena, cards, classics  # noqa: E402 - of libraries checked above
from tests.games.referees.boards import BOARDS  # noqa: E402
from tests.games.referees.deals import DEALS  # noqa: E402
from tests.games.referees.moves import MOVES  # noqa: E402
from tests.games.referees.pieces import PIECES  # noqa: E402

OPENSPIEL = {**BOARDS, **MOVES, **cards.CARDS, **DEALS, **PIECES}
SMALLER: dict[str, dict[str, Any]] = {
    "battleship": {
        "board_width": 4,
        "board_height": 4,
        "num_shots": 8,
        "ship_sizes": "[1;2]",
        "ship_values": "[1.0;2.0]",
    },
    "chinese_checkers": {"max_moves": 60},
    "cursor_go": {"board_size": 5},
    "go": {"board_size": 5},
}
"""OpenSpiel's settings that the referees of these games play with."""

UNREFEREED = {
    *("backgammon", "bridge", "cribbage", "dark_chess", "dou_dizhu", "euchre", "gin_rummy"),
    *("hive", "kriegspiel", "shogi", "spades", "tiny_bridge_2p", "universal_poker", "xiangqi"),
}
"""OpenSpiel's games with rules in words and no referee yet."""

MATCHES = 200
FEWER = {"quoridor": 20, "chess_v6": 60, "go_v5": 100, "chess": 100}
"""Games whose matches take long, and how many of them are played."""
SLOW_ARENA = {"Breakthrough": 1, "Othello": 5, "UltimateTicTacToe": 5}
"""The same for TextArena, where every try of a move copies the game."""

SEATS = {"texas_holdem_v4": (2, 3, 6), "texas_holdem_no_limit_v6": (2, 3, 6)}


def classic_plays_alike(name: str, matches: int) -> None:
    measure = "reward" if "holdem" in name else "returns"
    for seats in SEATS.get(name, (2,)):
        game, odd = PettingZoo(seats, name=name), 1.5 if seats > 2 else 1e-6
        for seed in range(matches):
            plays_alike(game, classics.CLASSICS[name], seed, measure, odd)


@pytest.mark.parametrize("name", [name for name in ALL_CLASSICS if name not in FEWER])
def test_pettingzoo_is_played_as_told(name: str) -> None:
    classic_plays_alike(name, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_CLASSICS)
def test_pettingzoo_is_played_as_told_often(name: str) -> None:
    classic_plays_alike(name, FEWER.get(name, MATCHES))


def spiel_plays_alike(name: str, matches: int) -> None:
    game = OpenSpiel(usual_seats(name), name=name, parameters=SMALLER.get(name), listed=1_000_000)
    for seed in range(matches):
        plays_alike(game, OPENSPIEL[name], seed, "utility")


@pytest.mark.parametrize("name", [name for name in OPENSPIEL if name not in FEWER])
def test_openspiel_is_played_as_told(name: str) -> None:
    spiel_plays_alike(name, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPENSPIEL)
def test_openspiel_is_played_as_told_often(name: str) -> None:
    spiel_plays_alike(name, FEWER.get(name, MATCHES))


def test_every_game_of_openspiel_with_rules_in_words_has_a_referee_or_is_named() -> None:
    told = {name for name, notes in entries().items() if notes.rules}
    assert told - OPENSPIEL.keys() == UNREFEREED


def arena_plays_alike(name: str, matches: int) -> None:
    game = TextArena(3 if name.startswith("Three") else 2, name=name)
    for seed in range(matches):
        plays_alike(game, arena.ARENA[name], seed)


@pytest.mark.parametrize("name", ["KuhnPoker", "TicTacToe", "Nim", "Chopsticks"])
def test_textarena_is_played_as_told(name: str) -> None:
    arena_plays_alike(name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", arena.ARENA)
def test_textarena_is_played_as_told_often(name: str) -> None:
    arena_plays_alike(name, SLOW_ARENA.get(name, MATCHES))


def test_what_textarena_does_not_tell_itself_is_known_by_referees() -> None:
    assert NOTES.keys() - arena.ARENA.keys() == set()


def shown(card: str) -> int:
    return {"8": 50, "A": 1, **dict.fromkeys("TJQK", 10)}.get(card[1]) or int(card[1])


def big_blind(small: int, big: int, seats: int = 2) -> int:
    return big


OTHERWISE: dict[str, tuple[Any, Rules]] = {
    "the big blind begins": (
        PettingZoo(name="leduc_holdem"),
        classics.limit(2, 2, big_blind, "Your card"),
    ),
    "and in later rounds": (
        PettingZoo(name="texas_holdem_no_limit"),
        classics.no_limit(big_blind),
    ),
    "bets are worth a chip": (TextArena(name="KuhnPoker"), arena.kuhn_poker(1)),
    "cards count what they show": (OpenSpiel(5, name="crazy_eights"), cards.crazy_eights(shown)),
    "one may always fold": (
        OpenSpiel(name="leduc_poker"),
        lambda seats, look: iter([{0: ["Fold", "Call", "Raise"]}]),
    ),
}
"""What one could think, or was told before."""


@pytest.mark.parametrize("rule", OTHERWISE)
def test_other_rules_are_found_out(rule: str) -> None:
    game, rules = OTHERWISE[rule]
    measure = "utility" if isinstance(game, OpenSpiel) else "returns"
    wrong = 0
    for seed in range(20):
        try:
            plays_alike(game, rules, seed, measure)
        except AssertionError:
            wrong += 1
    assert wrong > 0


@pytest.mark.parametrize(("name", "seed"), [("IndianPoker", 6), ("QuantumTicTacToe", 0)])
def test_a_game_in_which_no_move_is_left_ends(name: str, seed: int) -> None:
    """TextArena goes on, and takes no move."""
    game = TextArena(name=name)
    ends = [final(game, number) for number in range(seed, seed + 3)]
    stuck = [state for state in ends if not game._live(state).over]
    assert stuck
    for state in stuck:
        mover, worth = game._live(state).seat, DEAD_ENDS[name][0]
        assert game.returns(state)[mover] == worth == -game.returns(state)[1 - mover]
