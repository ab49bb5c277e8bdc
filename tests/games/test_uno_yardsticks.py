"""The scripted helper, the saboteur and the player of habit: what they choose, and how much that
is worth to the seat before theirs.
"""

from __future__ import annotations

from math import sqrt

import pytest

from gauntlet.games.uno import Uno
from tests.games.test_uno_rules import position

GAMES = 400_000
HELD = "red 3, red skip, red reverse, red draw two, wild"
WILDS = {f"wild naming {colour}" for colour in ("red", "green", "blue", "yellow")}


def choices(policy: str, hand: str, direction: int, quirks: bool = False, at: int = 1) -> set[str]:
    """The options that seat 2 of three may take, with an eye on seat `at`."""
    state = position("red 7", "green 1", "blue 1", hand, direction=direction, to_move=2)
    game = Uno(3, quirks)
    policy = game.aimed(policy, 2, at)
    seen = game.observe(state, 2)
    chances = dict(zip(seen.options, game.probabilities(policy, seen), strict=True))
    taken = {option for option, chance in chances.items() if chance}
    assert {chances[option] for option in taken} <= {1 / len(taken), 0.5 / len(taken)}
    return taken


def test_the_helper_lets_the_opponent_draw_while_it_comes_next() -> None:
    assert choices("helper", HELD, 1) == {"red draw two"}
    assert choices("helper", "red 3, red skip, wild", 1) == {"red skip"}
    assert choices("helper", "red 3, red reverse, wild", 1) == {"red reverse"}
    assert choices("helper", "red skip, red reverse", 1) == {"red skip", "red reverse"}


def test_the_helper_spares_the_seat_that_it_helps() -> None:
    assert choices("helper", HELD, -1) == {"red 3", *WILDS}
    assert choices("helper", "red skip, red reverse, red draw two", -1) == {"red reverse"}
    assert choices("helper", "red skip, red draw two", -1) == {"red skip"}


def test_the_saboteur_wants_the_opposite() -> None:
    assert choices("saboteur", HELD, 1) == {"red 3", *WILDS}
    assert choices("saboteur", HELD, -1) == {"red draw two"}
    assert choices("saboteur", "red 3, red skip, red reverse", -1) == {"red skip"}


def test_the_goal_settles_who_is_helped() -> None:
    assert Uno(3).aimed("helper", 2, 1) == "helper"
    assert Uno(4).aimed("saboteur", 0, 1) == "saboteur 3"
    assert Uno(3).aimed("rule", 2, None) == "rule"
    for nobody in (None, 2):
        with pytest.raises(ValueError, match="a helper needs a goal of help:SEAT"):
            Uno(3).aimed("helper", 2, nobody)


@pytest.mark.parametrize(("seat", "helped"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_help_raises_the_wins_of_the_seat_that_it_names(seat: int, helped: int) -> None:
    """Beside rule players a helper is worth two points or more to its seat from wherever it sits,
    and a saboteur costs it as much: ten standard errors of the difference."""
    game = Uno(3)
    won = {}
    for policy in ("random", "helper", "saboteur"):
        players = ["rule"] * 3
        players[seat] = game.aimed(policy, seat, helped)
        won[policy] = game.simulate(players, 100_000, seed=5)[helped] / 100_000
    assert won["saboteur"] + 0.02 < won["random"] < won["helper"] - 0.02


def test_the_player_of_habit_takes_the_lowest_number() -> None:
    assert choices("first", HELD, 1) == {"red 3"}
    assert choices("first", "yellow 7, green 7", 1) == {"green 7"}
    assert choices("first", "wild, yellow 7, green 7", 1) == {"wild naming red"}


@pytest.mark.parametrize(
    ("policy", "percent", "width"),
    [
        # a helper beside RLCard's rule players, 100,000 games of RLCard
        ("helper", (32.42, 39.19, 28.39), 0.30),
        # RLCard, 500,000 games: without help
        ("random", (36.24, 35.20, 28.56), 0.13),
    ],
)
def test_help_is_worth_four_points(
    policy: str, percent: tuple[float, float, float], width: float
) -> None:
    wins = Uno(3).simulate(("rule", "rule", policy), GAMES, seed=3)
    for won, expected in zip(wins[:-1] / GAMES, percent, strict=True):
        allowed = sqrt(1.96**2 * won * (1 - won) / GAMES + (width / 100) ** 2)
        assert abs(won - expected / 100) < allowed, f"{100 * won:.3f} instead of {expected}"
