"""How good each decision of a log was: `python -m pipeline.metrics DIR`.

Reads the log of any game that can be played on from what a seat knows (`games.capabilities`) and
writes, in DIR/metrics:

    metrics.csv      a row a player, source of values, threshold and number of options: ODHR and ADR
    decisions.jsonl  every judged decision: its options, their values, the option taken, its rank
    traces.csv       after every ply of the first deals, each seat's chance to be among the winners
    traces.png       the same, drawn
    heat_map.png     with three players or more: what of ODHR and ADR goes with winning

`true` values are played on from the cards as they lay, as UNO Arena has it; for `seen` values the
cards that the deciding seat could not see are dealt afresh, uniformly: what past moves tell of them
is left out. `key` tells cells of one name apart. Decisions that a fallback took are left out, and
counted in rows of their own. Only the gap-free deals of a cell count, as in every table. The
matches are judged on the threads of this process, or by Ray with --launch; the files are the same
to the byte, in whatever order the matches ended.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from matplotlib.figure import Figure
from msgspec import structs
from msgspec.json import encode
from rich.console import Console

from common.disk import write_atomically
from common.errors import UserError
from games.base import Game
from games.capabilities import PlayedOut, seatings_of
from games.playouts import lack
from pipeline.config.read import Node, Seed
from pipeline.judging.judge import Judged, Stand, Work, judge
from pipeline.judging.metric_rows import (
    METRIC_COLUMNS,
    OPTIONS,
    TRACE_COLUMNS,
    JudgedCell,
    Reading,
    decision_lines,
    metric_rows,
    trace_rows,
)
from pipeline.launch.fan_out import Map, executor, read_launch
from pipeline.log.folder import Folder
from pipeline.log.progress import Bar
from pipeline.log.recorded import player_name, recorded_game
from pipeline.log.results import CellResults
from pipeline.log.schema import MatchRecord
from pipeline.tables.figures import save_png
from pipeline.tables.metric_figures import by_player, heat_map, traces
from pipeline.tables.numbers import number, percent
from pipeline.tables.table import Sheet, console, sheet_view
from pipeline.tables.views import results_of
from pipeline.tracking.track import STORE, add_metrics, tracking_uri
from stats.decisions import Tie

PLAYOUTS, SLOW_PLAYOUTS = 10_000, 200
"""Playouts an option where nothing else is asked for: in games that play themselves, and where one
is played by its rules."""

THRESHOLDS = (0.0, 0.15)
LEAST_PLAYERS = 3
"""Fewer points always lie on a line."""


@dataclass(frozen=True)
class Options:
    """What a person asked for; the command's options say what each is."""

    playouts: int | None = None
    thresholds: tuple[float, ...] = THRESHOLDS
    tie: Tie = "min"
    everybody: bool = False
    traces: int = 4
    threads: int = os.cpu_count() or 1
    launch: Node | None = None

    def __post_init__(self) -> None:
        fewest = self.threads if self.playouts is None else min(self.playouts, self.threads)
        if fewest < 1 or self.traces < 0:
            raise UserError("playouts and threads are 1 or more, traces 0 or more")
        given = self.thresholds
        if not all(0 <= one <= 1 for one in given) or len(set(given)) < len(given):
            shown = " ".join(f"{one:g}" for one in given)
            raise UserError(f"thresholds are different numbers from 0 to 1, got {shown}")

    @property
    def reading(self) -> Reading:
        assert self.playouts is not None, "settle the playouts first"
        return Reading(self.playouts, self.thresholds, self.tie, self.traces)

    def settled(self, games: Iterable[Game[Any]]) -> Options:
        """With playouts that these games can be asked for, where a person did not say."""
        if self.playouts is not None:
            return self
        fast = all(isinstance(game, PlayedOut) for game in games)
        return replace(self, playouts=PLAYOUTS if fast else SLOW_PLAYOUTS)


def measure(folder: Path, asked: Options, out: Console | None = None) -> pd.DataFrame:
    """Judges every cell of an output_dir and writes the files. Returns metrics.csv.

    out: where progress is shown; nowhere by default. Raises UserError where there is no log, or
    a cell's game cannot be played on from what a seat knows.
    """
    results = results_of(folder)
    asked = asked.settled(game_of(folder, result) for result in results)
    seed = Folder(folder).seed
    matches = sum(len(result.outcomes) for result in results)
    with (
        executor(asked.threads, asked.launch) as spread,
        Bar(out or console(), matches, quiet=out is None, doing="judging", done="judged") as bar,
    ):
        cells = [judge_cell(folder, result, seed, asked, spread, bar) for result in results]
    return write(folder / "metrics", cells, asked)


def write(out: Path, cells: Sequence[JudgedCell], asked: Options) -> pd.DataFrame:
    rows = [row for cell in cells for row in metric_rows(cell, asked.reading)]
    table = pd.DataFrame(rows, columns=list(METRIC_COLUMNS))
    plies = [row for cell in cells for row in trace_rows(cell)]
    stands = pd.DataFrame(plies, columns=list(TRACE_COLUMNS))
    lines = (encode(one) + b"\n" for cell in cells for one in decision_lines(cell, asked.reading))
    out.mkdir(exist_ok=True)
    write_atomically(out / "decisions.jsonl", b"".join(lines))
    write_atomically(out / "traces.csv", stands.to_csv(index=False))
    write_atomically(out / "metrics.csv", table.to_csv(index=False))
    for old in out.glob("*.png"):
        old.unlink()
    save_png(drawings(table, stands, asked), out)
    return table


def drawings(table: pd.DataFrame, stands: pd.DataFrame, asked: Options) -> dict[str, Figure]:
    """The figures that the tables can fill; the correlations at the first threshold."""
    drawn = {} if stands.empty else {"traces": traces(stands)}
    threshold = asked.thresholds[0]
    players = by_player(table, threshold) if len(table) else table
    if len(players) >= LEAST_PLAYERS:
        told = f"decisions worth {percent(threshold, 0)} or more, from the true cards"
        drawn["heat_map"] = heat_map(players, told)
    return drawn


def judge_cell(
    folder: Path, result: CellResults, seed: Seed, asked: Options, spread: Map, bar: Bar
) -> JudgedCell:
    """Judges a cell's matches, by whoever there is to do it: playouts do not hold Python up."""
    about = result.about
    described = Folder(folder).cell(about.key)
    game = game_of(folder, result)
    if reason := lack(game):
        raise UserError(f"{about.name}: {reason}")
    wanted = {outcome.match for outcome in result.outcomes}
    matches = Folder(folder).matches(about.stem)
    found = {record.match: slim(record) for record in matches if record.match in wanted}
    records = sorted(found.values(), key=lambda record: (record.deal, record.rotation))
    everybody = frozenset(range(game.num_seats))
    players = everybody if asked.everybody else subjects(game, records)
    work = Work(seed, asked.reading.playouts, players, asked.traces)
    judged: list[Judged] = []
    trace: list[Stand] = []
    for own, stands in spread(partial(judge, game, work), records):
        judged += own
        trace += stands
        bar.advance()
    who = (names(described), tuple(sorted(players)), seatings_of(game))
    return JudgedCell(about.name, about.key, *who, tuple(records), tuple(judged), tuple(trace))


def game_of(folder: Path, result: CellResults) -> Game[Any]:
    return recorded_game(Folder(folder).cell(result.about.key)["identity"]["game"])


def names(described: Mapping[str, Any]) -> tuple[str, ...]:
    """What the cell calls its players; in older logs, which do not tell, their classes."""
    told = described.get("players")
    return tuple(told or map(player_name, described["identity"]["players"]))


def slim(record: MatchRecord) -> MatchRecord:
    """A record without prompts and replies."""
    decisions = tuple(structs.replace(one, asked=(), notes={}) for one in record.decisions)
    return structs.replace(record, statics={}, preparation=(), decisions=decisions)


def subjects(game: Game[Any], records: Iterable[MatchRecord]) -> frozenset[int]:
    seatings = seatings_of(game)
    return frozenset(
        seatings[r.rotation % len(seatings)][seat] for r in records for seat in r.subjects
    )


def sheets(table: pd.DataFrame) -> Iterator[Sheet]:
    """One sheet a threshold and source of values, fallbacks left out; a row a player."""
    headings = ["player", "wins", "shared"]
    headings += [f"{name}@{k}" for k in OPTIONS for name in ("n", "ODHR", "ADR")]
    kept = table[table["fallbacks"] == "left_out"]
    readings = kept[["threshold", "values"]].drop_duplicates()
    for threshold, source in readings.itertuples(index=False):
        part = kept[(kept["threshold"] == threshold) & (kept["values"] == source)]
        rows = [_shown(own) for _, own in part.groupby(["key", "player"], sort=False)]
        told = "the true cards" if source == "true" else "hidden cards dealt afresh"
        title = f"decisions worth {percent(threshold, 0)} or more, from {told}"
        yield Sheet(title, headings, rows, "")


def _shown(own: pd.DataFrame) -> list[str]:
    first = own.iloc[0]
    cells = [f"{first['name']}", percent(first["win_rate"]), str(first["shared_wins"])]
    for _, row in own.iterrows():
        cells += [str(row["decisions"]), percent(row["odhr"]), number(row["adr"], ".3f")]
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    folder, words, store = (given.__dict__.pop(name) for name in ("folder", "launch", "store"))
    out = console()
    try:
        launch = read_launch(words) if words else None
        table = measure(folder, Options(**vars(given), launch=launch), out)
    except (UserError, ValueError) as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    for sheet in sheets(table) if len(table) else ():
        out.print(sheet_view(sheet))
        out.print()
    out.print(f"tables   {folder / 'metrics'}", soft_wrap=True)
    try:
        if add_metrics(folder, store):
            out.print(f"MLflow   {tracking_uri(store)} (gauntlet ui)", soft_wrap=True)
    except UserError as error:
        out.print(f"warning: {error}", soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.metrics", description="How good each decision of a log was."
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the output_dir of a sweep")
    add("--playouts", type=int, help=f"playouts an option (default {PLAYOUTS:,}; {SLOW_PLAYOUTS} "
        "where a game of the log cannot play itself)")  # fmt: skip
    add("--thresholds", type=float, nargs="+", default=THRESHOLDS, metavar="P",
        help="judge decisions whose best and worst option are P or more apart")  # fmt: skip
    add("--tie", choices=get_args(Tie), default="min", help="the rank of equal values")
    add("--everybody", action="store_true", help="judge all players, not the subject alone")
    add("--traces", type=int, default=4, help="how many deals to trace (default %(default)s)")
    add("--threads", type=int, default=os.cpu_count() or 1, help="default: one a core")
    add("--launch", nargs="+", metavar=("NAME", "KEY=VALUE"),
        help="judge by Ray: `local` starts one here, `ray address=HOST:PORT` joins a cluster; "
        "settings as in conf/launch")  # fmt: skip
    add("--store", default=str(STORE),
        help="the MLflow store that the sweep was tracked in (default %(default)s)")  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
