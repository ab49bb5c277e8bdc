"""PettingZoo's classic games: an adapter."""

from gauntlet.games.pettingzoo.game import PettingZoo, State

__all__ = ["PettingZoo", "State"]
