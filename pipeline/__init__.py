"""The pipeline: config to plan to match to record to table."""

import sys
from importlib.util import find_spec
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
ROOMS = ("agents", "common", "games", "models", "papers", "stats", "training")


def hidden() -> str:
    """A line about a file that Python takes for one of our packages; "" where there is none.

    `python -m` looks into the current folder first, and people have a models.py.
    """
    for name in ROOMS:
        found = find_spec(name)
        where = Path(found.origin).resolve() if found and found.origin else None
        if where is None or where.parent.parent != HOUSE:
            return (
                f"gauntlet: {where or name} hides Gauntlet's own package {name!r} in {HOUSE}; "
                "rename it, start from another folder, or type `gauntlet run` in place of "
                "`python -m pipeline.run`"
            )
    return ""


if told := hidden():
    print(told, file=sys.stderr)
    raise SystemExit(2)
