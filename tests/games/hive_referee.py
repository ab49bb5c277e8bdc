"""A slow Hive, from the rule text: a dict from hexes to pieces, and sets of hexes.

Hexes are pairs (across, down), pieces names like "wA1". Nothing of `games.hive` is used. With
`loose` pieces move as in GameBench's published code, see docs/games/hive.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Hex = tuple[int, int]
Hive = dict[Hex, str]
Move = tuple[str, Hex]
"""The kind of a piece in hand ("wA") or a piece on the table ("wA1"), and its destination."""

AROUND = {"E": (1, 0), "NE": (1, -1), "NW": (0, -1), "W": (-1, 0), "SW": (-1, 1), "SE": (0, 1)}
BUGS = ("Q", "S1", "S2", "G1", "G2", "G3", "A1", "A2", "A3")


def neighbours(at: Hex) -> set[Hex]:
    return {(at[0] + x, at[1] + y) for x, y in AROUND.values()}


def together(hive: Hive) -> bool:
    """Whether every piece is connected to every other through neighbours."""
    reached: set[Hex] = set()
    edge = set(list(hive)[:1])
    while edge:
        reached |= edge
        edge = {one for at in edge for one in neighbours(at) if one in hive} - reached
    return len(reached) == len(hive)


def moves(hive: Hive, side: str, turn: int, loose: bool = False) -> set[Move]:
    """Return all moves of a side, "w" or "b", in its turn of that number, from 1; empty if it must
    pass."""
    hand = [side + bug for bug in BUGS if side + bug not in hive.values()]
    laid = side + "Q" not in hand
    if turn >= 4 and not laid:
        hand = [side + "Q"]
    found = {(piece[:2], at) for piece in hand for at in places(hive, side)}
    for at, piece in hive.items():
        rest = {other: name for other, name in hive.items() if other != at}
        if piece[0] == side and laid and together(rest):
            found |= {(piece, end) for end in ends(rest, piece[1], at, loose)}
    return found


def places(hive: Hive, side: str) -> set[Hex]:
    if not hive:
        return {(0, 0)}
    empty = {one for at in hive for one in neighbours(at)} - set(hive)
    if len(hive) == 1:
        return empty
    return {at for at in empty if {hive[one][0] for one in neighbours(at) if one in hive} == {side}}


def ends(rest: Hive, kind: str, start: Hex, loose: bool) -> set[Hex]:
    """Return the destinations of a piece of this kind taken from `start`, leaving `rest`."""
    if kind == "G":
        return set(jumps(rest, start))
    step: Callable[[Hex, Hex], bool] = (lambda a, b: wide(rest, a, b)) if loose else (
        lambda a, b: sliding(rest, a, b)
    )  # fmt: skip
    if kind == "Q":
        return {to for to in neighbours(start) if step(start, to)}
    if kind == "S":
        return {
            way[3] for way in walks(start, 3, lambda a, b: step(a, b) and bool(shared(rest, a, b)))
        }
    found: set[Hex] = set()
    fresh = {start}
    while fresh:
        found |= fresh
        fresh = {to for at in fresh for to in neighbours(at) if step(at, to)} - found
    return found - {start}


def walks(start: Hex, length: int, step: Callable[[Hex, Hex], bool]) -> Iterator[list[Hex]]:
    """Yield all paths of this many steps through distinct hexes."""
    if length == 0:
        yield [start]
        return
    for way in walks(start, length - 1, step):
        for to in neighbours(way[-1]):
            if to not in way and step(way[-1], to):
                yield [*way, to]


def shared(rest: Hive, hex_: Hex, other: Hex) -> set[Hex]:
    """The pieces that touch both hexes."""
    return neighbours(hex_) & neighbours(other) & set(rest)


def sliding(rest: Hive, at: Hex, to: Hex) -> bool:
    """Along the table, in contact with the hive, and not through too narrow a gap."""
    return to not in rest and len(shared(rest, at, to)) == 1


def wide(rest: Hive, at: Hex, to: Hex) -> bool:
    """At least two empty neighbours around the old hex, and around the new one with the piece still
    on the old; and contact with the hive at the end."""
    around = neighbours(to) & set(rest)
    return (
        to not in rest
        and len(neighbours(at) & set(rest)) <= 4
        and len(around | {at}) <= 4
        and bool(around)
    )


def jumps(rest: Hive, start: Hex) -> Iterator[Hex]:
    for x, y in AROUND.values():
        over = (start[0] + x, start[1] + y)
        if over in rest:
            while over in rest:
                over = (over[0] + x, over[1] + y)
            yield over


def lost(hive: Hive, side: str) -> bool:
    """Whether a side's queen is surrounded."""
    return any(piece == side + "Q" and neighbours(at) <= set(hive) for at, piece in hive.items())
