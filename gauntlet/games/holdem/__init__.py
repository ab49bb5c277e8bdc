"""Heads-up no-limit Texas hold'em with TALAGA's eight actions, compiled, with scripted players."""

from gauntlet.games.holdem.game import Holdem
from gauntlet.games.holdem.rules import State, View

__all__ = ["Holdem", "State", "View"]
