"""OpenSpiel's games as games of this project; docs/games/openspiel.md says which."""

from games.openspiel.game import OpenSpiel

__all__ = ["OpenSpiel"]
