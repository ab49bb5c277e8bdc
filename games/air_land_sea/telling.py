"""Air, Land & Sea's rules in words, and the facts that a seat is told."""

from __future__ import annotations

from collections.abc import Mapping

from games.air_land_sea import words
from games.air_land_sea.board import holders
from games.air_land_sea.cards import FACES, NAMES, THEATRES, strength, theatre
from games.air_land_sea.rules import FIRST, SECOND, withdrawal
from games.air_land_sea.state import State
from games.base import Fact


def facts(state: State, seat: int, goal: int, quirks: bool) -> tuple[Fact, ...]:
    """What the seat, whose choice it is, is told."""
    other = 1 - seat
    own, theirs = state.points[seat], state.points[other]
    place = "first: you win ties" if state.first == seat else "second: the opponent wins ties"
    shown = ", ".join(NAMES[card] for card in state.shown[other])
    lost = [words.NAMES[one.card] for one in state.lost if one.seen or one.owner == seat]
    told = [
        Fact("To decide", words.decision(state, seat), own=True),
        Fact("Points", f"you {own}, opponent {theirs}; {goal} win"),
        Fact("You play", place, own=True),
        Fact("Theatres from left to right", words.board(state, seat, quirks)),
        Fact("If the battle ended now", _standing(state, seat, quirks)),
        Fact("Opponent", f"has {len(state.hands[other])} cards in hand"),
    ]
    if shown:
        told.append(Fact("Opponent holds or hid", shown))
    if lost:
        told.append(Fact("Destroyed", ", ".join(lost)))
    if state.drop[seat]:
        told.append(Fact("Air Drop", "you may deploy your next card to any theatre", own=True))
    if not state.tasks:
        gained = f"the opponent gets {withdrawal(state, seat)} points"
        told.append(Fact("If you withdraw", gained, own=True))
    return (*told, Fact("Your hand", words.hand(state.hands[seat]), own=True))


def _standing(state: State, seat: int, quirks: bool) -> str:
    held = holders(state, quirks)
    own = ", ".join(THEATRES[at] for at in state.order if held[at] == seat)
    result = "win" if held.count(seat) >= 2 else "lose"
    return f"you would {result}, holding {own or 'no theatre'}"


def summary(goal: int) -> str:
    return (
        "Players 0 and 1 fight battles over three theatres in a row: air, land and sea. A battle is "
        "won by holding two theatres when all cards are played, or when the other player withdraws; "
        f"it brings victory points. Whoever first has {goal} points ends the game, and a player's "
        "score is its share of all points."
    )


def headings(quirks: bool) -> Mapping[str, str]:
    return {
        "Battle": "Each of the 18 cards belongs to a theatre and has a strength from 1 to 6. Both "
        "players are dealt 6; the other 6 are the deck, unseen. Turns alternate, the first player "
        "begins. On a turn you deploy a card, improvise a card, or withdraw.",
        "Deploy": "Play a card face up to your side of the theatre it belongs to. Its ability takes "
        "effect at once.",
        "Improvise": "Play any card face down to your side of any theatre. It has strength 2 and "
        "no ability. Only you may look at it.",
        "Covering": "A card played or moved to a theatre covers your cards there: only the last one "
        "is uncovered. Covered cards still count and their abilities hold.",
        "Holding a theatre": "The side with the greater sum of strengths holds a theatre. Ties, "
        "empty theatres too, are held by the first player.",
        "Points": "A battle fought to its end brings 6 points. If a player withdraws, the other "
        f"gets points by the cards left in the hand of who withdraws: {_table(FIRST)} for the first "
        f"player; {_table(SECOND)} for the second.",
        "Next battle": "All cards are shuffled and dealt anew, the rightmost theatre goes to the "
        "far left, and the other player is first.",
        "Abilities": "An ability works whenever its card comes to lie face up, played or flipped, "
        "for the player on whose side it lies. "
        + (
            "New ones are carried out before older ones. "
            if quirks
            else "Abilities are carried out in the order in which they came up, each to its end. "
        )
        + "Those with while hold as long as the card lies face up. What is impossible is skipped; "
        "only what may be done can be left.",
        "Flipping": "A flipped card is turned over: a face-down card takes effect face up, a face-up "
        "card has strength 2 and no ability while face down.",
        "Destroying": "A destroyed card is out of the battle, before it takes effect. "
        + ("A card of Reinforce is never destroyed." if quirks else "Drawn cards are played too."),
        "Cards": "; ".join(_card(card) for card in range(len(FACES))) + ".",
        **(
            {
                "Strengths": "Escalation and Cover Fire raise nothing while they lie in the leftmost "
                "theatre. Strengths are brought up to date before every choice, but not after the "
                "last one of a battle."
            }
            if quirks
            else {}
        ),
    }


def _table(points: tuple[int, ...]) -> str:
    """ "2 for 5 or 6 cards, 3 for 3 or 4, ..." from the points by cards in hand."""
    parts = []
    for worth in sorted(set(points)):
        cards = [str(count) for count, own in enumerate(points) if own == worth]
        many = f"{cards[0]} to {cards[-1]}" if len(cards) > 2 else " or ".join(cards)
        parts.append(f"{worth} for {many}")
    return ", ".join(parts)


def _card(card: int) -> str:
    told = FACES[card].text or "no ability"
    return f"{NAMES[card]} ({THEATRES[theatre(card)]} {strength(card)}) {told}"
