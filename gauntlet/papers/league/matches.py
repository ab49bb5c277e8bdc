"""The league's matches as data frames, from its packed log or a folder.

A *game* is a column of the league: all seeds of an evergreen family are one. Score: of the player
under study, 1 a win, 1/2 a draw, 0 a loss, or its share where the game shares a match out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import MATCH_SCORE, add_match_score
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log.archive import unpacked
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.sweep.contest import Contest, load_contest

LOG = Path(__file__).parent / "log.tar.xz"
ENTRIES = Path(__file__).parent / "entries"
"""A folder per model that joined, with its log."""
ANCHOR = "random"
SETTINGS = re.compile(r"\[.*\]$")
LETTERED = ("cloze",)
"""Methods that ask for a letter under every rotation, so that A is no option's own."""
KEYS = ["player", "game", "variant", "deal"]


@contextmanager
def unpacked_logs(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """The folders of packed logs, as long as the context lasts; a folder is its own. Raises
    UserError."""
    with TemporaryDirectory() as scratch:
        yield [
            source if source.is_dir() else unpacked(source, Path(scratch, str(number)))
            for number, source in enumerate(sources)
        ]


def entries() -> list[Path]:
    """Everything in ENTRIES: what is checked is what counts, hidden folders too."""
    return sorted(ENTRIES.iterdir()) if ENTRIES.exists() else []


def logs() -> list[Path]:
    """The league's own log, and those of all models that joined."""
    return [LOG, *(entry / LOG.name for entry in entries())]


def game_of(label: str) -> str:
    """The league's name of a game: evergreen[family=mnk,seed=3] is "evergreen mnk", openspiel:hex
    "hex", textarena:Nim "Nim, typed"."""
    if label.startswith("evergreen"):
        return "evergreen " + label.partition("family=")[2].partition(",")[0]
    source, colon, name = SETTINGS.sub("", label).rpartition(":")
    return f"{name}, typed" if source == "textarena" else name if colon else SETTINGS.sub("", label)


@dataclass(frozen=True)
class Games:
    """matches: one row per match; KEYS, score, asked (the player's decisions for which its model
    was asked), fallbacks, tokens. letters: one row per answer by a letter of the methods
    LETTERED: player, game, options, first (how far it is A)."""

    matches: pd.DataFrame
    letters: pd.DataFrame

    @property
    def deals(self) -> pd.DataFrame:
        """The mean score of each player in each deal, over its seatings: KEYS, score."""
        return self.matches.groupby(KEYS)["score"].mean().reset_index()


def read(folders: Sequence[Path]) -> Games:
    """All finished deals of the logs' cells. Raises UserError if there is none."""
    matches, letters = list[dict[str, Any]](), list[dict[str, Any]]()
    for log in map(Folder, folders):
        for about in log.sweep_cells():
            for record in log.matches(about.stem):
                matches.append(_match(about, record))
                if about.labels["prompt"] in LETTERED:
                    letters += _letters(matches[-1], record)
    if not matches:
        raise UserError("the league has no match")
    frame = pd.DataFrame(matches)
    played = frame.groupby(KEYS)["score"].transform("size")
    needed = frame.groupby(["player", "variant"])["seatings"].transform("max")
    return Games(frame[played == needed].drop(columns="seatings"), pd.DataFrame(letters))


def _match(about: CellInfo, record: MatchRecord) -> dict[str, Any]:
    scores = add_match_score(record.measures, record.returns)[MATCH_SCORE.name]
    own = [one for one in record.decisions if one.seat in record.subjects and one.asked]
    return {
        "player": about.labels["agent"],
        "game": game_of(about.labels["game"]),
        "variant": about.labels["game"],
        "deal": record.deal,
        "seatings": about.rotations,
        "score": float(np.mean([scores[seat] for seat in record.measured])),
        "asked": len(own),
        "fallbacks": sum(one.fallback for one in own),
        "tokens": sum(one.tokens for one in own),
    }


def _letters(match: dict[str, Any], record: MatchRecord) -> Iterator[dict[str, Any]]:
    for one in record.decisions:
        if one.seat in record.subjects and len(one.options) > 1:
            for exchange in one.asked:
                for first in _answered_a(exchange):
                    yield {
                        **{name: match[name] for name in ("player", "game")},
                        "options": len(one.options),
                        "first": first,
                    }


def _answered_a(exchange: Exchange) -> Iterator[float]:
    """How far the answer is A, for each prompt: 1, 0, or its share of the best where these tie."""
    if isinstance(exchange, ScoreExchange):
        for row in exchange.logprobs:
            best = max(map(_known, row))
            yield (_known(row[0]) == best) / sum(_known(one) == best for one in row)


def _known(logprob: float | None) -> float:
    return -np.inf if logprob is None else logprob


def contest(folders: Sequence[Path]) -> Contest:
    """The matches for ratings, with the league's names of games. A game with a single deal is left
    out: it would leave every rating without limits."""
    found = load_contest(folders)
    names = [game_of(label) for label in found.games]
    games = sorted(set(names))
    number = np.array([games.index(name) for name in names])
    merged = replace(found.matches, games=number[found.matches.games])
    places = pd.DataFrame({"game": merged.games, "deal": merged.deals}).drop_duplicates()
    several = np.bincount(places["game"], minlength=len(games)) > 1
    return replace(found, games=games, matches=merged.where(several[merged.games]))
