"""Sea Battle: the Game class over the compiled rules, and the game as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import full_rules
from gauntlet.games.playouts import check_known_policy
from gauntlet.games.sea_battle import players, rules
from gauntlet.games.sea_battle.players import course, distance
from gauntlet.games.sea_battle.rules import (
    ACTIONS,
    AGROUND,
    AT,
    BLOCKED,
    DAMAGE,
    FIRST,
    HEADING,
    HIT,
    MISSED,
    MOST_TURNS,
    PLAN,
    ROCKS,
    SECOND,
    SHIPS,
    SIDE,
    SILENT,
    SIZE,
    SUNK,
    TURN,
    State,
    View,
    seen_by,
    undecided,
)
from gauntlet.games.teams import Roles

NAMES = "ABCXYZ"
"""The ships: A, B and C belong to team 0, X, Y and Z to team 1."""
HEADINGS = ("north", "east", "south", "west")
MANOEUVRES = ("left", "forward", "right", "stay")
SIDES = ("left", "right")
OPTIONS = tuple(f"{move} and fire {side}" for move in MANOEUVRES for side in SIDES)
"""The options, by number."""

_EDGE, _WITHIN = "#" * SIDE, "#" + "." * (SIDE - 2) + "#"
BARE = "\n".join((_EDGE, *[_WITHIN] * (SIDE - 2), _EDGE)).encode()
"""A drawing of the sea with only the border."""

SUMMARY = (
    "Ships A, B and C fight ships X, Y and Z. Sink all enemy ships while one of yours is afloat. "
    "Every turn all ships choose a manoeuvre and a side to fire to, without knowing the others' "
    "choices, and all choices are carried out together."
)

ADVICE = (
    "Fire where an enemy is or will be within three squares on your left or right, never at your "
    "own ships.",
    "Do not sail into rocks or your own ships.",
    "Guess where enemies go: ships that move are hit by where they end, not by where they began.",
    "Keep enemies ahead or behind while you come near, since they fire to the sides only.",
)


def headings(most_turns: int, paper_bugs: bool) -> dict[str, str]:
    order = (
        "Ships move and fire one after the other, A to C and X to Z. Two that change places pass "
        "through each other, and a ship may come to lie on the square of one that was blocked."
        if paper_bugs
        else "A ship that would enter a square that another enters too, or that another keeps, or "
        "that would change places with another, stays where it is."
    )
    return {
        "Sea": "24 by 24 squares. The squares of the border and 14 more are rocks.",
        "Manoeuvres": "Forward: one square ahead. Left and right: one square ahead, a quarter turn "
        "to that side, and one more square ahead. Stay: no move. A ship that cannot enter a square "
        "stays where it is, and still turns and fires.",
        "Collisions": f"{order} In the first step of a manoeuvre each ship of a collision, one "
        "that stayed too, takes 1 damage; in the second step a collision costs nothing.",
        "Rocks": "A ship that would enter a rock takes 1 damage, in either step.",
        "Firing": "After all moves every ship afloat fires to its left or right. The shot flies up "
        "to 3 squares and hits the first ship on its way, friend or enemy, for 2 damage; rocks "
        "stop it.",
        "Sinking": "A ship with 10 damage sinks and is out of the way.",
        "End": "A team that has the only ships afloat wins; if none is afloat it is a draw. After "
        f"{most_turns} turns the team with more ships afloat wins, and equal numbers are a draw.",
    }


def facts(array: np.ndarray, ship: int) -> Iterator[Fact]:
    cells = array.tolist()
    team = ship // 3
    yield Fact("Your ship", _itself(cells, ship), own=True)
    yield Fact("Turn", f"{cells[TURN] + 1} of {cells[MOST_TURNS]}")
    yield Fact("Enemy ships", _other_ships(cells, ship, 1 - team), own=True)
    yield Fact("Your other ships", _other_ships(cells, ship, team), own=True)
    yield Fact("Hits if no other ship moves", _hits(array, ship), own=True)
    yield Fact("Crashes if no other ship moves", _crashes(array, ship), own=True)
    yield Fact("Steps to the nearest enemy after", _nearness(array, ship), own=True)
    yield Fact("Map, north up, # rock", drawing(cells))


def _itself(cells: Sequence[int], ship: int) -> str:
    y, x = divmod(cells[AT + ship], SIDE)
    return (
        f"{NAMES[ship]} at {x},{y}, heading {HEADINGS[cells[HEADING + ship]]}, damage "
        f"{cells[DAMAGE + ship]} of {SUNK}"
    )


def _other_ships(cells: Sequence[int], ship: int, team: int) -> str:
    """Return the other ships of a team as a ship sees them, the nearest first."""
    entries = []
    for other in range(3 * team, 3 * team + 3):
        if other == ship:
            continue
        if cells[DAMAGE + other] >= SUNK:
            entries.append((2 * SIDE, f"{NAMES[other]} sunk"))
            continue
        far, where = _relative_position(cells, ship, cells[AT + other])
        heading = HEADINGS[cells[HEADING + other]]
        entries.append(
            (far, f"{NAMES[other]} {where}, heading {heading}, damage {cells[DAMAGE + other]}")
        )
    return "; ".join(told for _, told in sorted(entries))


def _relative_position(cells: Sequence[int], ship: int, square: int) -> tuple[int, str]:
    """Return how far a square is from a ship, and its direction as seen from the ship."""
    (y, x), (there_y, there_x) = divmod(cells[AT + ship], SIDE), divmod(square, SIDE)
    east, north = there_x - x, there_y - y
    ahead, right = ((north, east), (east, -north), (-north, -east), (-east, north))[
        cells[HEADING + ship]
    ]
    parts = [f"{abs(ahead)} {'ahead' if ahead > 0 else 'behind'}"] * bool(ahead)
    parts += [f"{abs(right)} {'right' if right > 0 else 'left'}"] * bool(right)
    return abs(east) + abs(north), " ".join(parts) or "on your square"


def _hits(array: np.ndarray, ship: int) -> str:
    """Return the options that hit a ship, and which ship."""
    lines = []
    for action in range(ACTIONS):
        at, heading, _, _ = course(array, ship, action // 2)
        hit = rules.target(array, ship, at, heading, action % 2)
        if hit != MISSED:
            whose = "yours" if hit // 3 == ship // 3 else "enemy"
            lines.append(f"{OPTIONS[action]} hits {NAMES[hit]} ({whose})")
    return "; ".join(lines) or "none"


def _crashes(array: np.ndarray, ship: int) -> str:
    """Return the manoeuvres that damage the ship, and how much."""
    found = ((move, course(array, ship, number)[2]) for number, move in enumerate(MANOEUVRES))
    return ", ".join(f"{move} ({harm} damage)" for move, harm in found if harm) or "none"


def _nearness(array: np.ndarray, ship: int) -> str:
    found = (course(array, ship, number)[0] for number in range(len(MANOEUVRES)))
    return ", ".join(
        f"{move} {distance(array, ship, at)}" for move, at in zip(MANOEUVRES, found, strict=True)
    )


def drawing(cells: Sequence[int]) -> str:
    """Draw the sea, north on top."""
    canvas = bytearray(BARE)
    for rock in cells[ROCKS:SIZE]:
        canvas[_drawn_at(rock)] = ord("#")
    for ship in reversed(range(SHIPS)):
        if cells[DAMAGE + ship] < SUNK:
            canvas[_drawn_at(cells[AT + ship])] = ord(NAMES[ship])
    return canvas.decode()


def _drawn_at(square: int) -> int:
    """Return the index of a square in a drawing, counting the newline of each line."""
    y, x = divmod(square, SIDE)
    return (SIDE - 1 - y) * (SIDE + 1) + x


def clause(before: Sequence[int], notes: Sequence[int], after: Sequence[int]) -> str:
    """Return what happened in a turn; before: the cells with all plans."""
    states = [
        _did(before[PLAN + ship], notes[FIRST + ship], notes[SECOND + ship], notes[HIT + ship])
        for ship in range(SHIPS)
        if before[DAMAGE + ship] < SUNK
    ]
    names = [NAMES[ship] for ship in range(SHIPS) if before[DAMAGE + ship] < SUNK]
    sunk = [
        NAMES[ship] for ship in range(SHIPS) if before[DAMAGE + ship] < SUNK <= after[DAMAGE + ship]
    ]
    lost = f"; sunk: {', '.join(sunk)}" * bool(sunk)
    each = "; ".join(f"{name} {what}" for name, what in zip(names, states, strict=True))
    return f"turn {before[TURN] + 1}: {each}{lost}"


def _did(plan: int, first: int, second: int, hit: int) -> str:
    move = MANOEUVRES[plan // 2]
    stopped = [
        f"{step} step {'into a rock' if end == AGROUND else 'blocked'}"
        for step, end in (("first", first), ("second", second))
        if end in (AGROUND, BLOCKED)
    ]
    blocked = f" ({', '.join(stopped)})" * bool(stopped)
    if hit == SILENT:
        return f"{move}{blocked}"
    return f"{move}{blocked}, fired {SIDES[plan % 2]}{f', hit {NAMES[hit]}' * (hit >= 0)}"


def show_state(cells: Sequence[int]) -> str:
    lines = [f"{cells[TURN]} of {cells[MOST_TURNS]} turns played", drawing(cells)]
    for ship in range(SHIPS):
        if cells[DAMAGE + ship] >= SUNK:
            lines.append(f"{NAMES[ship]} sunk")
            continue
        plan = cells[PLAN + ship]
        chosen = f", has chosen {OPTIONS[plan]}" if plan >= 0 else ""
        lines.append(f"{_itself(cells, ship)}{chosen}")
    return "\n".join(lines)


ROLES = Roles(tuple(f"ship {name}" for name in NAMES), (0, 0, 0, 1, 1, 1))


@dataclass(frozen=True)
class SeaBattle:
    """Two seats with three ships each, or six with one (rules of GameBench, arXiv 2406.06613,
    appendix K, with the parameters of its code). An action is an index into `OPTIONS`.

    A seat with three ships chooses for one after the other, and no ship knows what another has
    chosen for this turn.

    most_turns: maximum number of turns, after which the team with more ships afloat wins.
    paper_bugs: True resolves a turn as the published code does (`rules.sail_in_order`).

    Raises ValueError for other numbers of seats, or no turns.
    """

    num_seats: int = 2
    most_turns: int = 100
    paper_bugs: bool = False

    draws: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = tuple(players.TOLD)
    told_policies: ClassVar[Mapping[str, str]] = players.TOLD

    def __post_init__(self) -> None:
        ROLES.check("sea battle", self.num_seats)
        if not 1 <= self.most_turns <= 1000:
            raise ValueError(f"most_turns is {self.most_turns}; a game has 1 to 1,000")

    @property
    def rules_summary(self) -> str:
        return SUMMARY

    @property
    def rules_headings(self) -> Mapping[str, str]:
        return headings(self.most_turns, self.paper_bugs)

    @cached_property
    def settings(self) -> np.ndarray:
        """A state's array with only the settings filled in."""
        array = np.zeros(rules.SIZE, np.int64)
        array[rules.MOST_TURNS], array[rules.PAPER_BUGS] = self.most_turns, self.paper_bugs
        return array

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        return ROLES.seatings(self.num_seats)

    def deal(self, rng: np.random.Generator) -> State:
        array = self.settings.copy()
        rules.deal(array, np.uint64(rng.integers(2**63)))
        return State(tuple(array.tolist()))

    def to_move(self, state: State) -> tuple[int, ...]:
        return tuple(self._acting(state))

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return tuple(range(rules.ACTIONS)) if seat in self._acting(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        acting = self._acting(state)
        fit = all(move in range(rules.ACTIONS) for move in moves)
        if not acting or len(moves) != len(acting) or not fit:
            seats = tuple(acting)
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        array = state.array
        for ship, move in zip(acting.values(), moves, strict=True):
            array[rules.PLAN + ship] = int(move)
        cells = array.tolist()
        if undecided(cells):
            return State(tuple(cells), state.history)
        notes = players.room()
        rules.resolve(array, notes)
        after = array.tolist()
        told = clause(cells, notes.tolist(), after)
        return State(tuple(after), (*state.history, told))

    def observe(self, state: State, seat: int) -> Observation:
        ship = self._acting(state)[seat]
        return Observation(
            game="Sea Battle",
            seat=seat,
            rules=full_rules(self),
            facts=tuple(facts(state.array, ship)),
            history=state.history,
            options=OPTIONS,
            view=seen_by(state.cells, ship),
            role=ROLES.role(self.num_seats, ship),
            team=ROLES.team(self.num_seats, ship),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        first = float(np.sign(rules.lead(state.array)))
        return ROLES.each_seat(self.num_seats, (first, -first))

    def show(self, state: State) -> str:
        return show_state(state.cells)

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        """Each ship that has chosen gets a uniformly random choice."""
        view: View = observation.view
        cells = [
            int(rng.integers(rules.ACTIONS)) if cell == rules.SECRET else cell
            for cell in view.cells
        ]
        return State(tuple(cells), observation.history)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        view: View = observation.view
        code = self._code(policy)
        if code == players.RANDOM:
            return (1 / rules.ACTIONS,) * rules.ACTIONS
        actions = players.best(np.array(view.cells), view.ship, code)
        chosen = [actions >> action & 1 for action in range(rules.ACTIONS)]
        whim = 1 / players.WHIM
        return tuple((1 - whim) * one / sum(chosen) + whim / len(chosen) for one in chosen)

    def worth(self, state: State, seat: int) -> float:
        team = seat if self.num_seats == 2 else ROLES.teams[seat]
        return float(players.worth(state.array, team, players.room()))

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        if len(policies) != self.num_seats:
            raise ValueError(f"{self.num_seats} seats need as many policies, got {len(policies)}")
        seats = [ROLES.seat(self.num_seats, ship) for ship in range(rules.SHIPS)]
        codes = np.array([self._code(policies[seat]) for seat in seats])
        first, second, drawn = players.simulate(self.settings, codes, games, seed).tolist()
        return np.array([*ROLES.each_seat(self.num_seats, (first, second)), drawn], np.int64)

    def advice(self, observation: Observation) -> tuple[str, ...]:
        return ADVICE

    def _acting(self, state: State) -> dict[int, int]:
        """Return, for each seat to move, the ship that it moves."""
        if rules.over(state.array):
            return {}
        ships: dict[int, int] = {}
        for ship in undecided(state.cells):
            ships.setdefault(ROLES.seat(self.num_seats, ship), ship)
        return ships

    def _code(self, policy: str) -> int:
        check_known_policy("sea battle", policy, self.policies)
        return self.policies.index(policy)
