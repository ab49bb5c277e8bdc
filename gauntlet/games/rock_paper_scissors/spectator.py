"""Rock-paper-scissors for a spectator: rounds as JSON, one per line.

The keys, and players counted from 1, are those of "Observer, Not Player" and its prototype.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

HANDS = "RPS"
NAMES = ("1", "2")
RULES = (
    "Players 1 and 2 play rock-paper-scissors round after round. In a round both choose a hand at "
    "the same time: rock (R), paper (P) or scissors (S). Rock beats scissors, scissors beat paper, "
    "paper beats rock. A round is told with its number, the hand of player 1 (move1), the hand of "
    "player 2 (move2) and the result for player 1: 1 a win, 0 a draw, -1 a loss. Each round is a "
    "step."
)


def rounds(moves: Sequence[Sequence[int]], first: int) -> str:
    """Return these rounds as a JSON list; `first` is the number of the first."""
    lines = (
        _round(number, int(one), int(other)) for number, (one, other) in enumerate(moves, first)
    )
    return "[\n" + ",\n".join(lines) + "\n]"


@cache  # only nine distinct rounds per number
def _round(number: int, hand: int, other: int) -> str:
    result = ((hand - other + 1) % 3) - 1
    return (
        f'{{"round":{number},"move1":"{HANDS[hand]}","move2":"{HANDS[other]}","result":{result}}}'
    )
