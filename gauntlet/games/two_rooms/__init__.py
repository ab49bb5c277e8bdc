"""Two Rooms and a Boom for six players, by the rules that GameBench played."""

from gauntlet.games.two_rooms.game import TwoRooms

__all__ = ["TwoRooms"]
