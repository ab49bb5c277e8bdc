"""Tables 1 and 2 recomputed from the published matches, under the right headings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.papers.gamebench.ratings import DRAWS, Bootstrapped, bootstrapped
from gauntlet.pipeline.tables.sweep.contest import Contest
from gauntlet.stats.matches import Matches

ALL = "all"
"""Stands for all games where a game's name is expected."""
OVERALL = "Overall"
TABLE_COLUMNS = [
    *("agent", "printed_column", "game", "printed", "ours", "difference", "corrected"),
    *("low", "high", "matches", "ties"),
]


@dataclass(frozen=True)
class PublishedResults:
    """The published matches, and the scores and ratings that the paper computes from them."""

    contest: Contest
    draws: int = DRAWS

    @property
    def agents(self) -> Sequence[str]:
        return self.contest.players

    def matches(self, game: str) -> Matches:
        """Return the matches of one game, or of all."""
        if game == ALL:
            return self.contest.matches
        return self.contest.game_matches(list(self.contest.games).index(game))

    @cached_property
    def ratings(self) -> Mapping[str, Bootstrapped]:
        """Ratings by game, and of all games: with the settings of the published code."""
        return {
            game: bootstrapped(self.matches(game), self.draws)
            for game in (ALL, *self.contest.games)
        }

    def match_count(self, agent: str, game: str) -> int:
        return int(self.matches(game).met.sum(1)[self.agents.index(agent)])

    def ties(self, agent: str, game: str) -> int:
        """Count the agent's matches that are ties, which the published ratings drop."""
        matches, number = self.matches(game), self.agents.index(agent)
        own = (matches.first == number) | (matches.second == number)
        return int((own & (matches.scores == 0.5)).sum())

    def rating(self, agent: str, game: str) -> float:
        """The published kind of rating; agents without a match are rated by the regularisation."""
        return float(self.ratings[game].mean[self.agents.index(agent)])

    def spread(self, agent: str, game: str) -> float:
        """Return the standard deviation of the draws whose mean is the rating."""
        return float(self.ratings[game].draws[:, self.agents.index(agent)].std(ddof=1))

    def score(self, agent: str, game: str) -> float:
        return float(self.matches(game).means[self.agents.index(agent)])


def columns(reported: Mapping[str, Any]) -> Mapping[str, str]:
    """The printed columns of Tables 1 and 2, with the game whose numbers each really holds."""
    return {OVERALL: ALL, **reported["columns"]}


def heading(reported: Mapping[str, Any], game: str) -> str:
    """Return the right heading of a game."""
    shorts: dict[str, str] = {name: short for short, name in reported["games"].items()}
    return OVERALL if game == ALL else shorts[game]


def fields(reported: Mapping[str, Any], table: str) -> Iterator[tuple[str, str, str, float]]:
    """Every printed field: agent, column, the game it really belongs to, and the value or nan."""
    for agent, line in reported[table].items():
        for (column, game), value in zip(columns(reported).items(), line, strict=True):
            yield agent, column, game, np.nan if value is None else value


def table(reported: Mapping[str, Any], recomputed: PublishedResults, name: str) -> pd.DataFrame:
    """Return Table 1 or 2 next to ours. The column `corrected` is ours, empty if the agent has no
    match, with its limits `low` and `high`. If all matches of an agent in a game are `ties`, the
    game says nothing about it."""
    rows = []
    for agent, column, game, value in fields(reported, name):
        ours = recomputed.rating(agent, game) if name == "table1" else recomputed.score(agent, game)
        match_count, at = recomputed.match_count(agent, game), recomputed.agents.index(agent)
        ends = (
            recomputed.ratings[game].limits
            if name == "table1"
            else np.full((2, len(recomputed.agents)), np.nan)
        )
        kept = (ours, ends[0][at], ends[1][at]) if match_count else (np.nan,) * 3
        rows.append((agent, column, game, value, ours, ours - value, *kept, match_count,
                     recomputed.ties(agent, game)))  # fmt: skip
    return pd.DataFrame(rows, columns=TABLE_COLUMNS)


def corrected(reported: Mapping[str, Any], ratings: pd.DataFrame) -> pd.DataFrame:
    """Return agents by games, with the right headings in the paper's order; nan is blank."""
    wide = ratings.pivot(index="agent", columns="game", values="corrected")
    order = [OVERALL, *reported["games"]]
    wide.columns = pd.Index([heading(reported, str(game)) for game in wide.columns])
    return wide.loc[list(reported["agents"]), order]
