"""When cells were played: their runs in MLflow get these times, whenever they are logged.

A cell begins with the first run that had it to play, including model loading, and ends with its
last match; pauses between runs count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo

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
