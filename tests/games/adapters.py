"""The requirements on every game, for the games of other libraries."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from gauntlet.games.base import Game
from tests.games import test_conformance, test_conformance_players
from tests.games.cases import match_of

Check = Callable[..., None]


def _checks() -> Iterator[tuple[str, Check]]:
    """All that the conformance tests look at in one game and matches of it."""
    for module in (test_conformance, test_conformance_players):
        for name, test in vars(module).items():
            if name.startswith("test_") and {*inspect.signature(test).parameters} <= GIVEN:
                yield name, test


GIVEN = {"game", "matches"}
CHECKS = dict(_checks())
assert len(CHECKS) >= 23


def keeps_the_contract(game: Game[Any], seed: int, but: Collection[str] = ()) -> None:
    """Raises AssertionError if the game breaks a requirement on every game."""
    for name in CHECKS.keys() - set(but):
        with contextlib.suppress(pytest.skip.Exception):
            conforms(game, CHECKS[name], [seed])


def conforms(game: Game[Any], check: Check, seeds: Collection[int]) -> None:
    """One of CHECKS, in the matches of these seeds."""
    given = {"game": game, "matches": [match_of(game, seed) for seed in seeds]}
    check(**{name: given[name] for name in inspect.signature(check).parameters})
