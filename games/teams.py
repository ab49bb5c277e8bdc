"""Seats of games between two teams of several roles each: a seat a team, or a seat a role.

Where a seat is a team, it acts for one of its roles at a time, and each time is told what that role
knows and no more: who holds several roles is several players that do not talk to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Roles:
    """The roles of a game, from 0.

    names: of each, as a person would say it ("the spymaster of red"). teams: of each, 0 or 1.
    """

    names: tuple[str, ...]
    teams: tuple[int, ...]

    def check(self, title: str, num_seats: int) -> None:
        """Raises ValueError unless there are two seats, or as many as roles."""
        if num_seats not in (2, len(self.teams)):
            raise ValueError(f"{title} seats 2 or {len(self.teams)} players, got {num_seats}")

    def seat(self, num_seats: int, role: int) -> int:
        """Who acts for a role."""
        return self.teams[role] if num_seats == 2 else role

    def role(self, num_seats: int, role: int) -> str:
        """What `Observation.role` is while a seat acts for `role`: "" where it has several, since
        that holds for a whole match; then a fact has to tell which."""
        return "" if num_seats == 2 else self.names[role]

    def team(self, num_seats: int, role: int) -> tuple[int, ...]:
        """What `Observation.team` is while a seat acts for `role`."""
        alike = [other for other, team in enumerate(self.teams) if team == self.teams[role]]
        return () if num_seats == 2 else tuple(alike)

    def each_seat(self, num_seats: int, teams: tuple[T, T]) -> tuple[T, ...]:
        """For every seat what its team has of the two."""
        return teams if num_seats == 2 else tuple(teams[team] for team in self.teams)

    def seatings(self, num_seats: int) -> tuple[tuple[int, ...], ...]:
        """As `capabilities.seatings_of` has it: the two teams exchange their sides, role by role.
        Teams of different sizes keep theirs where every role has a seat of its own."""
        own = tuple(range(num_seats))
        if num_seats == 2:
            return own, (1, 0)
        first, second = (
            [role for role, team in enumerate(self.teams) if team == side] for side in (0, 1)
        )
        if len(first) != len(second):
            return (own,)
        other = dict(zip((*first, *second), (*second, *first), strict=True))
        return own, tuple(other[role] for role in own)
