"""UNO: the rules as RLCard 1.2.0 plays them, compiled, with scripted players and playouts."""

from games.uno.game import Uno
from games.uno.state import State, View

__all__ = ["State", "Uno", "View"]
