"""Win rates by seat, against RLCard's and published ones; values of options, against positions of
known value; the effect of helper, saboteur and habit.

Two measured rates agree if they differ by at most the root of the sum of squares of their 95%
half-widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest

from gauntlet.games.uno import State, Uno, rules
from gauntlet.games.uno import policies as engine
from gauntlet.games.uno.policies import RANDOM
from gauntlet.games.uno.words import MOVE_NAMES
from tests.games.test_uno_rules import position

GAMES = [250_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
"""The fewer ones are enough against a figure of 100,000 games, whose own half-width is larger."""

MEASURED = [
    # RLCard's own engine, random over distinct actions, 800,000 games
    ("random random", False, (50.55, 49.45), 0.11),
    # a prototype of this engine, 6,000,000 games
    ("random random", False, (50.46, 49.537), 0.04),
    # RLCard, random over the list with duplicates, 800,000 games
    ("random random", True, (50.44, 49.56), 0.11),
    # RLCard, 100,000 games each
    ("rule rule", False, (50.56, 49.44), 0.31),
    ("random random random", False, (34.04, 33.26, 32.70), 0.29),
    ("rule rule rule", False, (34.28, 33.09, 32.63), 0.29),
    # RLCard, 500,000 games
    ("rule rule random", False, (36.24, 35.20, 28.56), 0.13),
    # a prototype of this engine, 6,000,000 games
    ("random rule", False, (45.80, 54.20), 0.04),
    # Martinez and Roberts 2025, 10,000 games: seat 1 of two random players; two rule players with
    # a random third
    ("random random", True, (51.04, 48.96), 0.98),
    ("rule rule random", True, (36.38, 35.00, 28.62), 0.94),
]


def half_width(share: float, n: int) -> float:
    return 1.96 * sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("games", GAMES)
@pytest.mark.parametrize(("players", "paper_bugs", "percent", "width"), MEASURED)
def test_seats_win_as_often_as_measured(
    players: str, paper_bugs: bool, percent: Sequence[float], width: float, games: int
) -> None:
    policies = players.split()
    wins = Uno(len(policies), paper_bugs).simulate(policies, games, seed=5)
    assert wins.sum() == games
    assert wins[-1] == 0
    for won, expected in zip(wins[:-1] / games, percent, strict=True):
        allowed = sqrt(half_width(won, games) ** 2 + (width / 100) ** 2)
        assert abs(won - expected / 100) < allowed, f"{100 * won:.3f} instead of {expected}"


def values(state: State, measured: int, n: int = 2000, hidden: bool = True) -> dict[str, float]:
    """Return the value of each option under random play, by name."""
    seats = int(state.array[rules.SEATS])
    before = state.array.copy()
    found = engine.values(state.array, measured, np.full(seats, RANDOM), n, 7, hidden)
    assert (state.array == before).all()
    options = Uno(seats).legal(state, int(state.array[rules.TO_MOVE]))
    return dict(zip((MOVE_NAMES[action] for action in options), found.tolist(), strict=True))


def test_a_winning_card_is_worth_a_win_and_to_the_others_nothing() -> None:
    state = position("red 7", "red 3", "red 1", "red 2", pile="green 4")
    assert values(state, 0) == {"red 3": 1.0}
    assert values(state, 1) == values(state, 2) == {"red 3": 0.0}


def test_hidden_cards_are_dealt_afresh_unless_told_otherwise() -> None:
    """The other seat holds one card, a red one: if it stays there, red 3 loses at once."""
    state = position("red 7", "red 3, blue 7, blue 3", "red 1", pile="green 4, green 5, green 6")
    seen = values(state, 0, hidden=False)
    assert seen["red 3"] == 0.0
    assert seen["blue 7"] > 0.3
    guessed = values(state, 0)
    assert guessed["red 3"] > 0.2


def test_values_for_a_seat_do_not_depend_on_what_it_cannot_see() -> None:
    """The same position with other hidden cards: equal but for the playouts' own spread."""
    held = "red 3, green 7, blue 8, wild"
    one = position("red 7", held, "red 1, red 2", pile="green 4, green 5, green 6, green 8")
    two = position("red 7", held, "green 4, green 5", pile="red 1, red 2, green 6, green 8")
    n = 20_000
    for option, worth in values(one, 0, n).items():
        assert abs(worth - values(two, 0, n)[option]) < 4 * sqrt(0.5 / n), option
    assert values(one, 0, n, hidden=False) != pytest.approx(
        values(two, 0, n, hidden=False), abs=0.1
    )


def test_playing_the_best_value_wins_as_often_as_measured() -> None:
    """Greedy on 30 playouts an option, seat 1, against a random player: 57.7% of 20,000 games in
    a prototype of this engine; 49.5% without looking."""
    game, games, wins = Uno(), 2000, 0
    policies = np.array([RANDOM, RANDOM])
    for number in range(games):
        rng = np.random.default_rng((3, number))
        state = game.deal(rng)
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            choice = int(rng.integers(len(options)))
            if movers == (1,) and len(options) > 1:
                seed = int(rng.integers(2**63))
                choice = int(engine.values(state.array, 1, policies, 30, seed).argmax())
            state = game.play(state, (options[choice],))
        wins += game.returns(state)[1] > 0
    assert abs(wins / games - 0.577) < sqrt(half_width(0.577, games) ** 2 + 0.007**2)


HELD = "red 3, red skip, red reverse, red draw two, wild"
WILDS = {f"wild naming {colour}" for colour in ("red", "green", "blue", "yellow")}


def choices(
    policy: str, hand: str, direction: int, paper_bugs: bool = False, at: int = 1
) -> set[str]:
    """The options that seat 2 of three may take, with an eye on seat `at`."""
    state = position("red 7", "green 1", "blue 1", hand, direction=direction, to_move=2)
    game = Uno(3, paper_bugs)
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
    """With rule players, a helper is worth at least two points to its target seat from any seat,
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
        # a helper with RLCard's rule players, 100,000 games of RLCard
        ("helper", (32.42, 39.19, 28.39), 0.30),
        # RLCard, 500,000 games: without help
        ("random", (36.24, 35.20, 28.56), 0.13),
    ],
)
def test_help_is_worth_four_points(
    policy: str, percent: tuple[float, float, float], width: float
) -> None:
    games = 400_000
    wins = Uno(3).simulate(("rule", "rule", policy), games, seed=3)
    for won, expected in zip(wins[:-1] / games, percent, strict=True):
        allowed = sqrt(1.96**2 * won * (1 - won) / games + (width / 100) ** 2)
        assert abs(won - expected / 100) < allowed, f"{100 * won:.3f} instead of {expected}"
