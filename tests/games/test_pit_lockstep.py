"""Pit against a referee written from the rules, turn by turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.games.pit import Pit
from tests.games.package_slips import slipped_package
from tests.games.pit_referee import TEAM, TRADERS, Referee

WORDS = ("barley", "corn", "soybeans", "wheat", "bull", "bear")
SETTINGS = (
    {"turns": 60},
    {"turns": 60, "num_seats": 4},
    {"turns": 50, "corner": 5, "deal_turns": 18, "goal": 260},
    {"turns": 80, "corner": 7, "deal_turns": 80},
)


def lockstep(game: Any, number: int) -> int:
    """Plays a match beside the referee: how many turns it had."""
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
    """A trade as often as something else, so that cards move."""
    trades = [name for name in options if name.startswith("trade")]
    among = trades if trades and rng.random() < 0.5 else options
    return str(among[int(rng.integers(len(among)))])


def compare(game: Any, referee: Referee, observation: Any) -> None:
    """What the trader is told is as the referee has it."""
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
    "cheapest corner": ("rules", "max(full, key=", "min(full, key="),
    "lots of five": ("rules", "LARGEST = 4", "LARGEST = 5"),
    "double": ("rules", "VALUES[kind] * (1 + double)", "VALUES[kind] * (1 + bool(hand[BULL]))"),
    "bear is free": ("rules", '(BEAR, "bear")', '(BULL, "bear")'),
    "bull helped": ("rules", "if holder != winner:", "if holder != winner or card == BULL:"),
    "taken lot stays": (
        "rules",
        "plus(minus(hands[taker], lot), taken)",
        "plus(hands[taker], taken)",
    ),
    "offer stands": ("rules", "offers[taker] = offers[other] = None", "offers[other] = None"),
    "who is first": ("rules", "for who in (taker, other):", "for who in (other, taker):"),
    "any size": ("rules", "if SIZES[lot] == cards", "if SIZES[lot] <= cards"),
    "same offer": (
        "rules",
        "for lot in lots_of(hand) if lot != own_lot",
        "for lot in lots_of(hand)",
    ),
    "order of turns": ("rules", "mover=(state.mover + 1) % 4", "mover=(state.mover + 3) % 4"),
    "long deals": ("rules", "state.turn < terms.deal_turns", "state.turn <= terms.deal_turns"),
    "opener": ("rules", "(first + deal - 1) % 4", "first"),
    "teams": ("rules", "TEAMS = (0, 1, 0, 1)", "TEAMS = (0, 0, 1, 1)"),
    "share": ("players", "max(0, score)", "max(1, score)"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_planted_slip_is_caught(name: str) -> None:
    package = slipped_package("gauntlet.games.pit", *SLIPS[name])
    games = [package.Pit(**setting) for setting in SETTINGS]
    assert any(differs(games[number % len(games)], number) for number in range(120))


def test_nothing_is_caught_without_a_slip() -> None:
    package = slipped_package("gauntlet.games.pit", "rules", "LARGEST = 4", "LARGEST = 4")
    assert not any(differs(package.Pit(**SETTINGS[0]), number) for number in range(5))


def differs(game: Any, number: int) -> bool:
    """Whether the referee has a match otherwise."""
    try:
        lockstep(game, number)
    except (AssertionError, LookupError, ValueError):
        return True
    return False
