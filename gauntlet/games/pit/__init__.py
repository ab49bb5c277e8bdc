"""Pit: four traders, four commodities, and a bull and a bear."""

from gauntlet.games.pit.game import Pit

__all__ = ["Pit"]
