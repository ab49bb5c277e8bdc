"""Tic-tac-toe's scripted players: how likely each marks which cell."""

from __future__ import annotations

from collections.abc import Sequence

TOLD = {
    "random": "marks any empty cell",
    "first": "marks the first empty cell, row by row from the top left",
    "greedy": "completes a line of its own where one mark does it, else marks any empty cell",
    "careful": "completes a line of its own where one mark does it, else blocks such a line of the "
    "other player, else marks any empty cell",
}
"""What each does, by name."""


def chances(
    policy: str, own: int, other: int, free: Sequence[int], lines: Sequence[int]
) -> tuple[float, ...]:
    """The chance of each of the free cells, in their order. own, other: the marks of who is to move
    and of the other seat; lines: those that win; all with bit i for cell i. Raises ValueError."""
    if policy not in TOLD:
        raise ValueError(f"tic-tac-toe has the policies {', '.join(TOLD)}, not {policy!r}")
    best: Sequence[int] = ()
    if policy == "first":
        best = free[:1]
    elif policy != "random":
        best = _completing(own, free, lines)
    if policy == "careful":
        best = best or _completing(other, free, lines)
    best = best or free
    return tuple((cell in best) / len(best) for cell in free)


def _completing(marks: int, free: Sequence[int], lines: Sequence[int]) -> list[int]:
    """The free cells that complete a line of these marks."""
    return [cell for cell in free if any((marks | 1 << cell) & line == line for line in lines)]
