"""Round robins of three or more players: each one over all its opponents, and every two of them."""

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
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.pipeline.tables.sheets import (
    Column,
    Row,
    View,
    change,
    count,
    mean,
    p,
    reach,
    share,
    share_span,
    span,
    text,
)
from gauntlet.stats.means import limits
from gauntlet.stats.means import p_value as tested
from gauntlet.stats.multiple import holm

FEWEST = 3
"""Players of a round robin: of two the cell itself tells all."""
SHARES = ("win", "draw", "loss", "score")

STANDINGS = {
    "experiment": "as in the config",
    "game": "the game",
    "player": "the player",
    "opponents": "how many others it met",
    "deals": "deals that all of its cells finished; each gives one number, the mean over opponents",
    "matches": "matches on these deals",
    **{
        f"{name}{limit}": what
        + {"": "", "_low": ", lower end of its 95% interval by deals"}.get(
            limit, ", upper end of its 95% interval by deals"
        )
        for name, what in (
            ("win", "how often it won: the mean of its row in a table of players"),
            ("draw", "how often it drew"),
            ("loss", "how often its opponents won: the mean of its column"),
            ("score", "1 a win and 1/2 a draw"),
            ("mean", "its mean of the measure"),
        )
        for limit in ("", "_low", "_high")
    },
    "measure": "what cells are judged by",
    "over": "the opponents' names",
}
SHARED = {
    "experiment": "as in the config",
    "game": "the game",
    "player_a": "the first player",
    "player_b": "the second player",
    "opponents": "how many others both met",
    "over": "their names",
    "deals": "deals that all cells finished",
    "mean_a": "A's mean over these opponents",
    "mean_b": "B's mean over them",
    "difference": "A less B, paired by deal",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "p": "two-sided, of the interval",
    "p_holm": "after Holm over the round robin",
    "head_to_head": "A's mean against B, which is not part of the difference",
    "measure": "what the means are of: the score where wins are counted",
    "measure_low": "its lowest value",
    "measure_high": "its highest value",
}


def _score_leads(part: Part) -> bool:
    return win_or_score(part.rows["measure"].iloc[0])


def _measure_leads(part: Part) -> bool:
    return not _score_leads(part)


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    by = "score" if win_or_score(rows["measure"].iloc[0]) else "mean"
    return rows.sort_values(by, ascending=False, kind="stable")


def _measure(part: Part) -> str:
    return part.results.scale(part.rows.iloc[0].to_dict()).title


STOOD = View(
    lambda part: f"Every two of them in {part.rows['game'].iloc[0]}",
    (
        Column("player", text("player")),
        Column("matches", count("matches")),
        Column("win", share("win")),
        Column("95%", share_span("win_low", "win_high")),
        Column("draw", share("draw")),
        Column("loss", share("loss")),
        Column("95%", share_span("loss_low", "loss_high")),
        Column("score", share("score"), where=_score_leads),
        Column("95%", share_span("score_low", "score_high"), where=_score_leads),
        Column(_measure, mean("mean"), where=_measure_leads),
        Column("95%", span("mean_low", "mean_high"), where=_measure_leads),
    ),
    "Means over all opponents, who are not the same for everybody: nobody meets itself. "
    "loss: how\noften the opponents won. 95% intervals by deals.",
    _best_first,
    by=("game", "measure"),
)


def _players(row: Row) -> str:
    return f"{text('player_a')(row)} - {text('player_b')(row)}"


MET = View(
    lambda part: f"Every two of them over shared opponents in {part.rows['game'].iloc[0]}",
    (
        Column("A - B", _players),
        Column("opponents", count("opponents")),
        Column("A", mean("mean_a")),
        Column("B", mean("mean_b")),
        Column("A - B", change("difference")),
        Column("95% interval", reach("low", "high")),
        Column("p Holm", p("p_holm")),
        Column("A to B", mean("head_to_head")),
    ),
    lambda part: (
        f"{part.rows['measure'].iloc[0]} of A and B over the opponents that both have, paired by "
        "deal; two-sided.\nA to B: A's against B, of which A - B has nothing."
    ),
    by=("game", "measure"),
)


@table("standings", STANDINGS, [STOOD], place=32)
def standings(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each player of a round robin."""
    for robin in results.once(robins_of):
        yield from _standings(robin)


@table("shared_opponents", SHARED, [MET], place=33)
def shared_opponents(results: Results) -> Iterator[dict[str, Any]]:
    """A row for every two players, over the opponents that both have."""
    for robin in results.once(robins_of):
        yield from _shared(robin)


@dataclass(frozen=True)
class Robin:
    """Players of whom every two have met, and the results of each against each: by both names,
    whose they are first."""

    about: CellInfo
    players: Sequence[str]
    sides: Mapping[tuple[str, str], _Side]

    def others(self, *players: str) -> list[str]:
        return [name for name in self.players if name not in players]


def robins_of(results: Results) -> list[Robin]:
    """The round robins among the cells of a folder, whole ones alone."""
    groups: defaultdict[Hashable, list[CellResults]] = defaultdict(list)
    for result in results.cells:
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
    corrected = holm([row["p"] for row in rows]).tolist()
    yield from ({**row, "p_holm": p} for row, p in zip(rows, corrected, strict=True))


def _difference(values: np.ndarray, of: Measure) -> dict[str, float]:
    span = (of.low - of.high, of.high - of.low)
    low, high = map(float, limits(values, span))
    p = float(tested(values, span, 0.0, "either"))
    return {"difference": _mean(values), "low": low, "high": high, "p": p}


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
