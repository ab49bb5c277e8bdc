"""Sea Battle as GameBench plays it: three ships against three that move simultaneously,
compiled."""

from gauntlet.games.sea_battle.game import SeaBattle
from gauntlet.games.sea_battle.rules import State, View

__all__ = ["SeaBattle", "State", "View"]
