"""An independent Air, Land & Sea, from the rule text alone: cards are words, abilities are
generators that request choices, and each request lists the names of all options."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

CARDS = {
    "Support": ("air", 1),
    "Air Drop": ("air", 2),
    "Air Maneuver": ("air", 3),
    "Aerodrome": ("air", 4),
    "Containment": ("air", 5),
    "Heavy Bombers": ("air", 6),
    "Reinforce": ("land", 1),
    "Ambush": ("land", 2),
    "Land Maneuver": ("land", 3),
    "Cover Fire": ("land", 4),
    "Disrupt": ("land", 5),
    "Heavy Tanks": ("land", 6),
    "Transport": ("sea", 1),
    "Escalation": ("sea", 2),
    "Sea Maneuver": ("sea", 3),
    "Redeploy": ("sea", 4),
    "Blockade": ("sea", 5),
    "Super Battleship": ("sea", 6),
}

Ask = tuple[int, list[str]]
"""The player to choose, and the names of the options."""
Asking = Generator[Ask, str, None]


@dataclass(eq=False)
class Piece:
    """A card on the table."""

    name: str
    up: bool
    known: bool


class Battle:
    """One battle. hands: by player. stock: the draw pile, the next card first."""

    def __init__(
        self, row: Sequence[str], first: int, hands: Sequence[Iterable[str]], stock: Iterable[str]
    ) -> None:
        self.row, self.first = list(row), first
        self.hands = [set(hand) for hand in hands]
        self.stock = deque(stock)
        self.table: dict[tuple[int, str], list[Piece]] = {
            (player, place): [] for player in (0, 1) for place in self.row
        }
        self.queue: deque[tuple[str, int, str]] = deque()
        self.free = [False, False]
        self.result: tuple[int, int] | None = None

    def run(self) -> Asking:
        """Request one choice after the other; at the end `result` is the winner and the points."""
        player = self.first
        while self.hands[0] or self.hands[1]:
            chosen = yield player, [*self.plays(player), "withdraw"]
            if chosen == "withdraw":
                self.result = 1 - player, self.surrender(player)
                return
            self.play(player, chosen)
            while self.queue:
                name, owner, place = self.queue.popleft()
                yield from getattr(self, name.lower().split()[-1])(owner, place)
            player = 1 - player
        mine = sum(self.rules(0, place) for place in self.row)
        self.result = (0 if mine >= 2 else 1), 6

    def surrender(self, player: int) -> int:
        left = len(self.hands[player])
        if player != self.first:
            return 2 if left >= 5 else 3 if left >= 3 else 4 if left == 2 else 6
        return 2 if left >= 4 else 3 if left >= 2 else 4 if left == 1 else 6

    def near(self, place: str) -> list[str]:
        here = self.row.index(place)
        return [other for there, other in enumerate(self.row) if abs(there - here) == 1]

    def active(self, player: int, name: str) -> str | None:
        """Return where the player has this card face up."""
        for (owner, place), pile in self.table.items():
            if owner == player and any(piece.up and piece.name == name for piece in pile):
                return place
        return None

    def power(self, player: int, place: str) -> int:
        pile, total = self.table[player, place], 0
        covering = [piece.up and piece.name == "Cover Fire" for piece in pile]
        for depth, piece in enumerate(pile):
            if any(covering[depth + 1 :]):
                total += 4
            elif piece.up:
                total += CARDS[piece.name][1]
            else:
                total += 4 if self.active(player, "Escalation") else 2
        helper = self.active(player, "Support")
        return total + (3 if helper is not None and place in self.near(helper) else 0)

    def rules(self, player: int, place: str) -> bool:
        """Whether the player holds the theatre."""
        own, other = self.power(player, place), self.power(1 - player, place)
        return own > other or (own == other and player == self.first)

    def plays(self, player: int) -> list[str]:
        names = []
        for card in self.hands[player]:
            home, strength = CARDS[card]
            light = strength <= 3 and self.active(player, "Aerodrome") is not None
            for place in self.row:
                names.append(f"improvise {card} to {place}")
                if place == home or light or self.free[player]:
                    names.append(f"deploy {card} to {place}")
        return names

    def play(self, player: int, chosen: str) -> None:
        verb, _, rest = chosen.partition(" ")
        card, place = rest.split(" to ")
        self.hands[player].remove(card)
        self.free[player] = False
        self.arrive(player, card, place, verb == "deploy")

    def arrive(self, player: int, card: str, place: str, up: bool) -> None:
        """Destroyed on the way, or laid on the pile; a face-up card then uses its ability."""
        contained = any(self.active(who, "Containment") is not None for who in (0, 1))
        walls = [self.active(who, "Blockade") for who in (0, 1)]
        crowd = len(self.table[0, place]) + len(self.table[1, place])
        if (not up and contained) or (
            crowd >= 3 and any(wall is not None and wall in self.near(place) for wall in walls)
        ):
            return
        self.table[player, place].append(Piece(card, up, up))
        if up:
            self.wake(card, player, place)

    def wake(self, card: str, player: int, place: str) -> None:
        if card == "Air Drop":
            self.free[player] = True
        elif hasattr(self, card.lower().split()[-1]):
            self.queue.append((card, player, place))

    def flips(self, chooser: int, owners: Iterable[int], places: Iterable[str]) -> list[str]:
        names = []
        for owner in owners:
            for place in places:
                if pile := self.table[owner, place]:
                    top = pile[-1]
                    whose = "your" if owner == chooser else "the opponent's"
                    name = top.name if top.known or owner == chooser else "hidden card"
                    way = "down" if top.up else "up"
                    names.append(f"flip {whose} {name} in {place} face {way}")
        return names

    def flip(self, chooser: int, chosen: str) -> None:
        owner = chooser if chosen.startswith("flip your") else 1 - chooser
        place = chosen.split(" in ")[1].split(" face")[0]
        top = self.table[owner, place][-1]
        top.up, top.known = not top.up, True
        if top.up:
            self.wake(top.name, owner, place)

    def one_flip(self, chooser: int, owners: Iterable[int], places: Iterable[str]) -> Asking:
        if names := self.flips(chooser, owners, list(places)):
            chosen = yield chooser, names
            self.flip(chooser, chosen)

    def maneuver(self, owner: int, place: str) -> Asking:
        yield from self.one_flip(owner, (0, 1), self.near(place))

    def ambush(self, owner: int, place: str) -> Asking:
        yield from self.one_flip(owner, (0, 1), self.row)

    def disrupt(self, owner: int, place: str) -> Asking:
        yield from self.one_flip(owner, (owner,), self.row)
        yield from self.one_flip(1 - owner, (1 - owner,), self.row)

    def reinforce(self, owner: int, place: str) -> Asking:
        if self.stock:
            card = self.stock.popleft()
            chosen = yield owner, [f"lay the drawn card in {near}" for near in self.near(place)]
            self.arrive(owner, card, chosen.split(" in ")[1], up=False)

    def side_of(self, owner: int) -> list[tuple[str, Piece]]:
        return [(at, piece) for at in self.row for piece in self.table[owner, at]]

    def transport(self, owner: int, place: str) -> Asking:
        names = {
            f"move {piece.name} from {at} to {to}": (piece, at, to)
            for at, piece in self.side_of(owner)
            for to in self.row
            if to != at
        }
        if names:
            chosen = yield owner, [*names, "move nothing"]
            if chosen in names:
                piece, at, to = names[chosen]
                self.table[owner, at].remove(piece)
                self.table[owner, to].append(piece)

    def redeploy(self, owner: int, place: str) -> Asking:
        names = {
            f"take back {piece.name} from {at}": (piece, at)
            for at, piece in self.side_of(owner)
            if not piece.up
        }
        if names:
            chosen = yield owner, [*names, "take back nothing"]
            if chosen in names:
                piece, at = names[chosen]
                self.table[owner, at].remove(piece)
                self.hands[owner].add(piece.name)
                again = yield owner, self.plays(owner)
                self.play(owner, again)
