"""Gauntlet: experiments with language models that play games.

In a checkout the folders here are links to those beside this one; a wheel has them as they are.
"""

from __future__ import annotations

from importlib.metadata import version

from gauntlet.common.process import leave_current_folder

leave_current_folder()

__version__ = version("gauntlet")
