"""Arctic Scavengers: two tribes hunt, dig, hire, and fight for what is contested."""

from games.arctic_scavengers.game import ArcticScavengers
from games.arctic_scavengers.state import State, View

__all__ = ["ArcticScavengers", "State", "View"]
