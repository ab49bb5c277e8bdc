"""Pit: a position for every rule, and the published code's way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Game
from gauntlet.games.capabilities import measured
from gauntlet.games.pit import Pit, published
from gauntlet.games.pit.rules import BEAR, BULL, DECK, LOTS, SIZES, State, cornered, hand_of
from tests.games.cases import final, looked_at, seeds
from tests.games.duels import scores

GAME, QUIRKS = Pit(), Pit(quirks=True)
WORDS = ("barley", "corn", "soybeans", "wheat", "bull", "bear")


def hand(**counts: int) -> tuple[int, ...]:
    return tuple(counts.get(word, 0) for word in WORDS)


def position(**changes: Any) -> State:
    """Trader A moves; its team mate is C. Six barley are one short of trader B's offer."""
    state = State(
        seed=1,
        first=0,
        deal=1,
        turns=0,
        turn=0,
        mover=0,
        hands=(
            hand(barley=5, corn=4, wheat=1),
            hand(barley=2, wheat=4, soybeans=3, bear=1),
            hand(barley=1, corn=4, wheat=3, bull=1),
            hand(barley=1, corn=1, wheat=1, soybeans=6),
        ),
        offers=(None,) * 4,
    )
    return state._replace(**changes)


def play(state: Any, *names: str, game: Game[Any] = GAME) -> Any:
    for name in names:
        (seat,) = game.to_move(state)
        options = game.observe(state, seat).options
        state = game.play(state, [game.legal(state, seat)[options.index(name)]])
    return state


def options(state: Any, game: Game[Any] = GAME) -> tuple[str, ...]:
    return game.observe(state, game.to_move(state)[0]).options


def test_lots_are_of_one_commodity_with_one_animal_at_the_most() -> None:
    assert len(set(LOTS)) == len(LOTS) == 42
    for lot, size in zip(LOTS, SIZES, strict=True):
        assert 1 <= size == sum(lot) <= 4
        assert sum(count > 0 for count in lot[:4]) <= 1
        assert lot[BULL] + lot[BEAR] <= 1


def test_an_offer_tells_only_its_number_and_stands() -> None:
    state = play(position(), "offer 3 corn", "offer 2 wheat and the bear", "wait", "wait")
    assert state.history[-4:-2] == ("trader A offered 3 cards", "trader B offered 3 cards")
    told = {fact.name: fact.text for fact in GAME.observe(state, 0).facts}
    assert told["Offers to you"] == "trader B offers 3 cards"
    assert told["Your offer"] == "3 corn"
    trades = [name for name in options(state) if name.startswith("trade")]
    assert sorted(trades) == ["trade 3 barley with trader B", "trade 3 corn with trader B"]
    assert "offer 3 corn" not in options(state)


def test_a_trade_exchanges_lots_and_ends_both_offers() -> None:
    state = play(position(), "offer 2 corn", "offer 2 soybeans", "trade 2 wheat with trader B")
    assert state.hands[2] == hand(barley=1, corn=4, wheat=1, soybeans=2, bull=1)
    assert state.hands[1] == hand(barley=2, wheat=6, soybeans=1, bear=1)
    assert state.offers[1:3] == (None, None)
    assert SIZES[state.offers[0] or 0] == 2
    assert state.points == (0, 0), "trader B has six wheat, and the bear"
    state = play(state, "wait", "wait")
    told = {fact.name: fact.text for fact in GAME.observe(state, 1).facts}
    assert told["Your trades in this deal"] == "gave trader C 2 soybeans for 2 wheat"


def test_a_corner_pays_and_the_bear_and_a_losing_bull_cost() -> None:
    start = position(mover=1)
    state = play(start, "offer 1 barley", "wait", "wait", "trade 1 wheat with trader B")
    assert state.points == (85 - 20, -20)
    assert state.deal == 2
    assert state.turns == 4
    assert state.turn == 0
    assert state.trades == ()
    assert state.mover == 1, "each deal begins with the next trader"
    assert "cornered barley and gets 85 points" in state.history[-1]


def test_the_bull_is_a_card_and_doubles_where_it_is_one_too_many() -> None:
    assert cornered(hand(wheat=5, bull=1), 6) == 3
    assert cornered(hand(wheat=4, bull=1), 6) is None
    assert cornered(hand(wheat=6, bear=1), 6) is None
    assert cornered(hand(barley=6, corn=6), 6) == 0
    hands = list(position().hands)
    hands[0] = hand(barley=5, corn=3, wheat=1, bull=1)
    hands[2] = hand(barley=1, corn=5, wheat=3)
    state = play(
        position(mover=1, hands=tuple(hands)),
        *("offer 1 barley", "wait", "wait", "trade 1 wheat with trader B"),
    )
    assert state.points == (170, -20)


def test_who_takes_the_offer_corners_first() -> None:
    hands = list(position().hands)
    hands[1] = hand(barley=1, wheat=5, soybeans=3, bear=0)
    hands[3] = hand(barley=2, corn=1, soybeans=6, bear=1)
    state = position(mover=1, hands=tuple(hands))
    state = play(state, "offer 1 barley", "wait", "wait", "trade 1 wheat with trader B")
    assert state.points == (85 - 20, -20), "trader A, who took it, not B with six wheat"


def test_a_deal_and_a_match_close_in_time() -> None:
    game = Pit(turns=10, deal_turns=4)
    state = game.deal(np.random.default_rng(3))
    for turn in range(10):
        assert (state.deal, state.turn) == (1 + turn // 4, turn % 4)
        state = play(state, "wait", game=game)
    assert game.to_move(state) == ()
    assert measured(game, state)["match_score"] == (0.5, 0.5)
    with pytest.raises(IllegalAction):
        game.play(state, [0])


def test_a_score_is_a_share_of_points_and_less_than_none_is_none() -> None:
    for points, share in (((500, 250), 2 / 3), ((500, -20), 1.0), ((-20, -40), 0.5)):
        state = position(points=points, turns=200)
        assert measured(GAME, state)["match_score"] == pytest.approx((share, 1 - share))
        assert GAME.returns(state) == pytest.approx((2 * share - 1, 1 - 2 * share))


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_cards_only_change_hands_and_nobody_holds_a_corner(seed: int) -> None:
    for state, _, _ in looked_at(GAME, seed):
        assert tuple(map(sum, zip(*state.hands, strict=True))) == hand_of(DECK)
        if GAME.to_move(state):
            assert all(cornered(own, GAME.corner) is None for own in state.hands)
        for own, lot in zip(state.hands, state.offers, strict=True):
            assert lot is None or all(a <= b for a, b in zip(LOTS[lot], own, strict=True))


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
        state = play(state, "wait")
    with pytest.raises(ValueError, match="got 4"):
        Pit(num_seats=4, quirks=True)


def test_a_sample_changes_all_that_a_trader_does_not_know() -> None:
    state = play(position(), "offer 2 corn", "offer 2 soybeans", "trade 2 wheat with trader B")
    state = play(state, "offer 3 soybeans", "offer 1 wheat")
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
    state = play(start, f"offer 2 {WORDS[kind]}", game=QUIRKS)
    state = play(state, f"take 2 {WORDS[kind]} for 1 {WORDS[given]}", game=QUIRKS)
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
    assert corner(hand(wheat=6), 3)
    assert corner(hand(wheat=6, bull=1), 3)
    assert corner(hand(wheat=5, bull=1), 3)
    assert corner(hand(wheat=5, bull=-1), 3)
    assert not corner(hand(wheat=7), 3)
    assert not corner(hand(wheat=5), 3)
    assert corner(hand(bull=6), BULL)


def test_quirks_offer_what_a_hand_lacks_in_vain() -> None:
    start = QUIRKS.deal(np.random.default_rng(0))
    lacking = next(kind for kind in (BULL, BEAR) if not published.own_hand(start, 0)[kind])
    name = published.NAMES[lacking]
    state = play(start, f"offer 4 {name}", game=QUIRKS)
    assert state.offers == (None, None)
    assert state.history[0] == f"player 0 offered 4 {name} without having them"
    assert len(options(state, QUIRKS)) == 24


@pytest.mark.parametrize("seed", range(3))
def test_quirks_end_by_points_or_turns(seed: int) -> None:
    last = final(QUIRKS, seed)
    assert max(last.points) >= 500 or last.turns == 200


def test_greedy_beats_random_and_one_ply_beats_greedy() -> None:
    game = Pit(goal=300, turns=120)
    assert scores(game, "greedy", "random", 12).mean() > 0.65
    assert scores(game, "one_ply", "greedy", 3).mean() > 0.55
