"""Random streams, one for each purpose in each deal.

All randomness depends on (seed, game, deal) and, for a player's own choices, on (seat, turn
number), not on who plays. So every cell gets the same cards, and a random opponent plays the same
against every model as long as the positions agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.common.ids import class_id
from gauntlet.games.base import Game
from gauntlet.games.capabilities import base_game_of, deal_key_of
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.plan.cells import digest, seed_of_deal

DEAL, CHOICE, LUCK, JUDGE, WORDS, OPENING = range(6)
"""The purpose of a random stream; no two purposes share one."""


def stream(seed: Seed, game: Game[Any], deal: int, *purpose: int) -> np.random.Generator:
    """The random stream of one purpose in one deal of a game, from the deal's own seed if there are
    several.

    The game enters by its `deal_key`, not its other parameters, so variants of a game get the same
    cards.
    """
    return streams(seed, game, deal)(*purpose)


def streams(seed: Seed, game: Game[Any], deal: int) -> Callable[..., np.random.Generator]:
    """`stream` for one deal, as a function of the purpose, for callers that need many."""
    one, number = seed_of_deal(seed, deal)
    start = [*_words(one), *_words(_number(deal_key(game))), *_words(number)]

    def make(*purpose: int) -> np.random.Generator:
        return np.random.default_rng(np.array([*start, *purpose], np.uint32))

    return make


def _words(number: int) -> list[int]:
    """The 32-bit digits, lowest first: how NumPy reads a seed, but faster."""
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return words


def deal_key(game: Game[Any]) -> tuple[str | int, ...]:
    """What a deal depends on besides the seed and its number: the id of the game's class, its seats
    and, if one class holds several games, which one. A renamed game has the key of its original."""
    base = base_game_of(game)
    module, _, name = class_id(type(base)).rpartition(".")
    key = deal_key_of(base)
    return (module, name, base.num_seats, *([key] if key else []))


@lru_cache
def _number(key: tuple[str | int, ...]) -> int:
    return int(digest(key), 16)
