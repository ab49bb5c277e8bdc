"""A slow referee of UNO Arena, written from the rule text alone.

It shares no code with the engine: cards are words, piles are lists with the next card first.
"""

from __future__ import annotations

from collections import Counter

COLOURS = ("red", "green", "blue", "yellow")
FUNCTIONS = ("skip", "reverse", "draw two")
NUMBERS = tuple("0123456789")


def full_deck() -> Counter[str]:
    """The 108 cards: of each colour one 0 and two of the rest; four wilds of either kind."""
    deck: Counter[str] = Counter({"wild": 4, "wild draw four": 4})
    for colour in COLOURS:
        for sign in (*NUMBERS, *FUNCTIONS):
            deck[f"{colour} {sign}"] = 1 if sign == "0" else 2
    return deck


class Referee:
    """One game, from a shuffled deck to its winners. asked: the current decision: "card", "colour"
    or "challenge". winners: empty until the game ends."""

    def __init__(self, players: int, deck: list[str]) -> None:
        assert Counter(deck) == full_deck()
        self.pile = list(deck)
        self.hands: list[list[str]] = [[] for _ in range(players)]
        for _ in range(7):
            for hand in self.hands:
                hand.append(self.pile.pop(0))
        self.discard = [self.pile.pop(0)]
        while sign(self.discard[-1]) not in NUMBERS:
            self.discard.append(self.pile.pop(0))
        self.colour = self.colour_before = self.discard[-1].split()[0]
        self.turn, self.clockwise = 0, True
        self.asked = "card"
        self.bluffer = -1
        self.winners: set[int] = set()

    def options(self) -> set[str]:
        if self.asked == "colour":
            return set(COLOURS)
        if self.asked == "challenge":
            return {"challenge", "draw four cards"}
        playable = {card for card in self.hands[self.turn] if self.fits(card)}
        return playable or {"draw a card"}

    def fits(self, card: str) -> bool:
        if card.startswith("wild"):
            return True
        same_sign = sign(card) == sign(self.discard[-1])
        return card.split()[0] == self.colour or same_sign

    def say(self, option: str) -> None:
        """The player at turn chooses one of the options."""
        assert option in self.options()
        if self.asked == "colour":
            self.colour_named(option)
        elif self.asked == "challenge":
            self.challenged(option == "challenge")
        elif option == "draw a card":
            self.draw(self.turn, 1)
            self.next_turn()
        else:
            self.played(option)

    def played(self, card: str) -> None:
        self.hands[self.turn].remove(card)
        self.discard.append(card)
        if not self.hands[self.turn]:
            self.winners = {self.turn}
            return
        if card.startswith("wild"):
            self.asked = "colour"
            return
        self.colour = card.split()[0]
        if sign(card) == "reverse":
            self.clockwise = not self.clockwise
        self.next_turn()
        if sign(card) == "draw two":
            self.draw(self.turn, 2)
        if sign(card) in ("skip", "draw two"):
            self.next_turn()

    def colour_named(self, colour: str) -> None:
        self.colour_before, self.colour = self.colour, colour
        self.asked = "card"
        if self.discard[-1] == "wild draw four":
            self.asked, self.bluffer = "challenge", self.turn
        self.next_turn()

    def challenged(self, doubted: bool) -> None:
        self.asked = "card"
        held = {card.split()[0] for card in self.hands[self.bluffer]}
        if doubted and self.colour_before in held:
            self.draw(self.bluffer, 4)
            return
        self.draw(self.turn, 6 if doubted else 4)
        self.next_turn()

    def draw(self, player: int, count: int) -> None:
        """Draw this many cards; if the pile is too small the game is over, without drawing."""
        if len(self.pile) < count:
            sizes = [len(hand) for hand in self.hands]
            self.winners = {p for p, size in enumerate(sizes) if size == min(sizes)}
            return
        for _ in range(count):
            self.hands[player].append(self.pile.pop(0))

    def next_turn(self) -> None:
        self.turn = (self.turn + (1 if self.clockwise else -1)) % len(self.hands)


def sign(card: str) -> str:
    """Number or function of a coloured card; "" of a wild, which matches nothing."""
    return "" if card.startswith("wild") else card.partition(" ")[2]
