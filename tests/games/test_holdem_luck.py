"""Luck-adjusted money: a hand by hand, beliefs in two ways, the same mean from fewer hands."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.luck_holdem import PLAYERS, Table, compare
from gauntlet.games.holdem import Holdem, State, luck, rules
from gauntlet.games.holdem.playouts import believe, make_belief, sum_up
from gauntlet.games.holdem.policies import (
    FACTS,
    PRICE,
    STRENGTH,
    habits,
    learn,
    make_room,
    weigh_habits,
)
from gauntlet.games.holdem.words import NAMES, RANKS, SUITS

GAME = Holdem(mode="hands", hands=1)
CHECKED = ["CALL", "CHECK", *("CHECK", "CHECK") * 2]
"""A hand up to the river, seat 1 to move."""


def dealt(cards: str, hands: int = 1) -> State:
    """A first hand with these cards: two of seat 0, two of seat 1, the board."""
    start = Holdem(mode="hands", hands=hands).deal(np.random.default_rng(0))
    numbers = [4 * RANKS.index(card[0]) + SUITS.index(card[1]) for card in cards.split()]
    start.array[rules.CARDS : rules.LOG] = numbers
    return start


def worth(start: State, moves: list[str], opponent: str, reference: str, seat: int = 1) -> float:
    policies = (opponent, reference) if seat else (reference, opponent)
    return GAME.advantage(start, moves, seat, seat, policies, 25, 7)


NUTS = "4c 5d Ah Kh Qh Jh Th 2c 3d"
"""Seat 1 has a royal flush, so its win is certain."""


def test_a_sure_hand_is_worth_what_it_takes_over_the_reference() -> None:
    """All in against a caller wins 200 chips; the caller in its place checks and wins 2."""
    start = dealt(NUTS)
    assert worth(start, [*CHECKED, "ALL_IN", "CALL"], "caller", "caller") == (200 - 2) / 2
    assert worth(start, [*CHECKED, "CHECK", "CHECK"], "caller", "caller") == 0
    raised = [*CHECKED, "RAISE_POT", "CALL"]
    assert worth(start, raised, "caller", "caller") == (6 - 2) / 2, "a pot of 4, bet once more"


def test_what_the_other_seat_gets_is_the_same_lost_and_hands_share_it() -> None:
    moves, policies = [*CHECKED, "ALL_IN", "CALL"], ("caller", "caller")
    assert GAME.advantage(dealt(NUTS), moves, 1, 0, policies, 5, 7) == -99
    assert GAME.advantage(dealt(NUTS, hands=4), moves, 1, 1, policies, 5, 7) == 99 / 4


def test_a_match_that_these_policies_did_not_play_is_refused() -> None:
    start = dealt(NUTS)
    for moves in (["CHECK"], [*CHECKED, "ALL_IN", "FOLD"]):
        with pytest.raises(ValueError, match="the moves are not a game of these policies"):
            worth(start, moves, "caller", "caller")


@pytest.mark.parametrize("opponent", ["tight", "mixed"])
def test_beliefs_kept_move_by_move_are_those_of_the_whole_hand(opponent: str) -> None:
    codes, room, whole = GAME.codes((opponent, "caller")), make_room(), make_belief()
    measure = luck.Measure(GAME.players((opponent, "caller")), 1, luck.EXACT)
    desk, rng, told = luck.make_desk(GAME.settings), np.random.default_rng(5), 0
    for seed in range(20):
        start = GAME.settings.copy()
        rules.deal(start, seed)
        state, actions = start.copy(), list[int]()
        while not rules.over(state):
            legal = [action for action in range(1, 8) if rules.legal(state) >> action & 1]
            if state[rules.TO_MOVE] == 1:
                luck.advantage(start, np.array(actions, int), 1, measure, 3, desk)
                sum_up(state, desk.belief)
                believe(state, codes[0], room, whole)
                mine, theirs = desk.belief.sums, whole.sums
                np.testing.assert_allclose(mine / mine[-1], theirs / theirs[-1])
                told += len(actions) > 0
                action = int(rng.choice(legal))
            else:
                action = int(luck.choose(codes[0], state, rules.legal(state), np.uint64(9), room))
            actions.append(action)
            rules.step(state, action)
    assert told > 20


def judged(players: tuple[str, str], slips: int, reference: str, hands: int, n: int) -> np.ndarray:
    desk = luck.make_desk(GAME.settings)
    measure = luck.Measure(GAME.players((reference, players[1])), n, luck.EXACT)
    return luck.sample(GAME.settings, GAME.codes(players), slips, measure, 0, hands, 11, desk)


def of_noisy(deals: int) -> str:
    """The habits of tight with three slips in ten, against tight."""
    return Table("noisy", "tight").learnt(deals).reference


@pytest.mark.parametrize("reference", ["tight", "caller", "habits"])
def test_the_mean_is_that_of_plain_hands_and_varies_less(reference: str) -> None:
    """Seat 0 of tight with three slips in ten, against tight."""
    reference = of_noisy(40) if reference == "habits" else reference
    raw, gained = judged(("tight", "tight"), 30, reference, 3_000, 10).T
    base = GAME.scores((reference, "tight"), 60_000, 5, "bb_per_hand")[:, 0]
    truth = judged(("tight", "tight"), 30, "tight", 60_000, 0)[:, 0]
    parts = (base, truth, gained)
    error = np.sqrt(sum(part.var() / len(part) for part in parts))
    assert abs(base.mean() + gained.mean() - truth.mean()) < 4 * error
    assert raw.var() > 2.5 * gained.var()


def test_a_reference_gains_nothing_over_itself() -> None:
    """With a random player: what its choices gain and lose cancels."""
    _, gained = judged(("random", "tight"), 0, "random", 3_000, 10).T
    assert gained.std() > 1
    assert abs(gained.mean()) < 4 * gained.std() / np.sqrt(len(gained))


def test_a_player_who_decides_by_the_cards_is_learnt() -> None:
    """Tight against a maniac, from 300 deals: almost no variance is left."""
    own = Table("tight", "maniac").learnt(300).reference
    raw, gained = judged(("tight", "maniac"), 0, own, 2_000, 5).T
    assert raw.var() > 20 * gained.var()


def test_habits_are_what_was_done_at_such_a_price() -> None:
    """Half of the time a raise where it is free; else a call with a strong hand, a fold without."""
    rng, taken = np.random.default_rng(3), np.empty(400, int)
    facts = rng.random((400, FACTS))
    facts[:, PRICE] = np.arange(400) % 2 / 3
    taken[0::4], taken[2::4] = rules.CHECK, rules.RAISE_POT
    strong = facts[1::2, STRENGTH] > 0.6
    taken[1::2] = np.where(strong, rules.CALL, rules.FOLD)
    text = learn(facts, taken)
    own, weights, every = habits(text), np.zeros(rules.ACTIONS, np.int64), 255
    assert text == learn(facts, taken)
    assert own.looks

    def shares(price: float, strength: float, actions: int = every) -> dict[str, float]:
        asked = facts[0].copy()
        asked[[PRICE, STRENGTH, STRENGTH + 1]] = price, strength, strength - price
        total = weigh_habits(own, actions, asked, weights)
        return {NAMES[at]: weights[at] / total for at in np.flatnonzero(weights)}

    assert shares(0, 0.5) == {"CHECK": 0.5, "RAISE_POT": 0.5}
    assert shares(0, 0.5, 1 << rules.RAISE_POT) == {"RAISE_POT": 1}
    assert shares(0, 0.5, 1 << rules.CALL | 1 << rules.FOLD) == {"CALL": 1}, "neither ever was"
    assert shares(1 / 3, 0.9) == {"CALL": 1}
    assert shares(1 / 3, 0.1) == {"FOLD": 1}


def test_what_was_imitated_gets_what_its_player_gets() -> None:
    """A maniac, learned from both seats of two hands: it plays as the maniac does, deal by deal."""
    game = Holdem(mode="hands", hands=1)
    seen = []
    for seed in range(6):
        start = game.deal(np.random.default_rng(seed))
        for seat in range(2):
            state, moves = start, []
            while game.to_move(state):
                (mover,) = game.to_move(state)
                legal = game.legal(state, mover)
                passive = rules.CHECK if rules.CHECK in legal else rules.CALL
                wild = rules.RAISE_POT if rules.RAISE_POT in legal else passive
                moves.append(NAMES[wild if mover == seat else passive])
                state = game.play(state, [wild if mover == seat else passive])
            seen.append((start, moves, seat))
    own = game.imitate(seen)
    for seat in range(2):
        seats = [own, "caller"] if seat == 0 else ["caller", own]
        known = ["maniac", "caller"] if seat == 0 else ["caller", "maniac"]
        found = game.scores(seats, 50, 9, "bb_per_hand")
        np.testing.assert_array_equal(found, game.scores(known, 50, 9, "bb_per_hand"))
        assert found.std() > 0


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", "tight"])
@pytest.mark.parametrize("player", PLAYERS)
def test_a_hundred_thousand_hands_show_no_bias(player: str, opponent: str) -> None:
    """Each judged against a policy that it is not, and against habits of its own."""
    named = Table(player, opponent, "caller" if player == "tight" else "tight")
    for table in (named, Table(player, opponent).learnt(40)):
        assert abs(compare(table, 100_000)["bias_z"]) < 3


@pytest.mark.slow
def test_cards_dealt_as_if_nothing_had_been_seen_are_found_out() -> None:
    table = Table("noisy", "tight", "caller", luck.UNIFORM)
    assert abs(compare(table, 100_000)["bias_z"]) > 4
