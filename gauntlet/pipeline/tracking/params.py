"""A cell's run in MLflow: its settings as params, by which a reader may want to sort runs, and as
metrics what its row of the main table says, and running means.

MLflow draws a chart for each metric, so they are few. The metrics of all other tables are in the
table `metrics.json` of its run, and its differences from other cells in pairs.csv. A prefix up to
"/" is a section of MLflow's charts, named after the table; metrics of summary.csv have none.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.media import run_metadata
from gauntlet.pipeline.tables.registry import Results, tables
from gauntlet.pipeline.tables.sweep.claims import factors
from gauntlet.pipeline.tables.sweep.figures import POINTS, SETTLED, running
from gauntlet.pipeline.tables.sweep.primary_test import results_by_deal
from gauntlet.pipeline.tracking.store import MANY
from gauntlet.stats.multiple import ALPHA

COLUMNS = (
    *("experiment", "game", "agent", "model", "prompt", "seats"),
    *("baseline_n", "measure", "test"),
)
"""Columns of summary.csv."""
VERSIONS = ("python", "torch", "transformers")
OTHER = re.compile(r"[^\w.: /-]")
"""Characters not allowed in names of params and metrics."""

Params = dict[str, str]


def cell_params(
    place: Folder, result: CellResults, row: pd.Series[Any], runs: Sequence[Mapping[str, Any]]
) -> Params:
    """The params of a cell's run. runs: the lines of runs.jsonl.

    `parameters`: of the subject's model, if its config says. deals: those that count.
    `matches_per_deal`: seatings (rotations of the players) times samples.
    `opponents`: all players but the measured ones and their helpers. prompt.moves and the like:
        settings that were swept or typed, by factor (see `tables/claims.py`). commit, torch,
        ...: over all runs that had the cell to play.
    """
    about, cell_runs = result.about, of_cell(runs, result.about.key)
    values = {name: str(row[name]) for name in (*COLUMNS, "deals")}
    values |= {
        "seed": str(place.seed),
        "matches_per_deal": str(about.rotations),
        "seatings": str(about.rotations // about.samples),
        "samples": str(about.samples),
    }
    if about.parameters:
        values["parameters"] = f"{about.parameters:.0f}"
    if about.baseline is not None:
        values["baseline_player"] = about.baseline.policy
    if about.test.margin:
        values["margin"] = str(about.test.margin)
    values |= dict(_players(about, place.description(about)))
    values |= _factors(about.labels)
    for name in ("commit", "machine", "host"):
        values |= _joined(name, [run.get(name) for run in cell_runs])
    for name in VERSIONS:
        values |= _joined(name, [run["versions"].get(name) for run in cell_runs])
    return values


def parent_name(labels: Sequence[Mapping[str, str]], folder: Path) -> str:
    """A sweep's name in MLflow: what the verdict is about, then its folder. labels: of its cells
    in this experiment."""
    return f"{run_metadata.title(labels)} [{folder.name}]"


def shared(cells: Sequence[Params]) -> Params:
    """The params that all cells share."""
    first = cells[0].items()
    return {name: value for name, value in first if all(one.get(name) == value for one in cells)}


def fit(name: str) -> str:
    """A valid MLflow name: letters, digits and a few signs."""
    return OTHER.sub("_", name)[:200]


def _players(about: CellInfo, description: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names, identities = description["players"], description["identity"]["players"]
    measured = set(about.seats[0])
    other_players = [
        name
        for number, (name, one) in enumerate(zip(names, identities, strict=True))
        if number not in measured and one["helps"] not in measured
    ]
    if other_players:
        yield "opponents", ", ".join(other_players)
    models = [one["model"] for one in identities if "model" in one]
    if dtypes := list(dict.fromkeys(str(one["dtype"]) for one in models if "dtype" in one)):
        yield "dtype", ", ".join(dtypes)


def _factors(labels: Mapping[str, str]) -> Params:
    """The settings in a label's brackets, the names before them, and the model's device."""
    factor_values = factors(labels)
    values = {fit(name): value for name, value in factor_values.items() if name not in GROUPS}
    for group in GROUPS:
        if factor_values[group] != labels[group]:
            values[f"{group}.name"] = factor_values[group]
    if "model.device" in factor_values:
        values["device"] = factor_values["model.device"]
    return values


def _joined(name: str, values: Sequence[object]) -> Params:
    """The different values of all runs that had the cell to play; {} without any."""
    known = dict.fromkeys(map(str, filter(None, values)))
    return {name: ", ".join(known)} if known else {}


# --- when cells were played: the times of their runs in MLflow

Lines = Sequence[Mapping[str, Any]]
"""Lines of runs.jsonl."""
Span = tuple[int, int]
"""Start and end, in milliseconds since 1970."""


def of_cell(runs: Lines, key: str) -> list[Mapping[str, Any]]:
    """The runs that had the cell to play; older lines do not list their cells."""
    return [run for run in runs if not isinstance(run.get("cells"), list) or key in run["cells"]]


def _starts(runs: Lines) -> Iterator[float]:
    """The known starts, in seconds since 1970."""
    for run in runs:
        with suppress(ValueError, OverflowError):  # a line is only checked to hold a string
            yield time.mktime(time.strptime(run["started"], "%Y-%m-%d %H:%M:%S"))


def spans(place: Folder, abouts: Sequence[CellInfo], runs: Lines) -> list[Span]:
    """When each cell was played. The last match is dated by the file's mtime; for a copied folder
    that is later than the status's last update, which is then used."""
    updated = (place.status or {}).get("updated")
    intervals = []
    for about in abouts:
        file = place.records_file(about.stem)
        start = min(_starts(of_cell(runs, about.key)), default=None)
        ends = [file.stat().st_mtime] if file.exists() else []
        ends += [] if updated is None else [float(updated)]
        end = min(ends, default=time.time() if start is None else start)
        intervals.append((int(1000 * min(end if start is None else start, end)), int(1000 * end)))
    return intervals


def total_span(spans: Sequence[Span]) -> Span:
    """From the first cell's start to the last one's end."""
    return min(start for start, _ in spans), max(end for _, end in spans)


# --- metrics

LEAST = 20
"""Minimum points of a running curve: if MANY times POINTS, shared between the cells, leaves
fewer for each, there are no curves, because MLflow takes longer for them than for everything else.
"""

SETTLING = "by_deal/"
"""The section of curves; sections are sorted by name, so MLflow shows it first."""

HEADLINES = (
    *("estimate", "ci_low", "ci_high", "raw"),
    *("difference", "difference_low", "difference_high", "p", "p_holm"),
    *("deals", "matches", "decisions", "fallbacks", "failed"),
    *("costs/all_tokens", "costs/device_seconds"),
)
"""With the curves, at most 20."""

Values = Mapping[str, float]
Points = list[tuple[str, int, float]]


def of_cells(results: Results) -> dict[str, dict[str, float]]:
    """By cell name, the metrics of its rows in every table."""
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for table in tables().values():
        section = "" if table.name == "summary" else f"{table.name}/"
        for cell, column, value in table.cell_metrics(results):
            values[cell][section + fit(column)] = value
    return values


def curves(result: CellResults, cells: int) -> Points:
    """The cell's running means; a step is a number of deals. With many cells each has fewer points
    and no separate section, with very many none."""
    most = POINTS * MANY // max(cells, MANY)
    if most < LEAST:
        return []
    means = result.by_deal()[1]
    series = {"running_mean": means, "running_win_rate": result.win_rates()[1]}
    if cells <= MANY:
        series[f"{SETTLING}mean"] = means
    if cells <= MANY and result.adjusted is not None:
        series[f"{SETTLING}adjusted"] = result.adjusted.values
    return [point for name, by_deal in series.items() for point in _curve(name, by_deal, most)]


def each_cells(results: Sequence[CellResults], names: Sequence[str]) -> Points:
    """The curve of every cell's best estimate, for the sweep's run; [] with many cells."""
    if len(results) > MANY:
        return []
    return [
        point
        for result, name in zip(results, names, strict=True)
        for point in _curve(f"cells/{fit(name)}", results_by_deal(result), POINTS // 4)
    ]


def _curve(name: str, by_deal: np.ndarray, most: int) -> Points:
    """A running mean; in a section, without the first deals, which would dominate the axis."""
    first = min(SETTLED, len(by_deal) // 10) if "/" in name else 1
    counts, means = running(by_deal, most)
    points = zip(counts, means, strict=True)
    return [(name, int(step), float(mean)) for step, mean in points if step >= first]


def total(rows: Sequence[Values]) -> dict[str, float]:
    """Totals over a sweep's cells; cells_above_baseline: those that the declared test puts
    above it."""
    counts = ("matches", "decisions", "fallbacks", "failed")
    sums = (*counts, "costs/all_tokens", "costs/device_seconds")
    better = [row["p_holm"] < ALPHA and row["difference"] > 0 for row in rows]
    return {
        **{name.removeprefix("costs/"): float(sum(row[name] for row in rows)) for name in sums},
        "deals": float(min(row["deals"] for row in rows)),
        "cells_above_baseline": float(sum(better)),
    }
