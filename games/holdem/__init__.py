"""Heads-up no-limit Texas hold'em with TALAGA's eight actions, compiled, with scripted players."""

from games.holdem.game import Holdem
from games.holdem.rules import State, View

__all__ = ["Holdem", "State", "View"]
