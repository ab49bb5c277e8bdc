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
from pipeline.plan.cells import digest

DEAL, CHOICE, LUCK = 0, 1, 2
"""What a random stream is for: no two purposes share one."""


def stream(seed: int, game: Game[Any], deal: int, *purpose: int) -> np.random.Generator:
    """The random stream of one purpose in one deal of one game.

    The game counts by its kind and its seats, not by its other parameters, so that variants of a
    game meet the same cards too.
    """
    return np.random.default_rng([seed, _number(type(game), game.num_seats), deal, *purpose])


@lru_cache
def _number(kind: type[Any], num_seats: int) -> int:
    return int(digest([kind.__module__, kind.__qualname__, num_seats]), 16)
