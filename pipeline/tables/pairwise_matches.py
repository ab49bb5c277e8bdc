"""Who played whom at what, and what came of it: matches of two sides from any logs, as ratings need
them.

A player is who it is by its settings, whatever cell, game or folder it sits in: its agent, method
and model with the content of its weights. Players of one name that differ in these are told apart
by a number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.judging import stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults, collect
from gauntlet.pipeline.tables.standings import sides_of
from gauntlet.stats.bradley_terry import parts
from gauntlet.stats.matches import Matches, Ties


@dataclass(frozen=True)
class Contest:
    """Matches with the names of their players and games, by the numbers that `matches` has.

    aside: how many cells are left out, as one side of theirs is several players, or larger than the
    other: their scores say nothing of one player against another.
    """

    players: Sequence[str]
    games: Sequence[str]
    matches: Matches
    aside: int = 0

    def of_game(self, number: int) -> Matches:
        return self.matches.where(self.matches.games == number)

    def check(self, ties: Ties) -> None:
        """Raises UserError where nothing can be rated: fewer than two players with a match that
        counts, or players whom no chain of matches joins."""
        belongs = parts(self.matches.wins(ties))
        rated = np.flatnonzero(belongs >= 0)
        if len(rated) < 2:
            count = f"{len(self.matches):,} matches of {len(self.players)} player(s)"
            raise UserError(f"ratings need two players who met in a match that counts, got {count}")
        if belongs.max() > 0:
            told = "; ".join(
                ", ".join(self.players[int(at)] for at in rated if belongs[at] == part)
                for part in range(belongs.max() + 1)
            )
            raise UserError(
                f"no chain of matches joins these players, so they cannot be rated together: {told}"
            )


@dataclass(frozen=True)
class _Match:
    first: str
    second: str
    score: float
    game: str
    deal: tuple[str, str, int]


def contest_of(folders: Sequence[Path]) -> Contest:
    """The matches of the gap-free deals of all cells of some output_dirs, each match once. Raises
    UserError where a folder holds no sweep."""
    found: dict[str, _Match] = {}
    names, aside = _Names(), 0
    for folder in dict.fromkeys(path.resolve() for path in folders):
        place = Folder(folder)
        for result in _results(place):
            sides = _even_sides(result.about)
            if sides is None:
                aside += 1
                continue
            one, other = (names.of(place.description(result.about), at) for at in sides)
            for match, own in _matches(result, one, other, json.dumps(place.seed)):
                found.setdefault(match, own)
    return _contest(found.values(), aside)


def _results(place: Folder) -> list[CellResults]:
    abouts = place.abouts()
    outcomes = place.outcomes({about.key: MATCH_SCORE.name for about in abouts})
    return stopping.cut(place.path, collect(abouts, outcomes, place.failed_matches))


def _even_sides(about: CellInfo) -> tuple[int, int] | None:
    """The numbers of a measured player and of one of the other side."""
    if sides_of(about) is None or not about.even:
        return None
    own = about.seats[0]
    return own[0], next(seat for seat in range(len(about.players)) if seat not in own)


def _matches(result: CellResults, one: str, other: str, seed: str) -> Iterable[tuple[str, _Match]]:
    about, outcomes = result.about, result.outcomes
    columns = (outcomes.column(name) for name in ("match", "deal", "figure"))
    for match, deal, score in zip(*columns, strict=True):
        place = (seed, about.deal_key, int(deal))
        yield match.decode(), _Match(one, other, float(score), about.labels["game"], place)


class _Names:
    """What players are called: one name for equal settings, another for others."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._taken: Counter[str] = Counter()

    def of(self, description: Mapping[str, Any], number: int) -> str:
        name = description["players"][number]
        settings = json.dumps(description["identity"]["players"][number], sort_keys=True)
        if (name, settings) not in self._known:
            self._taken[name] += 1
            count = self._taken[name]
            self._known[name, settings] = name if count == 1 else f"{name} ({count})"
        return self._known[name, settings]


def _contest(found: Iterable[_Match], aside: int) -> Contest:
    every = list(found)
    players = sorted({name for one in every for name in (one.first, one.second)})
    games = list(dict.fromkeys(one.game for one in every))
    deals = {deal: at for at, deal in enumerate(dict.fromkeys(one.deal for one in every))}
    numbers = [
        (
            players.index(one.first),
            players.index(one.second),
            games.index(one.game),
            deals[one.deal],
        )
        for one in every
    ]
    first, second, game, deal = np.array(numbers, int).reshape(-1, 4).T
    scores = np.array([one.score for one in every], float)
    return Contest(players, games, Matches(len(players), first, second, scores, game, deal), aside)
