"""Gauntlet: experiments with language models that play games.

In a checkout the folders here are links to those beside this one; a wheel has them as they are.
"""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("gauntlet")
