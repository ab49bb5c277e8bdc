"""OpenSpiel's games of placing pieces, by the rules of games/openspiel/games.yaml."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from tests.games.referees import (
    Look,
    Point,
    Referee,
    Rules,
    around,
    grid,
    group,
    in_line,
    tied,
    won_by,
)
from tests.games.referees.go import Board

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WITHOUT_I = "abcdefghjklmnopqrstuvwxyz"
HEX = ((0, 1), (1, 0), (0, -1), (-1, 0), (-1, 1), (1, -1))
SLANTED = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1))


def placing(
    cells: dict[str, Point],
    won: Callable[[set[Point], Point], bool],
    form: Callable[[str, int], str] = lambda name, mover: name,
) -> Rules:
    """Players place a piece in turn on a free cell; the first with a winning shape wins."""

    def rules(seats: int, look: Look) -> Referee:
        held: list[set[Point]] = [set() for _ in range(seats)]
        for ply in range(len(cells)):
            mover, taken = ply % seats, set().union(*held)
            free = {form(name, mover): at for name, at in cells.items() if at not in taken}
            (name,) = yield {mover: free}
            held[mover].add(free[name])
            if won(held[mover], free[name]):
                return won_by(mover, seats)
        return tied(seats)

    return rules


def lined(rows: int, columns: int, count: int, form: Callable[[str, int], str]) -> Rules:
    cells = {f"{row},{column}": (row, column) for row, column in grid(rows, columns)}
    return placing(cells, lambda held, last: in_line(held, last, count), form)


def marked(name: str, mover: int) -> str:
    return f"{'xo'[mover]}({name})"


def dropping(form: Callable[[int, int], str]) -> Rules:
    """Four in a line in 7 columns of 6. form: the name of a column, for a mover."""

    def rules(seats: int, look: Look) -> Referee:
        held: tuple[set[Point], set[Point]] = (set(), set())
        heights = [0] * 7
        for ply in range(42):
            names = {form(at, ply % 2): at for at in range(7) if heights[at] < 6}
            (name,) = yield {ply % 2: names}
            place = heights[names[name]], names[name]
            heights[names[name]] += 1
            held[ply % 2].add(place)
            if in_line(held[ply % 2], place, 4):
                return won_by(ply % 2)
        return tied()

    return rules


def hexes(size: int) -> dict[str, Point]:
    return {f"{LETTERS[column]}{row + 1}": (row, column) for row, column in grid(size, size)}


def hex_game(size: int) -> Rules:
    def rules(seats: int, look: Look) -> Referee:
        held: tuple[set[Point], set[Point]] = (set(), set())
        for ply in range(size * size):
            mover = ply % 2
            free = {n: at for n, at in hexes(size).items() if at not in held[0] | held[1]}
            (name,) = yield {mover: free}
            held[mover].add(free[name])
            if across(held[mover], free[name], mover, size):
                return won_by(mover)
        raise AssertionError("a full board without a chain")

    return rules


def across(held: set[Point], last: Point, mover: int, size: int) -> bool:
    """Player 0 joins top and bottom, player 1 left and right."""
    places = {point[mover] for point in group(last, held, HEX)}
    return {0, size - 1} <= places


def unseen(
    cells: dict[str, Point],
    won: Callable[[set[Point], Point, int], bool],
    form: Callable[[str, int], str] = lambda name, mover: name,
) -> Rules:
    """A player tries cells until one is free; a taken one is shown to it."""

    def rules(seats: int, look: Look) -> Referee:
        held: tuple[set[Point], set[Point]] = (set(), set())
        known: tuple[set[Point], set[Point]] = (set(), set())
        mover = 0
        while held[0] | held[1] != set(cells.values()):
            names = {form(n, mover): at for n, at in cells.items() if at not in known[mover]}
            (name,) = yield {mover: names}
            known[mover].add(names[name])
            if names[name] in held[1 - mover]:
                continue
            held[mover].add(names[name])
            if won(held[mover], names[name], mover):
                return won_by(mover)
            mover = 1 - mover
        return tied()

    return rules


def y_cells(size: int) -> dict[str, Point]:
    return {f"{LETTERS[c]}{r + 1}": (r, c) for r in range(size) for c in range(size - r)}


def y_won(size: int) -> Callable[[set[Point], Point], bool]:
    def won(held: set[Point], last: Point) -> bool:
        chain = group(last, held, HEX)
        sides = [
            any(r == 0 for r, _ in chain),
            any(c == 0 for _, c in chain),
            any(r + c == size - 1 for r, c in chain),
        ]
        return all(sides)

    return won


def havannah_cells(size: int) -> dict[str, Point]:
    side = range(2 * size - 1)
    return {f"{LETTERS[c]}{r + 1}": (r, c) for r in side for c in side if abs(r - c) < size}


def havannah_won(size: int) -> Callable[[set[Point], Point], bool]:
    cells, far = set(havannah_cells(size).values()), 2 * size - 2
    border = [
        {one for one in cells if test(*one)}
        for test in (
            lambda r, c: r == 0,
            lambda r, c: c == 0,
            lambda r, c: r == far,
            lambda r, c: c == far,
            lambda r, c: r - c == size - 1,
            lambda r, c: c - r == size - 1,
        )
    ]
    edge = set().union(*border)
    corners = {one for one in cells if sum(one in side for side in border) == 2}

    def won(held: set[Point], last: Point) -> bool:
        chain = group(last, held, SLANTED)
        bridge = len(chain & corners) >= 2
        fork = sum(bool((chain & side) - corners) for side in border) >= 3
        return bridge or fork or ring(chain)

    def ring(chain: set[Point]) -> bool:
        if any(all(one in chain for one in around(stone, SLANTED)) for stone in chain):
            return True
        outside = cells - chain
        while outside:
            region = group(next(iter(outside)), outside, SLANTED)
            if not region & edge:
                return True
            outside -= region
        return False

    return won


def go(seats: int, look: Look) -> Referee:
    """On 5 by 5, to which the test sets it."""
    size, komi = 5, 7.5
    board, passes, mover = Board(size), 0, 0
    last, earlier = board.stones(), {board.stones()}
    for _ in range(size * size * 2):
        names: dict[str, Point | None] = {f"{'BW'[mover]} PASS": None}
        for row, column in grid(size, size):
            after = board.after((row, column), mover)
            if after and after.stones() != last:
                names[f"{'BW'[mover]} {WITHOUT_I[column]}{row + 1}"] = (row, column)
        (name,) = yield {mover: names}
        last, place = board.stones(), names[name]
        passes = 0 if place else passes + 1
        if place:
            board = board.after(place, mover) or board
            if board.stones() in earlier:
                return tied()
            earlier.add(board.stones())
        mover = 1 - mover
        if passes == 2:
            break
    black, white = board.area()
    return won_by(0 if black > white + komi else 1)


def dots_and_boxes(seats: int, look: Look) -> Referee:
    lines = {("h", r, c) for r in range(3) for c in range(2)}
    lines |= {("v", r, c) for r in range(2) for c in range(3)}
    boxes = {
        (r, c): {("h", r, c), ("h", r + 1, c), ("v", r, c), ("v", r, c + 1)} for r, c in grid(2, 2)
    }
    drawn: set[tuple[str, int, int]] = set()
    owned, mover = [0, 0], 0
    while drawn != lines:
        names = {f"P{mover + 1}({k},{r},{c})": (k, r, c) for k, r, c in lines - drawn}
        (name,) = yield {mover: names}
        drawn.add(names[name])
        closed = sum(names[name] in box and box <= drawn for box in boxes.values())
        owned[mover] += closed
        mover = mover if closed else 1 - mover
    return won_by(int(owned[1] > owned[0])) if owned[0] != owned[1] else tied()


def othello(seats: int, look: Look) -> Referee:
    held, mover = opening(), 0
    while flanking(held, 0) or flanking(held, 1):
        turned = flanking(held, mover)
        names = {f"{LETTERS[c]}{r + 1}": discs for (r, c), discs in turned.items()}
        (name,) = yield {mover: names or ["pass"]}
        if names:
            held[mover] |= names[name]
            held[1 - mover] -= names[name]
        mover = 1 - mover
    black, white = map(len, held)
    return won_by(int(white > black)) if black != white else tied()


def opening() -> list[set[Point]]:
    return [{(3, 4), (4, 3)}, {(3, 3), (4, 4)}]


def flanking(held: list[set[Point]], mover: int) -> dict[Point, set[Point]]:
    """Where a disc may be placed in Othello, and which are then the mover's."""
    places = {}
    for point in set(grid(8, 8)) - held[0] - held[1]:
        turned: set[Point] = set()
        for dx, dy in product((-1, 0, 1), repeat=2):
            line, at = [], (point[0] + dx, point[1] + dy)
            while (dx or dy) and at in held[1 - mover]:
                line.append(at)
                at = at[0] + dx, at[1] + dy
            turned |= set(line) if at in held[mover] else set()
        if turned:
            places[point] = turned | {point}
    return places


TURNS = {"s": (0, 0, -1), "t": (0, 0, 1), "u": (0, 3, -1), "v": (0, 3, 1)}
TURNS |= {"w": (3, 3, -1), "x": (3, 3, 1), "y": (3, 0, -1), "z": (3, 0, 1)}
"""The first row and column of the quarter that a letter turns, and whether clockwise."""


def pentago(seats: int, look: Look) -> Referee:
    held: list[set[Point]] = [set(), set()]
    for ply in range(36):
        mover = ply % 2
        names = {
            f"{LETTERS[c]}{r + 1}{letter}": ((r, c), turn)
            for r, c in grid(6, 6)
            if (r, c) not in held[0] | held[1]
            for letter, turn in TURNS.items()
        }
        (name,) = yield {mover: names}
        point, (top, left, sign) = names[name]
        held[mover].add(point)
        for colour in (0, 1):
            inside = {p for p in held[colour] if p[0] // 3 * 3 == top and p[1] // 3 * 3 == left}
            turned = {
                (top + (c if sign > 0 else 2 - c), left + (2 - r if sign > 0 else r))
                for r, c in ((p[0] - top, p[1] - left) for p in inside)
            }
            held[colour] = held[colour] - inside | turned
        lines = [any(in_line(own, one, 5) for one in own) for own in held]
        if any(lines):
            return tied() if all(lines) else won_by(lines.index(True))
    return tied()


def ultimate(seats: int, look: Look) -> Referee:
    small: list[list[set[Point]]] = [[set(), set()] for _ in range(9)]
    won: list[set[Point]] = [set(), set()]
    over, forced, mover = set[int](), -1, 0
    while len(over) < 9:
        if forced in over or forced < 0:
            names = {f"Choose local board {k}": k for k in range(9) if k not in over}
            (name,) = yield {mover: names}
            forced = names[name]
        mine, others = small[forced][mover], small[forced][1 - mover]
        cells = {
            f"Local board {forced}: {'xo'[mover]}({r},{c})": (r, c)
            for r, c in grid(3, 3)
            if (r, c) not in mine | others
        }
        (name,) = yield {mover: cells}
        mine.add(cells[name])
        if in_line(mine, cells[name], 3):
            over.add(forced)
            won[mover].add(divmod(forced, 3))
            if in_line(won[mover], divmod(forced, 3), 3):
                return won_by(mover)
        elif len(mine | others) == 9:
            over.add(forced)
        forced, mover = 3 * cells[name][0] + cells[name][1], 1 - mover
    return tied()


def twixt(seats: int, look: Look) -> Referee:
    size = 8
    pegs: list[set[Point]] = [set(), set()]
    links: list[set[frozenset[Point]]] = [set(), set()]
    mover, plies = 0, 0
    while True:
        names = {
            f"{'xo'[mover]}{LETTERS[at[1]]}{at[0] + 1}": at
            for at in set(grid(size, size)) - pegs[0] - pegs[1]
            if at[1 - mover] not in (0, size - 1)
        }
        if plies == 1:
            (first,) = pegs[0]
            if first[0] not in (0, size - 1):
                names[f"o{LETTERS[first[1]]}{first[0] + 1}"] = first
        if not names:
            return tied()
        (name,) = yield {mover: names}
        peg = names[name]
        if peg in pegs[0]:
            pegs[0], peg = set(), (peg[1], size - 1 - peg[0])
        pegs[mover].add(peg)
        for step in product((-2, -1, 1, 2), repeat=2):
            other = (peg[0] + step[0], peg[1] + step[1])
            if abs(step[0]) != abs(step[1]) and other in pegs[mover]:
                link = frozenset((peg, other))
                if not any(crosses(link, one) for one in links[0] | links[1]):
                    links[mover].add(link)
        chain, new = {peg}, [peg]
        while new:
            at = new.pop()
            near = [p for link in links[mover] if at in link for p in link if p not in chain]
            chain.update(near)
            new += near
        if {0, size - 1} <= {point[mover] for point in chain}:
            return won_by(mover)
        mover, plies = 1 - mover, plies + 1


def crosses(first: frozenset[Point], second: frozenset[Point]) -> bool:
    """Whether two segments cross in a point that is an end of neither."""
    if first & second:
        return False
    (a, b), (c, d) = tuple(first), tuple(second)

    def side(p: Point, q: Point, r: Point) -> int:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


THREE = {f"{row},{column}": (row, column) for row, column in grid(3, 3)}

BOARDS: dict[str, Rules] = {
    "connect_four": dropping(lambda at, mover: f"{'xo'[mover]}{at}"),
    "dark_hex": unseen(hexes(3), lambda held, last, mover: across(held, last, mover, 3)),
    "dots_and_boxes": dots_and_boxes,
    "go": go,
    "gomoku": lined(15, 15, 5, lambda name, mover: name),
    "havannah": placing(havannah_cells(8), havannah_won(8)),
    "hex": hex_game(11),
    "mnk": lined(15, 15, 5, marked),
    "othello": othello,
    "pentago": pentago,
    "phantom_ttt": unseen(THREE, lambda held, last, mover: in_line(held, last, 3), marked),
    "tic_tac_toe": lined(3, 3, 3, marked),
    "twixt": twixt,
    "ultimate_tic_tac_toe": ultimate,
    "y": placing(y_cells(19), y_won(19)),
}
