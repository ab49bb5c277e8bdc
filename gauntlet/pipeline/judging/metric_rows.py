"""The rows of the files that `pipeline/metrics.py` writes, from judged matches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from gauntlet.pipeline.judging.judge import Judged, TracePoint
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.stats.decisions import Decisions, Tie, by_chance, ranks, score
from gauntlet.stats.means import limits, per_deal

OPTIONS = (2, 3, 4)
SOURCES = ("true", "seen")
PLACE = ("match", "deal", "ply", "seat", "player", "options", "chosen", "fallback")
CHANCES = ("odhr_chance", "adr_chance")
METRIC_COLUMNS = (
    *("cell", "key", "player", "name", "games", "wins", "solo_wins", "shared_wins", "win_rate"),
    *("win_low", "win_high", "values", "threshold", "fallbacks", "options", "decisions"),
    *("odhr", "odhr_low", "odhr_high", "odhr_denoised"),
    *("adr", "adr_low", "adr_high", "adr_denoised", "playouts", "tie", "traces"),
    *CHANCES,
)
TRACE_COLUMNS = (
    *("cell", "key", "match", "deal", "ply", "moved", "move", "seat", "player", "name"),
    *("true", "seen"),
)


@dataclass(frozen=True)
class Reading:
    """How values become metrics: playouts per option, criticality thresholds, ties, and how many
    deals are traced."""

    playouts: int
    thresholds: tuple[float, ...]
    tie: Tie
    traces: int


@dataclass(frozen=True)
class JudgedCell:
    """A cell's matches and their judgements.

    key: distinguishes it from other cells of the same name. players: their names, by number.
    judges: the numbers of the judged players. seatings: by rotation, the player in each seat.
    """

    name: str
    key: str
    players: tuple[str, ...]
    judges: tuple[int, ...]
    seatings: tuple[tuple[int, ...], ...]
    records: tuple[MatchRecord, ...]
    judged: tuple[Judged, ...]
    trace: tuple[TracePoint, ...]

    def seating(self, rotation: int) -> tuple[int, ...]:
        """The player in each seat, in the match of this number of a deal (`Cell.rotations`)."""
        return self.seatings[rotation % len(self.seatings)]


def metric_rows(cell: JudgedCell, reading: Reading) -> Iterator[dict[str, Any]]:
    """metrics.csv: for each judged player its wins, and ODHR@K and ADR@K in every reading. Without
    fallbacks, the rows that leave them out equal those that count them and are computed once."""
    for player in cell.judges:
        player_decisions = [one for one in cell.judged if one.player == player]
        won = wins(cell, player)
        for k, source in product(OPTIONS, SOURCES):
            scored = [one for one in player_decisions if len(one.options) == k]
            own_will = [one for one in scored if not one.fallback]
            for threshold in reading.thresholds:
                counted = left_out = figures(scored, k, source, threshold, reading)
                if len(own_will) < len(scored):
                    left_out = figures(own_will, k, source, threshold, reading)
                for fallbacks, values in (("left_out", left_out), ("counted", counted)):
                    yield {
                        "cell": cell.name,
                        "key": cell.key,
                        "player": player,
                        "name": cell.players[player],
                        **won,
                        "values": source,
                        "threshold": threshold,
                        "fallbacks": fallbacks,
                        "options": k,
                        **values,
                        "playouts": reading.playouts,
                        "tie": reading.tie,
                        "traces": reading.traces,
                    }


def wins(cell: JudgedCell, player: int) -> dict[str, Any]:
    """A player's wins, where a shared win counts in full, with solo and shared wins listed
    separately.

    The interval is by deal, as in summary.csv.
    """
    won, solo, deals = [], 0, []
    for record in cell.records:
        returns = record.returns
        won.append(returns[cell.seating(record.rotation).index(player)] > 0)
        solo += won[-1] and sum(worth > 0 for worth in returns) == 1
        deals.append(record.deal)
    games, total = len(won), sum(won)
    low, high = limits(per_deal(won, deals), (0.0, 1.0))
    return {
        "games": games,
        "wins": total,
        "solo_wins": solo,
        "shared_wins": total - solo,
        "win_rate": total / games if games else math.nan,
        "win_low": float(low),
        "win_high": float(high),
    }


def figures(
    judged: Sequence[Judged], k: int, source: str, threshold: float, reading: Reading
) -> dict[str, Any]:
    """ODHR (0 to 1) and ADR with their intervals, and the values for a uniform random player; nan
    if no decision is critical."""
    those = decisions(judged, k, source, reading.playouts)
    scores = score(those, threshold, reading.tie)
    chances = by_chance(those, threshold, reading.tie)
    row: dict[str, Any] = {"decisions": scores.decisions}
    for name, one in (("odhr", scores.hit_rate), ("adr", scores.mean_rank)):
        row |= {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}
        row[f"{name}_denoised"] = one.denoised
    return row | dict(zip(CHANCES, chances, strict=True))


def decisions(judged: Sequence[Judged], k: int, source: str, playouts: int) -> Decisions:
    """Decisions between `k` options as arrays for `stats.decisions`, clustered by deal."""
    tables = np.array([getattr(one, source) for one in judged], np.int64).reshape(-1, k, k)
    chosen, deals = (
        np.array([getattr(one, name) for one in judged], np.int64) for name in ("chosen", "deal")
    )
    return Decisions(tables, chosen, deals, playouts)


def decision_lines(cell: JudgedCell, reading: Reading) -> Iterator[dict[str, Any]]:
    """decisions.jsonl. values: by option. criticality: best value minus worst. rank: 1 is best."""
    for decision in cell.judged:
        line: dict[str, Any] = {"cell": cell.name, "key": cell.key}
        line |= {name: getattr(decision, name) for name in PLACE}
        for source in SOURCES:
            values = np.diagonal(getattr(decision, source)) / reading.playouts
            line[source] = {
                "values": values.tolist(),
                "criticality": float(np.ptp(values)),
                "rank": float(ranks(values, decision.chosen, reading.tie)),
            }
        yield line


def trace_rows(cell: JudgedCell) -> Iterator[dict[str, Any]]:
    """traces.csv: `player` sits in `seat`; `seen` is only in the rows of the seat that moved."""
    rotations = {record.match: record.rotation for record in cell.records}
    for point in cell.trace:
        for seat, value in enumerate(point.true):
            player = cell.seating(rotations[point.match])[seat]
            yield {
                "cell": cell.name,
                "key": cell.key,
                "match": point.match,
                "deal": point.deal,
                "ply": point.ply,
                "moved": point.seat,
                "move": point.move,
                "seat": seat,
                "player": player,
                "name": cell.players[player],
                "true": value,
                "seen": point.seen if seat == point.seat else np.nan,
            }
