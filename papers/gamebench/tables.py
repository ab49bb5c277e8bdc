"""Tables 1 and 2 made anew from the published matches, under the headings that are theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.tables.standings import Contest
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import DRAWS, Bootstrapped, as_gamebench

ALL = "all"
"""All games, where a game's name could stand."""
OVERALL = "Overall"
TABLE_COLUMNS = [
    *("agent", "printed_column", "game", "printed", "ours", "difference", "corrected"),
    *("low", "high", "matches", "ties"),
]


@dataclass(frozen=True)
class Again:
    """The published matches, and everything the paper makes of them."""

    contest: Contest
    draws: int = DRAWS

    @property
    def agents(self) -> Sequence[str]:
        return self.contest.players

    def matches(self, game: str) -> Matches:
        """Those of a game, or of all."""
        if game == ALL:
            return self.contest.matches
        return self.contest.game_matches(list(self.contest.games).index(game))

    @cached_property
    def ratings(self) -> Mapping[str, Bootstrapped]:
        """By game, and of all: at the settings of the published code."""
        return {
            game: as_gamebench(self.matches(game), self.draws)
            for game in (ALL, *self.contest.games)
        }

    def played(self, agent: str, game: str) -> int:
        return int(self.matches(game).met.sum(1)[self.agents.index(agent)])

    def ties(self, agent: str, game: str) -> int:
        """How many of these matches are ties, which the published ratings leave out."""
        matches, number = self.matches(game), self.agents.index(agent)
        own = (matches.first == number) | (matches.second == number)
        return int((own & (matches.scores == 0.5)).sum())

    def rating(self, agent: str, game: str) -> float:
        """As published: also of who has no match, whom the regularisation rates."""
        return float(self.ratings[game].mean[self.agents.index(agent)])

    def spread(self, agent: str, game: str) -> float:
        """The standard deviation of the draws that a rating is the mean of."""
        return float(self.ratings[game].draws[:, self.agents.index(agent)].std(ddof=1))

    def score(self, agent: str, game: str) -> float:
        return float(self.matches(game).means[self.agents.index(agent)])


def columns(reported: Mapping[str, Any]) -> Mapping[str, str]:
    """The printed columns of Tables 1 and 2, with the game whose numbers each holds."""
    return {OVERALL: ALL, **reported["columns"]}


def heading(reported: Mapping[str, Any], game: str) -> str:
    """The heading that is a game's own."""
    shorts: dict[str, str] = {name: short for short, name in reported["games"].items()}
    return OVERALL if game == ALL else shorts[game]


def fields(reported: Mapping[str, Any], table: str) -> Iterator[tuple[str, str, str, float]]:
    """Every field in print: agent, column, the game that it really is of, and the value or nan."""
    for agent, line in reported[table].items():
        for (column, game), value in zip(columns(reported).items(), line, strict=True):
            yield agent, column, game, np.nan if value is None else value


def table(reported: Mapping[str, Any], again: Again, name: str) -> pd.DataFrame:
    """Table 1 or 2 beside ours. corrected: ours, empty where nobody played; low, high: its limits.
    A game of which all of an agent's matches are ties, as many as `ties`, tells nothing of it."""
    rows = []
    for agent, column, game, value in fields(reported, name):
        ours = again.rating(agent, game) if name == "table1" else again.score(agent, game)
        played, at = again.played(agent, game), again.agents.index(agent)
        ends = (
            again.ratings[game].limits
            if name == "table1"
            else np.full((2, len(again.agents)), np.nan)
        )
        kept = (ours, ends[0][at], ends[1][at]) if played else (np.nan,) * 3
        rows.append((agent, column, game, value, ours, ours - value, *kept, played,
                     again.ties(agent, game)))  # fmt: skip
    return pd.DataFrame(rows, columns=TABLE_COLUMNS)


def corrected(reported: Mapping[str, Any], ratings: pd.DataFrame) -> pd.DataFrame:
    """Agents by games, under the games' own headings in the paper's order; nan is blank."""
    wide = ratings.pivot(index="agent", columns="game", values="corrected")
    order = [OVERALL, *reported["games"]]
    wide.columns = pd.Index([heading(reported, str(game)) for game in wide.columns])
    return wide.loc[list(reported["agents"]), order]
