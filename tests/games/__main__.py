"""Check given games against the requirements on every game: `make conformance GAME=nim`, or `python
-m tests.games nim` with the extra `conformance` installed.

A game of your own package is named as for `pipeline.run`:
`python -m tests.games mygame --config-dir myconf packages=[mypackage]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError, require, suggest
from gauntlet.pipeline.config.nodes import build
from tests.nodes import FOLDERS, ROOT, nodes

FILES = ("test_conformance.py", "test_conformance_players.py", "test_redealt.py")
PACKAGES = "packages="


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.games", description="What every game must keep, checked on some."
    )
    parser.add_argument(
        "words",
        nargs="+",
        metavar="game",
        help="as in game=NAME; `packages=[NAME,...]`: packages of your own that may have games",
    )
    parser.add_argument(
        "--config-dir", action="append", default=[], type=Path, help="a folder with game/NAME.yaml"
    )
    options = parser.parse_intermixed_args(arguments)
    try:
        for package in ("pytest", "hypothesis"):
            require(package, "conformance")
        games = _games(options.words, options.config_dir)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    import pytest

    files = [str(ROOT / "tests" / "games" / name) for name in FILES]
    # conftest.py is for all tests, and needs the packages of all.
    return int(pytest.main(["--noconftest", *files, "-m", "not slow", "-k", " or ".join(games)]))


def _games(words: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The games to check, each of which can be built. Raises UserError."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: the folder is not found")
    FOLDERS.extend(folders)
    listed = [word.removeprefix(PACKAGES) for word in words if word.startswith(PACKAGES)]
    packages = [name for text in listed for name in text.strip("[]").split(",")]
    games, known = [word for word in words if not word.startswith(PACKAGES)], nodes("game")
    if not games:
        raise UserError("no game is named")
    for game in games:
        if game not in known:
            places = " and ".join(str(folder / "game") for folder in (Path("conf"), *folders))
            raise UserError(f"no {game}.yaml is in {places}{suggest(game, known)}")
        build(known[game], game, packages)
    return games


if __name__ == "__main__":
    sys.exit(main())
