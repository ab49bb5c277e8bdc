"""Are You the Traitor?: five people under changing names, two of them evil, talk and accuse."""

from gauntlet.games.are_you_the_traitor.game import AreYouTheTraitor
from gauntlet.games.are_you_the_traitor.state import State, View

__all__ = ["AreYouTheTraitor", "State", "View"]
