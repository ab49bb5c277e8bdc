"""Seats of games between two teams of several roles each: one seat per team, or one per role.

A seat that plays a team acts for one of its roles at a time and sees only what that role knows, as
if it were several players that do not talk to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Roles:
    """The roles of a game, from 0.

    names: the display name of each ("the spymaster of red"). teams: the team of each, 0 or 1.
    """

    names: tuple[str, ...]
    teams: tuple[int, ...]

    def check(self, title: str, num_seats: int) -> None:
        """Raises ValueError unless there are two seats, or one per role."""
        if num_seats not in (2, len(self.teams)):
            raise ValueError(f"{title} seats 2 or {len(self.teams)} players, got {num_seats}")

    def seat(self, num_seats: int, role: int) -> int:
        """Return the seat that acts for a role."""
        return self.teams[role] if num_seats == 2 else role

    def role(self, num_seats: int, role: int) -> str:
        """Return `Observation.role` for a seat that acts for `role`: "" if it has several, since a
        role holds for a whole match; a fact then has to state it."""
        return "" if num_seats == 2 else self.names[role]

    def team(self, num_seats: int, role: int) -> tuple[int, ...]:
        """Return `Observation.team` for a seat that acts for `role`."""
        alike = [other for other, team in enumerate(self.teams) if team == self.teams[role]]
        return () if num_seats == 2 else tuple(alike)

    def each_seat(self, num_seats: int, teams: tuple[T, T]) -> tuple[T, ...]:
        """Return the value of its team for every seat."""
        return teams if num_seats == 2 else tuple(teams[team] for team in self.teams)

    def seatings(self, num_seats: int) -> tuple[tuple[int, ...], ...]:
        """As `capabilities.seatings_of`: the two teams swap sides, role by role. Teams of different
        sizes keep theirs if every role has a seat of its own."""
        seats = tuple(range(num_seats))
        if num_seats == 2:
            return seats, (1, 0)
        first, second = (
            [role for role, team in enumerate(self.teams) if team == side] for side in (0, 1)
        )
        if len(first) != len(second):
            return (seats,)
        other = dict(zip((*first, *second), (*second, *first), strict=True))
        return seats, tuple(other[role] for role in seats)
