"""A game of three steps that breaks the interface of `games/base.py` in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Fact, Observation
from gauntlet.games.capabilities import WIN, Measure

State = tuple[int, ...]  # the moves so far

VALUES: dict[str, Any] = {
    "three": (1.0, -1.0, 0.0),
    "one": (1.0,),
    "none": None,
    "number": 1.0,
    "text": "ab",
    "whole": (1, -1),
    "numpy": np.array([1.0, -1.0]),
    "float32": (np.float32(0.1), np.float32(-0.1)),
    "bool": (True, False),
    "not_a_number": (float("nan"), 0.0),
    "infinite": (float("inf"), 0.0),
    "nothing": (None, 0.0),
    "many": {"score": (1.0, 2.0, 3.0)},
    "other": {"points": (1.0, 2.0)},
    "figures": {"score": (np.int64(3), 4)},
    "seat": 0,
    "absent": (2,),
    "below": (-1,),
    "twice": (0, 0),
    "list": [0],
    "empty": (),
    "same": (1, 1),
    "floats": (0.0, 1.0),
    "int64": (np.int64(0), np.int64(1)),
    "strings": ("a", "b"),
    "few": ("a",),
    "alike": ("left", "left"),
    "numbers": (1, 2),
    "raises": ZeroDivisionError("of the game"),
    "five": (5, -5),
    "two": (2.0, -2.0),
    "draw": (0.0, 0.0),
    "half": (1.0, 0.0),
    "break": ("go\nleft", "right"),
    "spaced": (" left", "right"),
    "far": {"score": (10.0, 1.0)},
    "twins": (Fact("Steps", "1"), Fact("Steps", "2")),
}


@dataclass(frozen=True)
class Plain:
    """A game that breaks the contract if the first move was 1: after `at` moves `method` returns
    the bad value called `value`. With the method "endless" the match never ends."""

    num_seats: int = 2
    method: str = ""
    value: str = ""
    at: int = 1
    max_plies: int = 30

    def _or(self, method: str, state: State, right: Any) -> Any:
        if self.method != method or len(state) != self.at or 0 in state[:1]:
            return right
        value = VALUES[self.value]
        if isinstance(value, Exception):
            raise value
        return value

    def deal(self, rng: np.random.Generator) -> State:
        return ()

    def to_move(self, state: State) -> Any:
        return self._or("to_move", state, (len(state) % 2,) if len(state) < 3 else ())

    def legal(self, state: State, seat: int) -> Any:
        mine = len(state) < 3 and seat == len(state) % 2
        return self._or("legal", state, (0, 1)) if mine else ()

    def play(self, state: State, moves: Sequence[int]) -> State:
        (move,) = moves
        if move not in (0, 1) or len(state) >= 3:
            raise IllegalAction(f"{move} is not legal in {state}")
        return state if self.method == "endless" and 1 in state[:1] else (*state, int(move))

    def observe(self, state: State, seat: int) -> Any:
        options = self._or("options", state, ("left", "right"))
        history = tuple(f"player {at % 2} took {move}" for at, move in enumerate(state))
        facts = self._or("facts", state, (Fact("Steps", str(len(state))),))
        seen = Observation("Rude", seat, "Go left or right.", facts, history, options, state)
        return self._or("observe", state, seen)

    def returns(self, state: State) -> Any:
        right = (1.0, -1.0) if sum(state) > 1 else (-1.0, 1.0)
        return self._or("returns", state, right)

    def show(self, state: State) -> Any:
        return self._or("show", state, f"steps: {state}")


@dataclass(frozen=True)
class Drawn(Plain):
    """The same with draws."""

    draws: ClassVar[bool] = True


@dataclass(frozen=True)
class Rude(Plain):
    """The same with a score."""

    @property
    def measures(self) -> Sequence[Measure]:
        return (WIN, Measure("score", 0.0, 9.0))

    def measure(self, state: State) -> Any:
        return self._or("measure", state, {"score": (float(sum(state)), 1.0)})
