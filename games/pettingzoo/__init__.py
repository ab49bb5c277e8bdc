"""PettingZoo's classic games: an adapter."""

from games.pettingzoo.game import PettingZoo, State

__all__ = ["PettingZoo", "State"]
