"""Values of hold'em hands: against known counts, and phevaluator 0.6.0."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from phevaluator import evaluate_cards

from gauntlet.games.holdem import ranks
from gauntlet.games.holdem.words import CATEGORIES, RANKS, SUITS

COUNTS = (1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40)
"""Five-card hands of each category, from high card to straight flush: closed forms, such as 13 x 48
of four of a kind. Straights and flushes leave out straight flushes."""

BITS = np.array([ranks.bit(card) for card in range(52)])


def hands_of(cards: int) -> np.ndarray:
    """Return every hand of this many cards, as sets of bits."""
    hands, last = np.zeros(1, np.int64), np.array([-1])
    for _ in range(cards):
        more = 51 - last
        grown = np.repeat(hands, more)
        ends = np.cumsum(more)
        step = np.arange(ends[-1]) - np.repeat(ends - more, more)
        last = np.repeat(last, more) + 1 + step
        hands = grown | BITS[last]
    return hands


def test_all_five_card_hands_fall_into_their_categories(figure: Callable[[str], None]) -> None:
    worths = ranks.worths(hands_of(5), 5)
    counts = np.bincount(worths >> ranks.CATEGORY, minlength=9)
    told = ", ".join(f"{name} {count:,}" for name, count in zip(CATEGORIES, counts, strict=True))
    figure(f"hold'em, all {len(worths):,} hands of five cards: {told}")
    assert tuple(counts.tolist()) == COUNTS
    assert len(np.unique(worths)) == 7462, "classes of hands that tie"


def random_hands(hands: int, cards: int) -> np.ndarray:
    """Random hands, a row each."""
    rng = np.random.default_rng(7)
    return rng.random((hands, 52)).argpartition(cards, axis=1)[:, :cards]


@pytest.mark.parametrize("cards", [5, 6, 7])
@pytest.mark.parametrize("hands", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_hands_rank_as_in_phevaluator(hands: int, cards: int) -> None:
    """One order of all hands, ties included; phevaluator's best is 1."""
    dealt = random_hands(hands, cards)
    mine = ranks.worths(np.bitwise_or.reduce(BITS[dealt], axis=1), cards)
    theirs = np.array([-evaluate_cards(*hand) for hand in dealt.tolist()])
    places = [np.unique(worths, return_inverse=True)[1] for worths in (mine, theirs)]
    assert (places[0] == places[1]).all()


def hand(text: str) -> int:
    """ "As Kd" as a set of bits."""
    cards = (4 * RANKS.index(one[0]) + SUITS.index(one[1]) for one in text.split())
    return sum(ranks.bit(card) for card in cards)


def test_the_share_of_a_pot_is_that_of_all_boards() -> None:
    """Against phevaluator on every card that may still come."""
    first, second, board = ("As", "Ah"), ("Jc", "9d"), ("2c", "7d", "9h", "Jh")
    left = [rank + suit for rank in RANKS for suit in SUITS]
    won = [
        (evaluate_cards(*first, *board, card) < evaluate_cards(*second, *board, card))
        for card in left
        if card not in (*first, *second, *board)
    ]
    sets = (hand(" ".join(cards)) for cards in (first, second, board))
    assert len(won) == 44
    assert ranks.share(*sets, 1) == sum(won) / 44
    assert ranks.share(hand("As Ah"), hand("Ac Ad"), hand("2c 3d 4h 5s 6c"), 0) == 0.5


def test_shares_of_both_make_the_pot() -> None:
    for first, second in combinations(map(hand, ("As Kd", "7c 7h", "Ts 8s")), 2):
        for board in ("2s 3s 9d", "2s 3s 9d Kc"):
            left = 5 - len(board.split())
            own = ranks.share(first, second, hand(board), left)
            assert own + ranks.share(second, first, hand(board), left) == pytest.approx(1)
