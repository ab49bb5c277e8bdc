"""OpenSpiel's games as games of this project; docs/games/openspiel.md says which."""

from gauntlet.games.openspiel.game import OpenSpiel

__all__ = ["OpenSpiel"]
