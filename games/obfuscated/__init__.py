"""Any game under other names: who plays from memory finds nothing there to remember."""

from gauntlet.games.obfuscated.game import Obfuscated

__all__ = ["Obfuscated"]
