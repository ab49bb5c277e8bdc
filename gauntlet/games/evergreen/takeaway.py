"""Heaps of stones from which players take in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gauntlet.games.base import Action, Fact

MOST_STONES = 14
"""In all heaps together."""
SPLIT = 50
"""Moves from this number on, of each heap, are splits."""
A_HEAP = 100
"""Numbers of moves for each heap."""


class Heaps(NamedTuple):
    """The stones of each heap, the number that was taken last (0 for none), and who moves."""

    heaps: tuple[int, ...]
    last: int
    seat: int


@dataclass(frozen=True)
class TakeAway:
    """heaps: the stones of each at the start. steps: how many may be taken. no_repeat: not as many
    as in the turn before. split: a turn may split a heap instead. misere: who cannot move wins."""

    heaps: tuple[int, ...]
    steps: tuple[int, ...]
    no_repeat: bool = False
    split: bool = False
    misere: bool = False

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> TakeAway:
        while True:
            heaps = tuple(int(one) for one in rng.integers(2, 9, size=int(rng.integers(2, 4))))
            steps = tuple(step for step in range(1, 6) if rng.random() < 0.55)
            rest = (bool(rng.random() < 0.5) for _ in range(3))
            if steps and sum(heaps) <= MOST_STONES:
                return cls(heaps, steps, *rest)

    def start(self) -> Heaps:
        return Heaps(self.heaps, 0, 0)

    def movers(self, position: Heaps) -> tuple[int, ...]:
        return (position.seat,) if self.moves(position, position.seat) else ()

    def moves(self, position: Heaps, seat: int) -> tuple[Action, ...]:
        found = []
        for at, stones in enumerate(position.heaps):
            found += [
                A_HEAP * at + step
                for step in self.steps
                if step <= stones and not (self.no_repeat and step == position.last)
            ]
            if self.split:
                found += [A_HEAP * at + SPLIT + part for part in range(1, stones // 2 + 1)]
        return tuple(found)

    def after(self, position: Heaps, moves: Sequence[Action]) -> Heaps:
        at, number = divmod(int(moves[0]), A_HEAP)
        heaps, step = list(position.heaps), 0
        if number > SPLIT:
            heaps[at : at + 1] = [number - SPLIT, heaps[at] - (number - SPLIT)]
        else:
            heaps[at], step = heaps[at] - number, number
        last = step if self.no_repeat else 0
        return Heaps(tuple(heaps), last, 1 - position.seat)

    def score(self, position: Heaps) -> float:
        return float((position.seat == 1) != self.misere)

    def name(self, move: Action) -> str:
        at, number = divmod(int(move), A_HEAP)
        if number > SPLIT:
            return f"split {number - SPLIT} off heap {at + 1}"
        return f"take {number} from heap {at + 1}"

    def text(self) -> str:
        steps = ", ".join(map(str, self.steps))
        parts = [
            "Players 0 and 1 take turns; player 0 begins.",
            f"There are {len(self.heaps)} heaps of stones, numbered from 1. Their stones at first: "
            f"{', '.join(map(str, self.heaps))}.",
            f"A turn takes stones from one heap; the number must be one of: {steps}.",
        ]
        if self.no_repeat:
            parts.append("It must not be the number that the other player took in the turn before.")
        if self.split:
            parts.append(
                "Instead, a turn may split a heap into two. The part split off, at most half of "
                "the heap, stays in its place; the rest is the next heap, and later heaps move up "
                "by one number."
            )
        parts.append(f"A player who cannot move {'wins' if self.misere else 'loses'}.")
        return " ".join(parts)

    def facts(self, position: Heaps) -> tuple[Fact, ...]:
        heaps = ", ".join(f"heap {at}: {stones}" for at, stones in enumerate(position.heaps, 1))
        found = (Fact("Heaps", heaps),)
        if not self.no_repeat:
            return found
        return (*found, Fact("Taken in the turn before", str(position.last or "none")))
