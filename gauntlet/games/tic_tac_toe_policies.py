"""Tic-tac-toe's scripted players: move probabilities, and batched games between them.

A set of cells is a bit mask with bit i for cell i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gauntlet.games.playouts import check_known_policy

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


def chances(
    policy: str, mine: int, other: int, free: Sequence[int], lines: Sequence[int]
) -> tuple[float, ...]:
    """Return the probability of each free cell, in order. mine, other: the marks of the player to
    move and of the other; lines: the winning lines. Raises ValueError for an unknown policy."""
    check(policy)
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


def check(policy: str) -> None:
    """Raises ValueError for an unknown policy."""
    check_known_policy("tic-tac-toe", policy, TOLD)


def results(
    policies: Sequence[str], games: int, seed: int, cells: int, lines: Sequence[int]
) -> np.ndarray:
    """Return how many games seat 0 wins, seat 1 wins and nobody wins: int64 of shape (3,)."""
    for policy in policies:
        check(policy)
    rng = np.random.default_rng(seed)
    batches = (min(BATCH, games - first) for first in range(0, games, BATCH))
    found = [_batch(policies, batch, rng, cells, lines) for batch in batches]
    return np.asarray(np.sum(found, axis=0))


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
