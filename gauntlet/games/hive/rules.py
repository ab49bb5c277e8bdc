"""Hive's rules, compiled: one implementation for play and for playouts.

A state is a flat int64 array: the cell of each of the 18 pieces, and the fields named below. Seat 0
is white and begins. A `Table` holds data derived from it during move generation, such as the filled
neighbours of each cell. A move is `piece * CELLS + cell`, or PASS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gauntlet.games.hive.hexes import (
    CELLS,
    CENTRE,
    COUNT,
    GROUPS,
    LAST,
    SLIDES,
    STEPS,
    TOUCHES,
    allocating,
    compiled,
    inlined,
)

QUEEN, SPIDER, GRASSHOPPER, ANT = range(4)
KIND = np.array((0, 1, 1, 2, 2, 2, 3, 3, 3) * 2)
"""The kind of every piece, white's nine before black's."""
OWN = 9
"""Pieces per seat; piece `OWN * seat` is its queen."""
PIECES = 2 * OWN
HAND = -1
"""The cell of a piece that is not on the table."""

PLY, LIMIT, PAPER_BUGS, RESULT = range(PIECES, PIECES + 4)
"""Fields. PLY: moves so far. LIMIT: moves after which nobody wins. PAPER_BUGS: 1 for the movement
and end of game of GameBench's published code. RESULT: how the game ended, or GOING_ON."""
SIZE = PIECES + 4

PASS = PIECES * CELLS
QUEEN_BY = 3
"""A seat's turns before the one in which it must place the queen if it has not."""
MOST = 512
"""Exceeds a seat's maximum number of moves: nine pieces and fewer than 50 empty cells around the
hive."""

WHITE_WINS, BLACK_WINS, DRAW, BOTH_LOSE, GOING_ON = range(5)
"""BOTH_LOSE: with paper bugs, if one move surrounds both queens."""


class Table(NamedTuple):
    """near: which neighbours of each cell are filled, bit d for direction d. owned: the same by
    seat, seat 1's cells after those of seat 0. links: for each piece its adjacent pieces, bit p for
    piece p. at: the piece in each cell; arbitrary for empty cells. seen: a mark for each cell, and
    last the current mark. way: the stack of cells to visit. moves: the moves found."""

    near: np.ndarray
    owned: np.ndarray
    links: np.ndarray
    at: np.ndarray
    seen: np.ndarray
    way: np.ndarray
    moves: np.ndarray


@allocating
def make_table() -> Table:
    return Table(
        np.zeros(CELLS, np.int64),
        np.zeros(2 * CELLS, np.int64),
        np.zeros(PIECES, np.int64),
        np.zeros(CELLS, np.int64),
        np.zeros(CELLS + 1, np.int64),
        np.zeros(CELLS, np.int64),
        np.zeros(MOST, np.int64),
    )


def blank(limit: int, paper_bugs: bool) -> np.ndarray:
    """Return the state before the first move."""
    state = np.full(SIZE, HAND, np.int64)
    state[PLY:] = 0, limit, paper_bugs, GOING_ON
    return state


@inlined
def mark(table: Table, piece: int, cell: int) -> None:
    """Toggle this piece in the neighbour masks around a cell."""
    seat = piece // OWN
    for direction in range(6):
        beside = (cell + STEPS[direction]) & LAST
        table.near[beside] ^= 1 << (direction + 3) % 6
        table.owned[CELLS * seat + beside] ^= 1 << (direction + 3) % 6


@compiled
def put(table: Table, piece: int, cell: int) -> None:
    """Put a piece into an empty cell."""
    mark(table, piece, cell)
    table.at[cell] = piece
    beside = table.near[cell]
    for direction in range(6):
        if beside >> direction & 1:
            other = table.at[(cell + STEPS[direction]) & LAST]
            table.links[piece] |= 1 << other
            table.links[other] |= 1 << piece


@compiled
def take(table: Table, piece: int, cell: int) -> None:
    mark(table, piece, cell)
    beside = table.near[cell]
    for direction in range(6):
        if beside >> direction & 1:
            table.links[table.at[(cell + STEPS[direction]) & LAST]] &= ~(1 << piece)
    table.links[piece] = 0


@compiled
def lay_out(table: Table, state: np.ndarray) -> None:
    """Lay out the pieces of a state on an empty table."""
    for piece in range(PIECES):
        if state[piece] != HAND:
            put(table, piece, state[piece])


@compiled
def clear(table: Table, state: np.ndarray) -> None:
    """Empty a table on which a state is laid out."""
    for piece in range(PIECES):
        table.links[piece] = 0
        if state[piece] != HAND:
            mark(table, piece, state[piece])


@inlined
def to_move(state: np.ndarray) -> int:
    """Return the seat to move; for a finished game, the one that would be."""
    return int(state[PLY] % 2)


@inlined
def queen_filled(table: Table, state: np.ndarray, seat: int) -> int:
    """Return how many neighbours of a seat's queen are filled; 0 if she is not on the table."""
    cell = state[OWN * seat]
    return 0 if cell == HAND else int(COUNT[table.near[cell]])


@compiled
def result(table: Table, state: np.ndarray) -> int:
    """Return how the game ended, or GOING_ON."""
    white = queen_filled(table, state, 0) == 6
    black = queen_filled(table, state, 1) == 6
    if white and black:
        return BOTH_LOSE if state[PAPER_BUGS] else DRAW
    if white or black:
        return BLACK_WINS if white else WHITE_WINS
    return DRAW if state[PLY] >= state[LIMIT] else GOING_ON


@compiled
def pinned(table: Table, piece: int, cell: int) -> bool:
    """Return whether removing this piece disconnects the hive."""
    if GROUPS[table.near[cell]] <= 1:
        return False
    neighbours = table.links[piece]
    reached = neighbours & -neighbours
    todo = reached
    while todo:
        lowest = todo & -todo
        todo ^= lowest
        fresh = table.links[index(lowest)] & ~reached & ~(1 << piece)
        reached |= fresh
        todo |= fresh
        if neighbours & ~reached == 0:
            return False
    return True


DE_BRUIJN = 0x077CB531
PLACES = np.zeros(32, np.int64)
for _bit in range(32):
    PLACES[(DE_BRUIJN << _bit & 0xFFFFFFFF) >> 27] = _bit


@inlined
def index(bit: int) -> int:
    """Return the index of the set bit, 0 to 31, by the top five bits of its product with a de
    Bruijn number."""
    return int(PLACES[(bit * DE_BRUIJN & 0xFFFFFFFF) >> 27])


@compiled
def slides(table: Table, cell: int, paper_bugs: bool) -> int:
    """Return the directions in which a lifted piece can step from `cell`. With paper bugs it may
    lose contact on the way and no gate stops it, but it cannot leave a cell with more than four
    filled neighbours or enter one with more than three."""
    around = table.near[cell]
    if not paper_bugs:
        return int(SLIDES[around])
    if COUNT[around] > 4:
        return 0
    directions = 0
    for direction in range(6):
        ahead = COUNT[table.near[(cell + STEPS[direction]) & LAST]]
        if not around >> direction & 1 and 1 <= ahead <= 3:
            directions |= 1 << direction
    return directions


@compiled
def legal(table: Table, state: np.ndarray) -> int:
    """Generate all moves of the seat to move into `table.moves`; return how many. There is at least
    one."""
    seat = to_move(state)
    count = placements(table, state, 0)
    if state[OWN * seat] != HAND:
        for piece in range(OWN * seat, OWN * seat + OWN):
            if state[piece] != HAND and not pinned(table, piece, state[piece]):
                count = steps(table, piece, state[piece], state[PAPER_BUGS] != 0, count)
    if count == 0:
        table.moves[0] = PASS
        count = 1
    return count


@inlined
def can_stir(table: Table, piece: int, cell: int, paper_bugs: bool) -> bool:
    """Return whether a piece may have moves, by a quick test: it jumps, or has room for a first
    step."""
    return bool(paper_bugs or KIND[piece] == GRASSHOPPER or SLIDES[table.near[cell]])


@compiled
def placements(table: Table, state: np.ndarray, count: int) -> int:
    """Add the placements of the seat to move; of equal pieces in hand it places the first."""
    seat = to_move(state)
    late = state[PLY] // 2 >= QUEEN_BY and state[OWN * seat] == HAND
    cells, kind = -1, -1
    for piece in range(OWN * seat, OWN * seat + (1 if late else OWN)):
        if state[piece] == HAND and KIND[piece] != kind:
            kind = KIND[piece]
            cells = free_cells(table, state, seat) if cells < 0 else cells
            for place in range(cells):
                table.moves[count] = piece * CELLS + table.way[place]
                count += 1
    return count


@compiled
def free_cells(table: Table, state: np.ndarray, seat: int) -> int:
    """Put the cells where a seat may place into `table.way` and return how many: empty cells that
    touch its own pieces and no others; for its first piece, cells that touch the other's."""
    if state[PLY] == 0:
        table.way[0] = CENTRE
        return 1
    first = state[PLY] == 1
    base = OWN * (1 - seat if first else seat)
    stamp = fresh(table)
    cells = 0
    for piece in range(base, base + OWN):
        if state[piece] != HAND:
            around = table.near[state[piece]]
            for direction in range(6):
                if not around >> direction & 1:
                    cell = (state[piece] + STEPS[direction]) & LAST
                    apart = first or table.owned[CELLS * (1 - seat) + cell] == 0
                    if apart and is_new(table, cell, stamp):
                        table.way[cells] = cell
                        cells += 1
    return cells


@inlined
def fresh(table: Table) -> int:
    """Mark all cells as unseen, and return the new mark for seen cells."""
    table.seen[CELLS] += 1
    return int(table.seen[CELLS])


@inlined
def is_new(table: Table, cell: int, stamp: int) -> bool:
    """Return whether the cell is new, and mark it as seen."""
    new = table.seen[cell] != stamp
    table.seen[cell] = stamp
    return bool(new)


@compiled
def steps(table: Table, piece: int, cell: int, paper_bugs: bool, count: int) -> int:
    """Add the moves of a piece on the table that is free to leave its cell."""
    kind = KIND[piece]
    if kind == GRASSHOPPER:
        return jumps(table, piece, cell, count)
    mark(table, piece, cell)
    if kind == QUEEN:
        found = slides(table, cell, paper_bugs)
        for direction in range(6):
            if found >> direction & 1:
                table.moves[count] = piece * CELLS + ((cell + STEPS[direction]) & LAST)
                count += 1
    elif kind == SPIDER:
        count = crawls(table, piece, cell, paper_bugs, count)
    else:
        count = runs(table, piece, cell, paper_bugs, count)
    mark(table, piece, cell)
    return count


@compiled
def jumps(table: Table, piece: int, cell: int, count: int) -> int:
    """Grasshopper: in a straight line over one or more pieces into the first empty cell."""
    around = table.near[cell]
    for direction in range(6):
        if around >> direction & 1:
            end = (cell + STEPS[direction]) & LAST
            while table.near[end] >> direction & 1:
                end = (end + STEPS[direction]) & LAST
            table.moves[count] = piece * CELLS + ((end + STEPS[direction]) & LAST)
            count += 1
    return count


@compiled
def crawls(table: Table, piece: int, start: int, paper_bugs: bool, count: int) -> int:
    """Lifted spider: exactly three steps, never back to a cell that it came through."""
    stamp = fresh(table)
    ways = touching(table, start, paper_bugs)
    for first in range(6):
        if ways >> first & 1:
            cell = (start + STEPS[first]) & LAST
            on = touching(table, cell, paper_bugs)
            for second in range(6):
                two = (cell + STEPS[second]) & LAST
                if on >> second & 1 and two != start:
                    ends = touching(table, two, paper_bugs)
                    for third in range(6):
                        end = (two + STEPS[third]) & LAST
                        on_way = end in (start, cell)
                        if ends >> third & 1 and not on_way and is_new(table, end, stamp):
                            table.moves[count] = piece * CELLS + end
                            count += 1
    return count


@inlined
def touching(table: Table, cell: int, paper_bugs: bool) -> int:
    """As `slides`, but always in contact with a piece, as spiders must be."""
    return slides(table, cell, paper_bugs) & int(TOUCHES[table.near[cell]])


@compiled
def runs(table: Table, piece: int, start: int, paper_bugs: bool, count: int) -> int:
    """Lifted ant: any number of steps, by flood fill."""
    stamp = fresh(table)
    table.seen[start] = stamp
    table.way[0] = start
    left = 1
    while left > 0:
        left -= 1
        cell = table.way[left]
        found = slides(table, cell, paper_bugs)
        for direction in range(6):
            if found >> direction & 1:
                ahead = (cell + STEPS[direction]) & LAST
                if is_new(table, ahead, stamp):
                    table.way[left] = ahead
                    left += 1
                    table.moves[count] = piece * CELLS + ahead
                    count += 1
    return count


@compiled
def act(table: Table, state: np.ndarray, move: int) -> None:
    """Make a legal move in place, on the table too, and update the result."""
    state[PLY] += 1
    if move != PASS:
        piece, cell = move // CELLS, move % CELLS
        if state[piece] != HAND:
            take(table, piece, state[piece])
        put(table, piece, cell)
        state[piece] = cell
    state[RESULT] = result(table, state)


@allocating
def options(state: np.ndarray) -> np.ndarray:
    """Return all legal moves of the seat to move, in order; at least one."""
    table = make_table()
    lay_out(table, state)
    return table.moves[: legal(table, state)]


@allocating
def try_move(state: np.ndarray, move: int, into: np.ndarray) -> bool:
    """Write the state after a move to `into`; return False, and write nothing, if the move is
    illegal."""
    table = make_table()
    lay_out(table, state)
    count = legal(table, state)
    for at in range(count):
        if table.moves[at] == move:
            into[:] = state
            act(table, into, move)
            return True
    return False
