"""The pipeline: config to plan to match to record to table."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
ROOMS = ("agents", "common", "games", "models", "papers", "stats", "training")


def leave_current_folder() -> None:
    """`python -m` imports from the current folder first, where people have a models.py or a folder
    hydra/. Unless Gauntlet itself lies there, only the modules that `packages=` names are looked
    for in it, after all others (`config/nodes.py`)."""
    here = os.getcwd()
    if sys.argv[0] == "-m" and sys.path[0] == here != str(Path(__file__).parent.parent):
        del sys.path[0]


def hidden() -> str:
    """A line about a file that Python takes for one of our packages; "" where there is none."""
    for name in ROOMS:
        found = find_spec(name)
        where = Path(found.origin).resolve() if found and found.origin else None
        if where is None or where.parent.parent != HOUSE:
            return (
                f"gauntlet: {where or name} hides Gauntlet's own package {name!r} in {HOUSE}; "
                "rename it, or take its folder out of PYTHONPATH"
            )
    return ""


leave_current_folder()
if told := hidden():
    print(told, file=sys.stderr)
    raise SystemExit(2)
