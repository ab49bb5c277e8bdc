"""Go: stones, captures and area."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.games.referees import Point, around, grid, group


@dataclass
class Board:
    size: int
    colours: tuple[frozenset[Point], frozenset[Point]] = field(default=(frozenset(), frozenset()))

    def stones(self) -> tuple[frozenset[Point], frozenset[Point]]:
        return self.colours

    def free(self) -> set[Point]:
        return set(grid(self.size, self.size)) - self.colours[0] - self.colours[1]

    def breathes(self, point: Point, colour: frozenset[Point]) -> bool:
        free = self.free()
        return any(one in free for stone in group(point, colour) for one in around(stone))

    def after(self, place: Point, mover: int) -> Board | None:
        """Return the board after a stone; None where it may not be put: the point is taken, or
        its group has no free point beside it once the other's dead stones are off."""
        if place not in self.free():
            return None
        own, other = self.colours[mover] | {place}, self.colours[1 - mover]
        board = self._with(mover, own, other)
        dead = {
            stone
            for near in around(place)
            if near in other and not board.breathes(near, other)
            for stone in group(near, other)
        }
        board = self._with(mover, own, other - dead)
        return board if board.breathes(place, own) else None

    def _with(self, mover: int, own: frozenset[Point], other: frozenset[Point]) -> Board:
        return Board(self.size, (own, other) if mover == 0 else (other, own))

    def area(self) -> tuple[int, int]:
        """Each colour's stones, and the free points that only they enclose."""
        areas = [len(self.colours[0]), len(self.colours[1])]
        free = self.free()
        while free:
            region = group(next(iter(free)), free)
            free -= region
            near = {one for point in region for one in around(point)}
            beside = [colour for colour in (0, 1) if near & self.colours[colour]]
            if len(beside) == 1:
                areas[beside[0]] += len(region)
        return areas[0], areas[1]
