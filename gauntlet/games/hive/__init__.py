"""Hive, the hexagonal board game of surrounding the queen, compiled, with scripted players."""

from gauntlet.games.hive.game import Hive
from gauntlet.games.hive.hexes import State

__all__ = ["Hive", "State"]
