"""What a seat can do when it gathers; the first three are what cards are good for."""

from __future__ import annotations

from games.arctic_scavengers.cards import DIG, DRAW, HUNT

HIRE, TRASH, STOP = range(3, 6)

BLOCK = 1000
"""More than there are ways to use a hand for one verb: actions are numbered by verb and way."""

__all__ = ["BLOCK", "DIG", "DRAW", "HIRE", "HUNT", "STOP", "TRASH"]
