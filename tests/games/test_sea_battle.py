"""Sea Battle against a slow referee, turn by turn, and what its players come to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gauntlet.common.errors import IllegalAction
from gauntlet.games.playouts import sample, simulate
from gauntlet.games.sea_battle import SeaBattle, State, rules, words
from gauntlet.games.sea_battle.rules import undecided
from tests.games.cases import seeds, walk
from tests.games.duels import scores
from tests.games.sea_battle_referee import COMPASS, InOrder, Referee, Ship
from tests.games.slips import slipped

GAME, SIX = SeaBattle(), SeaBattle(num_seats=6)
NAMES, HEADINGS = words.NAMES, words.HEADINGS
CROWD = 5
"""Squares a side of a bay into which all ships of every other game are put: so that they meet."""


def dealt(seed: int, quirks: bool, most_turns: int = 60) -> np.ndarray:
    """A deal; of odd seeds the ships are then put close together among some of the rocks."""
    array = SeaBattle(most_turns=most_turns, quirks=quirks).settings.copy()
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
    """The referee of a deal."""
    cells = array.tolist()
    ships = {
        name: Ship(point(cells[at]), COMPASS[HEADINGS[cells[rules.HEADING + at]]])
        for at, name in enumerate(NAMES)
    }
    loose = {point(square) for square in cells[rules.ROCKS : rules.SIZE]}
    kind = InOrder if cells[rules.QUIRKS] else Referee
    return kind(ships, loose, cells[rules.MOST_TURNS])


def difference(array: np.ndarray, referee: Referee) -> str:
    cells, found = array.tolist(), []
    for at, name in enumerate(NAMES):
        ship, damage = referee.ships[name], cells[rules.DAMAGE + at]
        heading = COMPASS[HEADINGS[cells[rules.HEADING + at]]]
        ours = (point(cells[rules.AT + at]), heading, damage)
        if ours != (ship.at, ship.heading, ship.damage):
            found.append(f"{name}: {ours} / {(ship.at, ship.heading, ship.damage)}")
    over = referee.score() is not None
    score = 0.5 * (np.sign(rules.lead(array)) + 1) if rules.over(array) else None
    if bool(rules.over(array)) != over or score != referee.score():
        found.append(f"score {score} / {referee.score()}")
    return "; ".join(found)


def lockstep(engine: Any, games: int, quirks: bool) -> tuple[Counter[str], str]:
    """Random games of both up to the first difference: what happened, and the difference."""
    tally: Counter[str] = Counter()
    notes = np.zeros(rules.NOTES, np.int64)
    for seed in range(games):
        choose, array = random.Random(seed), dealt(seed, quirks)
        referee = refereed(array)
        while not (found := difference(array, referee)) and referee.score() is None:
            orders = {}
            for name in referee.afloat():
                action = choose.randrange(rules.ACTIONS)
                array[rules.PLAN + NAMES.index(name)] = action
                orders[name] = (words.MANOEUVRES[action // 2], words.SIDES[action % 2])
            engine.resolve(array, notes)
            referee.turn(orders)
            tally["turns"] += 1
            for row in (rules.FIRST, rules.SECOND):
                ends = notes[row : row + rules.SHIPS].tolist()
                tally["collisions"] += rules.BLOCKED in ends
                tally["rocks"] += rules.AGROUND in ends
            tally["hits"] += int((notes[rules.HIT : rules.HIT + rules.SHIPS] >= 0).sum())
        if found:
            return tally, f"game {seed}, turn {referee.turns}: {found}"
        tally["games"] += 1
        tally["draws"] += referee.score() == 0.5
    return tally, ""


@pytest.mark.parametrize("games", [500, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("quirks", [False, True])
def test_every_turn_ends_as_the_referees(
    quirks: bool, games: int, figure: Callable[[str], None]
) -> None:
    tally, found = lockstep(rules, games, quirks)
    assert not found
    assert min(tally[what] for what in ("collisions", "rocks", "hits")) > games
    assert tally["draws"] > 0
    told = ", ".join(f"{count:,} {what}" for what, count in tally.items())
    figure(f"Sea Battle{' with quirks' * quirks} in lockstep with its referee: {told}")


SLIPS = {
    "ships that change places pass": (
        "swaps = notes[CLAIM + other] == state[AT + ship]",
        "swaps = False",
    ),
    "a ship moves onto one that stays": ("stays = notes[row + other] != MOVED", "stays = False"),
    "a ship that is rammed takes nothing": ("or rammed(state, notes, row, ship):", "or False:"),
    "the second step hurts too": ("sail(state, notes, SECOND, 0)", "sail(state, notes, SECOND, 1)"),
    "the first step does not hurt": ("notes, FIRST, RAM)", "notes, FIRST, 0)"),
    "a blocked ship does not turn": (
        "state[PLAN + ship] // 2 in (LEFT, RIGHT)",
        "state[PLAN + ship] // 2 in (LEFT, RIGHT) and notes[FIRST + ship] == MOVED",
    ),
    "left is right": ("== RIGHT else 3", "== LEFT else 3"),
    "a shot flies four squares": ("REACH, SUNK = 3, 10", "REACH, SUNK = 4, 10"),
    "a shot flies over rocks": (
        "        if is_rock(state, square):\n            return MISSED\n",
        "",
    ),
    "ships sink at 9": ("REACH, SUNK = 3, 10", "REACH, SUNK = 3, 9"),
    "rocks do 2 damage": ("ROCK, RAM, CANNON = 1, 1, 2", "ROCK, RAM, CANNON = 2, 1, 2"),
    "a shot does 1 damage": ("ROCK, RAM, CANNON = 1, 1, 2", "ROCK, RAM, CANNON = 1, 1, 1"),
    "shots fall one after the other": ("found >= 0 and state[QUIRKS]", "found >= 0"),
    "loose rocks are water": ("found |= state[place] == square", "pass"),
    "the border is water": ("x == 0 or y == 0", "x == 0"),
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
    "a ship just sunk by a collision is in the way": (
        "apart = afloat(state, other) and",
        "apart =",
    ),
    "shots fall at once": ("found >= 0 and state[QUIRKS]", "False"),
}


def planted(old: str, new: str) -> ModuleType:
    return slipped(rules, old, new)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert lockstep(planted(*SLIPS[slip]), 100, quirks=False)[1]


@pytest.mark.parametrize("slip", PUBLISHED)
def test_a_planted_slip_in_the_published_rules_is_caught(slip: str) -> None:
    assert lockstep(planted(*PUBLISHED[slip]), 100, quirks=True)[1]


@pytest.mark.parametrize("quirks", [False, True])
def test_the_rules_as_plain_python_are_not_taken_for_a_slip(quirks: bool) -> None:
    assert not lockstep(planted("SIDE, SHIPS", "SIDE, SHIPS"), 10, quirks)[1]


def at_sea(**ships: tuple[int, int, str]) -> State:
    """A state without loose rocks and with these ships, each x, y and heading; the others far away
    in a corner, each in a row of its own."""
    cells = SeaBattle().settings.tolist()
    cells[rules.ROCKS : rules.SIZE] = [0] * rules.LOOSE_ROCKS
    for at, name in enumerate(NAMES):
        x, y, heading = ships.get(name, (22, 12 + 2 * at, "north"))
        cells[rules.AT + at] = x + rules.SIDE * y
        cells[rules.HEADING + at] = HEADINGS.index(heading)
        cells[rules.PLAN + at] = rules.UNDECIDED
    return State(tuple(cells))


def after(state: State, game: SeaBattle = SIX, **orders: str) -> dict[str, tuple[int, int, int]]:
    """Where ships are, and their damage, after a turn in which the others stay."""
    moves = [words.OPTIONS.index(orders.get(name, "stay and fire right")) for name in NAMES]
    cells = game.play(state, moves).cells
    return {
        name: (
            cells[rules.AT + at] % rules.SIDE,
            cells[rules.AT + at] // rules.SIDE,
            cells[rules.DAMAGE + at],
        )
        for at, name in enumerate(NAMES)
    }


def test_a_turn_is_a_step_a_quarter_and_a_step() -> None:
    state = at_sea(A=(5, 5, "north"))
    assert after(state, A="left and fire left")["A"] == (4, 6, 0)
    assert after(state, A="right and fire left")["A"] == (6, 6, 0)
    assert after(state, A="forward and fire left")["A"] == (5, 6, 0)


def test_a_shot_hits_the_first_ship_of_three_squares_friend_or_enemy() -> None:
    state = at_sea(A=(5, 5, "north"), B=(7, 5, "north"), X=(8, 5, "north"), Y=(1, 5, "north"))
    shot = after(state, A="stay and fire right")
    assert (shot["B"], shot["X"]) == ((7, 5, 2), (8, 5, 2))  # B fires to its right as well
    assert after(state, A="stay and fire left")["Y"] == (1, 5, 0)


def test_ships_that_meet_stay_and_take_one_each() -> None:
    head_on = at_sea(A=(5, 5, "north"), X=(5, 6, "south"))
    met = after(head_on, A="forward and fire left", X="forward and fire left")
    assert (met["A"], met["X"]) == ((5, 5, 1), (5, 6, 1))
    one_square = at_sea(A=(5, 5, "north"), X=(5, 7, "south"))
    met = after(one_square, A="forward and fire left", X="forward and fire left")
    assert (met["A"], met["X"]) == ((5, 5, 1), (5, 7, 1))


def test_a_ship_follows_one_that_gets_away_and_runs_into_one_that_does_not() -> None:
    line = at_sea(A=(5, 5, "north"), B=(5, 6, "north"))
    away = after(line, A="forward and fire left", B="forward and fire left")
    assert (away["A"], away["B"]) == ((5, 6, 0), (5, 7, 0))
    kept = at_sea(A=(5, 21, "north"), B=(5, 22, "north"))
    ran = after(kept, A="forward and fire left", B="forward and fire left")
    assert (ran["A"], ran["B"]) == ((5, 21, 1), (5, 22, 2))  # B: the border, and A


def test_the_published_rules_let_them_pass_and_lie_on_one_square() -> None:
    published = SeaBattle(num_seats=6, quirks=True)
    orders = {
        "A": "forward and fire left",
        "X": "forward and fire left",
        "B": "forward and fire left",
    }
    head_on = with_quirks(at_sea(A=(5, 5, "north"), X=(5, 6, "south")))
    met = after(head_on, published, **orders)
    assert (met["A"], met["X"]) == ((5, 6, 0), (5, 5, 0))
    kept = with_quirks(at_sea(A=(5, 21, "north"), B=(5, 22, "north")))
    ran = after(kept, published, **orders)
    assert (ran["A"], ran["B"]) == ((5, 22, 0), (5, 22, 1))


def with_quirks(state: State) -> State:
    cells = list(state.cells)
    cells[rules.QUIRKS] = 1
    return State(tuple(cells))


def damaged(state: State, **damage: int) -> State:
    cells = list(state.cells)
    for name, harm in damage.items():
        cells[rules.DAMAGE + NAMES.index(name)] = harm
    return State(tuple(cells))


def test_who_has_the_only_ships_afloat_wins_and_nobody_without() -> None:
    alone = damaged(at_sea(A=(5, 5, "north"), X=(7, 5, "north")), B=10, C=10, X=8, Y=10, Z=10)
    won = SIX.play(alone, [words.OPTIONS.index("stay and fire right"), 6])
    assert SIX.to_move(won) == ()
    assert SIX.returns(won) == (1.0, 1.0, 1.0, -1.0, -1.0, -1.0)
    both = damaged(alone, A=8)
    drawn = SIX.play(both, [words.OPTIONS.index("stay and fire right"), 6])
    assert SIX.returns(drawn) == (0.0,) * 6


def test_after_the_last_turn_more_ships_win() -> None:
    game = SeaBattle(most_turns=1)
    state = game.deal(np.random.default_rng(1))
    cells = list(state.cells)
    cells[rules.DAMAGE : rules.DAMAGE + 6] = [0, 9, 0, 0, 0, 10]
    state = State(tuple(cells))
    while seats := game.to_move(state):
        state = game.play(state, [6] * len(seats))
    assert game.returns(state) == (1.0, -1.0)


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
    array = dealt(int(rng.integers(500)), quirks=False)
    state = State(tuple(array.tolist()))
    facts = facts_of(state, 0)
    told = facts["Hits if no other ship moves"].split("; ")
    for action, name in enumerate(words.OPTIONS):
        trial, notes = array.copy(), np.zeros(rules.NOTES, np.int64)
        trial[rules.PLAN : rules.PLAN + 6] = [action, 6, 6, 6, 6, 6]
        rules.resolve(trial, notes)
        hit = notes.item(rules.HIT)
        told_hit = next((one for one in told if one.startswith(f"{name} hits")), "")
        assert (hit >= 0) == bool(told_hit)
        assert hit < 0 or f"hits {NAMES[hit]} (" in told_hit


PAIRED: Sequence[tuple[str, str]] = (("greedy", "random"), ("random", "greedy"))


def test_one_ply_search_beats_greedy_and_greedy_beats_random() -> None:
    """In thousands of games greedy wins 98%; one-ply search about 95% against greedy."""
    first, second = (simulate(GAME, pair, 500, 1) for pair in PAIRED)
    assert first[0] + second[1] > 950
    assert scores(GAME, "one_ply", "greedy", 2).mean() > 0.5


def test_what_cannot_be_is_refused() -> None:
    state = GAME.deal(np.random.default_rng(0))
    with pytest.raises(IllegalAction, match=r"moves \[8, 0\] for seats \(0, 1\) in\n0 of 100"):
        GAME.play(state, [8, 0])
    with pytest.raises(ValueError, match="sea battle seats 2 or 6 players, got 3"):
        SeaBattle(num_seats=3)
    with pytest.raises(ValueError, match="most_turns is 0; a game has 1 to 1,000"):
        SeaBattle(most_turns=0)
