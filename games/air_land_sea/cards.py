"""The eighteen cards of Air, Land & Sea: six of each theatre, of strength 1 to 6.

A card is a number: six times its theatre and its strength less one. Names, strengths and abilities
are those of the revised edition, which GameBench plays (arXiv 2406.06613, appendix K).
"""

from __future__ import annotations

from typing import NamedTuple

THEATRES = ("air", "land", "sea")
AIR, LAND, SEA = range(3)
CARDS = range(18)
HAND = 6
"""Cards that each player is dealt for a battle."""
DOWN = 2
"""Strength of a card that lies face down."""
RAISED = 4
"""Strength that Escalation and Cover Fire give."""

(SUPPORT, AIR_DROP, AIR_MANEUVER, AERODROME, CONTAINMENT, HEAVY_BOMBERS) = range(6)
(REINFORCE, AMBUSH, LAND_MANEUVER, COVER_FIRE, DISRUPT, HEAVY_TANKS) = range(6, 12)
(TRANSPORT, ESCALATION, SEA_MANEUVER, REDEPLOY, BLOCKADE, SUPER_BATTLESHIP) = range(12, 18)
MANEUVERS = (AIR_MANEUVER, LAND_MANEUVER, SEA_MANEUVER)
INSTANT = (*MANEUVERS, AIR_DROP, REINFORCE, AMBUSH, DISRUPT, TRANSPORT, REDEPLOY)
"""Cards that do something once, as soon as they lie face up."""


class Card(NamedTuple):
    """What stands on a card; no text where it has no ability."""

    name: str
    text: str = ""


_FLIP = "when face up, you flip an uncovered card in an adjacent theatre"
FACES = (
    Card("Support", "while face up, +3 strength for you in each adjacent theatre"),
    Card("Air Drop", "when face up, you may deploy your next card to any theatre"),
    Card("Air Maneuver", _FLIP),
    Card("Aerodrome", "while face up, you may deploy cards of strength 3 or less to any theatre"),
    Card("Containment", "while face up, any card that anyone plays face down is destroyed"),
    Card("Heavy Bombers"),
    Card("Reinforce", "when face up, you draw a card and play it face down to an adjacent theatre"),
    Card("Ambush", "when face up, you flip any uncovered card"),
    Card("Land Maneuver", _FLIP),
    Card("Cover Fire", "while face up, all cards that it covers have strength 4"),
    Card(
        "Disrupt",
        "when face up, first you and then the opponent flip an uncovered card of their own",
    ),
    Card("Heavy Tanks"),
    Card("Transport", "when face up, you may move a card of yours to another theatre"),
    Card("Escalation", "while face up, your face-down cards have strength 4"),
    Card("Sea Maneuver", _FLIP),
    Card(
        "Redeploy",
        "when face up, you may take a face-down card of yours back to your hand and play a card",
    ),
    Card(
        "Blockade",
        "while face up, any card that anyone plays to an adjacent theatre with three or more other "
        "cards is destroyed",
    ),
    Card("Super Battleship"),
)
NAMES = tuple(face.name for face in FACES)


def theatre(card: int) -> int:
    """The theatre that the card matches."""
    return card // 6


def strength(card: int) -> int:
    """What is printed on the card, 1 to 6."""
    return card % 6 + 1
