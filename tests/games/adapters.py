"""The rules of test_conformance.py, for games whose packages not everybody has."""

from __future__ import annotations

import inspect
from typing import Any

from gauntlet.games.base import Game
from tests.games import test_conformance

EACH_STATE = [
    test
    for name, test in vars(test_conformance).items()
    if name.startswith("test_") and list(inspect.signature(test).parameters) in ([], ["game"])
]
"""The tests of one game and one seed; hypothesis, which gives the seed, hides it."""


def keeps_the_contract(game: Game[Any], seed: int) -> None:
    """Raises AssertionError where the game breaks a rule that every game must keep."""
    kept = 0
    for test in EACH_STATE:
        inner = getattr(test, "hypothesis", None)
        if inner is not None and "game" in inspect.signature(inner.inner_test).parameters:
            inner.inner_test(game=game, seed=seed)
            kept += 1
    assert kept > 10
    test_conformance.test_a_game_is_a_frozen_value(game)
