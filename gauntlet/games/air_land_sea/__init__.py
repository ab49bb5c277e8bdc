"""Air, Land & Sea: a duel of eighteen cards for three theatres."""

from gauntlet.games.air_land_sea.game import AirLandSea

__all__ = ["AirLandSea"]
