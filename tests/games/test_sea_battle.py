"""Sea Battle against a slow referee, turn by turn, and results of its players."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gauntlet.games.playouts import sample
from gauntlet.games.sea_battle import SeaBattle, State, game, rules
from gauntlet.games.sea_battle.rules import undecided
from tests.games.cases import seeds, walk
from tests.games.sea_battle_referee import COMPASS, InOrder, Referee, Ship
from tests.games.slips import caught, slipped

GAME, SIX = SeaBattle(), SeaBattle(num_seats=6)
NAMES, HEADINGS = game.NAMES, game.HEADINGS
CROWD = 5
"""Side in squares of a bay in which all ships start in every other game, so that they meet."""


def dealt(seed: int, paper_bugs: bool, most_turns: int = 60) -> np.ndarray:
    """A deal; for odd seeds the ships are then placed close together among some of the rocks."""
    array = SeaBattle(most_turns=most_turns, paper_bugs=paper_bugs).settings.copy()
    rules.deal(array, np.uint64(seed))
    if seed % 2:
        bay = random.Random(seed).sample(range(CROWD * CROWD), rules.SHIPS + 3)
        squares = [(1 + at % CROWD) + rules.SIDE * (1 + at // CROWD) for at in bay]
        far = [23 * rules.SIDE] * (rules.LOOSE_ROCKS - 3)
        array[rules.AT : rules.AT + rules.SHIPS] = squares[: rules.SHIPS]
        array[rules.ROCKS : rules.SIZE] = squares[rules.SHIPS :] + far
    return array


def point(square: int) -> complex:
    return complex(square % rules.SIDE, square // rules.SIDE)


def refereed(array: np.ndarray) -> Referee:
    """Return the referee of a deal."""
    cells = array.tolist()
    ships = {
        name: Ship(point(cells[at]), COMPASS[HEADINGS[cells[rules.HEADING + at]]])
        for at, name in enumerate(NAMES)
    }
    loose = {point(square) for square in cells[rules.ROCKS : rules.SIZE]}
    kind = InOrder if cells[rules.PAPER_BUGS] else Referee
    return kind(ships, loose, cells[rules.MOST_TURNS])


def compare(array: np.ndarray, referee: Referee) -> None:
    cells = array.tolist()
    for at, name in enumerate(NAMES):
        ship, heading = referee.ships[name], COMPASS[HEADINGS[cells[rules.HEADING + at]]]
        ours = (point(cells[rules.AT + at]), heading, cells[rules.DAMAGE + at])
        assert ours == (ship.at, ship.heading, ship.damage), name
    score = 0.5 * (np.sign(rules.lead(array)) + 1) if rules.over(array) else None
    assert score == referee.score()


def lockstep(engine: Any, seed: int, paper_bugs: bool = False) -> Counter[str]:
    """Play a random game in both; return the outcome. Fails if they differ."""
    tally, notes = Counter(games=1), np.zeros(rules.NOTES, np.int64)
    choose, array = random.Random(seed), dealt(seed, paper_bugs)
    referee = refereed(array)
    compare(array, referee)
    while referee.score() is None:
        orders = {}
        for name in referee.afloat():
            action = choose.randrange(rules.ACTIONS)
            array[rules.PLAN + NAMES.index(name)] = action
            orders[name] = (game.MANOEUVRES[action // 2], game.SIDES[action % 2])
        engine.resolve(array, notes)
        referee.turn(orders)
        compare(array, referee)
        tally["turns"] += 1
        for row in (rules.FIRST, rules.SECOND):
            ends = notes[row : row + rules.SHIPS].tolist()
            tally["collisions"] += rules.BLOCKED in ends
            tally["rocks"] += rules.AGROUND in ends
        tally["hits"] += int((notes[rules.HIT : rules.HIT + rules.SHIPS] >= 0).sum())
    tally["draws"] += referee.score() == 0.5
    return tally


@pytest.mark.parametrize("games", [300, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("paper_bugs", [False, True])
def test_every_turn_ends_as_the_referees(
    paper_bugs: bool, games: int, figure: Callable[[str], None]
) -> None:
    tally = sum((lockstep(rules, seed, paper_bugs) for seed in range(games)), Counter())
    assert min(tally[what] for what in ("collisions", "rocks", "hits")) > games
    assert tally["draws"] > 0
    figure(
        f"Sea Battle{' with paper bugs' * paper_bugs} in lockstep with its referee: {dict(tally)}"
    )


SLIPS = {
    "ships that change places pass": (
        "swaps = notes[CLAIM + other] == state[AT + ship]",
        "swaps = False",
    ),
    "a ship that is rammed takes nothing": ("or rammed(state, notes, row, ship):", "or False:"),
    "a blocked ship does not turn": (
        "state[PLAN + ship] // 2 in (LEFT, RIGHT)",
        "state[PLAN + ship] // 2 in (LEFT, RIGHT) and notes[FIRST + ship] == MOVED",
    ),
    "left is right": ("== RIGHT else 3", "== LEFT else 3"),
    "a shot flies over rocks": (
        "        if is_rock(state, square):\n            return MISSED\n",
        "",
    ),
    "ships sink at 9": ("REACH, SUNK = 3, 10", "REACH, SUNK = 3, 9"),
    "shots fall one after the other": ("hit_ship >= 0 and state[PAPER_BUGS]", "hit_ship >= 0"),
    "a sunk ship is in the way": (
        "if other != ship and afloat(state, other) and state[AT + other] == square:",
        "if other != ship and state[AT + other] == square:",
    ),
}
PUBLISHED = {
    "two ships on one square collide": (
        "afloat(state, other) and state[AT + other] != state[AT + ship]",
        "afloat(state, other) and other != ship",
    ),
    "shots fall at once": ("hit_ship >= 0 and state[PAPER_BUGS]", "False"),
}


@pytest.mark.parametrize("slip", SLIPS | PUBLISHED)
def test_a_planted_slip_is_caught(slip: str) -> None:
    wrong = slipped(rules, *(SLIPS | PUBLISHED)[slip])
    assert caught(lambda own, n: lockstep(own, n, slip in PUBLISHED), wrong, games=100)


@pytest.mark.parametrize("paper_bugs", [False, True])
def test_the_rules_as_plain_python_are_not_taken_for_a_slip(paper_bugs: bool) -> None:
    same = slipped(rules, "SIDE, SHIPS", "SIDE, SHIPS")
    assert not caught(lambda own, n: lockstep(own, n, paper_bugs), same, games=10)


def at_sea(**ships: tuple[int, int, str]) -> State:
    """Return a state without loose rocks and with these ships, each x, y and heading; the others
    are far away in a corner, each in a separate row."""
    cells = SeaBattle().settings.tolist()
    cells[rules.ROCKS : rules.SIZE] = [0] * rules.LOOSE_ROCKS
    for at, name in enumerate(NAMES):
        x, y, heading = ships.get(name, (22, 12 + 2 * at, "north"))
        cells[rules.AT + at] = x + rules.SIDE * y
        cells[rules.HEADING + at] = HEADINGS.index(heading)
        cells[rules.PLAN + at] = rules.UNDECIDED
    return State(tuple(cells))


def test_ships_of_a_seat_choose_in_turns_and_know_nothing_of_each_other() -> None:
    state = GAME.deal(np.random.default_rng(3))
    first = [GAME.play(state, [action, 7]) for action in (0, 5)]
    seen = [GAME.observe(one, 0) for one in first]
    assert seen[0] == seen[1]
    assert seen[0].facts[0].text.startswith("B at ")
    assert [GAME.observe(one, 1).facts[0].text[0] for one in first] == ["Y", "Y"]
    assert undecided(first[0].cells) == [1, 2, 4, 5]


@given(seeds)
def test_a_sample_redraws_every_choice_of_this_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = GAME.deal(rng)
    state = GAME.play(GAME.play(state, [0, 0]), [0, 0])
    seen = GAME.observe(state, 0)
    drawn = np.array([sample(GAME, seen, rng).cells[rules.PLAN :][:6] for _ in range(60)])
    for ship, plans in enumerate(drawn.T.tolist()):
        assert (len(set(plans)) > 3) == (ship in (0, 1, 3, 4))


@given(seeds)
def test_two_seats_and_six_play_the_same_game(seed: int) -> None:
    for state, seats, moves in walk(SIX, seed):
        if seats:
            other = state
            while GAME.to_move(other) and other.history == state.history:
                acting = [
                    min(ship for ship in undecided(other.cells) if ship // 3 == team)
                    for team in GAME.to_move(other)
                ]
                other = GAME.play(other, [moves[seats.index(ship)] for ship in acting])
            assert other == SIX.play(state, moves)


def facts_of(state: State, seat: int) -> dict[str, str]:
    return {fact.name: fact.text for fact in SIX.observe(state, seat).facts}


def test_a_ship_is_told_where_others_are_and_what_it_would_hit() -> None:
    state = at_sea(A=(5, 5, "east"), X=(7, 4, "south"), B=(5, 7, "west"))
    facts = facts_of(state, 0)
    assert facts["Your ship"] == "A at 5,5, heading east, damage 0 of 10"
    assert facts["Enemy ships"].startswith("X 2 ahead 1 right, heading south, damage 0; ")
    assert facts["Your other ships"].startswith("B 2 left, heading west, damage 0; ")
    hits = facts["Hits if no other ship moves"].split("; ")
    assert "stay and fire left hits B (yours)" in hits
    assert "right and fire left hits X (enemy)" in hits
    assert facts["Crashes if no other ship moves"] == "none"
    assert facts_of(at_sea(A=(1, 5, "west")), 0)["Crashes if no other ship moves"] == (
        "left (1 damage), forward (1 damage), right (1 damage)"
    )


@given(seeds)
def test_what_is_told_of_hits_and_crashes_is_what_happens(seed: int) -> None:
    """Tried out: the ship acts, and all others stay and hold their fire by pointing away."""
    rng = np.random.default_rng(seed)
    array = dealt(int(rng.integers(500)), paper_bugs=False)
    state = State(tuple(array.tolist()))
    facts = facts_of(state, 0)
    told = facts["Hits if no other ship moves"].split("; ")
    for action, name in enumerate(game.OPTIONS):
        trial, notes = array.copy(), np.zeros(rules.NOTES, np.int64)
        trial[rules.PLAN : rules.PLAN + 6] = [action, 6, 6, 6, 6, 6]
        rules.resolve(trial, notes)
        hit = notes.item(rules.HIT)
        told_hit = next((one for one in told if one.startswith(f"{name} hits")), "")
        assert (hit >= 0) == bool(told_hit)
        assert hit < 0 or f"hits {NAMES[hit]} (" in told_hit
