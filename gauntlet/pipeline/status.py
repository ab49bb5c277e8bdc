"""The progress of a sweep: `python -m pipeline.status OUTPUT_DIR`.

Reads only the log and the status file that a run updates, so it works from any machine that sees
the folder, while the sweep runs elsewhere or after it was killed.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from rich.console import Group, RenderableType
from rich.live import Live as Screen
from rich.text import Text

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import INTERRUPTED, as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import WrappedTable, console, duration, rate, short
from gauntlet.pipeline.log.folder import Folder, damaged_lines_warning
from gauntlet.pipeline.log.follow import LinePosition, RecordFollower
from gauntlet.pipeline.log.live import CellProgress
from gauntlet.pipeline.log.outcomes import Outcome, outcome
from gauntlet.pipeline.log.results import CellInfo, measures
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.formatting import Scale, heading, number, percent
from gauntlet.pipeline.tables.registry import LABELS, short_names
from gauntlet.pipeline.tables.sweep.verdict import saved_verdict
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.sequential import bounded_sequence

SILENT_SECONDS = 30.0
"""A run in state playing that has not written for this long is probably gone."""
REFRESH_SECONDS = 2.0
BAR = 74
NOTABLE = 3
"""Number of recent warnings to show."""


@dataclass(frozen=True)
class Row:
    """A cell's line in the status. `planned` is None if no run has reported it."""

    about: CellInfo
    name: str
    running: CellProgress
    planned: int | None
    failed: int

    @property
    def key(self) -> str:
        return self.about.key

    @property
    def scale(self) -> Scale:
        return Scale.from_measure(self.about.measure)

    @property
    def left(self) -> int | None:
        if self.planned is None:
            return None
        return max(0, self.planned - self.running.matches - self.failed)


@dataclass
class Status:
    """The state of a folder's sweep; `look` updates it. Raises UserError."""

    folder: Folder
    now: float = 0.0
    run: Mapping[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    left_out: int = 0
    _tail: RecordFollower = field(init=False)
    _running: dict[str, CellProgress] = field(default_factory=dict)
    _rounds: int = 0

    def __post_init__(self) -> None:
        self._tail = RecordFollower(self.folder)

    def look(self) -> None:
        self.now, self.run = time.time(), self.folder.status or {}
        abouts = self.folder.sweep_cells() if self.folder.has_cells or not self.run else []
        for about in abouts:
            self._running.setdefault(about.key, CellProgress(about.rotations))
        measure_names = measures(abouts)
        for record, place in self._tail.new_matches():
            if record.cell in self._running:
                self._take(record, place, outcome(record, measure_names))
        self.left_out = self._tail.left_out
        self._skip_unplanned()
        aside = {entry["match"]: entry["cell"] for entry in self.folder.failed_matches}
        failed = [cell for match, cell in aside.items() if match not in self._tail.seen]
        stops = self.folder.stop.get("cells", {})
        order = list(self.run.get("cells", ()))  # cells of earlier runs come first
        abouts.sort(key=lambda about: order.index(about.key) if about.key in order else -1)
        labels = pd.DataFrame(
            [{"experiment": about.experiment, **about.labels} for about in abouts], columns=LABELS
        )
        self.rows = [
            self._row(name, about, failed, stops)
            for name, about in zip(short_names(labels), abouts, strict=True)
        ]

    def _skip_unplanned(self) -> None:
        """Count the deals of an adaptive sweep that its cells do not play."""
        rounds = self.folder.rounds
        for new in rounds[self._rounds :]:
            for key, running in self._running.items():
                if key not in new.cells:
                    running.skip_deals(new.deals)
        self._rounds = len(rounds)

    def _take(self, record: MatchRecord, place: LinePosition, outcome: Outcome) -> None:
        self._running[record.cell].add(outcome)

    def _row(self, name: str, about: CellInfo, failed: list[str], stops: Mapping[str, Any]) -> Row:
        running = self._running[about.key]
        failed_count = failed.count(about.key)
        planned = self.run.get("cells", {}).get(about.key)
        if about.key in self.run.get("stopped", ()) or stops.get(about.key):
            planned = running.matches + failed_count  # its stopping rule needs no more
        return Row(about, name, running, planned, failed_count)

    @property
    def done(self) -> int:
        return sum(row.running.matches for row in self.rows)

    @property
    def left(self) -> int | None:
        """Matches still to play in the cells of the latest run; None if no run has reported."""
        known = [row.left for row in self.rows if row.left is not None]
        return sum(known) if known else None

    @property
    def seconds_left(self) -> float | None:
        rate = self.run.get("rate")
        return self.left / rate if self.left is not None and rate and self.playing else None

    @property
    def playing(self) -> bool:
        """Whether a run seems to be in progress."""
        return self.run.get("state") in ("loading", "playing", "judging") and not self.gone

    @property
    def gone(self) -> bool:
        """Whether the latest run ended without recording it."""
        if self.run.get("state") not in ("loading", "playing", "judging"):
            return False
        if self.run["host"] == socket.gethostname():
            return not psutil.pid_exists(self.run["process"])
        silent = self.now - self.run["updated"]
        return bool(self.run["state"] == "playing" and silent > SILENT_SECONDS)


def view(status: Status) -> RenderableType:
    """The status for a terminal 100 columns wide."""
    parts: list[RenderableType] = [Text(headline(status), style="bold"), *_bar(status)]
    parts += [Text(pace(status)), Text(""), _cells(status)]
    waiting = sum(row.running.waiting for row in status.rows)
    if waiting and not status.playing:
        title = heading([row.scale for row in status.rows])
        parts.append(Text(f"{title}: without {waiting:,} that follow a missing match"))
    parts += [Text(line) for line in _verdict(status)]
    if status.left_out:
        parts.append(
            Text(damaged_lines_warning(status.left_out, status.folder.path), style="yellow")
        )
    if note := status.folder.import_note:
        parts.append(Text(visible(note), style="yellow"))
    parts += [Text(told, style="yellow") for told in _notable(status)]
    return Group(*parts)


def headline(status: Status) -> str:
    run, name = status.run, visible(status.folder.path.name)
    if not run:
        return f"{name}: no run has reported its progress; this is what the log holds"
    process = f"process {run['process']} on {run['host']}"
    if status.gone:
        ago = duration(status.now - run["updated"])
        return (
            f"{name}: the run is gone ({process}, last heard of {ago} ago); start it again to go on"
        )
    if status.playing:
        since = duration(status.now - run["started"])
        return f"{name}: {run['state']} for {since}, {counted(run['workers'], 'worker')}, {process}"
    why = f": {visible(run['error'])}" if run.get("error") else ""
    return f"{name}: {run['state']} {duration(status.now - run['updated'])} ago{why}"


def pace(status: Status) -> str:
    parts = [f"{counted(len(status.rows), 'cell')}", f"{status.done:,} matches done"]
    if status.left is not None:
        parts.append(f"{status.left:,} left")
    if status.run.get("rate"):
        parts.append(rate(status.run["rate"], "matches"))
    if status.seconds_left is not None and status.left:
        parts.append(f"{duration(status.seconds_left)} to go")
    aside = sum(row.failed for row in status.rows)
    parts.append(f"{aside:,} failed")
    return "   ".join(parts)


def _bar(status: Status) -> Iterator[Text]:
    if status.left is not None:
        ended = status.done + sum(row.failed for row in status.rows)
        share = ended / max(1, ended + status.left)
        full = int(share * BAR)
        yield Text("━" * full, style="green") + Text("─" * (BAR - full) + f" {share:4.0%}")


def _cells(status: Status) -> WrappedTable:
    table = WrappedTable()
    table.add_column("cell", overflow="fold", min_width=20)
    scales = [row.scale for row in status.rows]
    titles = ("done", "left", "failed", heading(scales), "decisions", "fallback", "tokens")
    for title in (*titles, "dev s"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in status.rows:
        table.add_row(row.name, *_figures(row, named=len(set(scales)) > 1))
    return table


def _figures(row: Row, named: bool) -> Iterator[str]:
    """named: whether the mean is shown with its measure's name."""
    running = row.running
    yield f"{running.matches:,}"
    yield "-" if row.left is None else f"{row.left:,}"
    yield f"{row.failed:,}"
    yield "-" if running.mean is None else row.scale.mean(running.mean, named)
    yield f"{running.decisions:,}"
    yield percent(running.fallbacks / running.decisions) if running.decisions else "-"
    yield short(running.tokens)
    yield number(running.device_seconds, ",.0f") if running.device_seconds else "-"


def _verdict(status: Status) -> Iterator[str]:
    """What was found: by the deals so far while a run plays, else by its tables."""
    unclaimed = status.folder.unrepeatable
    rows = [row for row in status.rows if row.key not in unclaimed]
    playing = tuple(status.run.get("found", ())) or so_far(rows)
    paragraphs = playing if status.playing else saved_verdict(status.folder.path)
    if paragraphs:
        yield ""
        yield from paragraphs


def so_far(rows: Sequence[Row]) -> tuple[str, ...]:
    """Which cells differ from their baselines by the deals up to now, in sentences.

    Deals in order without gaps, luck not removed. The limits hold at all numbers of deals at once,
    and for all cells at once (Bonferroni), so they may be looked at at any time.
    """
    tested = [
        row
        for row in rows
        if row.about.baseline is not None
        and row.about.role == "sweep"
        and isfinite(row.about.measure.high - row.about.measure.low)
    ]
    if not tested:
        return ()
    limits = [_limits(row, ALPHA / len(tested)) for row in tested]
    above = [_named(*each) for each in zip(tested, limits, strict=True) if each[1][0] > 0]
    below = [_named(*each) for each in zip(tested, limits, strict=True) if each[1][1] < 0]
    found = [f"above the baseline: {', '.join(above)}"] * bool(above)
    found += [f"below the baseline: {', '.join(below)}"] * bool(below)
    if open_ones := len(tested) - len(above) - len(below):
        found.append(
            f"{'open' if found else 'no difference shown'} in {counted(open_ones, 'cell')}"
        )
    said = f"By the deals so far, {'; '.join(found)}."
    return said, "Valid at any time one looks (95% for all cells together); luck is not removed."


def _limits(row: Row, alpha: float) -> tuple[float, float]:
    """Of the difference to the baseline."""
    measure, baseline = row.about.measure, row.about.baseline
    assert baseline is not None
    span = measure.high - measure.low
    figures = (np.array(row.running.figures) - measure.low) / span
    found = bounded_sequence(figures, alpha)
    low, high = (found.low[-1], found.high[-1]) if figures.size else (0.0, 1.0)
    null = (baseline.rate - measure.low) / span
    return span * (low - null), span * (high - null)


def _named(row: Row, limits: tuple[float, float]) -> str:
    low, high = limits
    return f"{row.name} ({row.scale.change(low)} to {row.scale.difference(high)})"


def _notable(status: Status) -> list[str]:
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(status.run.get("started", 0)))
    messages = [
        f"{entry['time'][11:19]} {entry['event']}: "
        + ", ".join(
            visible(str(v)) for k, v in entry.items() if k not in ("time", "level", "event")
        )
        for entry in status.folder.events
        if entry["level"] != "info" and entry["time"] >= since
    ]
    return messages[-NOTABLE:]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.status"), description="Show a sweep's progress, wherever it runs."
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    parser.add_argument("--watch", action="store_true", help="look again until the run has ended")
    options = parser.parse_args(arguments)
    status = Status(Folder(options.output_dir))
    try:
        status.look()
        if options.watch:
            _watch(status)
        else:
            console().print(view(status))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _watch(status: Status) -> None:
    with Screen(view(status), console=console(), auto_refresh=False) as screen:
        while status.playing:
            time.sleep(REFRESH_SECONDS)
            status.look()
            screen.update(view(status), refresh=True)


if __name__ == "__main__":
    as_process(main)
