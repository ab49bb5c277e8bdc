"""OpenSpiel's games under test: a few by default, all of them where there is time."""

from __future__ import annotations

from typing import Any

from games.openspiel import OpenSpiel
from games.openspiel.catalogue import catalogue

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
    "hex": {"parameters": {"board_size": 4}, "listed": 8},
}
"""One of each kind: hidden cards, hidden dice, moves at once, payoffs, dice, luck drawn in secret,
seats that win together, utilities of no fixed sum, and typed moves."""

SMALLER: dict[str, dict[str, Any]] = {
    "chinese_checkers": {"parameters": {"max_moves": 60}},
    "go": {"parameters": {"board_size": 5}, "listed": 12},
    "gomoku": {"parameters": {"size": 6}, "listed": 12},
    "havannah": {"parameters": {"board_size": 3}, "listed": 12},
    "laser_tag": {"parameters": {"horizon": 60}},
    "y": {"parameters": {"board_size": 5}, "listed": 9},
}
"""Settings with which long games are as they are in less time."""


def few() -> dict[str, OpenSpiel]:
    return {name: OpenSpiel(name=name, **settings) for name, settings in FEW.items()}


def every() -> dict[str, OpenSpiel]:
    """All that can be played without parameters."""
    found = {name: game for name, game in catalogue().items() if isinstance(game, OpenSpiel)}
    return found | {name: OpenSpiel(name=name, **own) for name, own in SMALLER.items()}
