"""The leaderboard, and the pages of players."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import file_name
from gauntlet.common.terminal import short
from gauntlet.pipeline.publish.runs import CELLS, MOST, Run, link
from gauntlet.pipeline.tables.commands.ratings import rate_contest, rating_span
from gauntlet.pipeline.tables.formatting import percent
from gauntlet.pipeline.tables.registry import Results, Sheet, truncation_note
from gauntlet.pipeline.tables.sweep.contest import PlayerNames, load_contest
from gauntlet.stats.ratings import rated


@dataclass
class Player:
    """A player of any runs. tokens, matches: of its seats' models, where they can be told apart.
    cells: its run, the cell's name and its part in it."""

    name: str
    tokens: float = 0.0
    matches: int = 0
    cells: list[tuple[Run, str, str]] = field(default_factory=list)

    @property
    def href(self) -> str:
        """The address of its page, seen from the site's top folder."""
        return f"player/{file_name(self.name)}.html"

    @property
    def cost(self) -> str:
        return short(self.tokens / self.matches) if self.tokens else "-"


@dataclass(frozen=True)
class Field:
    """Everybody who plays in some runs. ratings: None if they cannot be had; reason: why."""

    runs: Sequence[Run]
    players: dict[str, Player]
    ratings: Results | None
    reason: str = ""

    @classmethod
    def from_runs(cls, runs: Sequence[Run]) -> Field:
        names = PlayerNames()
        contest = load_contest([run.path for run in runs], names)
        players = _players(runs, names)
        try:
            contest.check("half")
        except UserError as error:
            return cls(runs, players, None, str(error))
        return cls(runs, players, rate_contest(contest, partial(rated)))

    def leaderboard(self) -> Sheet | None:
        """All rated players over all games, the best first."""
        if self.ratings is None:
            return None
        table = self.ratings["ratings"]
        rows = [
            (
                link(self.players[row["player"]].href, row["player"]),
                *("-" if np.isnan(row["rating"]) else f"{rank}", *self._rating(row)),
                *(f"{row['games']:,}", f"{row['matches']:,}", self.players[row["player"]].cost),
            )
            for rank, row in enumerate(table.to_dict("records"), 1)
        ]
        foot = (
            "rating: log odds around the mean, every game weighing the same; 1 more is 2.7 times "
            "the odds, or 174 points of Elo. Intervals: 95%, by deals."
        )
        headings = (
            "player",
            "rank",
            "rating",
            "interval",
            "score",
            "games",
            "matches",
            "tokens/match",
        )
        return Sheet("Leaderboard", headings, rows[:MOST], _foot(rows, "ratings", foot))

    @staticmethod
    def _rating(row: Mapping[Any, Any]) -> tuple[str, ...]:
        rating = row["rating"]
        shown = "-" if np.isnan(rating) else f"{rating:+.2f}"
        return shown, rating_span(row["low"], row["high"]), percent(row["score"])

    def games_of(self, player: str) -> Sheet | None:
        """A player's rating in each game."""
        if self.ratings is None:
            return None
        table = self.ratings["ratings_by_game"]
        own = table[(table["player"] == player) & (table["matches"] > 0)]
        rows = [
            (row["game"], *self._rating(row), f"{row['matches']:,}")
            for row in own.to_dict("records")
        ]
        headings = ("game", "rating", "interval", "score", "matches")
        return Sheet("By game", headings, rows, "") if rows else None

    def cells_of(self, player: Player) -> Sheet:
        """A player's cells."""
        rows = []
        for run, cell, part in player.cells:
            name, *numbers = self._rows[run.name][cell]
            rows.append((link(f"../{run.href}", name), run.name, part, *numbers))
        headings = ("cell", "run", "as", *CELLS[1:])
        return Sheet("Cells", headings, rows[:MOST], _foot(rows, "cells", ""))

    @cached_property
    def _rows(self) -> dict[str, dict[str, tuple[str, ...]]]:
        return {run.name: {row[0]: row for row in run.rows()} for run in self.runs}


def _foot(rows: Sequence[object], kind: str, foot: str) -> str:
    note = truncation_note(MOST, len(rows), f"the {kind} tables among the downloads")
    return f"{note}\n{foot}".strip()


def _players(runs: Sequence[Run], names: PlayerNames) -> dict[str, Player]:
    found: defaultdict[str, Player] = defaultdict(lambda: Player(""))
    for run in runs:
        costs = run.tables.get("costs", pd.DataFrame({"cell": []}))
        spent = {row["cell"]: row for row in costs.to_dict("records")}
        for cell in run.cells:
            about = cell.about
            description = run.shelf.folder.description(about)
            everybody = [names.name(description, at) for at in range(len(about.players))]
            subjects = {everybody[seat] for seat in (about.subjects or ((),))[0]}
            for name in dict.fromkeys(everybody):
                part = "subject" if name in subjects else "opponent"
                found[name].cells.append((run, about.name, part))
            _spend(found, subjects, {*everybody} - subjects, spent.get(about.name))
    for name, player in found.items():
        player.name = name
    return dict(sorted(found.items()))


def _spend(
    players: Mapping[str, Player],
    subjects: set[str],
    others: set[str],
    row: Mapping[Any, Any] | None,
) -> None:
    """Add a cell's tokens, a row of costs.csv, to the players of either side that is one player."""
    if row is not None:
        for side, tokens in (
            (subjects, row["tokens"]),
            (others, row["all_tokens"] - row["tokens"]),
        ):
            if len(side) == 1:
                (name,) = side
                players[name].tokens += tokens
                players[name].matches += row["matches"]
