"""When cells were played: their runs in MLflow last as long, whenever they are logged.

A cell begins with the first run that had it to play, loading its models included, and ends with its
last match; pauses between runs count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo

Lines = Sequence[Mapping[str, Any]]
"""Of runs.jsonl."""
Span = tuple[int, int]
"""Start and end, in milliseconds since 1970."""


def of_cell(runs: Lines, key: str) -> list[Mapping[str, Any]]:
    """The runs that had the cell to play; older lines do not tell their cells."""
    told = [(run, run.get("cells")) for run in runs]
    return [run for run, cells in told if not isinstance(cells, list) or key in cells]


def begun(runs: Lines, key: str) -> float | None:
    """When the first run that had the cell to play began, in seconds since 1970; None where no
    line tells it."""
    return min(_starts(of_cell(runs, key)), default=None)


def _starts(runs: Lines) -> Iterator[float]:
    for run in runs:
        try:
            yield time.mktime(time.strptime(run["started"], "%Y-%m-%d %H:%M:%S"))
        except (ValueError, OverflowError):
            continue  # a line is checked to hold a text, no more


def spans(place: Folder, abouts: Sequence[CellInfo], runs: Lines) -> list[Span]:
    """When each cell was played. Its last match is as old as its file; that of a copied folder is
    younger than what the latest run said of itself, which then counts."""
    said = (place.status or {}).get("updated")
    found = []
    for about in abouts:
        file, start = place.records_file(about.stem), begun(runs, about.key)
        ends = [file.stat().st_mtime] if file.exists() else []
        ends += [] if said is None else [float(said)]
        end = min(ends, default=time.time() if start is None else start)
        found.append((int(1000 * min(end if start is None else start, end)), int(1000 * end)))
    return found


def total_span(spans: Sequence[Span]) -> Span:
    """From the first cell's start to the last one's end."""
    return min(start for start, _ in spans), max(end for _, end in spans)
