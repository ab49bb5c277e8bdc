"""Any game under made-up names, so that memorized knowledge of the game does not help."""

from gauntlet.games.obfuscated.game import Obfuscated

__all__ = ["Obfuscated"]
