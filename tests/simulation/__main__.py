"""Replay one schedule and print its history: python -m tests.simulation SEED [--bug NAME]"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext

from tests.simulation.bugs import BUGS
from tests.simulation.schedule import simulate


def main() -> int:
    """Returns 1 where a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug first")
    given = parser.parse_args()
    with BUGS[given.bug]() if given.bug else nullcontext():
        schedule, violation = simulate(given.seed)
    print("\n".join(schedule.world.history))
    print(f"seed {given.seed}: {'BROKEN: ' + str(violation) if violation else 'every rule kept'}")
    return 1 if violation else 0


if __name__ == "__main__":
    sys.exit(main())
