"""Sea Battle's rules, compiled: one implementation for play and for playouts.

A state is a flat int64 array of the fields named below; the first four have a cell per ship.
Squares are x + 24 * y, x from the west and y from the south; those of the border are rocks. Ships 0
to 2 belong to team 0, 3 to 5 to team 1. An action is 2 * manoeuvre + side of the shot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gauntlet.games.compiling import Compiler, below

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating


SIDE, SHIPS, LOOSE_ROCKS = 24, 6, 14
REACH, SUNK = 3, 10
"""Range of a shot in squares; damage at which a ship sinks."""
ROCK, RAM, CANNON = 1, 1, 2
"""Damage from a rock, from a collision in the first step, and from a shot."""

LEFT, FORWARD, RIGHT, STAY = range(4)
"""Manoeuvres: LEFT and RIGHT are a step, a quarter turn and a second step."""
ACTIONS = 8

AT, HEADING, DAMAGE, PLAN = range(0, 4 * SHIPS, SHIPS)
"""One per ship. HEADING: 0 north, 1 east, 2 south, 3 west. PLAN: the action chosen for this turn;
UNDECIDED, or SECRET in a seat's view."""
TURN, MOST_TURNS, PAPER_BUGS = range(4 * SHIPS, 4 * SHIPS + 3)
"""TURN: number of finished turns. MOST_TURNS: the number that ends the game. PAPER_BUGS: 1 to
resolve turns as the published code does."""
ROCKS = PAPER_BUGS + 1
SIZE = ROCKS + LOOSE_ROCKS
UNDECIDED, SECRET = -1, -2

STEPS = (SIDE, 1, -SIDE, -1)
"""From a square to the next one in each heading."""

CLAIM, FIRST, SECOND, HIT, TAKEN = range(0, 5 * SHIPS, SHIPS)
"""The notes of a turn, one cell per ship. CLAIM, TAKEN: scratch for the resolution. FIRST, SECOND:
how each step ended. HIT: the ship that was hit, MISSED, or SILENT for a ship that did not shoot."""
NOTES = 5 * SHIPS
STILL, MOVED, AGROUND, BLOCKED = range(4)
"""How a step ends. AGROUND: at a rock. BLOCKED: by another ship."""
MISSED, SILENT = -1, -2


@inlined
def afloat(state: np.ndarray, ship: int) -> bool:
    return bool(state[DAMAGE + ship] < SUNK)


@inlined
def ships_of(state: np.ndarray, team: int) -> int:
    count = 0
    for ship in range(3 * team, 3 * team + 3):
        count += state[DAMAGE + ship] < SUNK
    return count


@inlined
def over(state: np.ndarray) -> bool:
    last = state[TURN] >= state[MOST_TURNS]
    return bool(last or ships_of(state, 0) == 0 or ships_of(state, 1) == 0)


@inlined
def is_rock(state: np.ndarray, square: int) -> bool:
    x, y = square % SIDE, square // SIDE
    if x == 0 or y == 0 or x == SIDE - 1 or y == SIDE - 1:
        return True
    present = False
    for place in range(ROCKS, SIZE):
        present |= state[place] == square
    return present


@compiled
def deal(state: np.ndarray, key: np.uint64) -> None:
    """Place the ships, each with a random heading, and the loose rocks on distinct squares within
    the border, in a state that has its settings."""
    inner = SIDE - 2
    count = 0
    for thing in range(SHIPS + LOOSE_ROCKS):
        place = AT + thing if thing < SHIPS else ROCKS + thing - SHIPS
        state[place] = 0
        while is_taken(state, thing, state[place]):
            drawn = below(inner * inner, key, count)
            state[place] = (1 + drawn % inner) + SIDE * (1 + drawn // inner)
            count += 1
    for ship in range(SHIPS):
        state[HEADING + ship] = below(4, key, count + ship)
        state[DAMAGE + ship] = 0
        state[PLAN + ship] = UNDECIDED
    state[TURN] = 0


@inlined
def is_taken(state: np.ndarray, things: int, square: int) -> bool:
    """Return whether one of the first `things` ships and loose rocks lies on a square; always True
    for square 0, on the border."""
    for thing in range(things):
        if state[AT + thing if thing < SHIPS else ROCKS + thing - SHIPS] == square:
            return True
    return bool(square == 0)


@inlined
def ahead(state: np.ndarray, ship: int) -> int:
    """Return the square in front of a ship."""
    return int(state[AT + ship] + STEPS[state[HEADING + ship]])


@compiled
def resolve(state: np.ndarray, notes: np.ndarray) -> None:
    """Carry out the plans of all ships afloat, in place, and note what happens."""
    for ship in range(SHIPS):
        notes[FIRST + ship] = notes[SECOND + ship] = STILL
        notes[HIT + ship] = SILENT
        moves = afloat(state, ship) and state[PLAN + ship] // 2 != STAY
        notes[CLAIM + ship] = ahead(state, ship) if moves else state[AT + ship]
    sail(state, notes, FIRST, RAM)
    for ship in range(SHIPS):
        turns = afloat(state, ship) and state[PLAN + ship] // 2 in (LEFT, RIGHT)
        if turns:
            quarter = 1 if state[PLAN + ship] // 2 == RIGHT else 3
            state[HEADING + ship] = (state[HEADING + ship] + quarter) % 4
        notes[CLAIM + ship] = ahead(state, ship) if turns else state[AT + ship]
    sail(state, notes, SECOND, 0)
    shoot(state, notes)
    for ship in range(SHIPS):
        state[PLAN + ship] = UNDECIDED
    state[TURN] += 1


@inlined
def sail(state: np.ndarray, notes: np.ndarray, row: int, ram: int) -> None:
    """Move all ships afloat to the squares that they claim, if possible. ram: the damage of a
    collision."""
    if state[PAPER_BUGS]:
        sail_in_order(state, notes, row, ram)
    else:
        sail_at_once(state, notes, row, ram)


@compiled
def sail_at_once(state: np.ndarray, notes: np.ndarray, row: int, ram: int) -> None:
    """A ship stays if its claim is a rock, if another ship claims the same square, if the two would
    change places, or if the ship on that square stays. All ships in a collision, including
    stationary ones, take its damage once."""
    for ship in range(SHIPS):
        if afloat(state, ship) and notes[CLAIM + ship] != state[AT + ship]:
            notes[row + ship] = AGROUND if is_rock(state, notes[CLAIM + ship]) else MOVED
    moving = True
    while moving:
        moving = False
        for ship in range(SHIPS):
            if notes[row + ship] == MOVED and in_the_way(state, notes, row, ship):
                notes[row + ship] = BLOCKED
                moving = True
    for ship in range(SHIPS):
        notes[TAKEN + ship] = ROCK if notes[row + ship] == AGROUND else 0
        if notes[row + ship] == BLOCKED or rammed(state, notes, row, ship):
            notes[TAKEN + ship] += ram
    for ship in range(SHIPS):
        state[DAMAGE + ship] += notes[TAKEN + ship]
        if notes[row + ship] == MOVED:
            state[AT + ship] = notes[CLAIM + ship]


@inlined
def in_the_way(state: np.ndarray, notes: np.ndarray, row: int, ship: int) -> bool:
    """Return whether another ship keeps `ship` from the square that it claims."""
    claim = notes[CLAIM + ship]
    for other in range(SHIPS):
        if other == ship or not afloat(state, other):
            continue
        swaps = notes[CLAIM + other] == state[AT + ship]
        stays = notes[row + other] != MOVED
        if notes[CLAIM + other] == claim or (state[AT + other] == claim and (swaps or stays)):
            return True
    return False


@inlined
def rammed(state: np.ndarray, notes: np.ndarray, row: int, ship: int) -> bool:
    """Return whether another ship has run into `ship`, which stays."""
    if notes[row + ship] == MOVED or not afloat(state, ship):
        return False
    for other in range(SHIPS):
        into = notes[CLAIM + other] == state[AT + ship]
        if other != ship and into and notes[row + other] == BLOCKED:
            return True
    return False


@compiled
def sail_in_order(state: np.ndarray, notes: np.ndarray, row: int, ram: int) -> None:
    """As in the published code: ships move one after the other by claims alone, so a ship may land
    on one that was blocked, two may change places, ships on one square pass through each other, and
    one just sunk by a collision no longer blocks."""
    for ship in range(SHIPS):
        notes[TAKEN + ship] = afloat(state, ship)
    for ship in range(SHIPS):
        if not notes[TAKEN + ship]:
            continue
        claim, blocked = notes[CLAIM + ship], False
        for other in range(SHIPS):
            apart = afloat(state, other) and state[AT + other] != state[AT + ship]
            blocked |= apart and notes[CLAIM + other] == claim
        if is_rock(state, claim):
            notes[row + ship] = AGROUND
            state[DAMAGE + ship] += ROCK
        elif blocked:
            notes[row + ship] = BLOCKED
            state[DAMAGE + ship] += ram
        elif claim != state[AT + ship]:
            notes[row + ship] = MOVED
            state[AT + ship] = claim


@compiled
def shoot(state: np.ndarray, notes: np.ndarray) -> None:
    """All ships afloat shoot at once; with paper bugs one after the other, so that a ship just sunk
    no longer blocks shots, though it still shoots."""
    for ship in range(SHIPS):
        if afloat(state, ship):
            notes[HIT + ship] = MISSED
        notes[TAKEN + ship] = 0
    for ship in range(SHIPS):
        if notes[HIT + ship] != SILENT:
            side = state[PLAN + ship] % 2
            hit_ship = target(state, ship, state[AT + ship], state[HEADING + ship], side)
            notes[HIT + ship] = hit_ship
            if hit_ship >= 0 and state[PAPER_BUGS]:
                state[DAMAGE + hit_ship] += CANNON
            elif hit_ship >= 0:
                notes[TAKEN + hit_ship] += CANNON
    for ship in range(SHIPS):
        state[DAMAGE + ship] += notes[TAKEN + ship]


@compiled
def target(state: np.ndarray, ship: int, at: int, heading: int, side: int) -> int:
    """Return the first ship that a shot of `ship` from a square meets, or MISSED. side: 0 left, 1
    right."""
    square, step = at, STEPS[(heading + (1 if side else 3)) % 4]
    for _ in range(REACH):
        square += step
        if is_rock(state, square):
            return MISSED
        found = lies_there(state, ship, square)
        if found != MISSED:
            return found
    return MISSED


@compiled
def lies_there(state: np.ndarray, ship: int, square: int) -> int:
    """Return the other ship on a square, or MISSED."""
    for other in range(SHIPS):
        if other != ship and afloat(state, other) and state[AT + other] == square:
            return other
    return MISSED


@inlined
def lead(state: np.ndarray) -> int:
    """Return by how many ships team 0 is ahead; the team ahead at the end wins."""
    return ships_of(state, 0) - ships_of(state, 1)


@dataclass(frozen=True, slots=True)
class State:
    """The sea and its history.

    cells: the array of `games.sea_battle.rules`. history: a clause for each turn.
    """

    cells: tuple[int, ...]
    history: tuple[str, ...] = ()

    @property
    def array(self) -> np.ndarray:
        """The cells as the compiled rules take them; a new array each time."""
        return np.array(self.cells)


class View(NamedTuple):
    """What a ship sees: its index, and the cells, with plans for this turn replaced by SECRET."""

    ship: int
    cells: tuple[int, ...]


def seen_by(cells: Sequence[int], ship: int) -> View:
    """Return what a ship sees of a state: everything except what others have chosen for this
    turn."""
    plans = [UNDECIDED if plan == UNDECIDED else SECRET for plan in cells[PLAN : PLAN + SHIPS]]
    return View(ship, (*cells[:PLAN], *plans, *cells[PLAN + SHIPS :]))


def undecided(cells: Sequence[int]) -> list[int]:
    """Return the ships afloat that have not chosen for this turn."""
    return [
        ship
        for ship in range(SHIPS)
        if cells[DAMAGE + ship] < SUNK and cells[PLAN + ship] == UNDECIDED
    ]
