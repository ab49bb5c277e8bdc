"""OpenSpiel's games under test: a few by default, all of them in the slow tests."""

from __future__ import annotations

from typing import Any

from gauntlet.games.openspiel import OpenSpiel, engine
from gauntlet.games.openspiel.game import usual_seats

FEW: dict[str, dict[str, Any]] = {
    "kuhn_poker": {"num_seats": 3},
    "leduc_poker": {},
    "liars_dice": {},
    "goofspiel": {"num_seats": 3, "parameters": {"num_cards": 5}},
    "matrix_pd": {},
    "backgammon": {},
    "tarok": {"num_seats": 3},
    "tiny_hanabi": {},
    "bargaining": {},
    "hex": {"parameters": {"board_size": 3}, "listed": 6},
}
"""One of each kind: hidden cards, hidden dice, moves at once, payoffs, dice, luck drawn in secret,
seats that win together, utilities of no fixed sum, and typed moves."""

SMALLER: dict[str, dict[str, Any]] = {
    "battleship": {
        "parameters": {
            "board_width": 4,
            "board_height": 4,
            "num_shots": 8,
            "ship_sizes": "[1;2]",
            "ship_values": "[1.0;2.0]",
        },
        "listed": 12,
    },
    "capture_the_flag": {"parameters": {"horizon": 60}},
    "chinese_checkers": {"parameters": {"max_moves": 60}},
    "go": {"parameters": {"board_size": 5}, "listed": 12},
    "gomoku": {"parameters": {"size": 6}, "listed": 12},
    "havannah": {"parameters": {"board_size": 3}, "listed": 12},
    "laser_tag": {"parameters": {"horizon": 60}},
    "markov_soccer": {"parameters": {"horizon": 60}},
    "pig": {"parameters": {"winscore": 30}},
    "y": {"parameters": {"board_size": 5}, "listed": 9},
}
"""Settings that shorten long games."""

LONG_TO_LOOK_AT = ("test_what_is_hidden_cannot_be_read_off", "test_seatings_keep_partners_together")
SLOWEST = dict.fromkeys(("bridge", "bridge_uncontested_bidding", "chess"), LONG_TO_LOOK_AT)
"""Games, and their checks that take minutes."""


def few() -> dict[str, OpenSpiel]:
    return {name: OpenSpiel(name=name, **settings) for name, settings in FEW.items()}


def all_names() -> list[str]:
    """Return all games registered in OpenSpiel, also those that cannot be played here."""
    return sorted(engine.kinds())


def case(name: str) -> OpenSpiel:
    """The game of this name, or a shorter one. Raises ValueError where it cannot be played."""
    return OpenSpiel(**{"name": name, "num_seats": usual_seats(name), **SMALLER.get(name, {})})
