"""Where luck comes from: a random stream for each purpose in each deal.

All luck is settled by (seed, game, deal) and, for a player's own choices, by (seat, turn number):
not by who plays. So every cell meets the same cards, and a random opponent plays the same
against every model for as long as the positions are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from games.base import Game
from games.capabilities import Keyed, Retelling
from pipeline.config.read import Seed
from pipeline.plan.cells import digest, seeded

DEAL, CHOICE, LUCK, JUDGE, WORDS = range(5)
"""What a random stream is for: no two purposes share one."""


def stream(seed: Seed, game: Game[Any], deal: int, *purpose: int) -> np.random.Generator:
    """The random stream of one purpose in one deal of one game, by the deal's own seed of several.

    The game counts by `deal_key`, not by its other parameters, so that variants of a game meet the
    same cards too.
    """
    one, number = seeded(seed, deal)
    return np.random.default_rng([one, _number(deal_key(game)), number, *purpose])


def deal_key(game: Game[Any]) -> tuple[str | int, ...]:
    """What a deal hangs on besides the seed and its number: the game's class and seats, and which
    of its games it is where one class is several; of a game in other words what that game has."""
    if isinstance(game, Retelling):
        return deal_key(game.retold)
    kind = type(game)
    own = (game.deal_key,) if isinstance(game, Keyed) else ()
    return (kind.__module__, kind.__qualname__, game.num_seats, *own)


@lru_cache
def _number(key: tuple[str | int, ...]) -> int:
    return int(digest(key), 16)
