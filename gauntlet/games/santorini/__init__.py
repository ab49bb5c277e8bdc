"""Santorini as GameBench plays it: five by five squares, four pawns in a fixed order, compiled."""

from gauntlet.games.santorini.game import Santorini
from gauntlet.games.santorini.rules import State

__all__ = ["Santorini", "State"]
