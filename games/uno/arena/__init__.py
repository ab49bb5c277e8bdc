"""UNO Arena: UNO with a challenge to the wild draw four, an end when the pile runs out, and
winners who may share a game."""

from gauntlet.games.uno.arena.game import UnoArena
from gauntlet.games.uno.arena.rules import View

__all__ = ["UnoArena", "View"]
