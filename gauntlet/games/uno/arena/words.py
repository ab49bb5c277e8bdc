"""UNO Arena as text: rules, decisions, history. Cards as in UNO."""

from __future__ import annotations

from gauntlet.games.uno.arena.rules import CALL, CARD, COLOUR
from gauntlet.games.uno.rules import DRAW, WILD
from gauntlet.games.uno.words import CARD_NAMES, COLOURS, MOVE_NAMES

RULES = (
    "Everyone starts with seven cards; whoever has no cards left wins at once. On your turn you "
    "must play a card that matches the top card in colour, number or function, or a wild of "
    "either kind; if you have none, you draw one card and your turn ends. A wild names the only "
    "colour to match next. A wild draw four does too, and the next player may challenge it: if its "
    "player still holds a card of the colour before it, that player draws four cards and the "
    "challenger plays on; if not, the challenger draws six cards and loses the turn. Unchallenged, "
    "the next player draws four cards and loses the turn. Skip: the next player loses the turn. "
    "Draw two: the next player draws two cards and loses the turn. Reverse: the order of play "
    "turns round, which changes nothing for two players. Played cards are never shuffled back: "
    "when a draw asks for more cards than the pile holds, the game ends and all who hold the "
    "fewest cards win."
)

ANSWERS = ("challenge", "draw four cards")


def option(phase: int, action: int) -> str:
    """Return the name of an option: "red 7", "wild", "draw a card"; "red"; or "challenge"."""
    if phase == CARD:
        return MOVE_NAMES[DRAW] if action == DRAW else CARD_NAMES[action]
    return COLOURS[action] if phase == COLOUR else ANSWERS[action]


def question(phase: int, top: int, before: int, colour: int, player: int) -> str:
    """Return what has to be decided. top: the top card's kind. before, colour: the colours in force
    before and after it. by: who played it."""
    if phase == CARD:
        return "which card to play"
    if phase == COLOUR:
        return f"which colour your {CARD_NAMES[top]} names"
    return (
        f"whether to challenge the wild draw four of player {player}, played on "
        f"{COLOURS[before]} and naming {COLOURS[colour]}"
    )


def top_card(phase: int, top: int, colour: int, player: int) -> str:
    """Return the top card, the colour to match if the card does not show it, and who played it (-1:
    nobody, it was turned up)."""
    name = CARD_NAMES[top]
    if top % 15 >= WILD:
        told = "not named yet" if phase == COLOUR else f"now {COLOURS[colour]}"
        name = f"{name}, colour {told}"
    return (
        f"{name}, played by player {player}" if player >= 0 else f"{name}, turned up at the start"
    )


def clauses(
    phase: int, action: int, seat: int, top: int, player: int, guilty: bool
) -> tuple[str, ...]:
    """Return what `seat` did, in public; nothing while its wild has no colour yet.

    top, player: the top card's kind before the move, and who played it. guilty: whether a challenge
    of `player` is right.
    """
    if phase == COLOUR:
        return (f"player {seat} played {CARD_NAMES[top]} naming {COLOURS[action]}",)
    if phase == CARD:
        if action == DRAW:
            return (f"player {seat} drew a card",)
        return () if action % 15 >= WILD else (f"player {seat} played {CARD_NAMES[action]}",)
    if action != CALL:
        return (f"player {seat} drew four cards",)
    if guilty:
        return (f"player {seat} challenged rightly and player {player} drew four cards",)
    return (f"player {seat} challenged wrongly and drew six cards",)
