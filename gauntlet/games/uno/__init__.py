"""UNO: the rules as RLCard 1.2.0 plays them, compiled, with scripted players and playouts."""

from gauntlet.games.uno.game import Uno
from gauntlet.games.uno.state import State, View

__all__ = ["State", "Uno", "View"]
