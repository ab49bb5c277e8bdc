"""UNO Arena's rows: a player's results in a table, the paper's and ours.

Units are as printed: WR and ODHR@K in percent, ADR@K a rank from 1 to K.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import read_table

ASKED = re.compile(r"llm\.(?P<model>.+)\.(?P<prompt>\w+)")
BRACKETS = re.compile(r"\[[^]]*\]")
"""Overrides of a node, appended to its name."""


@dataclass(frozen=True)
class Line:
    """A player's row: measures by column (WR, ODHR@2, ...), and the number of decisions for each K.
    The paper reports neither solo and shared wins nor decisions."""

    games: int
    measures: Mapping[str, Estimate]
    solo: int | None = None
    shared: int | None = None
    decisions: Mapping[int, int] | None = None


Lines = Mapping[str, Line]
"""The rows of one table, by player."""


def published_lines(reported: Mapping[str, Any], table: str, part: str = "rows") -> dict[str, Line]:
    """Return the paper's rows of a table, or its `changes`, by player id."""
    columns, games = reported["columns"], reported[table]["games"]
    return {
        line_id(reported, name): Line(
            games, {c: Estimate(value) for c, value in zip(columns, row, strict=True)}
        )
        for name, row in reported[table][part].items()
    }


def line_id(reported: Mapping[str, Any], name: str) -> str:
    """Return the id of a printed name: GPT-4 TUTRI is gpt-4.tutri."""
    if name in reported["ids"]:
        return str(reported["ids"][name])
    model, _, prompt = name.rpartition(" ")
    return f"{reported['ids'][model]}.{prompt.lower()}"


def newest(folder: Path) -> set[str]:
    """Return the keys of the cells that count: the newest of those with the same name, ignoring
    overrides in brackets."""
    abouts = Folder(folder).sweep_cells()
    return set({BRACKETS.sub("", about.name): about.key for about in abouts}.values())


def read_metrics(folder: Path, threshold: float, fallbacks: str) -> pd.DataFrame:
    """Return the rows of an output_dir's metrics.csv for the cells that count, with values from the
    true cards. `who` is the name of a scripted player or a model, `prompt` the model's prompt, ""
    for a scripted player."""
    table = read_table(folder / "metrics" / "metrics.csv", "key", "values", "name")
    table = table[
        (table["threshold"] == threshold)
        & (table["values"] == "true")
        & (table["fallbacks"] == fallbacks)
        & table["key"].isin(newest(folder))
    ]
    return with_names(table)


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Add `who` and `prompt`, parsed from the players' names: a cell's description has model and
    prompt of its subject only."""
    plain = table["name"].astype(str).str.replace(BRACKETS, "", regex=True)
    parts = plain.str.extract(rf"^{ASKED.pattern}$")
    return table.assign(who=parts["model"].fillna(plain), prompt=parts["prompt"].fillna(""))


def line(rows: pd.DataFrame) -> Line:
    """Build a line from a player's rows of `measured`, one per number of options."""
    first = rows.iloc[0]
    measures = {"WR": Estimate(*(100 * first[f"win_{name}"] for name in ("rate", "low", "high")))}
    for _, row in rows.iterrows():
        for metric, scale in (("odhr", 100), ("adr", 1)):
            values = (scale * row[name] for name in (metric, f"{metric}_low", f"{metric}_high"))
            measures[f"{metric.upper()}@{row['options']}"] = Estimate(*values)
    counts = dict(zip(rows["options"], rows["decisions"], strict=True))
    return Line(first["games"], measures, first["solo_wins"], first["shared_wins"], counts)
