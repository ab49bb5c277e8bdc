"""An independent referee of Arctic Scavengers, written from the rule text: cards are words, hands
are lists, every set of cards is tried, and none of the game's code is used.

Random events are inputs: the cards drawn in a round, and where a trashed card ends up.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations

SHEET = """
Refugee        people 1 dig 0 hunt 0
Scavenger      people 1 dig 1 draw 1 hunt 1 fight 1     pay food 1
Brawler        people 1 dig 1 fight 2                   pay food 2
Hunter         people 1 hunt 2 fight 1                  pay medicine 1
Saboteur       people 1 dig 1 fight 1                   pay food 1 medicine 1
Scout          people 1 draw 2 fight 2                  pay food 2 medicine 1
Group_Leaders  people 2 plus dig 2 draw 2 hunt 2 fight 2 pay food 2 medicine 2
Sniper_Team    people 2                                 pay food 2 medicine 2
Thugs          people 3 dig 1 fight 3                   pay food 6
Tribe_Family   people 5 hunt 0 fight 0
Wolf_Pack      plus hunt 3 fight 2
Grenade        plus fight 3
Sled_Team      people 2 draw 2 fight 1
Field_Crew     people 4 dig 2 hunt 2 fight 2
Junk
Multitool      plus dig 1 hunt 1 fight 1
Net            plus hunt 2 fight 1
Spear          plus hunt 1 fight 2
Pickaxe        plus dig 1 fight 2
Shovel         plus dig 2 fight 1
Medkit         medicine 2
Pills          medicine 1
"""
"""One line a card; `plus` where the values are added to those of a card that acts itself."""

FIRST = ["Refugee"] * 4 + ["Scavenger"] * 3 + ["Brawler", "Spear", "Shovel"]
MERCENARIES = {
    "Scavenger": 14,
    "Brawler": 8,
    "Hunter": 8,
    "Saboteur": 8,
    "Scout": 8,
    "Group Leaders": 5,
    "Sniper Team": 5,
    "Thugs": 5,
}


def read(sheet: str) -> dict[str, tuple[dict[str, int], bool, dict[str, int]]]:
    """By card: its values, whether it is a modifier only, and its cost."""
    cards = {}
    for line in sheet.split("\n"):
        if not line:
            continue
        name, *words = line.split()
        has, _, pay = " ".join(words).partition("pay")
        plus = "plus" in has
        cards[name.replace("_", " ")] = (pairs(has.replace("plus", "")), plus, pairs(pay))
    return cards


def pairs(words: str) -> dict[str, int]:
    parts = words.split()
    return {name: int(value) for name, value in zip(parts[::2], parts[1::2], strict=True)}


CARDS = read(SHEET)


def people(cards: list[str]) -> int:
    return sum(CARDS[card][0].get("people", 0) for card in cards)


def is_person(card: str) -> bool:
    return people([card]) > 0


def worth_of(group: tuple[str, ...], deed: str) -> int | None:
    """The value of a group of cards for an action; None if the group may not be used for it."""
    if any(deed not in CARDS[card][0] for card in group):
        return None
    actors = [card for card in group if not CARDS[card][1]]
    leaders = [card for card in group if CARDS[card][1] and is_person(card)]
    tools = [card for card in group if CARDS[card][1] and not is_person(card)]
    if len(tools) > len(actors) or len(leaders) > len(actors):
        return None
    return sum(CARDS[card][0][deed] for card in group)


def is_spare(group: tuple[str, ...], deed: str) -> bool:
    """Whether the group is worth as much without one of its cards."""
    whole = worth_of(group, deed)
    return any(worth_of((*group[:at], *group[at + 1 :]), deed) == whole for at in range(len(group)))


@cache
def groups_of(hand: tuple[str, ...], deed: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every group of a hand that can perform the action without a spare card, by its option."""
    found = {}
    for size in range(1, len(hand) + 1):
        for group in set(combinations(hand, size)):
            value = worth_of(group, deed)
            if value and not is_spare(group, deed):
                found[f"{deed} {value} with {listed(group)}"] = (deed, group)
    return found


@cache
def fight(hand: tuple[str, ...]) -> int:
    """The best that any part of the hand can fight."""
    fit = [card for card in hand if "fight" in CARDS[card][0]]
    groups = (group for size in range(len(fit) + 1) for group in combinations(fit, size))
    return max(worth_of(group, "fight") or 0 for group in groups)


def listed(cards: tuple[str, ...] | list[str]) -> str:
    counts = Counter(cards)
    order = list(CARDS)
    return " + ".join(
        f"{counts[card]} {card}" if counts[card] > 1 else card
        for card in sorted(counts, key=order.index)
    )


class Referee:
    """A game; `options` are those of `seat`, and `choose` takes one of them."""

    def __init__(
        self, first: list[str], junkyard: list[str], contested: list[str], rounds: int
    ) -> None:
        self.junkyard, self.contested, self.rounds = junkyard, contested, rounds
        self.mercenaries = dict(MERCENARIES)
        self.hand: list[list[str]] = [[], []]
        self.reserve = [list(first), list(first)]
        self.used: list[list[str]] = [[], []]
        self.round, self.over, self.drawing = 0, False, True
        self.buried: list[str] = []

    def begin(self, hands: list[list[str]], reserves: list[list[str]]) -> None:
        """Five cards a hand are drawn from all cards of each player."""
        for seat in (0, 1):
            drawn = hands[seat] + reserves[seat]
            assert Counter(drawn) == Counter(self.all(seat)), "the shuffle changed a deck"
            assert len(hands[seat]) == min(5, len(drawn))
            self.hand[seat], self.reserve[seat] = list(hands[seat]), list(reserves[seat])
            self.used[seat] = []
        self.drawing = False
        self.gatherers = [self.round % 2, 1 - self.round % 2]
        self.next_gatherer()

    def all(self, seat: int) -> list[str]:
        return self.hand[seat] + self.reserve[seat] + self.used[seat]

    def next_gatherer(self) -> None:
        if not self.gatherers:
            self.meet()
            return
        self.seat = self.gatherers.pop(0)
        self.what, self.food, self.did = "gather", 0, set[str]()
        self.skip_idle()

    def skip_idle(self) -> None:
        if not self.hand[self.seat] and not self.hires():
            self.next_gatherer()

    def options(self) -> set[str]:
        if self.what == "gather":
            return {*self.groups(), *self.hires(), *self.trash(), "stop gathering"}
        if self.what == "dig":
            return {f"keep {card}" for card in self.junkyard[: self.looked]} | {"keep none"}
        pass_by = "let it happen" if self.what == "respond" else "hold"
        return {*self.victims(), pass_by}

    def trash(self) -> set[str]:
        return {f"trash {card}" for card in self.hand[self.seat]}

    def groups(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        hand = tuple(sorted(self.hand[self.seat]))
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        for deed in {"dig", "draw", "hunt"} - self.did:
            if deed != "dig" or self.junkyard:
                found |= groups_of(hand, deed)
        return found

    def hires(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        if "hire" in self.did:
            return {}
        cures = [card for card in self.hand[self.seat] if "medicine" in CARDS[card][0]]
        found = {}
        for card, left in self.mercenaries.items():
            pay = CARDS[card][2]
            ways = [
                (sum(CARDS[one][0]["medicine"] for one in way), len(way), way)
                for size in range(len(cures) + 1)
                for way in combinations(cures, size)
            ]
            enough = sorted(way for way in ways if way[0] >= pay.get("medicine", 0))
            if left and enough and pay.get("food", 0) <= self.food:
                way = enough[0][2]
                parts = [f"{pay['food']} food"] if "food" in pay else []
                parts += [listed(way)] if way else []
                found[f"hire {card} for {' + '.join(parts)}"] = (card, way)
        return found

    def victims(self) -> dict[str, str]:
        """The cards that the seat can strike."""
        other = self.announced[1] if self.what == "respond" else self.hand[1 - self.seat]
        own = self.hand[self.seat]
        done = Counter() if self.what == "respond" else self.struck
        found = {}
        for card in other:
            by = "Sniper Team" if is_person(card) else "Saboteur"
            if own.count(by) > done[by]:
                found[f"{'snipe' if is_person(card) else 'sabotage'} {card}"] = card
        return found

    def choose(self, option: str) -> None:
        if self.what == "gather":
            self.gather(option)
        elif self.what == "dig":
            self.keep(option.removeprefix("keep "))
        elif self.what == "respond":
            self.respond(option)
        else:
            self.strike(option)

    def gather(self, option: str) -> None:
        if option == "stop gathering":
            self.next_gatherer()
        elif option.startswith("trash"):
            self.buried.append(option.removeprefix("trash "))
            self.hand[self.seat].remove(self.buried[-1])
            self.skip_idle()
        elif option.startswith("hire"):
            card, way = self.hires()[option]
            self.announce("hire", way, card)
        else:
            deed, group = self.groups()[option]
            self.announce(deed, group, "")

    def bury(self, junkyard: list[str]) -> None:
        """The buried cards lie somewhere in the junkyard, whose others are in the same order."""
        assert Counter(junkyard) == Counter(self.junkyard + self.buried)
        left = iter(junkyard)
        assert all(card in left for card in self.junkyard)
        self.junkyard, self.buried = junkyard, []

    def announce(self, deed: str, group: tuple[str, ...], hired: str) -> None:
        self.announced = (deed, group, hired)
        self.what, self.seat = "respond", 1 - self.seat
        if not self.victims():
            self.what, self.seat = "gather", 1 - self.seat
            self.do()

    def respond(self, option: str) -> None:
        card = self.victims().get(option)
        self.what, self.seat = "gather", 1 - self.seat
        if card is None:
            self.do()
            return
        by = "Sniper Team" if is_person(card) else "Saboteur"
        self.put_aside(1 - self.seat, by)
        self.put_aside(self.seat, card)
        self.skip_idle()

    def put_aside(self, seat: int, card: str) -> None:
        self.hand[seat].remove(card)
        self.used[seat].append(card)

    def do(self) -> None:
        deed, group, hired = self.announced
        seat = self.seat
        for card in group:
            self.put_aside(seat, card)
        self.did.add(deed)
        value = 0 if deed == "hire" else worth_of(group, deed) or 0
        if deed == "dig":
            self.what, self.looked = "dig", min(value, len(self.junkyard))
            return
        if deed == "draw":
            self.hand[seat] += self.reserve[seat][:value]
            self.reserve[seat] = self.reserve[seat][value:]
        if deed == "hunt":
            self.food += value
        if deed == "hire":
            self.food -= CARDS[hired][2].get("food", 0)
            self.mercenaries[hired] -= 1
            self.reserve[seat].append(hired)
        self.skip_idle()

    def keep(self, card: str) -> None:
        seen, self.junkyard = self.junkyard[: self.looked], self.junkyard[self.looked :]
        if card != "none":
            seen.remove(card)
            self.reserve[self.seat].append(card)
        self.junkyard += seen
        self.what = "gather"
        self.skip_idle()

    def meet(self) -> None:
        """Both have gathered. The five contested cards are for the last five rounds."""
        if self.round < self.rounds - 5:
            self.end_round()
            return
        self.strikers = [self.round % 2, 1 - self.round % 2]
        self.next_striker()

    def next_striker(self) -> None:
        if not self.strikers:
            self.decide()
            return
        self.seat = self.strikers.pop(0)
        self.what, self.struck = "strike", Counter[str]()
        if not self.victims():
            self.next_striker()

    def strike(self, option: str) -> None:
        card = self.victims().get(option)
        if card is None:
            self.next_striker()
            return
        self.struck["Sniper Team" if is_person(card) else "Saboteur"] += 1
        self.put_aside(1 - self.seat, card)
        if not self.victims():
            self.next_striker()

    def decide(self) -> None:
        card = self.contested.pop(0)
        zero, one = ((fight(tuple(sorted(hand))), people(hand)) for hand in self.hand)
        if zero == one:
            self.buried.append(card)
        else:
            self.reserve[0 if zero > one else 1].append(card)
        self.end_round()

    def end_round(self) -> None:
        self.round += 1
        self.over = self.round == self.rounds
        self.drawing = not self.over

    def score(self) -> tuple[float, float]:
        zero, one = people(self.all(0)), people(self.all(1))
        if zero == one:
            return 0.0, 0.0
        return (1.0, -1.0) if zero > one else (-1.0, 1.0)
