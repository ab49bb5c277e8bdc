"""TextArena's games, played in its own words: an adapter."""

from gauntlet.games.textarena.game import State, TextArena

__all__ = ["State", "TextArena"]
