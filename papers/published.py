"""What papers printed, and how a figure of ours is set against one of theirs.

A line's verdict is one of these:

    agrees          the published value lies in the 95% prediction interval made of our figure
    differs         it does not
    uninformative   it does, but the interval reaches, in the mean of both sides, at least as far as
                    the largest effect that the paper prints of that figure, from what is to be had
                    without any: had ours been off by as much, it would have agreed too
    not_computable  the paper does not tell of how many games its value is, or only draws it
    not_run         there is nothing of ours
    no_reference    there is nothing of theirs, or no interval of ours
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache
from math import nan
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml

from common.terminal import WrappedTable
from stats.intervals import Limits, prediction

Verdict = Literal["agrees", "differs", "uninformative", "not_computable", "not_run", "no_reference"]

COLUMNS = ("id", "published", "ours", "ci_low", "ci_high", "n", "verdict")


@dataclass(frozen=True)
class Row:
    """A line of a reproduction. What is not known is nan; `n` is the number of games of ours."""

    id: str
    published: float
    ours: float
    ci_low: float
    ci_high: float
    n: int
    verdict: Verdict


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval; nan what is not known."""

    value: float
    low: float = nan
    high: float = nan


def paper(name: str) -> dict[str, Any]:
    """The published numbers of one paper, from its folder beside this file; the caller's own."""
    return deepcopy(_read(name))


@cache
def _read(name: str) -> dict[str, Any]:
    file = Path(__file__).parent / name / "published.yaml"
    data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return data


def not_run(entry: dict[str, Any]) -> Row:
    """A line for which there is nothing of ours: its own fields stay empty."""
    return Row(entry["id"], entry.get("value", np.nan), np.nan, np.nan, np.nan, 0, "not_run")


def exact(entry: dict[str, Any], ours: float, rounding: float = 0.0) -> Row:
    """A line without chance in it, which agrees where it is equal up to the rounding in print."""
    same = abs(ours - entry["value"]) <= rounding
    verdict: Verdict = "agrees" if same else "differs"
    return Row(entry["id"], entry["value"], ours, np.nan, np.nan, 0, verdict)


def proportion(
    entry: dict[str, Any], wins: int, games: int, low: float, high: float, shift: float = 0.0
) -> Row:
    """A win rate, less `shift` where the paper prints a gain; `low` and `high` are our interval.
    Else as `measured`."""
    return measured(entry, wins / games - shift, low - shift, high - shift, games)


def measured(entry: dict[str, Any], ours: float, low: float, high: float, games: int) -> Row:
    """Any figure with an interval of ours, from `games` games.

    entry: `id`; where it was printed its `value`, the number `n` of their games, where they tell
    it, and `effect`, the largest effect that they print of this figure (`largest_effect`).
    """
    value = entry.get("value", np.nan)
    verdict: Verdict = "no_reference"
    if not np.isnan(value) and "n" not in entry:
        verdict = "not_computable"
    elif not np.isnan([value, ours, low, high]).any():
        verdict = judged(value, prediction(ours, (low, high), games, entry["n"]), entry["effect"])
    return Row(entry["id"], value, ours, low, high, games, verdict)


def judged(value: float, limits: Limits, effect: float) -> Verdict:
    """A published value against the prediction interval made of ours; all three on one scale."""
    least, most = limits
    if not least <= value <= most:
        return "differs"
    return "agrees" if (most - least) / 2 < effect else "uninformative"


def largest_effect(printed: Iterable[float], without: float) -> float:
    """How far the printed values of one figure lie, at most, from what is to be had `without` any
    effect: from a random player's figure, or 0 of a difference. Raises ValueError for no values."""
    return max(abs(value - without) for value in printed)


def frame(rows: list[Row]) -> pd.DataFrame:
    """The rows as the CSV has them; an n of 0 is left empty."""
    table = pd.DataFrame([asdict(row) for row in rows], columns=list(COLUMNS))
    table["n"] = table["n"].astype("Int64").mask(table["n"] == 0)
    return table


def view(found: pd.DataFrame) -> WrappedTable:
    """The reproduction as a person reads it."""
    shown = WrappedTable()
    shown.add_column("id", overflow="fold")
    for heading in ("paper", "ours", "95% interval", "n", "verdict"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for _, row in found.iterrows():
        interval = "" if np.isnan(row["ci_low"]) else f"{row['ci_low']:.4f}-{row['ci_high']:.4f}"
        shown.add_row(
            row["id"].partition(".")[2],
            _figure(row["published"]),
            _figure(row["ours"]),
            interval,
            "" if pd.isna(row["n"]) else f"{row['n']:,}",
            row["verdict"],
        )
    return shown


def _figure(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value == int(value) else f"{value:.4f}"
