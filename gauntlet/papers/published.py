"""Published numbers, and the rows that compare ours with them (`papers.verdicts`).

A published number is an entry: its `id`; if printed, its `value`; the number `n` of their games, if
reported; `without`, the value expected without any effect, such as a random player's; and `kind`,
unless it is a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from gauntlet.common.conf_folders import packages
from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.verdicts import (
    Estimate,
    Gap,
    Kind,
    Verdict,
    judged,
    of_counts,
    of_known,
    of_means,
)

Entry = Mapping[str, Any]
COUNTS = ("published_n", "n", "deals")


@dataclass(frozen=True)
class Row:
    """A row of a reproduction. Unknown values are nan, unknown counts 0.

    published_n, n: number of their games and of ours. deals: number of deals of ours. gap: ours
    minus the published value. matters: the smallest relevant difference, the distance of the
    published value from the one expected without any effect.
    """

    id: str
    kind: Kind
    published: float
    verdict: Verdict
    published_n: int = 0
    ours: float = nan
    ci_low: float = nan
    ci_high: float = nan
    n: int = 0
    deals: int = 0
    gap: float = nan
    gap_low: float = nan
    gap_high: float = nan
    matters: float = nan
    p_value: float = nan


COLUMNS = (
    *("id", "kind", "published", "published_n", "ours", "ci_low", "ci_high", "n", "deals"),
    *("gap", "gap_low", "gap_high", "matters", "p_value", "verdict"),
)


def paper(name: str) -> dict[str, Any]:
    """Return a copy of the published numbers of one paper, from `published.yaml` in its package:
    one of this folder, or an installed one of this name."""
    return deepcopy(_read(name))


@cache
def _read(name: str) -> dict[str, Any]:
    found = {package.rpartition(".")[2]: folder for package, folder in packages().items()}
    file = found.get(name, Path(__file__).parent / name) / "published.yaml"
    data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return data


def not_run(entry: Entry) -> Row:
    """Return a row without a result of ours."""
    value = entry.get("value", nan)
    return Row(entry["id"], entry.get("kind", "result"), value, "not_run", entry.get("n", 0))


def only_drawn(entry: Entry) -> Row:
    """Return a row for which the paper prints no number."""
    return replace(not_run(entry), verdict="not_computable")


def exact_row(entry: Entry, ours: float, rounding: float = 0.0) -> Row:
    """Return a row without randomness; it agrees where equal up to the printed rounding."""
    same = abs(ours - entry["value"]) <= rounding
    gap = ours - entry["value"]
    return replace(not_run(entry), ours=ours, gap=gap, verdict="agrees" if same else "differs")


def unreferenced_row(entry: Entry, ours: Estimate, games: int = 0, deals: int = 0) -> Row:
    """Return a row with our result only, without comparison."""
    row = replace(not_run(entry), ours=ours.value, ci_low=ours.low, ci_high=ours.high)
    value = entry.get("value", nan)
    unsized = not isnan(value) and "n" not in entry
    verdict: Verdict = "not_computable" if unsized else "no_reference"
    return replace(row, n=games, deals=deals, verdict=verdict)


def share_row(
    entry: Entry,
    ours: Estimate,
    games: int,
    deals: int,
    total: float = 1.0,
    independent: int | None = None,
) -> Row:
    """Return the row of a share of games, in a unit in which all games are `total`.

    independent: effective number of independent games. None: all of them if each has a deal to
    itself; otherwise the share is treated as a mean over deals.
    """
    if independent is None and deals < games:
        return mean_row(entry, ours, games, deals)
    row, sample = unreferenced_row(entry, ours, games, deals), independent or games
    if not _comparable(entry, ours):
        return row
    wins = round(ours.value / total * sample)
    theirs = round(entry["value"] / total * entry["n"])
    gap = of_counts(wins, sample, theirs, entry["n"]).scaled(total)
    return with_verdict(row, entry, gap.recentred(ours.value - entry["value"]))


def known_share_row(entry: Entry, ours: float, total: float = 1.0) -> Row:
    """Return the row of a share that we know exactly, for example by proof."""
    theirs = round(entry["value"] / total * entry["n"])
    gap = of_known(ours / total, theirs, entry["n"]).scaled(total)
    return with_verdict(unreferenced_row(entry, Estimate(ours, ours, ours)), entry, gap)


def mean_row(
    entry: Entry, ours: Estimate, games: int, deals: int, their_error: float | None = None
) -> Row:
    """Return the row of a mean over deals with its interval. their_error: the standard error of
    theirs; by default what ours would be with their number of games."""
    row = unreferenced_row(entry, ours, games, deals)
    if not _comparable(entry, ours) or isnan(ours.low):
        return row
    degrees, sizes = max(deals - 1, 1), (games, entry["n"])
    return with_verdict(row, entry, of_means(ours, degrees, entry["value"], *sizes, their_error))


def with_verdict(row: Row, entry: Entry, gap: Gap) -> Row:
    """Return the row with its test and verdict."""
    matters = abs(entry["value"] - entry["without"])
    return replace(
        row,
        gap=gap.value,
        gap_low=gap.low,
        gap_high=gap.high,
        matters=matters,
        p_value=gap.p_value,
        verdict=judged(gap, matters),
    )


def _comparable(entry: Entry, ours: Estimate) -> bool:
    return "n" in entry and not np.isnan([entry.get("value", nan), ours.value]).any()


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return the rows as written to the CSV; counts of 0 are left empty."""
    table = pd.DataFrame([asdict(row) for row in rows], columns=list(COLUMNS))
    for name in COUNTS:
        table[name] = table[name].astype("Int64").mask(table[name] == 0)
    return table


def view(frame: pd.DataFrame) -> WrappedTable:
    """Return the reproduction as a table for the terminal."""
    grid = WrappedTable()
    grid.add_column("id", overflow="fold")
    for heading in ("kind", "paper", "ours", "95% interval", "n", "p", "verdict"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for _, row in frame.iterrows():
        interval = "" if np.isnan(row["ci_low"]) else f"{row['ci_low']:.4f}-{row['ci_high']:.4f}"
        grid.add_row(
            row["id"].partition(".")[2],
            row["kind"],
            _figure(row["published"]),
            _figure(row["ours"]),
            interval,
            "" if pd.isna(row["n"]) else f"{row['n']:,}",
            "" if np.isnan(row["p_value"]) else f"{row['p_value']:.2g}",
            row["verdict"],
        )
    return grid


def _figure(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value == int(value) else f"{value:.4f}"
