"""Where every two of three or more players have met: each one over all its opponents.

standings.csv          a row for each player of a round robin (docs/players.md)
shared_opponents.csv   a row for every two of them, over the opponents that both have
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import WIN, Measure, win_or_score
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.numbers import p_value, percent
from gauntlet.pipeline.tables.outcomes import span
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet
from gauntlet.stats.means import limits
from gauntlet.stats.means import p_value as tested
from gauntlet.stats.multiple import holm

FEWEST = 3
"""Players of a round robin: of two the cell itself tells all."""
SHARES = ("win", "draw", "loss", "score")

STANDING_COLUMNS = [
    *("experiment", "game", "player", "opponents", "deals", "matches"),
    *(f"{name}{limit}" for name in (*SHARES, "mean") for limit in ("", "_low", "_high")),
    *("measure", "over"),
]
SHARED_COLUMNS = [
    *("experiment", "game", "player_a", "player_b", "opponents", "over", "deals"),
    *("mean_a", "mean_b", "difference", "low", "high", "p_value", "p_holm"),
    *("head_to_head", "measure", "measure_low", "measure_high"),
]


def standings_table(robins: Sequence[Robin]) -> pd.DataFrame:
    """standings.csv: `win` is the mean over a player's opponents of how often it won against each
    (the mean of its row, where wins stand in a table of players), `loss` of how often each won
    against it (of its column); `mean` is of the measure; `over` names the opponents.

    A deal that all of a player's cells have finished gives one number, the mean over its opponents,
    and the intervals are by deals.
    """
    rows = [row for robin in robins for row in _standings(robin)]
    return pd.DataFrame(rows, columns=STANDING_COLUMNS)


def shared_table(robins: Sequence[Robin]) -> pd.DataFrame:
    """shared_opponents.csv: the means of two players over the opponents that both have, all others
    of the round robin, and their difference, of a deal that all cells have finished one number.
    `measure` is what it is of, the score where wins are counted; `head_to_head` is A's mean against
    B. The interval is by deals, the p-value its own, two-sided; Holm's is over the round robin."""
    rows = [row for robin in robins for row in _shared(robin)]
    return pd.DataFrame(rows, columns=SHARED_COLUMNS)


@dataclass(frozen=True)
class Robin:
    """Players of whom every two have met, and the results of each against each: by both names,
    whose they are first."""

    about: CellInfo
    players: Sequence[str]
    sides: Mapping[tuple[str, str], _Side]

    def others(self, *players: str) -> list[str]:
        return [name for name in self.players if name not in players]


def robins_of(results: Sequence[CellResults]) -> list[Robin]:
    """The round robins among the cells of a folder, whole ones alone."""
    groups: defaultdict[Hashable, list[CellResults]] = defaultdict(list)
    for result in results:
        about = result.about
        if sides_of(about) and len(result.outcomes):
            seats = about.labels["seats"].partition(" against ")[0]
            place = (about.experiment, about.labels["game"], seats, about.measure)
            groups[*place, about.deal_key, about.rotations, about.step].append(result)
    found = []
    for cells in groups.values():
        met = [sides_of(cell.about) or ("", "") for cell in cells]
        players = list(dict.fromkeys(name for pair in met for name in pair))
        if len(players) >= FEWEST and _all_have_met(players, met):
            sides = {
                turned: _Side.of(cell, turned[0])
                for cell, pair in zip(cells, met, strict=True)
                for turned in (pair, pair[::-1])
            }
            found.append(Robin(cells[0].about, players, sides))
    return found


def _all_have_met(players: Sequence[str], met: Sequence[tuple[str, str]]) -> bool:
    """Whether every two have, once."""
    return len(met) == math.comb(len(players), 2) == len(set(map(frozenset, met)))


def sides_of(about: CellInfo) -> tuple[str, str] | None:
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


def _standings(robin: Robin) -> Iterator[dict[str, Any]]:
    about = robin.about
    for name in robin.players:
        others = robin.others(name)
        row = _over([robin.sides[name, other] for other in others], about.measure)
        whose = {"experiment": about.experiment, "game": about.labels["game"], "player": name}
        told = {"measure": about.measure.name, "over": ", ".join(others)}
        yield {**whose, "opponents": len(others), **row, **told}


def _shared(robin: Robin) -> Iterator[dict[str, Any]]:
    about = robin.about
    of, figure = (_SCORE, "score") if win_or_score(about.measure.name) else (about.measure, "mean")
    deals = reduce(np.intersect1d, (side.deals for side in robin.sides.values()))
    by_deal = {pair: side.by_deal(figure, deals) for pair, side in robin.sides.items()}
    whose: dict[str, Any] = {"experiment": about.experiment, "game": about.labels["game"]}
    bounds = {"measure_low": of.low, "measure_high": of.high}
    whose |= {name: x if np.isfinite(x) else np.nan for name, x in bounds.items()}
    rows: list[dict[str, Any]] = []
    for a, b in combinations(robin.players, 2):
        over = robin.others(a, b)
        own, theirs = (np.mean([by_deal[one, other] for other in over], axis=0) for one in (a, b))
        pair = {"player_a": a, "player_b": b, "opponents": len(over), "over": ", ".join(over)}
        told = {"deals": len(deals), "mean_a": _mean(own), "mean_b": _mean(theirs)}
        head = {"head_to_head": _mean(by_deal[a, b])}
        found = _difference(own - theirs, of)
        rows.append({**whose, **pair, **told, **found, **head, "measure": of.name})
    corrected = holm([row["p_value"] for row in rows]).tolist()
    yield from ({**row, "p_holm": p} for row, p in zip(rows, corrected, strict=True))


def _difference(values: np.ndarray, of: Measure) -> dict[str, float]:
    span = (of.low - of.high, of.high - of.low)
    low, high = map(float, limits(values, span))
    p = float(tested(values, span, 0.0, "either"))
    return {"difference": _mean(values), "low": low, "high": high, "p_value": p}


_SCORE = Measure("score", 0.0, 1.0)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


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
        figure, drawn = outcomes.column("figure"), (outcomes.draws & (theirs == 0)).astype(float)
        if (sides_of(about) or ("",))[0] != player:
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
        told = (_mean(values), float(low), float(high))
        row |= zip((name, f"{name}_low", f"{name}_high"), told, strict=True)
    return row


def sheets(table: pd.DataFrame, shared: pd.DataFrame, scales: dict[str, Scale]) -> Iterator[Sheet]:
    """Two sheets a round robin, the best player first; scales: by the measure's name."""
    for (game, measure), rows in table.groupby(["game", "measure"], sort=False):
        yield _standing_sheet(str(game), rows, str(measure), scales[str(measure)])
    for (game, _), rows in shared.groupby(["game", "measure"], sort=False):
        yield _shared_sheet(str(game), rows)


def _standing_sheet(game: str, table: pd.DataFrame, measure: str, scale: Scale) -> Sheet:
    by = "score" if win_or_score(measure) else "mean"
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
                if win_or_score(measure)
                else (scale.mean(row["mean"]), scale.span(row["mean_low"], row["mean_high"]))
            ),
        )
        for _, row in table.sort_values(by, ascending=False, kind="stable").iterrows()
    ]
    foot = (
        "Means over all opponents, who are not the same for everybody: nobody meets itself. "
        "loss: how\noften the opponents won. 95% intervals by deals."
    )
    last = "score" if win_or_score(measure) else scale.title
    headings = ("player", "matches", "win", "95%", "draw", "loss", "95%", last, "95%")
    return Sheet(f"Every two of them in {game}", headings, shown, foot, "standings.csv")


def _shared_sheet(game: str, table: pd.DataFrame) -> Sheet:
    rows = []
    for _, row in table.iterrows():
        scale = Scale.row(row)
        means = (row["mean_a"], row["mean_b"])
        rows.append(
            (
                f"{row['player_a']} - {row['player_b']}",
                f"{row['opponents']}",
                *map(scale.mean, means),
                scale.change(row["difference"]),
                scale.reach(row["low"], row["high"]),
                p_value(row["p_holm"]),
                scale.mean(row["head_to_head"]),
            )
        )
    foot = (
        f"{table['measure'].iloc[0]} of A and B over the opponents that both have, paired by deal; "
        "two-sided.\nA to B: A's against B, of which A - B has nothing."
    )
    headings = ("A - B", "opponents", "A", "B", "A - B", "95% interval", "p Holm", "A to B")
    title = f"Every two of them over shared opponents in {game}"
    return Sheet(title, headings, rows, foot, "shared_opponents.csv")
