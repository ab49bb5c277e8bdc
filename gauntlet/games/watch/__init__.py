"""Watching: a one-seat game that observes others play and identifies their strategies."""

from gauntlet.games.watch.game import State, Watch

__all__ = ["State", "Watch"]
