"""UNO in words: names of cards and actions, the rules, what happened, what a seat sees.

Colour and trait are words of their own, spelled the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from games.uno.rules import DRAW, WILD

COLOURS = ("red", "green", "blue", "yellow")
TRAITS = (*"0123456789", "skip", "reverse", "draw two", "wild", "wild draw four")

RULES = (
    "Everyone starts with seven cards; the first player without cards wins. On your turn play one "
    "card that matches the top card in colour, number or action. A wild may always be played and "
    "names the only colour to match next. A wild draw four does the same, but only when nothing "
    "else can be played. If nothing can, draw one card: one of the colour to match is played at "
    "once, a wild of either kind is played at once in a random colour without other effect, any "
    "other is kept and ends your turn. Skip: the next player loses the turn. Draw two, wild draw "
    "four: the next player draws two or four cards and loses the turn. Reverse: the order of play "
    "turns round, which changes nothing for two players."
)

POLICIES = {
    "random": "takes any option alike",
    "rule": "plays a wild draw four whenever that is allowed, naming the colour it holds most of; "
    "else any fitting card of a colour alike, and a wild, in any colour, only when nothing else "
    "fits",
    "helper": "takes what serves the player before it best: cards that others must draw, and an "
    "early next turn for that player",
    "saboteur": "takes what hurts the player before it most: cards that it must draw, and a late "
    "next turn for it",
    "first": "takes the first option in the order of red, green, blue, yellow, and within a colour "
    "of 0 to 9, skip, reverse, draw two, wild, wild draw four",
}
"""What each scripted player does, by name."""


def card_name(kind: int) -> str:
    """ "red 7", or "wild", whose own colour means nothing."""
    colour, trait = divmod(kind, 15)
    return TRAITS[trait] if trait >= WILD else f"{COLOURS[colour]} {TRAITS[trait]}"


def move_name(action: int) -> str:
    """ "red 7", "wild naming red", or "draw a card"."""
    if action == DRAW:
        return "draw a card"
    name = card_name(action)
    return f"{name} naming {COLOURS[action // 15]}" if action % 15 >= WILD else name


CARD_NAMES = tuple(card_name(kind) for kind in range(DRAW))
MOVE_NAMES = tuple(move_name(action) for action in range(DRAW + 1))


def clause(seat: int, action: int, drawn: int | None) -> str:
    """What `seat` did, in public: played `action`, or drew; `drawn` is the action that the drawn
    card played itself as, None if it was kept."""
    if action != DRAW:
        return f"player {seat} played {MOVE_NAMES[action]}"
    if drawn is None:
        return f"player {seat} drew a card"
    return f"player {seat} drew and played {MOVE_NAMES[drawn]}"


def top_card(kind: int, colour: int, seat: int) -> str:
    """The top card, the colour to match if the card does not tell it, and who played it (-1:
    nobody, it was turned up)."""
    name = CARD_NAMES[kind]
    if kind % 15 >= WILD:
        name = f"{name}, colour now {COLOURS[colour]}"
    return f"{name}, played by player {seat}" if seat >= 0 else f"{name}, turned up at the start"


def hand(kinds: Iterable[int]) -> str:
    return ", ".join(CARD_NAMES[kind] for kind in kinds)


def holdings(sizes: Iterable[int], you: int) -> str:
    """How many cards each seat holds."""
    return ", ".join(
        f"player {seat}{' (you)' if seat == you else ''} holds {size}"
        for seat, size in enumerate(sizes)
    )


def order_of_play(you: int, direction: int, seats: int) -> str:
    """Who acts after whom from `you` on; direction: 1 upwards, -1 downwards."""
    others = (f"player {(you + direction * step) % seats}" for step in range(1, seats))
    return ", ".join((f"player {you} (you)", *others))


def told_next(history: Iterable[str], seat: int, seats: int) -> int:
    """The next player as published experiments told it: seats go upwards at the start and turn at
    each reverse that was chosen, not at one turned up or drawn; turned round, the second of two
    players is told to be next itself."""
    turns = sum(said.endswith(" reverse") and " drew " not in said for said in history)
    if turns % 2 == 0:
        return (seat + 1) % seats
    return seat if seats == 2 else (seat - 1) % seats
