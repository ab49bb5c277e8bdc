"""UNO Arena's rows of a reproduction: every number of its tables and figures next to ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import atanh, inf, nan
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.papers.published import (
    Row,
    exact_row,
    mean_row,
    not_run,
    share_row,
    unreferenced_row,
    with_verdict,
)
from gauntlet.papers.uno_arena.lines import Lines, published_lines
from gauntlet.papers.uno_arena.tables import Block
from gauntlet.papers.verdicts import Estimate, of_means
from gauntlet.stats.regression import Correlation, pearson

WITHIN = 0.01
"""Correlations are printed with two decimals, truncated rather than rounded: one full digit."""
ALMOST = 1 - 1e-12
PLAYERS = {"table2": 2, "table3": 5, "table3_rotated": 5, "table4": 2, "table5": 2}
A_DECK = {"table2": 1, "table3": 1, "table3_rotated": 5, "table4": 2, "table5": 2}
"""Games per deck."""
NOT_CHANGED = {"table4": ".vanilla", "table5": ".full"}
"""The rows that others are compared with."""


def table_rows(
    reported: Mapping[str, Any], table: str, ours: Lines, players: Sequence[str]
) -> Iterator[Row]:
    """A table's rows: the paper's players, then those of ours that the paper does not have.

    players: the requested ones; those not played are not_run.
    """
    theirs = published_lines(reported, table) if table in reported else {}
    for player in dict.fromkeys([*theirs, *ours, *players]):
        for column in reported["columns"]:
            where = f"uno_arena.{table}.{player}.{column_id(column)}"
            entry = _entry(where, theirs, player, column, without_skill(table, column))
            if player in ours:
                line = ours[player]
                yield _row(entry, line.measures[column], line.games, A_DECK[table])
            else:
                yield not_run(entry)


def change_rows(
    reported: Mapping[str, Any], table: str, ours: Block, players: Sequence[str]
) -> Iterator[Row]:
    """A table's brackets, like `table_rows`. The full TUTRI's row is named by its model only."""
    theirs = published_lines(reported, table, "changes")
    by_name = {name(player): player for player in ours.changes}
    asked = [name(player) for player in players if not player.endswith(NOT_CHANGED[table])]
    for player in dict.fromkeys([*theirs, *by_name, *asked]):
        for column in reported["columns"]:
            where = f"uno_arena.{table}.{player}.delta_{column_id(column)}"
            entry = _entry(where, theirs, player, column, 0.0)
            if player in by_name:
                change = ours.changes[by_name[player]]
                games = ours.lines[by_name[player]].games
                yield mean_row(entry, change.measures[column], games, games // A_DECK[table])
            else:
                yield not_run(entry)


def _entry(where: str, theirs: Lines, player: str, column: str, without: float) -> dict[str, Any]:
    """Return an entry with the paper's value and number of games if the paper has the player.
    without: the column's value without an effect."""
    if player not in theirs:
        return {"id": where}
    line = theirs[player]
    value = line.measures[column].value
    return {"id": where, "value": value, "n": line.games, "without": without}


def without_skill(table: str, column: str) -> float:
    """Return the expected result of a uniformly random player among its likes."""
    metric, _, k = column.partition("@")
    if metric == "ADR":
        return (int(k) + 1) / 2
    return 100 / int(k or PLAYERS[table])


def name(player: str) -> str:
    return player.removesuffix(".tutri")


def _row(entry: dict[str, Any], estimate: Estimate, games: int, each: int) -> Row:
    """Win rates are over games, all else over decisions, many per game; each: games per deck."""
    if entry["id"].endswith(".wr"):
        return share_row(entry, estimate, games, games // each, 100)
    return mean_row(entry, estimate, games, games // each)


def column_id(column: str) -> str:
    """Shorten a column for ids: ODHR@2 is odhr2."""
    return column.lower().replace("@", "")


def correlation_rows(reported: Mapping[str, Any], ours: Mapping[str, Lines]) -> Iterator[Row]:
    """Fig. 2: the paper's correlations, recomputed from its own tables and from our players.

    ours: the lines of table2 and table3. `n` is the number of players.
    """
    claim = reported["correlations"]
    there = ours[claim["table"]]
    theirs = published_lines(reported, claim["table"])
    for column in reported["columns"][1:]:
        entry: dict[str, Any] = {"id": f"uno_arena.fig2.pearson.wr_{column_id(column)}"}
        if column in claim["strongest"]:
            entry |= {"value": claim["strongest"][column], "without": 0.0}
        if theirs.keys() <= there.keys():
            again = correlation({player: there[player] for player in theirs}, column)
            yield _correlated(entry, again, len(theirs))
        else:
            yield not_run(entry)
    for table, lines in ours.items():
        for column, value in claim["strongest"].items():
            where = f"uno_arena.fig2.printed.{table}.wr_{column_id(column)}"
            found = correlation(published_lines(reported, table), column).estimate
            yield exact_row({"id": where, "kind": "recount", "value": value}, found, WITHIN)
        for column in reported["columns"][1:] if lines else ():
            where = f"uno_arena.fig2.ours.{table}.wr_{column_id(column)}"
            yield _correlated({"id": where}, correlation(lines, column), 0)


def correlation(lines: Lines, column: str) -> Correlation:
    """Return the correlation of the win rate with another column, over players."""
    wins, other = (
        [line.measures[side].value for line in lines.values()] for side in ("WR", column)
    )
    return pearson(wins, other)


def _correlated(entry: dict[str, Any], correlation: Correlation, players: int) -> Row:
    """Test on the atanh(r) scale, approximately normal; the variance is 1 / (players - 3)."""
    value = entry.get("value", np.nan)
    told = {**entry, "n": players}
    row = unreferenced_row(
        told, Estimate(correlation.estimate, correlation.low, correlation.high), correlation.n
    )
    if np.isnan([value, correlation.estimate, correlation.low]).any():
        return row
    ends = (atanh(np.clip(r, -ALMOST, ALMOST)) for r in (correlation[0], *correlation[2:]))
    gap = of_means(Estimate(*ends), inf, atanh(value), correlation.n - 3, players - 3)
    judged = with_verdict(row, {**entry, "value": atanh(value)}, gap)
    return replace(
        judged, gap=correlation.estimate - value, gap_low=nan, gap_high=nan, matters=abs(value)
    )


def trace_rows(
    reported: Mapping[str, Any], trace_frame: pd.DataFrame, models: Sequence[str]
) -> Iterator[Row]:
    """Fig. 3: the text's statements, about decks that are not published, then for each deck of ours
    the largest drop of a model's win probability between plies, in points, and the random player's
    gain there.

    trace_frame: traces.csv with `who`, two players per match.
    """
    yield from map(not_run, reported["fig3"])
    for model in models:
        matches = trace_frame[trace_frame["who"] == model]
        for number, (match, own) in enumerate(matches.groupby("match", sort=False), 1):
            other = trace_frame[(trace_frame["match"] == match) & (trace_frame["who"] != model)]
            falls, rises = (100 * side["true"].diff().to_numpy() for side in (own, other))
            at = int(np.nanargmin(falls)) if len(falls) > 1 else 0
            start = f"uno_arena.fig3.{model}.deck{number}"
            for name, value in (("largest_drop", -falls[at]), ("random_gain_there", rises[at])):
                yield unreferenced_row({"id": f"{start}.{name}"}, Estimate(value), 1, 1)
