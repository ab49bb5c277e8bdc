"""Pit: who knows what, and the published code's way. `test_pit_lockstep.py` has the rules."""

from __future__ import annotations

import numpy as np

from gauntlet.games.pit import Pit, published
from gauntlet.games.pit.rules import BEAR, BULL, State
from tests.games.cases import after, final, options

GAME, QUIRKS = Pit(), Pit(quirks=True)
WORDS = ("barley", "corn", "soybeans", "wheat", "bull", "bear")


def hand(**counts: int) -> tuple[int, ...]:
    return tuple(counts.get(word, 0) for word in WORDS)


def position() -> State:
    """Trader A moves; its team mate is C."""
    hands = (
        hand(barley=5, corn=4, wheat=1),
        hand(barley=2, wheat=4, soybeans=3, bear=1),
        hand(barley=1, corn=4, wheat=3, bull=1),
        hand(barley=1, corn=1, wheat=1, soybeans=6),
    )
    return State(seed=1, first=0, deal=1, turns=0, turn=0, mover=0, hands=hands, offers=(None,) * 4)


def test_a_seat_is_a_team_or_a_trader() -> None:
    four = Pit(num_seats=4)
    state = four.deal(np.random.default_rng(5))
    for turn in range(4):
        trader = (state.first + turn) % 4
        assert GAME.to_move(state) == (trader % 2,)
        assert four.to_move(state) == (trader,)
        seen = four.observe(state, trader)
        assert seen.role == f"trader {'ABCD'[trader]}"
        assert seen.team == (trader % 2, trader % 2 + 2)
        assert GAME.observe(state, trader % 2).facts == seen.facts
        state = after(GAME, state, "wait")


def test_a_sample_changes_all_that_a_trader_does_not_know() -> None:
    state = after(
        GAME, position(), "offer 2 corn", "offer 2 soybeans", "trade 2 wheat with trader B"
    )
    state = after(GAME, state, "offer 3 soybeans", "offer 1 wheat")
    seen, others = GAME.observe(state, 1), set()
    for seed in range(40):
        other = GAME.sample(seen, np.random.default_rng(seed))
        others.add((other.hands, other.offers))
        assert other.hands[1] == state.hands[1]
        assert other.seed != state.seed
    for place in (0, 2, 3):
        assert len({hands[place] for hands, _ in others}) > 20
    assert len({offers[3] for _, offers in others}) > 2


def test_quirks_put_a_trade_to_both_hands_of_a_side() -> None:
    start = QUIRKS.deal(np.random.default_rng(0))
    first = [published.hand(start, which) for which in range(4)]
    kind = max(range(4), key=first[0].__getitem__)
    given = max(range(4), key=first[2].__getitem__)
    state = after(QUIRKS, start, f"offer 2 {WORDS[kind]}")
    state = after(QUIRKS, state, f"take 2 {WORDS[kind]} for 1 {WORDS[given]}")
    assert state.deal == 1
    change = [0] * 6
    change[kind] -= 2
    change[given] += 1
    for which, sign in ((0, 1), (1, 1), (2, -1), (3, -1)):
        now = published.hand(state, which)
        moved = [after - before for before, after in zip(first[which], now, strict=True)]
        assert moved == [sign * one for one in change]


def test_quirks_know_corners_of_exactly_six_or_five_and_a_bull() -> None:
    corner = published.is_corner
    for wheat, bull, is_one in ((6, 0, 1), (6, 1, 1), (5, 1, 1), (5, -1, 1), (7, 0, 0), (5, 0, 0)):
        assert corner(hand(wheat=wheat, bull=bull), 3) == is_one
    assert corner(hand(bull=6), BULL)


def test_quirks_offer_what_a_hand_lacks_in_vain() -> None:
    start = QUIRKS.deal(np.random.default_rng(0))
    lacking = next(kind for kind in (BULL, BEAR) if not published.own_hand(start, 0)[kind])
    name = published.NAMES[lacking]
    state = after(QUIRKS, start, f"offer 4 {name}")
    assert state.offers == (None, None)
    assert state.history[0] == f"player 0 offered 4 {name} without having them"
    assert len(options(QUIRKS, state)) == 24


def test_quirks_end_by_points_or_turns() -> None:
    for seed in range(3):
        last = final(QUIRKS, seed)
        assert max(last.points) >= 500 or last.turns == 200
