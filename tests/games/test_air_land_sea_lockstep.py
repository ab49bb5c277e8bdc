"""Air, Land & Sea against a referee written from the rules, choice by choice."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.air_land_sea.state import NAMES, THEATRES
from tests.games.air_land_sea_referee import Battle
from tests.games.package_slips import slipped_package

WITHDRAW = 0.2
"""Chance that a withdrawal that was drawn is made, so that most battles are fought to their end."""


def lockstep(game: Any, number: int) -> int:
    """Plays a game beside the referee: how many choices it had."""
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
    """Hands, cards, strengths and who would win are alike."""
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
    "support": ("state", "+ 3 * (at in helped)", "+ 2 * (at in helped)"),
    "escalation": ("state", "face_up(state, seat, ESCALATION)", "face_up(state, 0, ESCALATION)"),
    "cover fire": (
        "state",
        "found[:place] = [RAISED] * place",
        "found[:1] = [RAISED] * (place > 0)",
    ),
    "aerodrome": ("state", "strength(card) <= 3", "strength(card) <= 2"),
    "containment": ("state", "if not up and any", "if up and any"),
    "blockade": ("state", ">= 3", ">= 4"),
    "air drop lasts": ("rules", "drop=_with(state.drop, seat, False)", "drop=state.drop"),
    "reinforce escapes": ("rules", "clause, not quirks)", "clause, quirks)"),
    "who disrupts": ("state", "task.owner if quirks else flipper(task)", "task.owner"),
    "own flips": ("state", "_flips(state, (flipper(task),)", "_flips(state, (task.owner,)"),
    "maneuver": ("state", "_flips(state, (0, 1), adj", "_flips(state, (1 - task.owner,), adj"),
    "take back": ("state", "p in column if not p.up]", "p in column]"),
    "withdrawal": ("rules", "(6, 4, 3, 3, 2, 2, 2)", "(6, 4, 3, 3, 3, 2, 2)"),
    "first player": ("rules", "order, 1 - state.first, points", "order, state.first, points"),
    "rotation": ("rules", "else (right, left, middle)", "else (middle, right, left)"),
    "covering": (
        "rules",
        "state = _put(state, seat, to, (*state.columns[seat][to], placed))",
        "state = _put(state, seat, to, (placed, *state.columns[seat][to]))",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_planted_slip_is_caught(name: str) -> None:
    game = slipped_package("gauntlet.games.air_land_sea", *SLIPS[name]).AirLandSea()
    assert any(differs(game, number) for number in range(150))


def test_nothing_is_caught_without_a_slip() -> None:
    package = slipped_package("gauntlet.games.air_land_sea", "state", "RAISED = 4", "RAISED = 4")
    assert not any(differs(package.AirLandSea(), number) for number in range(5))


def differs(game: Any, number: int) -> bool:
    """Whether the referee has a game otherwise."""
    try:
        lockstep(game, number)
    except (AssertionError, StopIteration, LookupError, ValueError):
        return True
    return False
