"""Where every two of three or more players have met: each one over all its opponents.

standings.csv    a row for each player of a round robin (docs/players.md)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from games.capabilities import MATCH_SCORE, WIN, Measure
from pipeline.log.results import About, CellResults
from pipeline.tables.ended import span
from pipeline.tables.numbers import percent
from pipeline.tables.scale import Scale
from pipeline.tables.table import Sheet
from stats.means import limits

FEWEST = 3
"""Players of a round robin: of two the cell itself tells all."""
SHARES = ("win", "draw", "loss", "score")

STANDING_COLUMNS = [
    *("experiment", "game", "player", "opponents", "deals", "matches"),
    *(f"{name}{limit}" for name in (*SHARES, "mean") for limit in ("", "_low", "_high")),
    "measure",
]


def standings_table(results: Sequence[CellResults]) -> pd.DataFrame:
    """standings.csv: `win` is the mean over a player's opponents of how often it won against each
    (the mean of its row, where wins stand in a table of players), `loss` of how often each won
    against it (of its column); `mean` is of the measure.

    A deal that all of a player's cells have finished gives one number, the mean over its opponents,
    and the intervals are by deals.
    """
    groups: defaultdict[Hashable, list[CellResults]] = defaultdict(list)
    for result in results:
        about = result.about
        if _sides(about) and len(result.outcomes):
            seats = about.labels["seats"].partition(" against ")[0]
            place = (about.experiment, about.labels["game"], seats, about.measure)
            groups[*place, about.deal_key, about.rotations, about.step].append(result)
    rows = [row for cells in groups.values() for row in _standings(cells)]
    return pd.DataFrame(rows, columns=STANDING_COLUMNS)


def _sides(about: About) -> tuple[str, str] | None:
    """Who was measured and who met them, where either side is one player, in every seat of it."""
    if not (about.players and about.seats):
        return None
    own = about.seats[0]  # at first player i sits in seat i
    sides = {about.players[seat] for seat in own if seat < len(about.players)}
    others = {name for seat, name in enumerate(about.players) if seat not in own}
    if len(sides) != 1 or len(others) != 1 or sides == others:
        return None
    (one,), (other,) = sides, others
    return one, other


def _standings(cells: Sequence[CellResults]) -> Iterator[dict[str, Any]]:
    met: dict[frozenset[str], CellResults] = {}
    for cell in cells:
        met[frozenset(_sides(cell.about) or ())] = cell
    players = list(dict.fromkeys(name for cell in cells for name in _sides(cell.about) or ()))
    every = set(map(frozenset, combinations(players, 2)))
    if len(players) < FEWEST or len(met) < len(cells) or every != set(met):
        return
    about = cells[0].about
    for name in players:
        own = [_Side.of(cell, name) for pair, cell in met.items() if name in pair]
        row = _over(own, about.measure)
        whose = {"experiment": about.experiment, "game": about.labels["game"], "player": name}
        yield {**whose, "opponents": len(own), **row, "measure": about.measure.name}


@dataclass(frozen=True)
class _Side:
    """One player's results against another: by name a figure a match."""

    deals: np.ndarray
    figures: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, cell: CellResults, player: str) -> _Side:
        outcomes, about = cell.outcomes, cell.about
        others = len(about.players) - about.measured
        won, theirs = outcomes.won, outcomes.column("others_won") / others
        figure, drawn = outcomes.column("figure"), (outcomes.drawn & (theirs == 0)).astype(float)
        if (_sides(about) or ("",))[0] != player:
            won, theirs, figure = theirs, won, outcomes.column("others_figure")
        told = {"win": won, "draw": drawn, "loss": theirs, "score": won + drawn / 2}
        return cls(outcomes.column("deal"), {**told, "mean": figure})

    def by_deal(self, name: str, deals: np.ndarray) -> np.ndarray:
        """The deals' means, of those among its own."""
        own, places = np.unique(self.deals, return_inverse=True)
        means = np.bincount(places, self.figures[name]) / np.bincount(places)
        found: np.ndarray = means[np.searchsorted(own, deals)]
        return found


def _over(own: Sequence[_Side], measure: Measure) -> dict[str, Any]:
    deals = own[0].deals
    for side in own:
        deals = np.intersect1d(deals, side.deals)
    matches = sum(int(np.isin(side.deals, deals).sum()) for side in own)
    row: dict[str, Any] = {"deals": len(deals), "matches": matches}
    for name in (*SHARES, "mean"):
        of = measure if name == "mean" else WIN
        values = np.mean([side.by_deal(name, deals) for side in own], axis=0)
        low, high = limits(values, (of.low, of.high))
        told = (values.mean() if len(values) else np.nan, float(low), float(high))
        row |= zip((name, f"{name}_low", f"{name}_high"), told, strict=True)
    return row


def sheets(table: pd.DataFrame, scales: dict[str, Scale]) -> Iterator[Sheet]:
    """A sheet a round robin, the best player first; scales: by the measure's name."""
    for (game, measure), rows in table.groupby(["game", "measure"], sort=False):
        scale = scales[str(measure)]
        plain = measure in (WIN.name, MATCH_SCORE.name)
        by = "score" if plain else "mean"
        shown = [
            (
                row["player"],
                f"{row['matches']:,}",
                percent(row["win"]),
                span(row, "win"),
                percent(row["draw"]),
                percent(row["loss"]),
                span(row, "loss"),
                *(
                    (percent(row["score"]), span(row, "score"))
                    if plain
                    else (scale.mean(row["mean"]), scale.span(row["mean_low"], row["mean_high"]))
                ),
            )
            for _, row in rows.sort_values(by, ascending=False, kind="stable").iterrows()
        ]
        foot = (
            "Means over all opponents, who are not the same for everybody: nobody meets itself. "
            "loss: how\noften the opponents won. 95% intervals by deals."
        )
        last = "score" if plain else scale.title
        headings = ("player", "matches", "win", "95%", "draw", "loss", "95%", last, "95%")
        yield Sheet(f"Every two of them in {game}", headings, shown, foot, "standings.csv")
