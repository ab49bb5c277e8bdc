"""What papers printed, and how a figure of ours is set against one of theirs."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from rich.table import Table

from stats.intervals import prediction
from stats.prediction import prediction_interval

Verdict = Literal["agrees", "differs", "not_run", "no_reference"]

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

    It agrees where the published value lies in the 95% prediction interval for a sample of its
    size, given ours. A value that was never printed is no reference.
    """
    value = entry.get("value", np.nan)
    verdict: Verdict = "no_reference"
    if not np.isnan(value):
        least, most = prediction_interval(wins, games, entry["n"])
        verdict = "agrees" if least - shift <= value <= most - shift else "differs"
    ours = wins / games - shift
    return Row(entry["id"], value, ours, low - shift, high - shift, games, verdict)


def measured(entry: dict[str, Any], ours: float, low: float, high: float, games: int) -> Row:
    """Any figure with an interval of ours, from `games` games; entry's `n` is the number of theirs.

    It agrees where the published value lies in the prediction interval made of ours. Without a
    value on one side, or an interval of ours, there is no reference.
    """
    value = entry.get("value", np.nan)
    verdict: Verdict = "no_reference"
    if not np.isnan([value, ours, low, high]).any():
        least, most = prediction(ours, (low, high), games, entry["n"])
        verdict = "agrees" if least <= value <= most else "differs"
    return Row(entry["id"], value, ours, low, high, games, verdict)


def frame(rows: list[Row]) -> pd.DataFrame:
    """The rows as the CSV has them; an n of 0 is left empty."""
    table = pd.DataFrame([asdict(row) for row in rows], columns=list(COLUMNS))
    table["n"] = table["n"].astype("Int64").mask(table["n"] == 0)
    return table


def view(found: pd.DataFrame) -> Table:
    """The reproduction as a person reads it."""
    shown = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
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
