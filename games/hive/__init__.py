"""Hive, the hexagonal board game of surrounding the queen, compiled, with scripted players."""

from games.hive.game import Hive
from games.hive.hexes import State

__all__ = ["Hive", "State"]
