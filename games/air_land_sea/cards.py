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


_FLIP = "once: flip an uncovered card in an adjacent theatre"
FACES = (
    Card("Support", "lasting: you have 3 more strength in each adjacent theatre"),
    Card("Air Drop", "once: you may deploy the next card you play to any theatre"),
    Card("Air Maneuver", _FLIP),
    Card("Aerodrome", "lasting: you may deploy cards of strength 3 or less to any theatre"),
    Card("Containment", "lasting: destroys any card that is played face down, by anyone"),
    Card("Heavy Bombers"),
    Card("Reinforce", "once: draw a card and play it face down to an adjacent theatre"),
    Card("Ambush", "once: flip any uncovered card"),
    Card("Land Maneuver", _FLIP),
    Card("Cover Fire", "lasting: the cards that it covers have strength 4"),
    Card("Disrupt", "once: first you, then the opponent flips an uncovered card of its own"),
    Card("Heavy Tanks"),
    Card("Transport", "once: you may move one of your cards to another theatre"),
    Card("Escalation", "lasting: your face-down cards have strength 4"),
    Card("Sea Maneuver", _FLIP),
    Card("Redeploy", "once: you may take back a face-down card of yours; if so, play a card"),
    Card(
        "Blockade",
        "lasting: destroys any card that is played, by anyone, to an adjacent theatre with 3 or "
        "more other cards",
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
