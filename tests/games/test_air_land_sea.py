"""Air, Land & Sea against an independent referee; published figures and paper_bugs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.air_land_sea.state import CARDS, NAMES, THEATRES, PlacedCard, State, totals
from tests.games.air_land_sea_referee import Battle
from tests.games.cases import after, final, looked_at, seeds
from tests.games.slips import caught, slipped_package

WITHDRAW = 0.2
"""Probability that a drawn withdrawal is made, so that most battles are fought to their end."""


def lockstep(game: Any, number: int) -> int:
    """Play a game alongside the referee; return its number of choices."""
    rng = np.random.default_rng(number)
    state, points, choices = game.deal(rng), [0, 0], 0
    row, first = [THEATRES[at] for at in state.order], state.first
    while game.to_move(state):
        battle = Battle(
            row,
            first,
            [[NAMES[card] for card in hand] for hand in state.hands],
            [NAMES[card] for card in state.deck[::-1]],
        )
        asking = battle.run()
        ask = next(asking)
        fought = state.battle
        while ask is not None:
            assert game.to_move(state) == (ask[0],)
            seen = game.observe(state, ask[0])
            assert sorted(seen.options) == sorted(ask[1])
            compare(battle, state, ask[0], seen)
            name = chosen(seen.options, rng)
            state = game.play(state, [game.legal(state, ask[0])[seen.options.index(name)]])
            choices += 1
            try:
                ask = asking.send(name)
            except StopIteration:
                break
        assert battle.result is not None
        points[battle.result[0]] += battle.result[1]
        assert list(state.points) == points
        assert (state.battle > fought) == (max(points) < 12)
        row, first = [row[2], row[0], row[1]], 1 - first
    assert max(points) >= 12
    assert game.measure(state)["match_score"][0] == pytest.approx(points[0] / sum(points))
    return choices


def chosen(options: tuple[str, ...], rng: np.random.Generator) -> str:
    name = options[int(rng.integers(len(options)))]
    if name == "withdraw" and rng.random() > WITHDRAW:
        return options[int(rng.integers(len(options) - 1))]
    return name


def compare(battle: Battle, state: Any, seat: int, observation: Any) -> None:
    """Hands, cards, strengths and the current winner are equal."""
    assert [{NAMES[card] for card in hand} for hand in state.hands] == battle.hands
    facts = {fact.name: fact.text for fact in observation.facts}
    lines = facts["Theatres, left to right"].splitlines()
    assert [line.partition(":")[0] for line in lines] == battle.row
    for place, line in zip(battle.row, lines, strict=True):
        sums = [int(one) for one in re.findall(r"(?:you|opponent) (\d+)", line)]
        assert sums == [battle.power(seat, place), battle.power(1 - seat, place)]
        own = [(NAMES[p.card], p.up) for p in state.columns[seat][THEATRES.index(place)]]
        assert own == [(piece.name, piece.up) for piece in battle.table[seat, place]]
    held = [place for place in battle.row if battle.rules(seat, place)]
    result = "win" if len(held) >= 2 else "lose"
    told = f"you would {result}, holding {', '.join(held) or 'no theatre'}"
    assert facts["If the battle ended now"] == told


@pytest.mark.parametrize(
    ("first", "games"), [(0, 120), pytest.param(120, 4880, marks=pytest.mark.slow)]
)
def test_games_go_as_the_referee_has_them(first: int, games: int) -> None:
    game = AirLandSea()
    choices = sum(lockstep(game, number) for number in range(first, first + games))
    print(f"\n{games} games of Air, Land & Sea in lockstep with the referee, {choices} choices")
    assert choices > 30 * games


SLIPS = {
    "ties": ("state", "state.first if mine == theirs", "1 - state.first if mine == theirs"),
    "adjacent": ("state", "at != order[1] else", "at == order[0] else"),
    "escalation": ("state", "face_up(state, seat, ESCALATION)", "face_up(state, 0, ESCALATION)"),
    "cover fire": (
        "state",
        "values[:place] = [RAISED] * place",
        "values[:1] = [RAISED] * (place > 0)",
    ),
    "blockade": ("state", ">= 3", ">= 4"),
    "air drop lasts": ("rules", "drop=_with_item(state.drop, seat, False)", "drop=state.drop"),
    "maneuver": ("state", "_flips(state, (0, 1), adj", "_flips(state, (1 - task.owner,), adj"),
    "withdrawal": ("rules", "(6, 4, 3, 3, 2, 2, 2)", "(6, 4, 3, 3, 3, 2, 2)"),
    "rotation": ("rules", "else (right, left, middle)", "else (middle, right, left)"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_planted_slip_is_caught(name: str) -> None:
    package = slipped_package("gauntlet.games.air_land_sea", *SLIPS[name])
    assert caught(lockstep, package.AirLandSea(), 150)


def test_nothing_is_caught_without_a_slip() -> None:
    package = slipped_package("gauntlet.games.air_land_sea", "state", "RAISED = 4", "RAISED = 4")
    assert not caught(lockstep, package.AirLandSea(), 5)


GAME = AirLandSea()
PAPER_BUGS = AirLandSea(paper_bugs=True)
AIR, LAND, SEA = range(3)


def card(name: str) -> int:
    return NAMES.index(name)


def position(
    mine: dict[int, list[str]] | None = None,
    other: dict[int, list[str]] | None = None,
    hands: tuple[list[str], list[str]] = (["Heavy Tanks"], ["Super Battleship"]),
    **changes: Any,
) -> State:
    """Player 0 is first and to move; theatres lie as air, land, sea. A card that begins with a dash
    lies face down; the uncovered card is the last."""
    columns = [
        tuple(tuple(map(placed, side.get(at, []))) for at in range(3))
        for side in (mine or {}, other or {})
    ]
    used = {p.card for side in columns for column in side for p in column}
    held = tuple(tuple(sorted(map(card, hand))) for hand in hands)
    deck = tuple(one for one in CARDS if one not in used | {*held[0], *held[1]})
    both, hands_ = (columns[0], columns[1]), (held[0], held[1])
    order = (AIR, LAND, SEA)
    state = State(1, 1, order, 0, (0, 0), turn=0, hands=hands_, columns=both, deck=deck)
    return replace(state, **changes)


def placed(name: str) -> PlacedCard:
    down = name.startswith("-")
    number = card(name.lstrip("-"))
    return PlacedCard(number, not down, not down, 2 if down else number % 6 + 1)


@pytest.mark.parametrize(
    ("game", "second", "next_"),
    [
        (GAME, "flip your Sea Maneuver in sea face up", 1),
        (PAPER_BUGS, "flip the opponent's hidden card in sea face up", 0),
    ],
)
def test_abilities_are_carried_out_in_their_order(
    game: AirLandSea, second: str, next_: int
) -> None:
    """Disrupt turns up a Maneuver of each player; what the first of them turns up has to wait for
    the second, with paper bugs not. There the owner of Disrupt chooses both."""
    own, other = {AIR: ["-Air Maneuver"], LAND: ["-Land Maneuver"]}, {SEA: ["-Sea Maneuver"]}
    state = position(own, other, (["Disrupt"], []), order=(LAND, AIR, SEA), drop=(True, False))
    flip = "flip your Air Maneuver in air face up"
    state = after(game, state, "deploy Disrupt to sea", flip, second)
    assert [task.owner for task in state.tasks] == [0, 1]
    state = after(game, state, "flip your Land Maneuver in land face up")
    assert game.to_move(state) == (next_,)


@pytest.mark.parametrize(("game", "left"), [(GAME, 0), (PAPER_BUGS, 1)])
def test_containment_stops_reinforce_but_not_with_paper_bugs(game: AirLandSea, left: int) -> None:
    state = position({AIR: ["Containment"]}, hands=(["Reinforce"], ["Disrupt"]))
    state = after(game, state, "deploy Reinforce to land", "lay the drawn card in sea")
    assert len(state.columns[0][SEA]) == left


def test_paper_bugs_turn_the_theatres_the_other_way() -> None:
    assert after(PAPER_BUGS, position(), "withdraw").order == (LAND, SEA, AIR)


def test_paper_bugs_judge_by_strengths_that_lag() -> None:
    """Escalation raises nothing in the leftmost theatre, nor when it is the last card played."""
    down = {AIR: ["-Ambush"], LAND: ["-Support"]}
    late = position(down, {AIR: ["Air Maneuver"], LAND: ["Land Maneuver"]}, (["Escalation"], []))
    assert after(GAME, late, "deploy Escalation to sea").points == (6, 0)
    assert after(PAPER_BUGS, late, "deploy Escalation to sea").points == (0, 6)
    early = replace(late, hands=((card("Escalation"),), (card("Heavy Tanks"),)))
    seen = after(PAPER_BUGS, early, "deploy Escalation to sea")
    assert totals(seen, True)[0] == (4, 4, 2)
    left = after(PAPER_BUGS, replace(early, order=(SEA, AIR, LAND)), "deploy Escalation to sea")
    assert totals(left, True)[0] == (2, 2, 2)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_no_card_is_lost_or_doubled(seed: int) -> None:
    for game in (GAME, PAPER_BUGS):
        for state, _, _ in looked_at(game, seed):
            lying = [p.card for side in state.columns for column in side for p in column]
            drawn = [task.drawn for task in state.tasks if task.drawn is not None]
            gone = [one.card for one in state.lost]
            held = [*state.hands[0], *state.hands[1]]
            assert sorted([*lying, *drawn, *gone, *held, *state.deck]) == list(CARDS)
        points = final(game, seed).points
        assert 12 <= max(points) <= 17
        assert min(points) < 12


def test_what_was_shown_stays_known_in_a_new_deal_of_the_rest() -> None:
    """A card that lay face up and went back to the hand is there, or face down, in every sample."""
    own = {LAND: ["-Ambush"], AIR: ["-Support"]}
    state = position({}, own, (["Heavy Tanks"], ["Disrupt", "Aerodrome"]), shown=((), (1,)))
    state = replace(state, hands=(state.hands[0], (1, card("Disrupt"))))
    seen, places = GAME.observe(state, 0), set()
    for seed in range(60):
        other = GAME.sample(seen, np.random.default_rng(seed))
        lying = [p.card for column in other.columns[1] for p in column]
        assert (1 in other.hands[1]) != (1 in lying)
        places.add(1 in lying)
    assert places == {True, False}
