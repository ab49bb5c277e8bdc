"""Random games a second: `python benchmarks/games.py [GAME ...] [--seconds 1] [--json FILE]`.

What is measured, and how, stands in `random_games`. This file is its door, and makes way for the
package `games`: a script's folder comes first in its path, so that in this folder every script
would take this file for that package.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ in ("__main__", "games"):
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]

if __name__ == "games":  # another script of this folder asked for the package
    del sys.modules["games"]
    importlib.import_module("games")

if __name__ == "__main__":
    from benchmarks.random_games import main

    main()
