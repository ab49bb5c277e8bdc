"""The quality of each decision in a log: `python -m pipeline.metrics DIR`.

Reads the log of any game that can be played out from what a seat knows (`games.capabilities`) and
writes, in DIR/metrics:

    metrics.csv      ODHR and ADR, one row per player, source of values, threshold and number of
                     options
    decisions.jsonl  every judged decision: its options, their values, the option taken, its rank
    traces.csv       each seat's chance to be among the winners after every ply of the first deals
    traces.png       the same as a plot
    decision_quality.png  ODHR and ADR of every player
    heat_map.png     with three players or more: how ODHR and ADR correlate with winning

`true` values are played out from the actual cards; for `seen` values the cards
that the deciding seat could not see are redealt uniformly, ignoring what past moves reveal about
them. `key` distinguishes cells of the same name. Decisions taken by a fallback are excluded and
counted in separate rows; `odhr_chance` and `adr_chance` are those of a uniform random player. As in
every table, only the gap-free deals of a cell count. Matches are judged on this process's threads,
or by Ray with --launch; the files are byte-identical whatever order the matches finish in.
Judgements are stored in DIR/judged as they are made (`judging/judgement_cache.py`).

Without --playouts only the first deals are judged, as many as take about two minutes; their number
depends on the log, not on the machine. Wins always cover all matches.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import pandas as pd
from msgspec.json import encode
from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import INTERRUPTED, as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.games.capabilities import PlayedOut, Scored, seatings_of
from gauntlet.pipeline.config.read import Node, Seed
from gauntlet.pipeline.judging.judge import JudgeSettings, judge
from gauntlet.pipeline.judging.judgement_cache import (
    Judgement,
    JudgementCache,
    RecordedCell,
    cell_of,
    most_deals,
    plies,
)
from gauntlet.pipeline.judging.metric_rows import (
    METRIC_COLUMNS,
    TRACE_COLUMNS,
    JudgedCell,
    Reading,
    decision_lines,
    metric_rows,
    trace_rows,
)
from gauntlet.pipeline.launch.fan_out import Map, executor, read_launch
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.progress import Bar
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.commands.metrics import metric_figures
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import TERMINAL, Results, load_cells, tables
from gauntlet.pipeline.tables.sweep.terminal import sheet_view
from gauntlet.pipeline.tracking.judged import add_metrics
from gauntlet.pipeline.tracking.store import store_of, tracking_uri
from gauntlet.stats.decisions import Tie

PLAYOUTS, SLOW_PLAYOUTS = 1_000, 200
"""Default playouts per option: for games with a fast playout, and for those played by their
rules."""

PLIES, SLOW_PLIES = 2_000_000_000, 5_000_000
"""The default budget in plies of playouts: about two minutes on two cores."""

THRESHOLDS = (0.0, 0.15)


@dataclass(frozen=True)
class Options:
    """The user's options; see the command's help."""

    playouts: int | None = None
    thresholds: tuple[float, ...] = THRESHOLDS
    tie: Tie = "min"
    everybody: bool = False
    traces: int = 4
    threads: int = os.cpu_count() or 1
    launch: Node | None = None
    deals: int | None = None

    def __post_init__(self) -> None:
        fewest = self.threads if self.playouts is None else min(self.playouts, self.threads)
        if fewest < 1 or self.traces < 0 or (self.deals is not None and self.deals < 1):
            raise UserError("playouts, threads and deals are 1 or more, traces 0 or more")
        given = self.thresholds
        if not all(0 <= one <= 1 for one in given) or len(set(given)) < len(given):
            shown = " ".join(f"{one:g}" for one in given)
            raise UserError(f"thresholds are different numbers from 0 to 1, got {shown}")

    @property
    def reading(self) -> Reading:
        assert self.playouts is not None, "settle the playouts first"
        return Reading(self.playouts, self.thresholds, self.tie, self.traces)

    def settled(self, cells: Sequence[RecordedCell]) -> Options:
        """Fill in playouts suited to these games, and the number of deals in budget, where
        unset."""
        if self.playouts is not None:
            return self
        fast = all(isinstance(cell.game, PlayedOut | Scored) for cell in cells)
        playouts, budget = (PLAYOUTS, PLIES) if fast else (SLOW_PLAYOUTS, SLOW_PLIES)
        if self.deals is not None:
            return replace(self, playouts=playouts)
        costs = [(one.deal, plies(one, self.everybody)) for cell in cells for one in cell.records]
        return replace(self, playouts=playouts, deals=most_deals(costs, playouts, budget))


def measure(folder: Path, options: Options, out: Console | None = None) -> pd.DataFrame:
    """Judge every cell of an output_dir and write the files. Returns metrics.csv.

    out: where to show progress; by default nowhere.

    Raises UserError if there is no log, or a cell's game cannot be played out from what a seat
    knows.
    """
    found, seed = [cell_of(folder, result) for result in load_cells(folder)], Folder(folder).seed
    options = options.settled(found)
    jobs = [job_of(folder, cell, options, seed) for cell in found]
    if out is not None:
        out.print(describe_jobs(jobs, options))
    with (
        executor(options.threads, options.launch) as spread,
        Bar(
            out or console(),
            sum(len(job.left) for job in jobs),
            quiet=out is None,
            doing="judging",
            done="judged",
        ) as bar,
    ):
        cells = [judge_job(job, options, spread, bar) for job in jobs]
    return write(folder / "metrics", cells, options)


@dataclass(frozen=True)
class Job:
    """A cell to judge.

    records: its matches.
    known: existing judgements by match id.
    """

    cell: RecordedCell
    work: JudgeSettings
    cache: JudgementCache
    records: Sequence[MatchRecord]
    known: dict[str, Judgement]

    @property
    def left(self) -> list[MatchRecord]:
        return [record for record in self.records if record.match not in self.known]


def job_of(folder: Path, cell: RecordedCell, options: Options, seed: Seed) -> Job:
    work = JudgeSettings(
        seed, options.reading.playouts, cell.judges(options.everybody), options.traces
    )
    cache, records = JudgementCache.from_cell(folder, cell, work), cell.first(options.deals)
    return Job(cell, work, cache, records, cache.read(records))


def describe_jobs(jobs: Sequence[Job], options: Options) -> str:
    """What is judged, and how to judge more."""
    deals = max((one.deal + 1 for job in jobs for one in job.cell.records), default=0)
    lines = [f"{options.playouts:,} playouts an option"]
    if options.deals is not None and options.deals < deals:
        lines[0] += f", the first {options.deals:,} of {deals:,} deals"
        lines.append(
            "(--deals N: others; --playouts N: all deals, and with more of them less noise)"
        )
    if known := sum(len(job.known) for job in jobs):
        lines.append(f"{known:,} matches were judged before")
    return "\n".join(lines)


def judge_job(job: Job, options: Options, spread: Map, bar: Bar) -> JudgedCell:
    """Judge the remaining matches in parallel and store each judgement at once."""
    judgements, left, cell = dict(job.known), job.left, job.cell
    for record, one in zip(left, spread(partial(judge, cell.game, job.work), left), strict=True):
        job.cache.add(record, one)
        judgements[record.match] = one
        bar.advance()
    ordered = [judgements[record.match] for record in job.records]
    decided = tuple(one for own, _ in ordered for one in own)
    trace = tuple(stand for _, stands in ordered for stand in stands)
    who = (cell.players, tuple(sorted(job.work.players)), seatings_of(cell.game))
    return JudgedCell(cell.about.name, cell.about.key, *who, cell.records, decided, trace)


def write(out: Path, cells: Sequence[JudgedCell], options: Options) -> pd.DataFrame:
    rows = [row for cell in cells for row in metric_rows(cell, options.reading)]
    table = pd.DataFrame(rows, columns=list(METRIC_COLUMNS))
    plies = [row for cell in cells for row in trace_rows(cell)]
    frame = pd.DataFrame(plies, columns=list(TRACE_COLUMNS))
    lines = (encode(one) + b"\n" for cell in cells for one in decision_lines(cell, options.reading))
    out.mkdir(exist_ok=True)
    write_atomically(out / "decisions.jsonl", b"".join(lines))
    write_atomically(out / "traces.csv", frame.to_csv(index=False))
    write_atomically(out / "metrics.csv", table.to_csv(index=False))
    for old in out.glob("*.png"):
        old.unlink()
    with plot_style.drawing_for(plot_style.WIDE):
        plot_style.save_png(metric_figures(table, frame), out)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder, words, store = (options.__dict__.pop(name) for name in ("folder", "launch", "store"))
    out = console()
    try:
        launch = read_launch(words) if words else None
        with interruptible():
            table = measure(folder, Options(**vars(options), launch=launch), out)
    except (UserError, ValueError) as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or folder}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; what is judged is kept; the same command continues", file=sys.stderr)
        return INTERRUPTED
    judged_so = Results(folder, (), {"metrics": table})
    for sheet in tables()["metrics"].sheets(judged_so, TERMINAL):
        out.print(sheet_view(sheet))
        out.print()
    out.print(f"tables   {folder / 'metrics'}", soft_wrap=True)
    try:
        store = store or store_of(folder)
        if add_metrics(folder, store):
            out.print(
                f"MLflow   {tracking_uri(store)} ({invocation('pipeline.ui')})", soft_wrap=True
            )
    except UserError as error:
        out.print(f"warning: {error}", soft_wrap=True)
    return 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Make SIGTERM end it as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.metrics"), description="How good each decision of a log was."
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the output_dir of a sweep")
    add("--playouts", type=int, help=f"playouts an option (default {PLAYOUTS:,}; {SLOW_PLAYOUTS} "
        "where a game of the log cannot play itself)")  # fmt: skip
    add("--deals", type=int, help="judge only the first N deals of each cell (default: all "
        "with --playouts, else what two minutes allow)")  # fmt: skip
    add("--thresholds", type=float, nargs="+", default=THRESHOLDS, metavar="P",
        help="judge decisions whose best and worst option are P or more apart")  # fmt: skip
    add("--tie", choices=get_args(Tie), default="min", help="the rank of equal values")
    add("--everybody", action="store_true", help="judge all players, not the subject alone")
    add("--traces", type=int, default=4, help="how many deals to trace (default %(default)s)")
    add("--threads", type=int, default=os.cpu_count() or 1, help="default: one a core")
    add("--launch", nargs="+", metavar=("NAME", "KEY=VALUE"),
        help="judge by Ray: `local` starts one here, `ray address=HOST:PORT` joins a cluster; "
        "settings as in conf/launch")  # fmt: skip
    add("--store", help="the MLflow store that the sweep was tracked in (default: the run's own)")
    return parser


if __name__ == "__main__":
    as_process(main)
