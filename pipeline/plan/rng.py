"""Where luck comes from: a random stream for each purpose in each deal.

All luck is settled by (seed, game, deal) and, for a player's own choices, by (seat, turn number):
not by who plays. So every cell meets the same cards, and a random opponent plays the same
against every model for as long as the positions are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.common.ids import class_id
from gauntlet.games.base import Game
from gauntlet.games.capabilities import deal_key_of, retold_of
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.plan.cells import digest, seeded

DEAL, CHOICE, LUCK, JUDGE, WORDS = range(5)
"""What a random stream is for: no two purposes share one."""


def stream(seed: Seed, game: Game[Any], deal: int, *purpose: int) -> np.random.Generator:
    """The random stream of one purpose in one deal of one game, by the deal's own seed of several.

    The game counts by `deal_key`, not by its other parameters, so that variants of a game meet the
    same cards too.
    """
    return streams(seed, game, deal)(*purpose)


def streams(seed: Seed, game: Game[Any], deal: int) -> Callable[..., np.random.Generator]:
    """`stream` of one deal, by purpose: for who draws from many."""
    one, number = seeded(seed, deal)
    start = [*_words(one), *_words(_number(deal_key(game))), *_words(number)]

    def make(*purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.array([*start, *purpose], np.uint32))

    return make


def _words(number: int) -> list[int]:
    """Its 32-bit digits, the lowest first: as NumPy itself reads a seed, which takes it longer."""
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return words


def deal_key(game: Game[Any]) -> tuple[str | int, ...]:
    """What a deal depends on besides the seed and its number: the id of the game's class and its
    seats, and which of its games it is where one class is several; of a game in other words, that
    game's key."""
    own = retold_of(game)
    module, _, name = class_id(type(own)).rpartition(".")
    key = deal_key_of(own)
    return (module, name, own.num_seats, *([key] if key else []))


@lru_cache
def _number(key: tuple[str | int, ...]) -> int:
    return int(digest(key), 16)
