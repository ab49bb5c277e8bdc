"""A slow referee of Sea Battle, written from the rule text alone.

It shares no code with the engine: squares and headings are complex numbers with east as 1 and north
as 1j, ships have names, and simultaneous events are all computed before any is applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

TEAMS = ("ABC", "XYZ")
COMPASS = {"north": 1j, "east": 1, "south": -1j, "west": -1}
QUARTER = {"left": 1j, "right": -1j}
LAST = 23


@dataclass
class Ship:
    at: complex
    heading: complex
    damage: int = 0


@dataclass
class Referee:
    """One game. orders: the choice of each ship afloat, such as ("left", "right")."""

    ships: dict[str, Ship]
    loose: set[complex]
    most_turns: int
    turns: int = 0
    orders: dict[str, tuple[str, str]] = field(default_factory=dict)

    def afloat(self) -> list[str]:
        return [name for name, ship in self.ships.items() if ship.damage < 10]

    def left(self, team: int) -> int:
        return len(set(self.afloat()) & set(TEAMS[team]))

    def score(self) -> float | None:
        """The first team's result, None until the game ends."""
        ours, theirs = self.left(0), self.left(1)
        if ours and theirs and self.turns < self.most_turns:
            return None
        return 0.5 if ours == theirs else float(ours > theirs)

    def rock(self, square: complex) -> bool:
        border = square.real in (0, LAST) or square.imag in (0, LAST)
        return border or square in self.loose

    def turn(self, orders: dict[str, tuple[str, str]]) -> None:
        """Carry out a turn, given a manoeuvre and a side for each ship afloat."""
        assert sorted(orders) == sorted(self.afloat())
        self.orders = orders
        self.step(lambda name: orders[name][0] != "stay", ramming=1)
        for name in self.afloat():
            self.ships[name].heading *= QUARTER.get(orders[name][0], 1)
        self.step(lambda name: orders[name][0] in QUARTER, ramming=0)
        self.fire()
        self.turns += 1

    def step(self, sails: Callable[[str], bool], ramming: int) -> None:
        """Move all sailing ships one square ahead, as far as they can."""
        at = {name: self.ships[name].at for name in self.afloat()}
        goal = {name: at[name] + self.ships[name].heading for name in at if sails(name)}
        grounded = {name for name in goal if self.rock(goal[name])}
        crashed = self.crashed(at, goal, grounded)
        for name in at:
            if name in goal and name not in grounded | crashed:
                self.ships[name].at = goal[name]
            ran_into = {goal[other] for other in crashed}
            stayed = name in crashed or name in grounded or name not in goal
            hurt = name in crashed or (stayed and at[name] in ran_into)
            self.ships[name].damage += (name in grounded) + ramming * hurt

    @staticmethod
    def crashed(at: dict[str, complex], goal: dict[str, complex], grounded: set[str]) -> set[str]:
        """Return the ships that cannot move because of others: first those that collide head-on or
        on one square, then those that would run into a blocked ship."""
        found = {
            name
            for name in goal
            for other in goal
            if name != other and name not in grounded
            if goal[name] == goal[other] or (goal[name], goal[other]) == (at[other], at[name])
        }
        while True:
            resting = {at[name] for name in at if name not in goal or name in grounded | found}
            more = {name for name in goal if goal[name] in resting} - grounded - found
            if not more:
                return found
            found |= more

    def fire(self) -> None:
        """All ships afloat fire at once."""
        shots = [self.struck(name) for name in self.afloat()]
        for name in shots:
            if name:
                self.ships[name].damage += 2

    def struck(self, name: str) -> str:
        """Return the ship hit by a ship's shot, "" for none."""
        ship = self.ships[name]
        for far in (1, 2, 3):
            square = ship.at + far * ship.heading * QUARTER[self.orders[name][1]]
            if self.rock(square):
                return ""
            for other in self.afloat():
                if self.ships[other].at == square:
                    return other
        return ""


class InOrder(Referee):
    """The published rules: ships are resolved one after the other, A to C and X to Z, and only
    ships with the same destination collide."""

    def step(self, sails: Callable[[str], bool], ramming: int) -> None:
        going = self.afloat()
        aim = {
            name: ship.at + ship.heading * sails(name)
            for name, ship in self.ships.items()
            if name in going
        }
        for name in going:
            ship = self.ships[name]
            others = [other for other in self.afloat() if self.ships[other].at != ship.at]
            if self.rock(aim[name]):
                ship.damage += 1
            elif aim[name] in {aim[other] for other in others}:
                ship.damage += ramming
            else:
                ship.at = aim[name]

    def fire(self) -> None:
        for name in self.afloat():
            if struck := self.struck(name):
                self.ships[struck].damage += 2
