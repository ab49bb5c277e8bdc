"""UNO Arena's rows: a player's figures in a table, the paper's and ours, and their differences.

Units are those of print: WR and ODHR@K in percent, ADR@K a rank from 1 to K, differences percent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.log.records import read_records
from pipeline.papers.orders import read_csv
from pipeline.tables.summary import read_abouts
from stats import intervals
from stats.decisions import scaled_change
from stats.paired import clustered_mean, sign_flip

PERMUTATION_SEED = 0
ASKED = re.compile(r"llm\.(?P<model>.+)\.(?P<prompt>\w+)")
BRACKETS = re.compile(r"\[[^]]*\]")
"""What was changed in a leaf, behind its name."""


@dataclass(frozen=True)
class Measure:
    """A figure with its 95% interval; nan what is not known."""

    estimate: float
    low: float = nan
    high: float = nan


@dataclass(frozen=True)
class Line:
    """A player's row: measures by column (WR, ODHR@2, ...), and how many decisions of each K they
    come from. The paper tells neither solo and shared wins nor decisions."""

    games: int
    measures: Mapping[str, Measure]
    solo: int | None = None
    shared: int | None = None
    decisions: Mapping[int, int] | None = None


Lines = Mapping[str, Line]
"""The rows of one table, by player."""


@dataclass(frozen=True)
class Change:
    """How a line differs from another: by column, and the p-value of the two win rates' paired
    permutation test on the decks that both played."""

    measures: Mapping[str, Measure]
    p_value: float = nan


def printed(told: Mapping[str, Any], table: str, part: str = "rows") -> dict[str, Line]:
    """The paper's rows of a table, or its `changes`, by what a reproduction calls the player."""
    columns, games = told["columns"], told[table]["games"]
    return {
        line_id(told, name): Line(
            games, {c: Measure(value) for c, value in zip(columns, row, strict=True)}
        )
        for name, row in told[table][part].items()
    }


def line_id(told: Mapping[str, Any], name: str) -> str:
    """GPT-4 TUTRI, as a table has it, is gpt-4.tutri."""
    if name in told["ids"]:
        return str(told["ids"][name])
    model, _, prompt = name.rpartition(" ")
    return f"{told['ids'][model]}.{prompt.lower()}"


def measured(folder: Path, threshold: float, fallbacks: str) -> pd.DataFrame:
    """Rows of an output_dir's metrics.csv, with values from the true cards; of two cells of one
    name those of the newer. `who` is a scripted player's name or a model's, `prompt` how it was
    asked, "" a scripted player."""
    table = read_csv(folder / "metrics" / "metrics.csv", "values", "name")
    table = table[
        (table["threshold"] == threshold)
        & (table["values"] == "true")
        & (table["fallbacks"] == fallbacks)
    ]
    table = table.drop_duplicates(["cell", "player", "options"], keep="last")
    return with_names(table)


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """The table with `who` and `prompt`, read from the players' names."""
    plain = table["name"].astype(str).str.replace(BRACKETS, "", regex=True)
    parts = plain.str.extract(rf"^{ASKED.pattern}$")
    return table.assign(who=parts["model"].fillna(plain), prompt=parts["prompt"].fillna(""))


def line(own: pd.DataFrame) -> Line:
    """From a player's rows of `measured`, one a number of options."""
    first = own.iloc[0]
    found = {"WR": Measure(*(100 * first[f"win_{name}"] for name in ("rate", "low", "high")))}
    for _, row in own.iterrows():
        for metric, scale in (("odhr", 100), ("adr", 1)):
            values = (scale * row[name] for name in (metric, f"{metric}_low", f"{metric}_high"))
            found[f"{metric.upper()}@{row['options']}"] = Measure(*values)
    counts = dict(zip(own["options"], own["decisions"], strict=True))
    return Line(first["games"], found, first["solo_wins"], first["shared_wins"], counts)


def change(new: Line, old: Line, wins: tuple[pd.Series[float], pd.Series[float]]) -> Change:
    """How `new` differs from `old`; wins: each side's share of the games won, by deck.

    The win rate's interval is paired, by deck. Those of ODHR and ADR take the two as independent.
    """
    found = {"WR": Measure(nan)}
    for column in new.measures.keys() & old.measures.keys() - {"WR"}:
        found[column] = scaled(column, new.measures[column], old.measures[column])
    a, b = (side.sort_index() for side in wins)
    decks = a.index.intersection(b.index)
    if decks.empty:
        return Change(found)
    a, b = a[decks], b[decks]
    mean = clustered_mean(a - b, decks)
    found["WR"] = Measure(*(100 * value for value in (mean.estimate, mean.low, mean.high)))
    return Change(found, sign_flip(a, b, PERMUTATION_SEED).p_value)


def scaled(column: str, new: Measure, old: Measure) -> Measure:
    """new - old in percent: of ADR@K in percent of its span, K - 1, as the paper's brackets."""
    low, high = intervals.difference(
        new.estimate, (new.low, new.high), old.estimate, (old.low, old.high)
    )
    found = Measure(new.estimate - old.estimate, low, high)
    metric, _, k = column.partition("@")
    if metric == "ADR":
        values = (found.estimate, found.low, found.high)
        return Measure(*(float(scaled_change(value, 0.0, int(k))) for value in values))
    return found


def wins_by_deck(folder: Path, cell: str, player: int) -> pd.Series[float]:
    """The share of its games that a player of a cell won on each deck, by deck; of two cells of
    one name the newer. A shared win counts in full."""
    stem = {about.name: about.stem for about in read_abouts(folder)}[cell]
    won: dict[str, tuple[int, bool]] = {}
    for record in read_records(folder, stem):
        returns = record["returns"]
        seat = (player + record["rotation"]) % len(returns)
        won[record["match"]] = (record["deal"], returns[seat] > 0)
    table = pd.DataFrame(won.values(), columns=["deal", "won"])
    return table.groupby("deal")["won"].mean().astype(np.float64)
