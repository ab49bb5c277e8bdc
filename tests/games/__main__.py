"""Check given games against the requirements on every game: `make conformance GAME=nim`, or `python
-m tests.games nim` with the extra `conformance` installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gauntlet.common.errors import UserError, require, suggest
from tests.nodes import ROOT, nodes

FILES = ("test_conformance.py", "test_conformance_players.py")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.games", description="What every game must keep, checked on some."
    )
    parser.add_argument("games", nargs="+", metavar="game", help="as in game=NAME")
    games = parser.parse_args(arguments).games
    try:
        for package in ("pytest", "hypothesis"):
            require(package, "conformance")
        for game in games:
            if game not in nodes("game"):
                raise UserError(f"conf/game has no {game}.yaml{suggest(game, nodes('game'))}")
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    import pytest

    files = [str(ROOT / "tests" / "games" / name) for name in FILES]
    # conftest.py is for all tests, and needs the packages of all.
    return int(pytest.main(["--noconftest", *files, "-k", " or ".join(games)]))


if __name__ == "__main__":
    sys.exit(main())
