"""The settings of a cell as MLflow params: everything a reader may want to sort runs by."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.media import run_metadata
from gauntlet.pipeline.tables.sweep.claims import factors

COLUMNS = (
    *("experiment", "game", "agent", "model", "prompt", "seats"),
    *("baseline_n", "measure", "test"),
)
"""Columns of summary.csv."""
VERSIONS = ("python", "torch", "transformers")
OTHER = re.compile(r"[^\w.: /-]")
"""Characters not allowed in names of params and metrics."""

Params = dict[str, str]


def params(
    place: Folder, result: CellResults, row: pd.Series[Any], runs: Sequence[Mapping[str, Any]]
) -> Params:
    """The params of a cell's run. runs: the lines of runs.jsonl.

    `parameters`: of the subject's model, if its config says. deals: those that count.
    `matches_per_deal`: seatings (rotations of the players) times samples.
    `opponents`: all players but the measured ones and their helpers. prompt.moves and the like:
        settings that were swept or typed, by factor (see `tables/claims.py`). commit, torch,
        ...: over all runs that had the cell to play.
    """
    about = result.about
    values = {name: str(row[name]) for name in COLUMNS}
    values["seed"] = str(place.seed)
    if about.parameters:
        values["parameters"] = f"{about.parameters:.0f}"
    values |= _deals(about, int(row["deals"]))
    values |= dict(_players(about, place.description(about)))
    values |= _factors(about.labels)
    return values | dict(_made_with(about.key, runs))


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


def _deals(about: CellInfo, deals: int) -> Params:
    values: dict[str, object] = {
        "deals": deals,
        "matches_per_deal": about.rotations,
        "seatings": about.rotations // about.samples,
        "samples": about.samples,
    }
    if about.baseline is not None:
        values["baseline_player"] = about.baseline.policy
    if about.test.margin:
        values["margin"] = about.test.margin
    return {name: str(value) for name, value in values.items()}


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
    values |= {
        f"{group}.name": factor_values[group]
        for group in GROUPS
        if factor_values[group] != labels[group]
    }
    return values | (
        {"device": factor_values["model.device"]} if "model.device" in factor_values else {}
    )


def _made_with(key: str, runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The code and machines it was played with; several values if runs differ."""
    cell_runs = of_cell(runs, key)
    for name in ("commit", "machine", "host"):
        yield from _joined(name, [run.get(name) for run in cell_runs])
    for name in VERSIONS:
        yield from _joined(name, [run["versions"].get(name) for run in cell_runs])


def _joined(name: str, values: Sequence[object]) -> Iterator[tuple[str, str]]:
    if known := list(dict.fromkeys(map(str, filter(None, values)))):
        yield name, ", ".join(known)


# --- when cells were played: the times of their runs in MLflow

Lines = Sequence[Mapping[str, Any]]
"""Lines of runs.jsonl."""
Span = tuple[int, int]
"""Start and end, in milliseconds since 1970."""


def of_cell(runs: Lines, key: str) -> list[Mapping[str, Any]]:
    """The runs that had the cell to play; older lines do not list their cells."""
    told = [(run, run.get("cells")) for run in runs]
    return [run for run, cells in told if not isinstance(cells, list) or key in cells]


def started_at(runs: Lines, key: str) -> float | None:
    """The start of the first run that had the cell to play, in seconds since 1970; None if
    unknown."""
    return min(_starts(of_cell(runs, key)), default=None)


def _starts(runs: Lines) -> Iterator[float]:
    for run in runs:
        try:
            yield time.mktime(time.strptime(run["started"], "%Y-%m-%d %H:%M:%S"))
        except (ValueError, OverflowError):
            continue  # a line is only checked to hold a string


def spans(place: Folder, abouts: Sequence[CellInfo], runs: Lines) -> list[Span]:
    """When each cell was played. The last match is dated by the file's mtime; for a copied folder
    that is later than the status's last update, which is then used."""
    updated = (place.status or {}).get("updated")
    intervals = []
    for about in abouts:
        file, start = place.records_file(about.stem), started_at(runs, about.key)
        ends = [file.stat().st_mtime] if file.exists() else []
        ends += [] if updated is None else [float(updated)]
        end = min(ends, default=time.time() if start is None else start)
        intervals.append((int(1000 * min(end if start is None else start, end)), int(1000 * end)))
    return intervals


def total_span(spans: Sequence[Span]) -> Span:
    """From the first cell's start to the last one's end."""
    return min(start for start, _ in spans), max(end for _, end in spans)
