"""What a family of generated games provides: small rules, small enough to be solved."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from gauntlet.games.base import Action, Fact

Position = Hashable


class Rules(Protocol):
    """The rules of one generated game of two seats, a frozen value. A position is hashable, and has
    no history."""

    def start(self) -> Position: ...

    def movers(self, position: Position) -> tuple[int, ...]:
        """The seats to move: one, both at once, or () at the end."""
        ...

    def moves(self, position: Position, seat: int) -> tuple[Action, ...]:
        """The moves of one of the movers, in a fixed order; at least one."""
        ...

    def after(self, position: Position, moves: Sequence[Action]) -> Position: ...

    def score(self, position: Position) -> float:
        """Seat 0's score of a finished game: 1 a win, 1/2 a draw, 0 a loss."""
        ...

    def name(self, move: Action) -> str: ...

    def text(self) -> str:
        """The rules in plain sentences."""
        ...

    def facts(self, position: Position) -> tuple[Fact, ...]: ...


class Sealed(Rules, Protocol):
    """Rules by which both seats move at once."""

    def at_once(self, position: Position, seat: int) -> tuple[float, ...]:
        """How good each move looks against a random one: more is better."""
        ...
