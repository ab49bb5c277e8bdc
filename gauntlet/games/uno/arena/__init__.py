"""UNO Arena: UNO with challenges to the wild draw four, an end when the pile runs out, and shared
wins."""

from gauntlet.games.uno.arena.game import UnoArena
from gauntlet.games.uno.arena.rules import View

__all__ = ["UnoArena", "View"]
