"""Round robins of three or more players, every two against each other, and free-for-alls, in which
three or more meet in one match."""

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

from gauntlet.games.capabilities import MATCH_SCORE, WIN, Measure, add_match_score, win_or_score
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Part, Results, columns, table
from gauntlet.pipeline.tables.sweep.contest import SeatedSides, values_of
from gauntlet.pipeline.tables.sweep.primary_test import finite_bounds
from gauntlet.stats.means import limits

FEWEST = 3
"""Players of a round robin; of two the cell itself shows everything."""
SCORE = Measure("score", 0.0, 1.0)
MEASURED = {
    "win": "how often it won: the mean of its row in a table of players",
    "draw": "how often it drew",
    "loss": "how often its opponents won: the mean of its column",
    "score": "1 a win and 1/2 a draw; of three sides or more, the share of the others that it "
    "finished before, a tie 1/2",
    "mean": "its mean of the measure",
}
LIMITS = {
    "": "",
    "_low": ", lower end of its 95% interval by deals",
    "_high": ", upper end of its 95% interval by deals",
}
STANDINGS = {
    **columns("experiment"),
    "game": "the game",
    "player": "the player",
    "opponents": "how many others it met",
    "deals": "deals that all of its cells finished; each gives one number, the mean over opponents",
    "matches": "matches on these deals",
    **{
        name + limit: what + end for name, what in MEASURED.items() for limit, end in LIMITS.items()
    },
    "measure": "what cells are judged by",
    "over": "the opponents' names",
}
SHARED = {
    **columns("experiment"),
    "game": "the game",
    "player_a": "the first player",
    "player_b": "the second player",
    "opponents": "how many others both met",
    "over": "their names; in a free-for-all the means are over each other too",
    "deals": "deals that all cells finished",
    "mean_a": "A's mean over these opponents",
    "mean_b": "B's mean over them",
    "difference": "A less B, paired by deal",
    "low": "lower end of its 95% interval; none where seats were not rotated, or a player is not "
    "reproducible",
    "high": "upper end of its 95% interval",
    "head_to_head": "A's mean against B; in a round robin not part of the difference",
    "measure": "what the means are of: the score where wins are counted",
    **columns("measure_low", "measure_high"),
}


def _by_score(part: Part) -> bool:
    return win_or_score(part.rows["measure"].iloc[0])


def best_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of standings.csv by score where wins are counted, else by the mean of the measure."""
    by = "score" if win_or_score(rows["measure"].iloc[0]) else "mean"
    return rows.sort_values(by, ascending=False, kind="stable")


STANDINGS_VIEW = View(
    lambda part: f"Every two of them in {part.rows['game'].iloc[0]}",
    (
        Column("player", sheets.text("player")),
        Column("matches", sheets.count("matches")),
        Column("win", sheets.share("win")),
        Column("95%", sheets.share_span("win_low", "win_high")),
        Column("draw", sheets.share("draw")),
        Column("loss", sheets.share("loss")),
        Column("95%", sheets.share_span("loss_low", "loss_high")),
        Column("score", sheets.share("score"), where=_by_score),
        Column("95%", sheets.share_span("score_low", "score_high"), where=_by_score),
        Column(
            lambda part: part.results.scale(part.rows.iloc[0].to_dict()).title,
            sheets.mean("mean"),
            where=lambda part: not _by_score(part),
        ),
        Column("95%", sheets.span("mean_low", "mean_high"), where=lambda part: not _by_score(part)),
    ),
    "Each player's mean over the others. Nobody meets itself, so opponents differ slightly. "
    "loss: how often the opponents won. 95% intervals by deals.",
    best_first,
    split_by=("game", "measure"),
)
SHARED_VIEW = View(
    lambda part: f"Every two of them over shared opponents in {part.rows['game'].iloc[0]}",
    (
        Column(
            "A - B", lambda row: f"{sheets.text('player_a')(row)} - {sheets.text('player_b')(row)}"
        ),
        Column("opponents", sheets.count("opponents")),
        Column("A", sheets.mean("mean_a")),
        Column("B", sheets.mean("mean_b")),
        Column("A - B", sheets.change("difference")),
        Column("95% interval", sheets.change_span("low", "high")),
        Column("A to B", sheets.mean("head_to_head")),
    ),
    lambda part: (
        f"{part.rows['measure'].iloc[0]} of A and B over the opponents that both have, paired by "
        "deal.\nA to B: A's against B, which in a round robin the cells test and A - B leaves out."
    ),
    split_by=("game", "measure"),
)


@dataclass(frozen=True)
class Side:
    """One player's results against another: values by name, one per match."""

    deals: np.ndarray
    values: Mapping[str, np.ndarray]

    def by_deal(self, name: str, deals: np.ndarray) -> np.ndarray:
        """The means of these deals."""
        known, places = np.unique(self.deals, return_inverse=True)
        means = np.bincount(places, self.values[name]) / np.bincount(places)
        chosen: np.ndarray = means[np.searchsorted(known, deals)]
        return chosen


@dataclass(frozen=True)
class RoundRobin:
    """Players who all met each other. sides: the first player's results against the second.
    fair: whether everybody took every seat equally often, and is reproducible. cells: the keys.
    together: whether all met in the same matches."""

    about: CellInfo
    players: Sequence[str]
    sides: Mapping[tuple[str, str], Side]
    fair: bool
    cells: frozenset[str]
    together: bool = False

    def others(self, *players: str) -> list[str]:
        return [name for name in self.players if name not in players]


def round_robins(results: Results) -> list[RoundRobin]:
    """The complete round robins among the cells of a folder; none of an adaptive sweep, whose cells
    differ in deals."""
    if Folder(results.folder).rounds:
        return []
    groups: defaultdict[Hashable, list[CellResults]] = defaultdict(list)
    for result in results.cells:
        about = result.about
        if about.sides and len(result.outcomes):
            seats = about.labels["seats"].partition(" against ")[0]
            group = (about.experiment, about.labels["game"], seats, about.measure)
            groups[*group, about.deal_key, about.rotations, about.step].append(result)
    robins = []
    for cells in groups.values():
        pairs = [cell.about.sides or ("", "") for cell in cells]
        players = list(dict.fromkeys(name for pair in pairs for name in pair))
        every = math.comb(len(players), 2)
        if len(players) >= FEWEST and len(pairs) == every == len(set(map(frozenset, pairs))):
            sides = {
                turned: _side(cell, turned[0])
                for cell, pair in zip(cells, pairs, strict=True)
                for turned in (pair, pair[::-1])
            }
            fair = all(cell.about.balanced() and not cell.unrepeatable for cell in cells)
            keys = frozenset(cell.about.key for cell in cells)
            robins.append(RoundRobin(cells[0].about, players, sides, fair, keys))
    return robins


def _side(cell: CellResults, player: str) -> Side:
    outcomes, about = cell.outcomes, cell.about
    others = len(about.players) - about.measured
    won, lost = outcomes.won, outcomes.column("others_won") / others
    value, draws = outcomes.column("figure"), (outcomes.draws & (lost == 0)).astype(float)
    if (about.sides or ("",))[0] != player:
        won, lost, value = lost, won, outcomes.column("others_figure")
    # a game may have a match score of its own, in which a draw is not half a win
    score = value if about.measure.name == MATCH_SCORE.name else won + draws / 2
    values = {"win": won, "draw": draws, "loss": lost, "score": score, "mean": value}
    return Side(outcomes.column("deal"), values)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def free_for_alls(results: Results) -> list[RoundRobin]:
    """The cells whose matches have three sides or more, each one player: every two of them met in
    every match."""
    log, robins = Folder(results.folder), []
    for result in results.cells:
        names = result.about.players
        if len({*names}) >= FEWEST and result.about.seatings and len(result.outcomes):
            seats = SeatedSides.from_cell(result.about, log.description(result.about), names)
            if seats and all(len(side) == 1 for side in seats.sides[0]):
                about, sides = result.about, _free_sides(result, seats, log)
                fair = all(about.balanced(number) for number in range(len(names)))
                fair, players = fair and not result.unrepeatable, list(dict.fromkeys(names))
                robins.append(RoundRobin(about, players, sides, fair, frozenset([about.key]), True))
    return robins


def _free_sides(
    result: CellResults, seats: SeatedSides, log: Folder
) -> dict[tuple[str, str], Side]:
    """Every player's results against each other, in the matches that count."""
    about, rows = result.about, defaultdict[tuple[str, str], list[tuple[float, ...]]](list)
    counted = {*result.outcomes.column("match").tolist()}
    for record in log.matches(about.stem):
        if record.match.encode() in counted:
            values = add_match_score(record.measures, record.returns)[about.measure.name]
            won = record.measures[WIN.name]
            draw = float(not any(won) and not any(record.returns))
            members = seats.sides[record.rotation // about.step]
            wins, means = (
                {side: _mean(np.take(each, held)) for side, held in members.items()}
                for each in (won, values)
            )
            for one, other, score in seats.pairs(values_of(record, about)):
                for a, b, x in ((one, other, score), (other, one, 1.0 - score)):
                    row = (record.deal, wins[a], draw, wins[b], x, means[a])
                    rows[a[0], b[0]].append(row)
    sides = {}
    for pair in sorted(rows):
        deal, *columns = np.array(sorted(rows[pair])).T  # sums must not depend on the file's order
        sides[pair] = Side(deal.astype(int), dict(zip(MEASURED, columns, strict=True)))
    return sides


@table("standings", STANDINGS, [STANDINGS_VIEW], place=32)
def standings(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each player of a round robin, or of a free-for-all."""
    for robin in (*results.cached(round_robins), *results.cached(free_for_alls)):
        yield from (_standing_row(robin, name) for name in robin.players)


def _standing_row(robin: RoundRobin, player: str) -> dict[str, Any]:
    about, opponents = robin.about, robin.others(player)
    sides = [robin.sides[player, other] for other in opponents]
    deals = reduce(np.intersect1d, (side.deals for side in sides))
    matches = [int(np.isin(side.deals, deals).sum()) for side in sides]
    row: dict[str, Any] = {
        "experiment": about.experiment,
        "game": about.labels["game"],
        "player": player,
        "opponents": len(opponents),
        "deals": len(deals),
        "matches": max(matches) if robin.together else sum(matches),
        "measure": about.measure.name,
        "over": ", ".join(opponents),
    }
    for name in MEASURED:
        measure = about.measure if name == "mean" else WIN
        values = np.mean([side.by_deal(name, deals) for side in sides], axis=0)
        low, high = limits(values, (measure.low, measure.high))
        row |= {name: _mean(values), f"{name}_low": float(low), f"{name}_high": float(high)}
    return row


@table("shared_opponents", SHARED, [SHARED_VIEW], place=33)
def shared_opponents(results: Results) -> Iterator[dict[str, Any]]:
    """A row for every two players, over the opponents that both have."""
    for robin in (*results.cached(round_robins), *results.cached(free_for_alls)):
        yield from _shared(robin)


def _shared(robin: RoundRobin) -> Iterator[dict[str, Any]]:
    about = robin.about
    by_score = win_or_score(about.measure.name)
    measure, name = (SCORE, "score") if by_score else (about.measure, "mean")
    bounds = (measure.low - measure.high, measure.high - measure.low)
    deals = reduce(np.intersect1d, (side.deals for side in robin.sides.values()))
    by_deal = {pair: side.by_deal(name, deals) for pair, side in robin.sides.items()}
    for a, b in combinations(robin.players, 2):
        over = robin.others(a, b)
        mine, theirs = (
            # who is before whom in a free-for-all may hang on their two seats alone
            np.mean([by_deal[one, other] for other in against], axis=0)
            for one in (a, b)
            for against in [robin.others(one) if robin.together else over]
        )
        low, high = map(float, limits(mine - theirs, bounds)) if robin.fair else (np.nan, np.nan)
        yield {
            "experiment": about.experiment,
            "game": about.labels["game"],
            "player_a": a,
            "player_b": b,
            "opponents": len(over),
            "over": ", ".join(over),
            "deals": len(deals),
            "mean_a": _mean(mine),
            "mean_b": _mean(theirs),
            "difference": _mean(mine - theirs),
            "low": low,
            "high": high,
            "head_to_head": _mean(by_deal[a, b]),
            "measure": measure.name,
            **finite_bounds(measure),
        }
