"""Tic-tac-toe on a square grid of any size: the first unbroken line of marks wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np

from gauntlet.games.base import Action, Fact, Observation, only_move
from gauntlet.games.playouts import RANDOM, check_known_policy, simulate_by_rules

MOST = 7
"""Largest grid side whose cells fit a 64-bit mask."""
BATCH = 50_000
"""Games played at once."""

TOLD = {
    "random": "marks any empty cell",
    "first": "marks the first empty cell, row by row from the top left",
    "greedy": "completes a line of its own where one mark does it, else marks any empty cell",
    "careful": "completes a line of its own where one mark does it, else blocks such a line of the "
    "other player, else marks any empty cell",
}
"""What each policy does, by name."""


@dataclass(frozen=True, slots=True)
class State:
    """A position.

    marks: each seat's cells, bit i for cell i.
    moves: the cells in the order in which they were marked. Not compared, since the position alone
        decides what can follow.
    """

    marks: tuple[int, int]
    moves: tuple[Action, ...] = field(compare=False)


@dataclass(frozen=True)
class TicTacToe:
    """Two seats mark cells of a grid in turn, seat 0 first. Actions are cells, row by row.

    size: cells per side, 2 to 32.
    win_length: marks in a line that win, 2 to `size`.

    Raises ValueError for any other number.
    """

    num_seats: int = 2
    size: int = 3
    win_length: int = 3

    perfect_information: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = tuple(TOLD)
    told_policies: ClassVar[Mapping[str, str]] = TOLD

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"tic-tac-toe seats 2 players, got {self.num_seats}")
        if not 2 <= self.size <= 32:  # a larger one has thousands of options, and plies
            raise ValueError(f"size is {self.size}; a grid has 2 to 32 cells a side")
        if not 2 <= self.win_length <= self.size:
            raise ValueError(
                f"win_length is {self.win_length}; on a grid of size {self.size} a winning line "
                f"has 2 to {self.size} marks"
            )

    def deal(self, rng: np.random.Generator) -> State:
        return State((0, 0), ())

    def to_move(self, state: State) -> tuple[int, ...]:
        over = self._winner(state) is not None or len(state.moves) == self.size**2
        return () if over else (len(state.moves) % 2,)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if seat not in self.to_move(state):
            return ()
        taken = state.marks[0] | state.marks[1]
        return tuple(cell for cell in range(self.size**2) if not taken >> cell & 1)

    def play(self, state: State, moves: Sequence[Action]) -> State:
        cell, marks = only_move(self, state, moves), list(state.marks)
        marks[len(state.moves) % 2] |= 1 << cell
        return State((marks[0], marks[1]), (*state.moves, cell))

    def observe(self, state: State, seat: int) -> Observation:
        return Observation(
            game="Tic-Tac-Toe",
            seat=seat,
            rules=self._rules(),
            facts=(
                Fact("Your marks", self._names(state.moves[seat::2])),
                Fact("Opponent's marks", self._names(state.moves[1 - seat :: 2])),
            ),
            history=tuple(
                f"player {ply % 2} marked {self._name(cell)}"
                for ply, cell in enumerate(state.moves)
            ),
            options=tuple(map(self._name, self.legal(state, seat))),
            view=state,
        )

    @property
    def encoding(self) -> str:
        return f"tic_tac_toe-{self.size}-{self.win_length}"

    @property
    def num_codes(self) -> int:
        return self.size**2

    def encode(self, observation: Observation) -> np.ndarray:
        """Where the seat has marks, then where the other has: 0 or 1 for each cell."""
        marks, cells = observation.view.marks, range(self.size**2)
        order = (marks[observation.seat], marks[1 - observation.seat])
        return np.array([own >> cell & 1 for own in order for cell in cells], np.float32)

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        return tuple((cell,) for cell in self.legal(observation.view, observation.seat))

    def returns(self, state: State) -> tuple[float, ...]:
        winner = self._winner(state)
        if winner is None:
            return (0.0, 0.0)
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def show(self, state: State) -> str:
        wide = len(f"R{self.size}")
        columns = [f"C{column + 1}".ljust(wide) for column in range(self.size)]
        lines = [" ".join([" " * wide, *columns]).rstrip()]
        for row in range(self.size):
            cells = range(row * self.size, (row + 1) * self.size)
            marks = [self._mark(state, cell).ljust(wide) for cell in cells]
            lines.append(" ".join([f"R{row + 1}".ljust(wide), *marks]).rstrip())
        return "\n".join(lines)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        state: State = observation.view
        mine, other = state.marks[observation.seat], state.marks[1 - observation.seat]
        free = self.legal(state, observation.seat)
        lines = _masks(self.size, self.win_length)
        return _chances(policy, mine, other, free, lines)

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        """Random play marks the cells in random order, and the line completed first decides the
        game; so whole orders are drawn and all games are scored at once. Other policies go ply by
        ply."""
        if set(policies) != {RANDOM}:
            if self.size > MOST:
                return simulate_by_rules(self, policies, games, seed)
            lines = _masks(self.size, self.win_length)
            return _results(policies, games, seed, self.size**2, lines)
        cells = np.tile(np.arange(self.size**2), (games, 1))
        ply_of = np.random.default_rng(seed).permuted(cells, axis=1)  # (games, cells)
        never = self.size**2
        end_ply = np.full(games, never)
        for line in _lines(self.size, self.win_length):
            plies = ply_of[:, line]  # (games, win_length)
            one_seat = (plies % 2 == plies[:, :1] % 2).all(axis=1)
            end_ply = np.minimum(end_ply, np.where(one_seat, plies.max(axis=1), never))
        nobody = end_ply == never
        return np.bincount(np.where(nobody, 2, end_ply % 2), minlength=3).astype(np.int64)

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        """The last cells of each seat, and its progress on its best open line."""
        marked: tuple[Action, ...] = observation.view.moves
        recent = range(max(0, len(marked) - moves), len(marked))
        order = (1 - observation.seat, observation.seat)
        return tuple(
            Fact(
                f"Player {seat}{' (you)' * (seat == observation.seat)}",
                f"marked {', '.join(self._name(marked[p]) for p in recent if p % 2 == seat)}; its "
                f"best open line has {self._furthest(marked, seat)} of {self.win_length} marks",
            )
            for seat in order
            if any(ply % 2 == seat for ply in recent)
        )

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return (
            "Complete a line of yours if one mark does it.",
            "If not, block a line that the other player would complete with the next mark.",
            "Else mark a cell that lies on many open lines, best one that threatens two at once.",
        )

    @property
    def move_format(self) -> str:
        number = "|".join(map(str, range(self.size, 0, -1)))
        return rf"C[\s_]*({number})[\s_]*R[\s_]*({number})(?!\d)"

    @property
    def intents(self) -> Sequence[str]:
        """Defensive and offensive intents, as in TALAGA (ICLR 2024 submission), Appendix C."""
        return (
            "block: defend, keep the other player from completing a line",
            "win: attack, complete a line",
            "fork: attack, threaten two lines at once",
            "centre: attack, take the middle of the grid",
        )

    def _furthest(self, marked: Sequence[Action], seat: int) -> int:
        """Return the most marks of `seat` in a line without one of the other seat; 0 if there is
        none."""
        own, others = set(marked[seat::2]), set(marked[1 - seat :: 2])
        lines = map(set, _lines(self.size, self.win_length))
        return max((len(line & own) for line in lines if not line & others), default=0)

    def _winner(self, state: State) -> int | None:
        """Return the seat with a full line. Only the last to move can have one."""
        seat = (len(state.moves) - 1) % 2
        marks = state.marks[seat]
        won = any(marks & line == line for line in _masks(self.size, self.win_length))
        return seat if won else None

    def _mark(self, state: State, cell: Action) -> str:
        return "X" if state.marks[0] >> cell & 1 else "O" if state.marks[1] >> cell & 1 else "."

    def _name(self, cell: Action) -> str:
        return f"C{cell % self.size + 1}R{cell // self.size + 1}"

    def _names(self, cells: Sequence[Action]) -> str:
        return ", ".join(map(self._name, sorted(cells))) or "none"

    def _rules(self) -> str:
        return (
            f"Players 0 and 1 take turns; player 0 begins. A turn marks one empty cell of a grid "
            f"of {self.size} columns and {self.size} rows; CxRy is the cell in column x and row y, "
            f"counted from 1. The first player with {self.win_length} marks in an unbroken line "
            "(along a row, a column or a diagonal) wins. A full grid without such a line is a draw."
        )


@cache
def _lines(size: int, length: int) -> tuple[tuple[Action, ...], ...]:
    """The cells of every straight line of `length` cells."""
    lines = []
    for right, down in ((1, 0), (0, 1), (1, 1), (-1, 1)):
        for cell in range(size**2):
            row, column = divmod(cell, size)
            last_row, last_column = row + down * (length - 1), column + right * (length - 1)
            if last_row < size and 0 <= last_column < size:
                lines.append(tuple(cell + (down * size + right) * k for k in range(length)))
    return tuple(lines)


@cache
def _masks(size: int, length: int) -> tuple[int, ...]:
    return tuple(sum(1 << cell for cell in line) for line in _lines(size, length))


def _chances(
    policy: str, mine: int, other: int, free: Sequence[int], lines: Sequence[int]
) -> tuple[float, ...]:
    """Return the probability of each free cell, in order. mine, other: the marks of the player to
    move and of the other; lines: the winning lines. Raises ValueError for an unknown policy."""
    check_known_policy("tic-tac-toe", policy, TOLD)
    best: Sequence[int] = ()
    if policy == "first":
        best = free[:1]
    elif policy != "random":
        best = _completing(mine, free, lines)
    if policy == "careful":
        best = best or _completing(other, free, lines)
    best = best or free
    return tuple((cell in best) / len(best) for cell in free)


def _completing(marks: int, free: Sequence[int], lines: Sequence[int]) -> list[int]:
    """Return the free cells that complete a line of these marks."""
    return [cell for cell in free if any((marks | 1 << cell) & line == line for line in lines)]


def _results(
    policies: Sequence[str], games: int, seed: int, cells: int, lines: Sequence[int]
) -> np.ndarray:
    """Return how many games seat 0 wins, seat 1 wins and nobody wins: int64 of shape (3,)."""
    for policy in policies:
        check_known_policy("tic-tac-toe", policy, TOLD)
    rng = np.random.default_rng(seed)
    batches = (min(BATCH, games - first) for first in range(0, games, BATCH))
    counts = np.zeros(3, np.int64)
    for batch in batches:
        counts += _batch(policies, batch, rng, cells, lines)
    return counts


def _batch(
    policies: Sequence[str], games: int, rng: np.random.Generator, cells: int, lines: Sequence[int]
) -> np.ndarray:
    marks, winner = np.zeros((2, games), np.int64), np.full(games, 2)
    for ply in range(cells):
        seat, going = ply % 2, winner == 2
        best = _best(policies[seat], marks[seat], marks[1 - seat], cells, lines)
        weights = (best[:, None] >> np.arange(cells) & 1) * (1 - rng.random((games, cells)))
        marks[seat] |= np.where(going, 1 << weights.argmax(axis=1), 0)
        won = np.any([marks[seat] & line == line for line in lines], axis=0)
        winner[going & won] = seat
    return np.bincount(winner, minlength=3).astype(np.int64)


def _best(
    policy: str, mine: np.ndarray, other: np.ndarray, cells: int, lines: Sequence[int]
) -> np.ndarray:
    """Return the cells among which a policy chooses, for many positions: int64 of their shape."""
    free = (1 << cells) - 1 & ~(mine | other)
    best = np.zeros_like(mine)
    if policy == "first":
        best = free & -free
    elif policy != "random":
        best = _missing(mine, free, lines)
    if policy == "careful":
        best = np.where(best > 0, best, _missing(other, free, lines))
    return np.where(best > 0, best, free)


def _missing(marks: np.ndarray, free: np.ndarray, lines: Sequence[int]) -> np.ndarray:
    """As `_completing`, for many positions."""
    mask = np.zeros_like(marks)
    for line in lines:
        left = line & ~marks
        mask |= np.where(left & (left - 1) == 0, left & free, 0)
    return mask
