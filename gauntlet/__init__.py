"""What an installed Gauntlet is called: the command `gauntlet`, and its version."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("gauntlet")
