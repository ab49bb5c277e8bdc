"""The requirements on every game, for the games of other libraries."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from gauntlet.games.base import Game
from tests.games import test_conformance, test_conformance_players

Check = Callable[..., None]


def _checks() -> Iterator[tuple[str, Check]]:
    """All checks of the conformance tests, for one game, and for one game and seed."""
    for module in (test_conformance, test_conformance_players):
        for name, test in vars(module).items():
            if name.startswith("test_"):
                inner = getattr(getattr(test, "hypothesis", None), "inner_test", test)
                if [*inspect.signature(inner).parameters] in (["game"], ["game", "seed"]):
                    yield name, inner


CHECKS = dict(_checks())
assert len(CHECKS) >= 23


def keeps_the_contract(game: Game[Any], seed: int, but: Collection[str] = ()) -> None:
    """Raises AssertionError if the game breaks a requirement on every game."""
    for name in CHECKS.keys() - set(but):
        with contextlib.suppress(pytest.skip.Exception):
            conforms(game, CHECKS[name], [seed])


def conforms(game: Game[Any], check: Check, seeds: Collection[int]) -> None:
    """One of CHECKS, from these seeds."""
    if "seed" not in inspect.signature(check).parameters:
        check(game)
        return
    for seed in seeds:
        check(game, seed)
