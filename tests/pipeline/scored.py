"""Small games for tests of measures: every seat takes one of two fields and gets its yield."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import Measure

MOST = 10

State = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
"""The yields of the two fields of every seat, 0 to MOST; and the seats' choices so far."""


@dataclass(frozen=True)
class Race:
    """Even seats are a team, odd ones another; the team with the larger total harvest wins."""

    num_seats: int = 2

    draws: ClassVar[bool] = False

    def deal(self, rng: np.random.Generator) -> State:
        fields = rng.integers(MOST + 1, size=(self.num_seats, 2)).tolist()
        return tuple((first, second) for first, second in fields), ()

    def to_move(self, state: State) -> tuple[int, ...]:
        fields, taken = state
        return (len(taken),) if len(taken) < len(fields) else ()

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return (0, 1)

    def play(self, state: State, moves: Sequence[Action]) -> State:
        fields, taken = state
        (move,) = moves
        return fields, (*taken, fields[len(taken)][int(move)])

    def observe(self, state: State, seat: int) -> Observation:
        fields = state[0][seat]
        facts = (Fact("Fields", f"{fields[0]} and {fields[1]}"),)
        return Observation("Race", seat, "Take a field.", facts, (), ("left", "right"))

    def returns(self, state: State) -> tuple[float, ...]:
        taken = state[1]
        even, odd = sum(taken[::2]), sum(taken[1::2])
        ahead = float(np.sign(even - odd))
        return tuple(ahead if seat % 2 == 0 else -ahead for seat in range(self.num_seats))

    def show(self, state: State) -> str:
        return f"{state}"


@dataclass(frozen=True)
class Harvest(Race):
    """Measured by each seat's harvest."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Measure("score", 0, MOST),)

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {"score": state[1]}


@dataclass(frozen=True)
class Market(Race):
    """Measured by gains without a bound."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Measure("chips"),)

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {"chips": [1000 * (taken - MOST / 2) for taken in state[1]]}
