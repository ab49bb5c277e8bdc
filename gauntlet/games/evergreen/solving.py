"""Exact values of a small game by backward induction, and what scripted players score in it.

A value is seat 0's expected score, 0 to 1, if both play perfectly. Where both seats move at once it
is that of the matrix game (J. von Neumann, 1928), by a linear programme.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from gauntlet.games.base import Action
from gauntlet.games.evergreen.rules import Position, Rules, Sealed

NEAR = 1e-9
POLICIES = ("random", "one_ply", "perfect")


class TooLarge(Exception):
    """A game has more positions than may be listed."""


@dataclass(frozen=True)
class Node:
    """A position: the seats to move, their moves, and what follows, by move of the only mover, or
    row by row by those of seat 0 and of seat 1."""

    seats: tuple[int, ...]
    moves: tuple[tuple[Action, ...], ...]
    after: tuple[Any, ...]


@dataclass
class Solution:
    """The values of a game's positions, computed when they are asked for.

    most: positions to list at most. mixes: of both seats, where both move at once.
    """

    rules: Rules
    most: int
    values: dict[Position, float] = field(default_factory=dict)
    nodes: dict[Position, Node] = field(default_factory=dict)
    mixes: dict[Position, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def value(self, position: Position) -> float:
        """Raises TooLarge."""
        found = self.values.get(position)
        if found is None:
            if len(self.values) >= self.most:
                raise TooLarge
            self.values[position] = found = self._value(position)
        return found

    def node(self, position: Position) -> Node:
        found = self.nodes.get(position)
        if found is None:
            self.nodes[position] = found = self._node(position)
        return found

    def _node(self, position: Position) -> Node:
        seats = self.rules.movers(position)
        moves = tuple(self.rules.moves(position, seat) for seat in seats)
        if len(seats) == 2:
            rows = [[self.rules.after(position, (a, b)) for b in moves[1]] for a in moves[0]]
            return Node(seats, moves, tuple(map(tuple, rows)))
        return Node(
            seats, moves, tuple(self.rules.after(position, (a,)) for own in moves for a in own)
        )

    def _value(self, position: Position) -> float:
        node = self.node(position)
        if not node.seats:
            return self.rules.score(position)
        if len(node.seats) == 1:
            after = map(self.value, node.after)
            return max(after) if node.seats[0] == 0 else min(after)
        worth, *mixes = matrix_game(self._table(node))
        self.mixes[position] = mixes[0], mixes[1]
        return worth

    def _table(self, node: Node) -> np.ndarray:
        """The value after each pair of moves, (moves of seat 0, moves of seat 1)."""
        return np.array([[self.value(one) for one in row] for row in node.after])

    def options(self, position: Position, seat: int) -> np.ndarray:
        """The value for `seat` of each of its moves, if both play perfectly otherwise."""
        node = self.node(position)
        if len(node.seats) == 1:
            found = np.array([self.value(one) for one in node.after])
        else:
            self.value(position)
            mixes, table = self.mixes[position], self._table(node)
            found = table @ mixes[1] if seat == 0 else mixes[0] @ table
        return found if seat == 0 else 1.0 - found

    def loss(self, position: Position, seat: int, move: Action) -> float:
        """What a move gives away, 0 to 1."""
        values, node = self.options(position, seat), self.node(position)
        own = values[node.moves[node.seats.index(seat)].index(int(move))]
        return max(0.0, float(values.max() - own))

    def chances(self, policy: str, position: Position, seat: int) -> list[float]:
        """How a scripted player chooses among its moves. Raises KeyError for another name."""
        node = self.node(position)
        alone, count = len(node.seats) == 1, len(node.moves[node.seats.index(seat)])
        if policy == "random":
            return [1.0 / count] * count
        if policy == "one_ply":
            if alone:
                return _best([self._end(one, seat) for one in node.after])
            return _best(cast(Sealed, self.rules).at_once(position, seat))
        if policy != "perfect":
            raise KeyError(policy)
        if alone:
            sign = 1.0 if seat == 0 else -1.0
            return _best([sign * self.value(one) for one in node.after])
        self.value(position)
        return [*map(float, self.mixes[position][seat])]

    def _end(self, position: Position, seat: int) -> float:
        """1 if the game has ended with a win of `seat`, -1 with a loss, else 0."""
        if self.node(position).seats:
            return 0.0
        lead = 2.0 * self.rules.score(position) - 1.0
        return lead if seat == 0 else -lead

    def between(self, policies: Sequence[str]) -> float:
        """Seat 0's expected score from the start if these two meet."""
        known: dict[Position, float] = {}

        def met(position: Position) -> float:
            if position not in known:
                known[position] = self._met(position, policies, met)
            return known[position]

        return met(self.rules.start())

    def _met(
        self, position: Position, policies: Sequence[str], met: Callable[[Position], float]
    ) -> float:
        node = self.node(position)
        if not node.seats:
            return self.rules.score(position)
        chances = [self.chances(policies[seat], position, seat) for seat in node.seats]
        if len(chances) == 1:
            pairs = zip(chances[0], node.after, strict=True)
            return float(sum(chance * met(one) for chance, one in pairs if chance > 0))
        total = 0.0
        for p, row in zip(chances[0], node.after, strict=True):
            total += sum(p * q * met(one) for q, one in zip(chances[1], row, strict=True) if p * q)
        return total

    def margin(self, policy: str, other: str) -> float:
        """What `policy` scores more than `other` a match, over both seatings: -1 to 1."""
        ahead = self.between((policy, other)) - self.between((other, policy))
        return float(ahead)


def _best(values: Sequence[float]) -> list[float]:
    """Uniform over the best."""
    top = max(values) - NEAR
    best = [value >= top for value in values]
    return [one / sum(best) for one in best]


def matrix_game(table: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the value for the row player, who maximises, and the mixes of both."""
    low, high = table.min(axis=1), table.max(axis=0)
    if low.max() >= high.min() - NEAR:  # a saddle point
        return float(low.max()), _only(len(low), low.argmax()), _only(len(high), high.argmin())
    mix = _mix(table)
    return float((mix @ table).min()), mix, _mix(1.0 - table.T)


def _mix(table: np.ndarray) -> np.ndarray:
    """The row player's mix that gets the most against the best answer."""
    rows, columns = table.shape
    goal = np.append(np.zeros(rows), -1.0)
    above = np.hstack((-table.T, np.ones((columns, 1))))
    total = np.append(np.ones(rows), 0.0)[None]
    bounds = [(0, 1)] * rows + [(None, None)]
    found = linprog(goal, above, np.zeros(columns), total, [1.0], bounds)
    mix = np.maximum(found.x[:rows], 0.0)
    return np.asarray(mix / mix.sum())


def _only(count: int, at: np.intp) -> np.ndarray:
    return np.asarray(np.arange(count) == at, float)
