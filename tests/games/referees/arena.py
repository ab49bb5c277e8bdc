"""TextArena's games, by the rules that it tells and those that games/textarena/words.py adds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.games.referees import (
    STEPS,
    Look,
    Point,
    Referee,
    Rules,
    fact,
    grid,
    group,
    in_line,
    tied,
    won_by,
)
from tests.games.referees.boards import dropping, flanking, opening, placing
from tests.games.referees.deals import numbers


class Talk(tuple[str, ...]):
    """Any text will do."""

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str)


TALK = Talk(("I agree.", "Let us go on."))


def more(points: Sequence[float]) -> tuple[float, ...]:
    """The seat with the most points wins; two with equally many draw."""
    return tied() if points[0] == points[1] else won_by(int(points[1] > points[0]))


def told(look: Look, seat: int, pattern: str) -> list[str]:
    """All that a seat was told in this form, oldest first."""
    facts = "\n".join(one.text for one in look(seat).facts)
    return re.findall(pattern, facts)


def numbered(size: int, count: int) -> Rules:
    cells = {f"[{size * r + c}]": (r, c) for r, c in grid(size, size)}
    return placing(cells, lambda held, last: in_line(held, last, count))


def wild(seats: int, look: Look) -> Referee:
    marks: dict[str, set[Point]] = {"X": set(), "O": set()}
    for ply in range(9):
        free = [at for at in grid(3, 3) if at not in marks["X"] | marks["O"]]
        names = {f"[{sign} {3 * r + c}]": (sign, (r, c)) for sign in "XO" for r, c in free}
        (name,) = yield {ply % 2: names}
        sign, at = names[name]
        marks[sign].add(at)
        if in_line(marks[sign], at, 3):
            return won_by(ply % 2)
    return tied()


def simple_tak(seats: int, look: Look) -> Referee:
    held: list[set[Point]] = [set(), set()]
    for ply in range(16):
        names = {f"[{4 * r + c}]": (r, c) for r, c in grid(4, 4) if (r, c) not in held[0] | held[1]}
        (name,) = yield {ply % 2: names}
        held[ply % 2].add(names[name])
        path = group(names[name], held[ply % 2], STEPS)
        if any({0, 3} <= {at[axis] for at in path} for axis in (0, 1)):
            return won_by(ply % 2)
    return tied()


def ultimate(seats: int, look: Look) -> Referee:
    small: list[list[set[Point]]] = [[set(), set()] for _ in range(9)]
    won: list[set[Point]] = [set(), set()]
    forced = -1
    for ply in range(81):
        mover = ply % 2
        done = {3 * r + c for r, c in won[0] | won[1]}
        free = {
            f"[{board}{sign}{3 * r + c}]": (board, (r, c))
            for board in range(9)
            for r, c in grid(3, 3)
            if board not in done and (r, c) not in small[board][0] | small[board][1]
            for sign in (" ", ",")
        }
        names = {name: at for name, at in free.items() if at[0] == forced} or free
        if not names:
            break
        (name,) = yield {mover: names}
        board, at = names[name]
        small[board][mover].add(at)
        if in_line(small[board][mover], at, 3):
            won[mover].add(divmod(board, 3))
            if in_line(won[mover], divmod(board, 3), 3):
                return won_by(mover)
        forced = 3 * at[0] + at[1]
    return tied()


def nim(seats: int, look: Look) -> Referee:
    piles = [int(n) for n in re.findall(r"pile \d+: (\d+)", fact(look(0), "Now"))]
    mover = 0
    while any(piles):
        names = {
            f"[{pile} {n}]": (pile, n)
            for pile, left in enumerate(piles)
            for n in range(1, left + 1)
        }
        (name,) = yield {mover: names}
        pile, n = names[name]
        piles[pile] -= n
        mover = 1 - mover
    return won_by(1 - mover)


def kuhn_poker(bets: int) -> Rules:
    """bets: the chips that a bet and its call add to the pot."""

    def rules(seats: int, look: Look) -> Referee:
        chips = [0, 0]
        for number in range(3):
            cards = [told(look, s, r"Your card is: '(\w)'")[number] for s in (0, 1)]
            mover = next(s for s in (0, 1) if look(s).options)
            bet, acts, stake, winner = False, 0, 1, -1
            while winner < 0 and acts < 2:
                (name,) = yield {mover: ["[call]", "[fold]"] if bet else ["[check]", "[bet]"]}
                if name == "[fold]":
                    winner = 1 - mover
                stake += bets * (name == "[call]")
                acts = 2 if bet else acts + 1 - (name == "[bet]") * acts
                bet, mover = name == "[bet]", 1 - mover
            if winner < 0:
                winner = 0 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else 1
            chips[winner] += stake
            chips[1 - winner] -= stake
        return more(chips)

    return rules


def words_for(*kinds: str) -> dict[str, str]:
    """Words that may be shortened to their first letter."""
    return {f"[{text}]": kind for kind in kinds for text in (kind, kind[0])}


def matching_pennies(seats: int, look: Look) -> Referee:
    names, won = words_for("heads", "tails"), [0, 0]
    for _ in range(10):
        (first,) = yield {0: names}
        (second,) = yield {1: names}
        won[int(names[first] != names[second])] += 1
    return more(won)


def rock_paper_scissors(seats: int, look: Look) -> Referee:
    names, won = words_for("rock", "paper", "scissors"), [0, 0]
    order = ["rock", "paper", "scissors"]
    for _ in range(9):
        (first,) = yield {0: names}
        (second,) = yield {1: names}
        lead = (order.index(names[first]) - order.index(names[second])) % 3
        if lead:
            won[0 if lead == 1 else 1] += 1
    return more(won)


def two_thirds(seats: int, look: Look) -> Referee:
    won = [0, 0]
    names = {f"[{n}]": n for n in range(101)}
    for _ in range(10):
        (first,) = yield {0: names}
        (second,) = yield {1: names}
        target = (names[first] + names[second]) / 3
        apart = [abs(names[name] - target) for name in (first, second)]
        if apart[0] != apart[1]:
            won[int(apart[1] < apart[0])] += 1
    return more(won)


def prisoners(seats: int, look: Look) -> Referee:
    points = [0, 0]
    names = Talk(("[Cooperate]", "[Defect]"))
    for _ in range(10):
        yield {0: TALK}
        yield {1: TALK}
        (first,) = yield {0: names}
        (second,) = yield {1: names}
        gives = ["[defect]" not in name.lower() for name in (first, second)]
        for seat in (0, 1):
            points[seat] += (
                (3 if gives[1 - seat] else 0) if gives[seat] else 5 if gives[1 - seat] else 1
            )
    return more(points)


def ultimatum(seats: int, look: Look) -> Referee:
    totals = [0, 0]
    pool = int(told(look, 0, r"You have \$(\d+) to split")[0])
    for _ in range(5):
        (name,) = yield {0: [f"[Offer: ${n}]" for n in range(pool + 1)]}
        (answer,) = yield {1: ["[Accept]", "[Reject]"]}
        if answer == "[Accept]":
            totals = [totals[0] + pool - numbers(name)[0], totals[1] + numbers(name)[0]]
    return more(totals)


CARDS = ["A", *map(str, range(2, 11)), "J", "Q", "K"]


def prizes(seats: int, look: Look) -> Referee:
    """The game of pure strategy."""
    hands, totals, pot = [CARDS[:] for _ in range(seats)], [0] * seats, 0
    for turn in range(13):
        pot += CARDS.index(told(look, 0, r"Prize: (\w+)")[turn]) + 1
        bids = [0] * seats
        for _ in range(seats):  # the order in which they are asked does not matter
            seat = next(seat for seat in range(seats) if look(seat).options)
            (name,) = yield {seat: [f"[{card}]" for card in hands[seat]]}
            hands[seat].remove(name[1:-1])
            bids[seat] = CARDS.index(name[1:-1])
        if bids.count(max(bids)) == 1:
            totals[bids.index(max(bids))] += pot
            pot = 0
    if seats == 2:
        return more(totals)
    best = [seat for seat in range(seats) if totals[seat] == max(totals)]
    least = [seat for seat in range(seats) if totals[seat] == min(totals)]
    return [float(s in best) - (s in least) for s in range(seats)]


def pig(seats: int, look: Look) -> Referee:
    scores, mover, moves = [0, 0], 0, 0
    while True:
        turn = 0
        while True:
            (name,) = yield {mover: ["[roll]", "[hold]"]}
            moves += 1
            if name == "[hold]":
                scores[mover] += turn
                break
            now = fact(look(mover), "Now")
            turn = int(re.findall(r"turn total is (\d+)", now)[0])
            if not look(mover).options or turn == 0:
                break
        if moves > 100:
            return more(scores)
        if max(scores) >= 100:
            return won_by(mover)
        mover = 1 - mover


def liars_dice(seats: int, look: Look) -> Referee:
    left, mover = [5, 5], 0
    while all(left):
        dice = [numbers(fact(look(s), "Now").partition("Dice are: ")[2]) for s in (0, 1)]
        assert [len(own) for own in dice] == left
        count, face = 0, 0
        while True:
            bids = {
                f"[Bid: {c}, {f}]": (c, f)
                for c in range(1, 11)
                for f in range(1, 7)
                if c >= count and f >= face and (c, f) != (count, face)
            }
            (name,) = yield {mover: [*bids, *["[Call]"] * (count > 0)]}
            if name == "[Call]":
                break
            (count, face), mover = bids[name], 1 - mover
        actual = sum(own.count(face) for own in dice)
        loser = 1 - mover if actual < count else mover
        left[loser] -= 1
        mover = loser
    return won_by(0 if left[0] else 1)


def othello(seats: int, look: Look) -> Referee:
    held, mover = opening(), 0
    while flanking(held, 0) or flanking(held, 1):
        names = {f"[{r}, {c}]": discs for (r, c), discs in flanking(held, mover).items()}
        (name,) = yield {mover: names or TALK}
        if names:
            held[mover] |= names[name]
            held[1 - mover] -= names[name]
        mover = 1 - mover
    return more([len(own) for own in held])


def breakthrough(seats: int, look: Look) -> Referee:
    held = [{at for at in grid(8, 8) if at[0] < 2}, {at for at in grid(8, 8) if at[0] > 5}]
    mover = 0
    while True:
        names = {}
        for row, column in held[mover]:
            for side in (-1, 0, 1):
                to = (row + (-1 if mover else 1), column + side)
                free = to in grid(8, 8) and to not in held[0] | held[1]
                if to in held[1 - mover] if side else free:
                    names[f"[{square((row, column))}{square(to)}]"] = ((row, column), to)
        (name,) = yield {mover: names}
        start, to = names[name]
        held[mover] = held[mover] - {start} | {to}
        held[1 - mover].discard(to)
        if to[0] == (0 if mover else 7) or not held[1 - mover]:
            return won_by(mover)
        mover = 1 - mover


def square(point: Point) -> str:
    return f"{'abcdefgh'[point[1]]}{point[0] + 1}"


def chopsticks(seats: int, look: Look) -> Referee:
    hands = [[1, 1], [1, 1]]
    for ply in range(41):
        mover = ply % 2
        own, other = hands[mover], hands[1 - mover]
        names = [f"[attack {a} {b}]" for a in (0, 1) for b in (0, 1) if own[a] and other[b]]
        splits = [(a, sum(own) - a) for a in range(sum(own) + 1)]
        names += [f"[split {a} {b}]" for a, b in splits if [a, b] != own]
        (name,) = yield {mover: names}
        first, second = numbers(name)
        if "attack" in name:
            total = own[first] + other[second]
            other[second] = total if total < 5 else 0
            if other == [0, 0]:
                return won_by(mover)
        else:
            hands[mover] = [first, second]
    return tied()


def blotto(seats: int, look: Look) -> Referee:
    names = {
        f"[A{a} B{b} C{20 - a - b}]": (a, b, 20 - a - b) for a in range(21) for b in range(21 - a)
    }
    won = [0, 0]
    for _ in range(9):
        shares = []
        for seat in (0, 1):
            (name,) = yield {seat: names}
            shares.append(names[name])
        fields = [sum(a > b for a, b in zip(shares[s], shares[1 - s], strict=True)) for s in (0, 1)]
        if fields[0] != fields[1]:
            won[int(fields[1] > fields[0])] += 1
        if max(won) >= 5:
            break
    return more(won)


ARENA: dict[str, Rules] = {
    "Breakthrough": breakthrough,
    "Chopsticks": chopsticks,
    "ColonelBlotto": blotto,
    "ConnectFour": dropping(lambda at, mover: f"[col {at}]"),
    "GameOfPureStrategy": prizes,
    "IteratedMatchingPennies": matching_pennies,
    "IteratedPrisonersDilemma": prisoners,
    "IteratedRockPaperScissors": rock_paper_scissors,
    "IteratedTwoThirdsAverage": two_thirds,
    "IteratedUltimatumGame": ultimatum,
    "KuhnPoker": kuhn_poker(0),
    "LiarsDice": liars_dice,
    "Nim": nim,
    "Othello": othello,
    "PigDice": pig,
    "SimpleTak": simple_tak,
    "ThreePlayerGOPS": prizes,
    "ThreePlayerTicTacToe": numbered(5, 4),
    "TicTacToe": numbered(3, 3),
    "UltimateTicTacToe": ultimate,
    "WildTicTacToe": wild,
}
