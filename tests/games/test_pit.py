"""Pit against an independent referee, turn by turn; hidden information and published paper_bugs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.games.pit import Pit, published
from gauntlet.games.pit.rules import BEAR, BULL, State
from tests.games.cases import after, final, options
from tests.games.pit_referee import TEAM, TRADERS, Referee
from tests.games.slips import caught, slipped_package

WORDS = ("barley", "corn", "soybeans", "wheat", "bull", "bear")
SETTINGS = (
    {"turns": 60},
    {"turns": 60, "num_seats": 4},
    {"turns": 50, "corner": 5, "deal_turns": 18, "goal": 260},
    {"turns": 80, "corner": 7, "deal_turns": 80},
)


def lockstep(game: Any, number: int) -> int:
    """Play a match alongside the referee; return its number of turns."""
    rng = np.random.default_rng(number)
    state = game.deal(rng)
    referee = Referee(game.corner, game.goal, game.turns, game.deal_turns)
    opener = None
    while game.to_move(state):
        if referee.closed:
            opener = TRADERS[state.mover if opener is None else (TRADERS.index(opener) + 1) % 4]
            referee.deal([bag(hand) for hand in state.hands], opener)
        seat, who = game.to_move(state)[0], referee.turn
        assert seat == (TEAM[who] if game.num_seats == 2 else TRADERS.index(who))
        seen = game.observe(state, seat)
        assert sorted(seen.options) == sorted(referee.options())
        compare(game, referee, seen)
        name = chosen(seen.options, rng)
        state = game.play(state, [game.legal(state, seat)[seen.options.index(name)]])
        referee.take(name)
        assert list(state.points) == referee.points
    assert referee.over()
    assert game.measure(state)["match_score"][0] == pytest.approx(referee.share())
    return referee.taken


def bag(hand: tuple[int, ...]) -> list[str]:
    return [word for word, count in zip(WORDS, hand, strict=True) for _ in range(count)]


def chosen(options: tuple[str, ...], rng: np.random.Generator) -> str:
    """Trade half of the time, so that cards move."""
    trades = [name for name in options if name.startswith("trade")]
    among = trades if trades and rng.random() < 0.5 else options
    return str(among[int(rng.integers(len(among)))])


def compare(game: Any, referee: Referee, observation: Any) -> None:
    """The trader's observation matches the referee's."""
    who, facts = referee.turn, {fact.name: fact.text for fact in observation.facts}
    assert facts["You are"].startswith(f"trader {who};")
    own, other = referee.points[TEAM[who]], referee.points[1 - TEAM[who]]
    assert facts["Points"] == f"your team {own}, the other {other}; {game.goal} win"
    for word, count in referee.hands[who].items():
        name = f"the {word}" if word in ("bull", "bear") else f"{count} {word}"
        assert (name in facts["Your hand"]) == (count > 0)
    offers = [
        f"trader {one} offers {referee.offers[one].total()} card"
        for one in TRADERS
        if one in referee.offers and one != who
    ]
    assert all(offer in facts["Offers to you"] for offer in offers)
    assert facts["Offers to you"].count("offers") == len(offers)


@pytest.mark.parametrize(
    ("first", "games"), [(0, 120), pytest.param(120, 4880, marks=pytest.mark.slow)]
)
def test_matches_go_as_the_referee_has_them(first: int, games: int) -> None:
    played = [Pit(**setting) for setting in SETTINGS]
    turns = sum(lockstep(played[n % len(played)], n) for n in range(first, first + games))
    print(f"\n{games} matches of Pit in lockstep with the referee, {turns} turns")
    assert turns > 40 * games


SLIPS = {
    "value": ("rules", "(85, 75, 55, 100)", "(85, 75, 60, 100)"),
    "bear corners": ("rules", "if hand[BEAR]:", "if hand[BEAR] > 1:"),
    "bull is no card": ("rules", "hand[kind] + hand[BULL] >= corner", "hand[kind] >= corner"),
    "lots of five": ("rules", "LARGEST = 4", "LARGEST = 5"),
    "bear is free": ("rules", '(BEAR, "bear")', '(BULL, "bear")'),
    "taken lot stays": (
        "rules",
        "plus(minus(hands[taker], lot), other_lot)",
        "plus(hands[taker], other_lot)",
    ),
    "order of turns": ("rules", "mover=(state.mover + 1) % 4", "mover=(state.mover + 3) % 4"),
    "share": ("players", "max(0, score)", "max(1, score)"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_planted_slip_is_caught(name: str) -> None:
    package = slipped_package("gauntlet.games.pit", *SLIPS[name])
    assert any(caught(lockstep, package.Pit(**setting), 40) for setting in SETTINGS)


def test_nothing_is_caught_without_a_slip() -> None:
    package = slipped_package("gauntlet.games.pit", "rules", "LARGEST = 4", "LARGEST = 4")
    assert not caught(lockstep, package.Pit(**SETTINGS[0]), 5)


GAME, PAPER_BUGS = Pit(), Pit(paper_bugs=True)


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


def test_paper_bugs_put_a_trade_to_both_hands_of_a_side() -> None:
    start = PAPER_BUGS.deal(np.random.default_rng(0))
    first = [published.hand(start, which) for which in range(4)]
    kind = max(range(4), key=first[0].__getitem__)
    given = max(range(4), key=first[2].__getitem__)
    state = after(PAPER_BUGS, start, f"offer 2 {WORDS[kind]}")
    state = after(PAPER_BUGS, state, f"take 2 {WORDS[kind]} for 1 {WORDS[given]}")
    assert state.deal == 1
    change = [0] * 6
    change[kind] -= 2
    change[given] += 1
    for which, sign in ((0, 1), (1, 1), (2, -1), (3, -1)):
        now = published.hand(state, which)
        moved = [after - before for before, after in zip(first[which], now, strict=True)]
        assert moved == [sign * one for one in change]


def test_paper_bugs_know_corners_of_exactly_six_or_five_and_a_bull() -> None:
    corner = published.is_corner
    for wheat, bull, is_one in ((6, 0, 1), (6, 1, 1), (5, 1, 1), (5, -1, 1), (7, 0, 0), (5, 0, 0)):
        assert corner(hand(wheat=wheat, bull=bull), 3) == is_one
    assert corner(hand(bull=6), BULL)


def test_paper_bugs_offer_what_a_hand_lacks_in_vain() -> None:
    start = PAPER_BUGS.deal(np.random.default_rng(0))
    lacking = next(kind for kind in (BULL, BEAR) if not published.own_hand(start, 0)[kind])
    name = published.NAMES[lacking]
    state = after(PAPER_BUGS, start, f"offer 4 {name}")
    assert state.offers == (None, None)
    assert state.history[0] == f"player 0 offered 4 {name} without having them"
    assert len(options(PAPER_BUGS, state)) == 24


def test_paper_bugs_end_by_points_or_turns() -> None:
    for seed in range(3):
        last = final(PAPER_BUGS, seed)
        assert max(last.points) >= 500 or last.turns == 200
