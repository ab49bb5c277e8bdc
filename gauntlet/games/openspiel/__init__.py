"""OpenSpiel's games as Game classes; docs/games/openspiel.md lists them."""

from gauntlet.games.openspiel.game import OpenSpiel

__all__ = ["OpenSpiel"]
