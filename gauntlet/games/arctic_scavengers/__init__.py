"""Arctic Scavengers: two tribes hunt, dig, hire, and fight for what is contested."""

from gauntlet.games.arctic_scavengers.game import ArcticScavengers
from gauntlet.games.arctic_scavengers.state import State, View

__all__ = ["ArcticScavengers", "State", "View"]
