"""OpenSpiel's games of moving and taking pieces, by the rules of games/openspiel/games.yaml."""

from __future__ import annotations

from itertools import product

from tests.games.referees import DIAGONALS, Look, Point, Referee, Rules, grid, group, tied, won_by

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALL_WAYS = [step for step in product((-1, 0, 1), repeat=2) if any(step)]


def cell(point: Point) -> str:
    """Row 0 is the lowest."""
    return f"{LETTERS[point[1]]}{point[0] + 1}"


def queen_moves(place: Point, taken: set[Point], size: int) -> list[Point]:
    ends = []
    for dx, dy in ALL_WAYS:
        at = (place[0] + dx, place[1] + dy)
        while at not in taken and min(at) > 0 and max(at) <= size:
            ends.append(at)
            at = (at[0] + dx, at[1] + dy)
    return ends


def amazons(seats: int, look: Look) -> Referee:
    held = [{(7, 1), (7, 10), (10, 4), (10, 7)}, {(1, 4), (1, 7), (4, 1), (4, 10)}]
    arrows: set[Point] = set()
    mover = 0
    while True:
        sign, taken = "XO"[mover], held[0] | held[1] | arrows
        names = {f"{sign} From {at}": at for at in held[mover] if queen_moves(at, taken, 10)}
        if not names:
            return won_by(1 - mover)
        (name,) = yield {mover: names}
        taken.remove(names[name])
        held[mover].remove(names[name])
        names = {f"{sign} To {at}": at for at in queen_moves(names[name], taken, 10)}
        (name,) = yield {mover: names}
        held[mover].add(names[name])
        names = {f"{sign} Shoot: {at}": at for at in queen_moves(names[name], taken, 10)}
        (name,) = yield {mover: names}
        arrows.add(names[name])
        mover = 1 - mover


def breakthrough(seats: int, look: Look) -> Referee:
    held = [{at for at in grid(8, 8) if at[0] > 5}, {at for at in grid(8, 8) if at[0] < 2}]
    mover = 0
    while True:
        names = {}
        for row, column in held[mover]:
            for side in (-1, 0, 1):
                to = (row + (1 if mover else -1), column + side)
                if (
                    to not in grid(8, 8)
                    or to in held[mover]
                    or (not side and to in held[1 - mover])
                ):
                    continue
                star = "*" if to in held[1 - mover] else ""
                names[f"{cell((row, column))}{cell(to)}{star}"] = ((row, column), to)
        (name,) = yield {mover: names}
        left, to = names[name]
        held[mover] = held[mover] - {left} | {to}
        held[1 - mover].discard(to)
        if to[0] == (7 if mover else 0) or not held[1 - mover]:
            return won_by(mover)
        mover = 1 - mover


def clobber(seats: int, look: Look) -> Referee:
    held = [{at for at in grid(5, 6) if sum(at) % 2 == kind} for kind in (0, 1)]
    mover = 0
    while True:
        names = {
            f"{cell((r, c))}{cell(to)}": ((r, c), to)
            for r, c in held[mover]
            for to in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1))
            if to in held[1 - mover]
        }
        if not names:
            return won_by(1 - mover)
        (name,) = yield {mover: names}
        left, to = names[name]
        held[mover] = held[mover] - {left} | {to}
        held[1 - mover].remove(to)
        mover = 1 - mover


def lines_of_action(seats: int, look: Look) -> Referee:
    held = [
        {(row, column) for row in (0, 7) for column in range(1, 7)},
        {(row, column) for row in range(1, 7) for column in (0, 7)},
    ]
    mover = 0
    earlier: set[tuple[frozenset[Point], frozenset[Point]]] = set()
    for _ in range(1000):
        position = frozenset(held[0]), frozenset(held[1])
        if position in earlier:
            return tied()
        earlier.add(position)
        names = {}
        for row, column in held[mover]:
            for dx, dy in ALL_WAYS:
                both = held[0] | held[1]
                line = [(row + k * dx, column + k * dy) for k in range(-7, 8)]
                count = sum(at in both for at in line)
                way = [(row + k * dx, column + k * dy) for k in range(1, count + 1)]
                to = way[-1]
                if to in held[mover] or to not in grid(8, 8) or set(way[:-1]) & held[1 - mover]:
                    continue
                mark = "x" if to in held[1 - mover] else "-"
                names[f"{cell((row, column))}{mark}{cell(to)}"] = ((row, column), to)
        if not names:
            return won_by(1 - mover)
        (name,) = yield {mover: names}
        left, to = names[name]
        held[mover] = held[mover] - {left} | {to}
        held[1 - mover].discard(to)
        joined = [len(group(next(iter(own)), own, ALL_WAYS)) == len(own) for own in held]
        if any(joined):
            return won_by(mover if joined[mover] else 1 - mover)
        mover = 1 - mover
    return tied()


def checkers(seats: int, look: Look) -> Referee:
    dark = [at for at in grid(8, 8) if sum(at) % 2 == 0]
    men = [{at for at in dark if at[0] < 3}, {at for at in dark if at[0] > 4}]
    kings: list[set[Point]] = [set(), set()]
    mover, quiet, again = 0, 0, None
    while True:
        steps, jumps = {}, {}
        for r, c in [again] if again else men[mover] | kings[mover]:
            for dr, dc in DIAGONALS:
                if (r, c) in men[mover] and dr != (-1 if mover else 1):
                    continue
                near, far = (r + dr, c + dc), (r + 2 * dr, c + 2 * dc)
                taken = men[0] | men[1] | kings[0] | kings[1]
                if near in dark and near not in taken:
                    steps[f"{cell((r, c))}{cell(near)}"] = ((r, c), near, None)
                elif far in dark and far not in taken and near in men[1 - mover] | kings[1 - mover]:
                    jumps[f"{cell((r, c))}{cell(far)}"] = ((r, c), far, near)
        names = jumps or ({} if again else steps)
        if again and not names:
            mover, again = 1 - mover, None
            continue
        if not names:
            return won_by(1 - mover)
        if quiet >= 40:
            return tied()
        (name,) = yield {mover: names}
        left, to, over = names[name]
        kind = kings if left in kings[mover] else men
        kind[mover].remove(left)
        crowned = kind is men and to[0] == (0 if mover else 7)
        (kings if crowned else kind)[mover].add(to)
        quiet = 0 if over else quiet + 1
        if over:
            men[1 - mover].discard(over)
            kings[1 - mover].discard(over)
        again = to if over and not crowned else None
        mover = mover if again else 1 - mover


MORRIS_LINES = [
    *((k, k + 1, k + 2) for k in range(0, 24, 3)),
    *((0, 9, 21), (3, 10, 18), (6, 11, 15), (1, 4, 7)),
    *((16, 19, 22), (8, 12, 17), (5, 13, 20), (2, 14, 23)),
]


def nine_mens_morris(seats: int, look: Look) -> Referee:
    """Points are numbered row by row."""
    near = {p: set() for p in range(24)}
    for a, b, c in MORRIS_LINES:
        near[a] |= {b}
        near[b] |= {a, c}
        near[c] |= {b}
    held: list[set[int]] = [set(), set()]
    placed = [0, 0]
    mover = 0
    for turn in range(201):
        free = set(range(24)) - held[0] - held[1]
        if placed[mover] < 9:
            names = {f"Point {p}": (None, p) for p in free}
        else:
            flying = len(held[mover]) <= 3
            names = {
                f"Move {a} -> {b}": (a, b)
                for a in held[mover]
                for b in (free if flying else near[a] & free)
            }
        if not names or (placed[mover] == 9 and len(held[mover]) < 3):
            return won_by(1 - mover)
        if turn == 200:
            break
        (name,) = yield {mover: names}
        left, to = names[name]
        placed[mover] += left is None
        held[mover] = held[mover] - {left} | {to}
        if any(to in line and set(line) <= held[mover] for line in MORRIS_LINES):
            other = held[1 - mover]
            loose = {
                p
                for p in other
                if not any(p in line and set(line) <= other for line in MORRIS_LINES)
            }
            targets = {f"Point {p}": p for p in loose or other}
            (name,) = yield {mover: targets}
            other.remove(targets[name])
        mover = 1 - mover
    return tied()


def quoridor(seats: int, look: Look) -> Referee:
    """Row 1 is the highest; player 0 starts at the bottom. A wall is named by the square at the
    upper left of its middle."""
    size, pawns, goals, walls = 9, [(8, 4), (0, 4)], [0, 8], [10, 10]
    flat: set[Point] = set()
    upright: set[Point] = set()
    mover = 0

    def open_way(a: Point, b: Point) -> bool:
        if b not in grid(size, size):
            return False
        r, c = min(a, b)
        if r != max(a, b)[0]:
            return not {(r, c), (r, c - 1)} & flat
        return not {(r, c), (r - 1, c)} & upright

    def reach(start: Point, goal: int) -> bool:
        seen, new = {start}, [start]
        while new:
            at = new.pop()
            for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                to = (at[0] + step[0], at[1] + step[1])
                if to not in seen and open_way(at, to):
                    seen.add(to)
                    new.append(to)
        return any(r == goal for r, _ in seen)

    for _ in range(324):
        place, other = pawns[mover], pawns[1 - mover]
        names: dict[str, tuple[str, Point]] = {}
        for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            to = (place[0] + dx, place[1] + dy)
            if not open_way(place, to):
                continue
            ends = [to]
            if to == other:
                beyond = (to[0] + dx, to[1] + dy)
                aside = [(to[0] + dy, to[1] + dx), (to[0] - dy, to[1] - dx)]
                straight = open_way(to, beyond)
                ends = [beyond] if straight else [one for one in aside if open_way(to, one)]
            for end in ends:
                names[top_cell(end)] = ("pawn", end)
        if walls[mover]:
            for r, c in grid(size - 1, size - 1):
                for kind, own, crossing, beside in (
                    ("h", flat, upright, {(r, c), (r, c - 1), (r, c + 1)}),
                    ("v", upright, flat, {(r, c), (r - 1, c), (r + 1, c)}),
                ):
                    if beside & own or (r, c) in crossing:
                        continue
                    own.add((r, c))
                    if all(reach(pawns[one], goals[one]) for one in (0, 1)):
                        names[f"{top_cell((r, c))}{kind}"] = (kind, (r, c))
                    own.remove((r, c))
        (name,) = yield {mover: names}
        kind, to = names[name]
        if kind == "pawn":
            pawns[mover] = to
            if to[0] == goals[mover]:
                return won_by(mover)
        else:
            walls[mover] -= 1
            (flat if kind == "h" else upright).add(to)
        mover = 1 - mover
    return tied()


def top_cell(point: Point) -> str:
    return f"{LETTERS[point[1]]}{point[0] + 1}"


def mancala(seats: int, look: Look) -> Referee:
    """Pits 1 to 6 and store 7 of player 0, 8 to 13 and store 0 of player 1."""
    beans, own, store = [0] + [4] * 6 + [0] + [4] * 6, [range(1, 7), range(8, 14)], [7, 0]
    mover = 0
    while True:
        if not all(any(beans[p] for p in side) for side in own):
            totals = [beans[store[k]] + sum(beans[p] for p in own[k]) for k in (0, 1)]
            return won_by(int(totals[1] > totals[0])) if totals[0] != totals[1] else tied()
        (name,) = yield {mover: [str(p) for p in own[mover] if beans[p]]}
        at, hand = int(name), beans[int(name)]
        beans[at] = 0
        while hand:
            at = (at + 1) % 14
            if at != store[1 - mover]:
                beans[at] += 1
                hand -= 1
        if at in own[mover] and beans[at] == 1 and beans[14 - at]:
            beans[store[mover]] += 1 + beans[14 - at]
            beans[at] = beans[14 - at] = 0
        mover = mover if at == store[mover] else 1 - mover


def oware(seats: int, look: Look) -> Referee:
    seeds, scores, mover = [4] * 12, [0, 0], 0
    earlier: set[tuple[int, ...]] = set()
    while True:
        own = range(6 * mover, 6 * mover + 6)
        hungry = not any(seeds[6 * (1 - mover) : 6 * (1 - mover) + 6])
        names = {
            "ABCDEFabcdef"[p]: p for p in own if seeds[p] and (not hungry or p % 6 + seeds[p] >= 6)
        }
        if not names or max(scores) > 24 or (mover, *seeds) in earlier:
            scores = [scores[k] + sum(seeds[6 * k : 6 * k + 6]) for k in (0, 1)]
            break
        earlier.add((mover, *seeds))
        (name,) = yield {mover: names}
        start, hand = names[name], seeds[names[name]]
        after, at = seeds[:], start
        after[start] = 0
        while hand:
            at = (at + 1) % 12
            if at != start:
                after[at] += 1
                hand -= 1
        taken, there = after[:], range(6 * (1 - mover), 6 * (1 - mover) + 6)
        won = 0
        while at in there and taken[at] in (2, 3):
            won, taken[at], at = won + taken[at], 0, at - 1
        if any(taken[p] for p in there):
            after, scores[mover] = taken, scores[mover] + won
        seeds, mover = after, 1 - mover
    return won_by(int(scores[1] > scores[0])) if scores[0] != scores[1] else tied()


def nim(seats: int, look: Look) -> Referee:
    heaps, mover = [1, 3, 5, 7], 0
    while any(heaps):
        names = {
            f"pile:{heap + 1}, take:{take};": (heap, take)
            for heap, left in enumerate(heaps)
            for take in range(1, left + 1)
        }
        (name,) = yield {mover: names}
        heap, take = names[name]
        heaps[heap] -= take
        mover = 1 - mover
    return won_by(mover)


MOVES: dict[str, Rules] = {
    "amazons": amazons,
    "breakthrough": breakthrough,
    "checkers": checkers,
    "clobber": clobber,
    "lines_of_action": lines_of_action,
    "mancala": mancala,
    "nim": nim,
    "nine_mens_morris": nine_mens_morris,
    "oware": oware,
    "quoridor": quoridor,
}
