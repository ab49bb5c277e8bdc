"""Watching: a game of one seat that sees others play and says who plays how."""

from gauntlet.games.watch.game import State, Watch

__all__ = ["State", "Watch"]
