"""Read the matches that GameBench's authors published.

The file is a list of objects, one per match: `game`, and the score of each of two agents under its
name. It is not part of this project: CC-BY, github.com/Joshuaclymer/GameBench, matches.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.common.conf_folders import CONF
from gauntlet.common.errors import UserError
from gauntlet.papers.published import paper
from gauntlet.pipeline.tables.sweep.contest import Contest
from gauntlet.stats.matches import Matches

FILE = CONF.parent.parent / "shared" / "data" / "gamebench_matches.json"
"""Default location of the file, next to the project."""
WHERE = (
    "the match file is not here: github.com/Joshuaclymer/GameBench has it as matches.json; "
    "--matches FILE (make: MATCHES=FILE) reads it"
)


def missing_file_message(file: Path | None = None) -> str:
    """Return a message on where to get the file of `published` if it is missing, else ""."""
    where = file or FILE
    return "" if where.exists() else f"{where}: {WHERE}"


def load_matches(file: Path | None = None) -> Contest | None:
    """Read the matches of a file, by default FILE; None if no file was given and FILE is missing.

    Players are in the paper's order and under its names, games in the file's order. Raises
    UserError for a file that cannot be read or has other contents.
    """
    if file is None and not FILE.exists():
        return None
    return _contest(_rows(file or FILE), file or FILE)


def _rows(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; {WHERE}") from error
    except ValueError as error:
        raise UserError(f"{file} is no JSON: {error}") from error


def _contest(rows: Any, file: Path) -> Contest:
    names = {ours: name for name, ours in paper("gamebench")["agents"].items()}
    players = list(names.values())
    try:
        games = list(dict.fromkeys(row["game"] for row in rows))
        pairs = [[name for name in row if name != "game"] for row in rows]
        first, second = np.array([[players.index(names[a]) for a in pair] for pair in pairs]).T
        scores = np.array([float(row[pair[0]]) for row, pair in zip(rows, pairs, strict=True)])
        game = np.array([games.index(row["game"]) for row in rows])
        matches = Matches(len(players), first, second, scores, game, np.arange(len(rows)))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file} holds other things than matches, each with a game and the scores of two of "
            f"{', '.join(names)}: {type(error).__name__}: {error}"
        ) from error
    return Contest(players, games, matches)
