"""OpenSpiel's games of cards, by the rules of games/openspiel/games.yaml."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from tests.games.referees import Look, Referee, Rules, fact
from tests.games.referees.deals import SITUATION, line, numbers

RANKS = "23456789TJQKA"


def tiny_hanabi(seats: int, look: Look) -> Referee:
    table = numbers(look(0).rules.rpartition("come to: ")[2].partition(".")[0])
    cards = [int(fact(look(s), TINY).partition(":d")[2][0]) for s in (0, 1)]
    at = 2 * cards[0] + cards[1]
    for seat in (0, 1):
        (name,) = yield {seat: [f"p{seat}a{k}" for k in range(3)]}
        at = 3 * at + int(name[-1])
    return [table[at]] * 2


TINY = "Your card, and then the actions so far"


def go_fish(seats: int, look: Look) -> Referee:
    def hand(seat: int) -> Counter[str]:
        return Counter({rank: int(n) for rank, n in re.findall("([a-m])([1-4])", text(seat))})

    def text(seat: int) -> str:
        return line(look, seat, "Your cards: ")

    hands = [hand(seat) for seat in (0, 1)]
    books = [
        int(line(look, 0, f"player {s} cards ").partition("books ")[2].split()[0]) for s in (0, 1)
    ]
    pool = 52 - sum(map(Counter.total, hands)) - 4 * sum(books)
    mover = 0

    def laid(seat: int) -> None:
        for rank in [rank for rank, count in hands[seat].items() if count == 4]:
            del hands[seat][rank]
            books[seat] += 1

    def drawn(seat: int) -> str:
        """The card that the seat draws, read from what it holds afterwards: a book is laid down."""
        now = hand(seat)
        booked = [rank for rank in hands[seat] if not now[rank]]
        return next(iter(booked), "") or next(r for r in now if now[r] > hands[seat][r])

    while sum(books) < 13:
        if not hands[mover] and pool:
            rank = drawn(mover)
            hands[mover][rank] += 1
            pool -= 1
            laid(mover)
            continue
        if not hands[mover] or not hands[1 - mover]:
            if not hands[mover] or pool:
                mover = 1 - mover
            if not hands[mover] and not pool:
                break
            continue
        (name,) = yield {mover: [f"{1 - mover}{rank}" for rank in hands[mover]]}
        rank = name[1]
        if hands[1 - mover][rank]:
            hands[mover][rank] += hands[1 - mover].pop(rank)
            laid(mover)
        elif pool:
            got = drawn(mover)
            hands[mover][got] += 1
            pool -= 1
            laid(mover)
            mover = mover if got == rank else 1 - mover
        else:
            mover = 1 - mover
    return (
        [0.0, 0.0] if books[0] == books[1] else [1.0, -1.0] if books[0] > books[1] else [-1.0, 1.0]
    )


def crazy_eights(counts: Callable[[str], int]) -> Rules:
    """counts: the points that a card left over costs."""

    def rules(seats: int, look: Look) -> Referee:
        def hand(seat: int) -> list[str]:
            return [
                suit + rank
                for suit, ranks in re.findall(r"Suit (\w): ?(.*)", fact(look(seat), SITUATION))
                for rank in ranks.replace(" ", "")
            ]

        hands, pile = [hand(seat) for seat in range(seats)], 52 - 5 * seats - 1
        top, suit = line(look, 0, "Previous card: "), line(look, 0, "Previous suit: ")
        starts = [s for s in range(seats) if look(s).options]
        mover, drawn, plays, passes = starts[0], 0, 0, 0
        while True:
            fits = [
                one for one in hands[mover] if one[1] == "8" or suit == one[0] or top[1] == one[1]
            ]
            draws, over = pile > 0 and drawn < 5, pile == 0 or drawn == 5
            names = [*(f"Play {one}" for one in fits), *["Draw"] * draws, *["Pass"] * over]
            (name,) = yield {mover: names}
            if name == "Pass":
                passes = passes + 1 if pile == 0 else 0
                if passes > seats:
                    break
                mover, drawn = (mover + 1) % seats, 0
                continue
            passes = 0
            if name == "Draw":
                hands[mover], pile, drawn = hand(mover), pile - 1, drawn + 1
                continue
            top = name.removeprefix("Play ")
            hands[mover].remove(top)
            suit, plays, drawn = top[0], plays + 1, 0
            if not hands[mover] or plays >= 100:
                break
            if top[1] == "8":
                (name,) = yield {mover: [f"Nominate suit {one}" for one in "CDHS"]}
                suit = name[-1]
            mover = (mover + 1) % seats
        return [-sum(map(counts, own)) for own in hands]

    return rules


def left_over(card: str) -> int:
    """The lower cards count by their place in the order C2, D2, H2, S2, C3 and so on."""
    suit, rank = "CDHS".index(card[0]), RANKS.index(card[1])
    return 50 if card[1] == "8" else 10 if card[1] in "JQKA" else 4 * rank + suit + 2


def hanabi(seats: int, look: Look) -> Referee:
    """Hands are read from what the other seat sees."""
    lives, tokens, fireworks = 3, 8, dict.fromkeys("RYGWB", 0)
    deck, mover, left = 40, 0, seats

    def hand(seat: int) -> list[str]:
        shown = fact(look(1 - seat), SITUATION).split("\n")
        return [text[:2] for text in shown if " || " in text and not text.startswith("XX")]

    while lives and left and sum(fireworks.values()) < 25:
        own, other = hand(mover), hand(1 - mover)
        names = [f"(Play {k})" for k in range(len(own))]
        if tokens < 8:
            names += [f"(Discard {k})" for k in range(len(own))]
        if tokens:
            names += [f"(Reveal player +1 color {c})" for c in {one[0] for one in other}]
            names += [f"(Reveal player +1 rank {r})" for r in {one[1] for one in other}]
        (name,) = yield {mover: names}
        left -= deck == 0
        if "Reveal" in name:
            tokens -= 1
        else:
            colour, rank = own[numbers(name)[0]]
            if "Play" not in name:
                tokens += 1
            elif fireworks[colour] == int(rank) - 1:
                fireworks[colour] += 1
                tokens = min(8, tokens + (rank == "5"))
            else:
                lives -= 1
            deck -= deck > 0
        mover = 1 - mover
    return [sum(fireworks.values()) if lives else 0] * seats


def suited(text: str) -> list[str]:
    """The cards of lines such as "S KT2", as KS, TS, 2S."""
    rows = re.findall(r"^([SHDC]) (\S+)$", text, re.MULTILINE)
    return [rank + suit for suit, ranks in rows if ranks != "none" for rank in ranks]


def trick_winner(trick: list[tuple[int, str]], trumps: str = "") -> int:
    led = trick[0][1][1]
    return max(
        trick,
        key=lambda one: ((one[1][1] == trumps) * 2 + (one[1][1] == led), RANKS.index(one[1][0])),
    )[0]


def hearts(seats: int, look: Look) -> Referee:
    hands = [suited(fact(look(s), SITUATION).split("\n\n")[1]) for s in range(4)]
    way = line(look, 0, "Pass Direction: ")
    if way != "No Pass":
        passed: list[list[str]] = [[] for _ in range(4)]
        for seat in range(4):
            for _ in range(3):
                (name,) = yield {seat: hands[seat]}
                hands[seat].remove(name)
                passed[seat].append(name)
        for seat in range(4):
            hands[(seat + {"Left": 1, "Across": 2, "Right": 3}[way]) % 4] += passed[seat]
    mover = next(seat for seat in range(4) if "2C" in hands[seat])
    points, broken = [0] * 4, False
    for turn in range(13):
        trick: list[tuple[int, str]] = []
        while len(trick) < 4:
            hand = hands[mover]
            if trick:
                names = [one for one in hand if one[1] == trick[0][1][1]]
            elif turn == 0:
                names = ["2C"]
            else:
                names = [one for one in hand if one[1] != "H" or broken]
            if turn == 0 and not names:
                names = [one for one in hand if not worth(one)]
            (name,) = yield {mover: names or hand}
            hand.remove(name)
            broken = broken or name[1] == "H" or name == "QS"
            trick.append((mover, name))
            mover = (mover + 1) % 4
        mover = trick_winner(trick)
        points[mover] += sum(worth(name) for _, name in trick)
    if 26 in points:
        points = [26 - one for one in points]
    return [26 - one for one in points]


def worth(card: str) -> int:
    return 13 if card == "QS" else int(card[1] == "H")


def oh_hell(seats: int, look: Look) -> Referee:
    def hand(seat: int) -> list[str]:
        rows = re.findall(r"^ +([SHDC]): ?(\w*)$", fact(look(seat), SITUATION), re.MULTILINE)
        return [suit + rank for suit, ranks in rows for rank in ranks]

    hands, count = [hand(seat) for seat in range(seats)], int(line(look, 0, "Num Total Tricks: "))
    trumps = line(look, 0, "Trump: ")[0]
    mover = (int(line(look, 0, "Dealer: ")) + 1) % seats
    bids, won = [0] * seats, [0] * seats
    for turn in range(seats):
        names = [str(k) for k in range(count + 1) if turn < seats - 1 or k + sum(bids) != count]
        (name,) = yield {mover: names}
        bids[mover] = int(name)
        mover = (mover + 1) % seats
    for _ in range(count):
        trick: list[tuple[int, str]] = []
        while len(trick) < seats:
            follow = [one for one in hands[mover] if trick and one[0] == trick[0][1][1]]
            (name,) = yield {mover: follow or hands[mover]}
            hands[mover].remove(name)
            trick.append((mover, name[::-1]))
            mover = (mover + 1) % seats
        mover = trick_winner(trick, trumps)
        won[mover] += 1
    return [won[s] + 10 * (won[s] == bids[s]) for s in range(seats)]


CARDS: dict[str, Rules] = {
    "crazy_eights": crazy_eights(left_over),
    "go_fish": go_fish,
    "hanabi": hanabi,
    "hearts": hearts,
    "oh_hell": oh_hell,
    "tiny_hanabi": tiny_hanabi,
}
