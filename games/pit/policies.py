"""Scripted players of Pit, by what the trader to move sees."""

from __future__ import annotations

from collections.abc import Sequence

from games.pit.cards import BULL, LOTS, VALUES, Hand
from games.pit.rules import OFFER, TRADE, WAIT, options
from games.pit.state import View
from games.playouts import check_known

TOLD = {
    "random": "takes any option",
    "greedy": "collects the commodity that it holds most of, the dearest of several; takes any "
    "offer for other cards, else offers some of them; the bull it keeps",
}
"""What each does, by name."""


def chances(policy: str, view: View) -> tuple[float, ...]:
    """The chance of each option, in their order. Raises ValueError for an unknown policy."""
    moves = options(view.state)
    return best(policy, moves, [_rank(move, view.state.hands[view.trader]) for move in moves])


def best(policy: str, moves: Sequence[int], ranks: Sequence[int]) -> tuple[float, ...]:
    """The chance of each move: "greedy" takes any of the first rank."""
    check_known("pit", policy, TOLD)
    found = [rank == max(ranks) or policy == "random" for rank in ranks]
    return tuple(one / sum(found) for one in found)


def _rank(move: int, hand: Hand) -> int:
    """Trades before offers before waiting; what breaks the collection last."""
    if move == WAIT:
        return 0
    trade = move >= TRADE
    lot = LOTS[(move - TRADE) % len(LOTS) if trade else move - OFFER]
    if lot[BULL] or lot[wanted(hand)]:
        return -1
    return 2 if trade else 1


def wanted(hand: Hand) -> int:
    """The commodity that a trader with this hand collects."""
    return max(range(4), key=lambda kind: (hand[kind], VALUES[kind]))
