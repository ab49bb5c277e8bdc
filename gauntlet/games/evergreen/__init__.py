"""Games that nobody has played before: drawn from a seed, solved exactly."""

from gauntlet.games.evergreen.game import Evergreen

__all__ = ["Evergreen"]
