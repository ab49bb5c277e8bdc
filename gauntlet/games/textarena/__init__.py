"""TextArena's games, played with the library's own texts: an adapter."""

from gauntlet.games.textarena.game import State, TextArena

__all__ = ["State", "TextArena"]
