"""OpenSpiel's games of bets, bids, offers and dice, by the rules of games/openspiel/games.yaml."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

from tests.games.referees import Look, Point, Referee, Rules, fact, grid, tied, won_by

SITUATION = "The situation"


def numbers(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"-?\d+", text)]


def line(look: Look, seat: int, head: str) -> str:
    """Return the rest of the line of the situation that starts so."""
    return next(
        text.partition(head)[2]
        for text in fact(look(seat), SITUATION).split("\n")
        if text.startswith(head)
    )


def kuhn_poker(seats: int, look: Look) -> Referee:
    name = "Your card, and then the moves so far"
    cards = [int(fact(look(seat), name)) for seat in range(seats)]
    put, out, mover = [1] * seats, set[int](), 0
    waiting = list(range(seats))
    while waiting:
        mover = waiting.pop(0)
        (bet,) = yield {mover: ["Pass", "Bet"]}
        if bet == "Bet":
            if max(put) == 1:
                waiting = [(mover + k) % seats for k in range(1, seats)]
            put[mover] = 2
        elif max(put) == 2:
            out.add(mover)
    best = max((seat for seat in range(seats) if seat not in out), key=lambda seat: cards[seat])
    return [sum(put) * (seat == best) - put[seat] for seat in range(seats)]


def leduc_hand(look: Look) -> Referee:
    """Return what each seat puts in less what it gets."""

    def cards(head: str, seat: int) -> int:
        return int(fact(look(seat), SITUATION).partition(f"[{head}: ")[2].partition("]")[0])

    held, opened = [cards("Private", seat) for seat in (0, 1)], -1
    put = [1, 1]
    for betting in (0, 1):
        mover, acted, raises = 0, 0, 0
        opened = cards("Public", 0) if betting else -1
        while acted < 2:
            behind = put[mover] < max(put)
            names = ["Call", *["Fold"] * behind, *["Raise"] * (raises < 2)]
            (name,) = yield {mover: names}
            if name == "Fold":
                return won_chips(put, [1 - mover])
            put[mover] = max(put) + (name == "Raise") * (4 if betting else 2)
            acted, raises = (1, raises + 1) if name == "Raise" else (acted + 1, raises)
            mover = 1 - mover
    worths = [card // 2 + 10 * (card // 2 == opened // 2) for card in held]
    return won_chips(put, [seat for seat in (0, 1) if worths[seat] == max(worths)])


def won_chips(put: list[int], winners: list[int]) -> list[float]:
    return [sum(put) / len(winners) * (seat in winners) - put[seat] for seat in (0, 1)]


def leduc_poker(seats: int, look: Look) -> Referee:
    won = yield from leduc_hand(look)
    return won


def repeated_leduc(seats: int, look: Look) -> Referee:
    total = [0.0, 0.0]
    for _ in range(2):
        won = yield from leduc_hand(look)
        total = [a + b for a, b in zip(total, won, strict=True)]
        for seat in (0, 1):
            yield {seat: ["Continue"]}
    return total


def liars_dice(seats: int, look: Look) -> Referee:
    dice = numbers(fact(look(0), DICE)) + numbers(fact(look(1), DICE))
    bids = [(count, face) for count in (1, 2) for face in range(1, 7)]
    last, mover = -1, 0
    while True:
        names = {f"{bids[at][0]}-{bids[at][1]}": at for at in range(last + 1, len(bids))}
        (name,) = yield {mover: [*names, *["Liar"] * (last >= 0)]}
        if name == "Liar":
            count, face = bids[last]
            return won_by(1 - mover if sum(die in (face, 6) for die in dice) >= count else mover)
        last, mover = names[name], 1 - mover


DICE = "Your own dice, and then the bids so far"


def goofspiel(seats: int, look: Look) -> Referee:
    hands, points = [list(range(1, 14)) for _ in range(seats)], [0] * seats
    for turn in range(13):
        card = numbers(line(look, 0, "Point card sequence:"))[turn]
        if turn < 12:
            names = yield {s: [f"[P{s}]Bid: {own}" for own in hands[s]] for s in range(seats)}
        else:
            names = [f"]: {hands[s][0]}" for s in range(seats)]
        bids = [int(name.partition(": ")[2]) for name in names]
        for hand, bid in zip(hands, bids, strict=True):
            hand.remove(bid)
        if bids.count(max(bids)) == 1:
            points[bids.index(max(bids))] += card
    best = [s for s in range(seats) if points[s] == max(points)]
    return won_by(best[0]) if len(best) == 1 else tied()


def blotto(seats: int, look: Look) -> Referee:
    shares = [f"[{a},{b},{10 - a - b}]" for a in range(11) for b in range(11 - a)]
    names = yield {0: shares, 1: shares}
    won = [0, 0]
    for mine, other in zip(*map(numbers, names), strict=True):
        won[0] += mine > other
        won[1] += other > mine
    return won_by(int(won[1] > won[0])) if won[0] != won[1] else tied()


KINDS = ("Book", "Hat", "Basketball")


def bargaining(seats: int, look: Look) -> Referee:
    pool = numbers(line(look, 0, "Pool: "))
    worth = [numbers(line(look, seat, "My values: ")) for seat in (0, 1)]
    shares = list(product(*(range(most + 1) for most in pool)))
    offers = {
        "Offer: " + ", ".join(f"{k}: {n}" for k, n in zip(KINDS, share, strict=True)): share
        for share in shares
    }
    last: tuple[int, ...] = ()
    for turn in range(10):
        (name,) = yield {turn % 2: [*offers, *["Agree"] * (turn > 0)]}
        if name == "Agree":
            return divided(pool, last, worth, 1 - turn % 2)
        last = offers[name]
    return tied()


def divided(
    pool: list[int], share: tuple[int, ...], worth: list[list[int]], offerer: int
) -> list[float]:
    """Return what the things are worth if the offerer gets its share and the other the rest."""
    rest = [most - own for most, own in zip(pool, share, strict=True)]
    return [
        sum(a * b for a, b in zip(worth[seat], share if seat == offerer else rest, strict=True))
        for seat in (0, 1)
    ]


def negotiation(seats: int, look: Look) -> Referee:
    pool = numbers(line(look, 0, "Item pool: "))
    most = int(line(look, 0, "Max steps: "))
    worth = [numbers(line(look, s, f"Agent {s} util vec: ")) for s in (0, 1)]
    offers = {f"Proposal: {list(share)}": share for share in product(*(range(n + 1) for n in pool))}
    last: tuple[int, ...] = ()
    for turn in range(most):
        mover = turn % 2
        (name,) = yield {mover: [*offers, *["Proposal: Agreement reached!"] * (turn > 0)]}
        if name not in offers:
            return divided(pool, last, worth, 1 - mover)
        last = offers[name]
        yield {mover: [f", Utterance: {list(symbols)}" for symbols in product(range(5), repeat=3)]}
    return tied()


def first_sealed_auction(seats: int, look: Look) -> Referee:
    worth = [int(fact(look(seat), "What the thing is worth to you")) for seat in range(seats)]
    bids = []
    for seat in range(seats):
        names = {f"Player {seat} bid: {bid}": bid for bid in range(worth[seat])}
        (name,) = yield {seat: names}
        bids.append(names[name])
    best = [seat for seat in range(seats) if bids[seat] == max(bids)]
    return {
        tuple(float((worth[s] - bids[s]) * (s == winner)) for s in range(seats)) for winner in best
    }


def payoffs(seats: int, look: Look) -> Referee:
    """Options and what they pay are those of the fact that tells them."""
    table, options = {}, {seat: dict[str, None]() for seat in range(seats)}
    for text in fact(look(0), "Payoffs").split("\n"):
        chosen, _, paid = text.partition(": ")
        names = [part.partition(" ")[2].partition(" ")[2] for part in chosen.split(", ")]
        table[tuple(names)] = [float(part.rpartition(" ")[2]) for part in paid.split(", ")]
        for seat, name in enumerate(names):
            options[seat][name] = None
    names = yield options
    return table[tuple(names)]


def matched(wins: dict[tuple[int, int], bool]) -> Rules:
    """Matching pennies by its rules alone: (seat, other): whether it wants the same face."""

    def rules(seats: int, look: Look) -> Referee:
        names = yield {seat: ["Heads", "Tails"] for seat in range(seats)}
        same = {pair: names[pair[0]] == names[pair[1]] for pair in wins}
        return [1.0 if same[pair] == wins[pair] else -1.0 for pair in sorted(wins)]

    return rules


def lewis_signaling(seats: int, look: Look) -> Referee:
    state = line(look, 0, "State: ")
    yield {0: [f"Message {k}" for k in range(3)]}
    (name,) = yield {1: [f"Action {k}" for k in range(3)]}
    return [float(name == f"Action {state}")] * 2


def oshi_zumo(seats: int, look: Look) -> Referee:
    coins, place = [50, 50], 4
    while any(coins) and 0 < place < 8:
        names = yield {s: [f"[P{s}]Bid: {bid}" for bid in range(coins[s] + 1)] for s in (0, 1)}
        bids = [int(name.partition(": ")[2]) for name in names]
        coins = [own - bid for own, bid in zip(coins, bids, strict=True)]
        place += (bids[0] > bids[1]) - (bids[1] > bids[0])
    return won_by(int(place < 4)) if place != 4 else tied()


def pig(seats: int, look: Look) -> Referee:
    scores, mover = [0, 0], 0
    while True:
        turn = 0
        while True:
            enough = scores[mover] + turn >= 100
            (name,) = yield {mover: ["stop", *["roll"] * (not enough)]}
            if name == "stop":
                scores[mover] += turn
                break
            shown = int(line(look, 0, "Scores: ").partition("Turn total: ")[2])
            if shown == 0:
                break
            assert 2 <= shown - turn <= 6
            turn = shown
        if scores[mover] >= 100:
            return won_by(mover)
        mover = 1 - mover


def sheriff(seats: int, look: Look) -> Referee:
    (name,) = yield {0: [f"PlaceIllegalItems(num={k})" for k in range(4)]}
    (items,) = numbers(name)
    bribe, inspects = 0, False
    for _ in range(4):
        (name,) = yield {0: [f"Bribe(amount={k})" for k in range(4)]}
        (bribe,) = numbers(name)
        (name,) = yield {1: [f"InspectionFeedback(will_inspect={one})" for one in (False, True)]}
        inspects = "True" in name
    if not inspects:
        return [items - bribe, bribe]
    return [-2 * items, 2 * items] if items else [3, -3]


def trade_comm(seats: int, look: Look) -> Referee:
    items = [int(line(look, seat, "My item: ")) for seat in (0, 1)]
    for seat in (0, 1):
        yield {seat: [f"Utter {k}" for k in range(10)]}
    trades = []
    for seat in (0, 1):
        (name,) = yield {seat: [f"Trade {a}:{b}" for a, b in product(range(10), repeat=2)]}
        trades.append(tuple(numbers(name)))
    return [float(trades == [(items[0], items[1]), (items[1], items[0])])] * 2


WAYS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "stand": (0, 0)}


def coin_game(seats: int, look: Look) -> Referee:
    liked = ["abc"[int(fact(look(s), SITUATION).split("\n")[0])] for s in (0, 1)]
    rows = [text[1:-1] for text in fact(look(0), SITUATION).split("\n") if text.startswith("|")]
    cells = {(r, c): rows[r][c] for r, c in grid(8, 8)}
    places = [next(at for at, sign in cells.items() if sign == str(s)) for s in (0, 1)]
    taken: Counter[str] = Counter()
    for turn in range(20):
        mover = turn % 2
        (name,) = yield {mover: WAYS}
        to = places[mover][0] + WAYS[name][0], places[mover][1] + WAYS[name][1]
        if to in cells and to != places[1 - mover]:
            taken[cells[to]] += cells[to] in "abc"
            cells[places[mover]], cells[to], places[mover] = " ", str(mover), to
    other = sum(taken[kind] for kind in "abc" if kind not in liked)
    return [taken[liked[s]] ** 2 + taken[liked[1 - s]] ** 2 - other**2 for s in (0, 1)]


def battleship(seats: int, look: Look) -> Referee:
    """On 4 by 4 with ships of 1 and 2, worth as much, and 8 shots each, as the test sets it."""
    size, lengths, shots = 4, (1, 2), 8
    ships: list[list[set[Point]]] = [[], []]
    hit: list[set[Point]] = [set(), set()]

    def sunk(seat: int) -> list[bool]:
        return [ship <= hit[1 - seat] for ship in ships[seat]]

    for turn in range(2 * len(lengths)):
        seat, names = turn % 2, {}
        length, taken = lengths[turn // 2], set().union(*ships[turn % 2])
        for (r, c), flat in product(grid(size, size), (True, False)):
            ship = {(r, c + k) if flat else (r + k, c) for k in range(length)}
            if ship <= set(grid(size, size)) - taken:
                way = "horizontally" if flat else "vertically"
                names[f"Pl{seat}: place ship {way} with top-left corner in {(r, c)}"] = ship
        if length == 1:
            names = {name: ship for name, ship in names.items() if "horizontally" in name}
        (name,) = yield {seat: names}
        ships[seat].append(names[name])
    for turn in range(2 * shots):
        seat = turn % 2
        names = {f"Pl{seat}: shoot at {at}": {at} for at in grid(size, size)}
        (name,) = yield {seat: names}
        hit[seat] |= names[name]
        if all(sunk(1 - seat)):
            break
    lost = [sum(n for n, down in zip(lengths, sunk(s), strict=True) if down) for s in (0, 1)]
    return [lost[1] - lost[0], lost[0] - lost[1]]


SIDES = ("Ones", "Twos", "Threes", "Fours", "Fives", "Sixes")


def yacht(seats: int, look: Look) -> Referee:
    open_sheets: list[dict[str, None]] = [dict.fromkeys((*SIDES, *OTHERS)) for _ in range(seats)]
    totals = [0] * seats
    rerolls = ["Reroll dice: " + ",".join(map(str, some)) for some in subsets(5)]
    for turn in range(12 * seats):
        mover = turn % seats
        for _ in range(2):
            (name,) = yield {mover: ["Keep all (proceed to scoring)", *rerolls]}
            if name.startswith("Keep"):
                break
        dice = numbers(line(look, 0, "Dice: "))
        (name,) = yield {mover: [f"Score in {one}" for one in open_sheets[mover]]}
        category = name.removeprefix("Score in ")
        del open_sheets[mover][category]
        totals[mover] += yacht_score(category, dice)
    best = [seat for seat in range(seats) if totals[seat] == max(totals)]
    return won_by(best[0]) if len(best) == 1 else tied()


OTHERS = ("Chance", "Four of a Kind", "Full House", "Small Straight", "Large Straight", "Yacht")


def subsets(count: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, count + 1):
        yield from combinations(range(count), size)


def yacht_score(category: str, dice: list[int]) -> int:
    counts = sorted(Counter(dice).values())
    if category in SIDES:
        side = SIDES.index(category) + 1
        return side * dice.count(side)
    scores = {
        "Chance": sum(dice),
        "Four of a Kind": sum(dice) * (counts[-1] >= 4),
        "Full House": sum(dice) * (counts in ([2, 3], [5])),
        "Small Straight": 30 * (sorted(dice) == [1, 2, 3, 4, 5]),
        "Large Straight": 30 * (sorted(dice) == [2, 3, 4, 5, 6]),
        "Yacht": 50 * (counts == [5]),
    }
    return scores[category]


MATRICES = ("bos", "brps", "cd", "coordination", "mp", "pd", "rps", "rpsw", "sh", "shapleys_game")

DEALS: dict[str, Rules] = {
    "bargaining": bargaining,
    "battleship": battleship,
    "blotto": blotto,
    "coin_game": coin_game,
    "first_sealed_auction": first_sealed_auction,
    "goofspiel": goofspiel,
    "kuhn_poker": kuhn_poker,
    "leduc_poker": leduc_poker,
    "lewis_signaling": lewis_signaling,
    "liars_dice": liars_dice,
    "matching_pennies_3p": matched({(0, 1): True, (1, 2): True, (2, 0): False}),
    "matrix_mp": matched({(0, 1): True, (1, 0): False}),
    **{f"matrix_{name}": payoffs for name in MATRICES if name != "mp"},
    "negotiation": negotiation,
    "oshi_zumo": oshi_zumo,
    "pig": pig,
    "repeated_leduc_poker": repeated_leduc,
    "sheriff": sheriff,
    "trade_comm": trade_comm,
    "yacht": yacht,
}
