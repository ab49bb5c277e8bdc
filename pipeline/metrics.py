"""How good each decision of a log was: `python -m pipeline.metrics DIR`.

Reads the log of any game with playouts and writes, in DIR/metrics:

    metrics.csv      a row a player, source of values, threshold and number of options: ODHR and ADR
    decisions.jsonl  every judged decision: its options, their values, the option taken, its rank
    traces.csv       after every ply of the first deals, each seat's chance to be among the winners

`true` values are played on from the cards as they lay, as UNO Arena has it; `seen` values know no
more than the deciding seat did. Decisions that a fallback took are left out, and counted in rows
of their own. Only the gap-free deals of a cell count, as in every table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson
import pandas as pd

from games.base import Game, RolledOut
from pipeline.errors import UserError
from pipeline.judge import Judged, Stand, Work, judge
from pipeline.records import read_records, write_atomically
from pipeline.replay import player_name, recorded_cell, recorded_game
from pipeline.report import results_of
from pipeline.summary import CellResults
from pipeline.table import Sheet, console, number, percent, sheet_view
from stats.decisions import Decisions, Tie, ranks, score
from stats.proportions import wilson

PLAYOUTS = 10_000
OPTIONS = (2, 3, 4)
THRESHOLDS = (0.0, 0.15)
SOURCES = ("true", "seen")
PLACE = ("match", "deal", "ply", "seat", "player", "options", "chosen", "fallback")


@dataclass(frozen=True)
class Asked:
    """What a person asked for; the command's options say what each is."""

    playouts: int = PLAYOUTS
    thresholds: tuple[float, ...] = THRESHOLDS
    tie: Tie = "min"
    everybody: bool = False
    traces: int = 4
    threads: int = os.cpu_count() or 1

    def __post_init__(self) -> None:
        if min(self.playouts, self.threads) < 1 or self.traces < 0:
            raise UserError("playouts and threads are 1 or more, traces 0 or more")


@dataclass(frozen=True)
class Cell:
    """A cell's matches and what they were found to be worth; `players` by number."""

    name: str
    players: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    judged: tuple[Judged, ...]
    trace: tuple[Stand, ...]


def measure(folder: Path, asked: Asked) -> pd.DataFrame:
    """Judges every cell of an output_dir and writes the three files. Returns metrics.csv.

    Raises UserError where there is no log, or a cell's game has no playouts.
    """
    results = results_of(folder)
    seed = json.loads((folder / "sweep.json").read_text())["seed"]
    cells = [judge_cell(folder, result, seed, asked) for result in results]
    rows = [row for cell in cells for row in metric_rows(cell, asked)]
    table = pd.DataFrame(rows)
    out = folder / "metrics"
    out.mkdir(exist_ok=True)
    lines = (orjson.dumps(line) for cell in cells for line in decision_lines(cell, asked))
    write_atomically(out / "decisions.jsonl", b"".join(line + b"\n" for line in lines))
    stands = pd.DataFrame([row for cell in cells for row in trace_rows(cell)])
    write_atomically(out / "traces.csv", stands.to_csv(index=False))
    write_atomically(out / "metrics.csv", table.to_csv(index=False))
    return table


def judge_cell(folder: Path, result: CellResults, seed: int, asked: Asked) -> Cell:
    """Judges a cell's matches, on as many threads as asked for: playouts do not hold Python up."""
    about = result.about
    described = recorded_cell(folder, about.key)["identity"]
    game = recorded_game(described["game"])
    if not isinstance(game, RolledOut):
        raise UserError(f"{about.name}: {about.labels['game']} has no playouts to judge by")
    wanted = {outcome.match for outcome in result.outcomes}
    records = {
        r["match"]: slim(r) for r in read_records(folder, about.stem) if r["match"] in wanted
    }
    names = tuple(player_name(player) for player in described["players"])
    players = frozenset(range(len(names))) if asked.everybody else subjects(game, records.values())
    work = Work(seed, asked.playouts, players, asked.traces)
    with ThreadPoolExecutor(asked.threads) as pool:
        found = list(pool.map(lambda record: judge(game, record, work), records.values()))
    return Cell(
        about.name,
        names,
        tuple(records.values()),
        tuple(one for judged, _ in found for one in judged),
        tuple(one for _, trace in found for one in trace),
    )


def slim(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without prompts and replies."""
    kept = ("seat", "options", "chosen", "fallback")
    decisions = [{key: one[key] for key in kept} for one in record["decisions"]]
    return {**{k: v for k, v in record.items() if k != "statics"}, "decisions": decisions}


def subjects(game: Game[Any], records: Any) -> frozenset[int]:
    return frozenset((r["subject"] - r["rotation"]) % game.num_seats for r in records)


def metric_rows(cell: Cell, asked: Asked) -> Iterator[dict[str, Any]]:
    """metrics.csv: for each judged player its wins, and ODHR@K and ADR@K in every reading."""
    for player in sorted({one.player for one in cell.judged}):
        own = [one for one in cell.judged if one.player == player]
        won = wins(cell, player)
        for k, source in product(OPTIONS, SOURCES):
            those = [one for one in own if len(one.options) == k]
            for threshold, fallbacks in product(asked.thresholds, ("left_out", "counted")):
                kept = [one for one in those if fallbacks == "counted" or not one.fallback]
                yield {
                    "cell": cell.name,
                    "player": player,
                    "name": cell.players[player],
                    **won,
                    "values": source,
                    "threshold": threshold,
                    "fallbacks": fallbacks,
                    "options": k,
                    **figures(kept, k, source, threshold, asked),
                    "playouts": asked.playouts,
                    "tie": asked.tie,
                }


def wins(cell: Cell, player: int) -> dict[str, Any]:
    """A shared win is a full one; solo and shared ones are told apart."""
    solo = shared = 0
    for record in cell.records:
        returns = record["returns"]
        if returns[(player + record["rotation"]) % len(returns)] > 0:
            alone = sum(worth > 0 for worth in returns) == 1
            solo, shared = solo + alone, shared + (not alone)
    games = len(cell.records)
    interval = wilson(solo + shared, games)
    return {
        "games": games,
        "wins": solo + shared,
        "solo_wins": solo,
        "shared_wins": shared,
        "win_rate": float(interval.estimate),
        "win_low": float(interval.low),
        "win_high": float(interval.high),
    }


def figures(
    judged: Sequence[Judged], k: int, source: str, threshold: float, asked: Asked
) -> dict[str, Any]:
    """ODHR (0 to 1) and ADR with their intervals, nan where no decision is critical."""
    found = score(decisions(judged, k, source, asked.playouts), threshold, asked.tie)
    row: dict[str, Any] = {"decisions": found.decisions}
    for name, one in (("odhr", found.hit_rate), ("adr", found.mean_rank)):
        row |= {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}
        row[f"{name}_denoised"] = one.denoised
    return row


def decisions(judged: Sequence[Judged], k: int, source: str, playouts: int) -> Decisions:
    """Decisions between `k` options as the formulas take them; matches of one deal go together."""
    tables = np.array([getattr(one, source) for one in judged], np.int64).reshape(-1, k, k)
    chosen, deals = (
        np.array([getattr(one, name) for one in judged], np.int64) for name in ("chosen", "deal")
    )
    return Decisions(tables, chosen, deals, playouts)


def decision_lines(cell: Cell, asked: Asked) -> Iterator[dict[str, Any]]:
    """decisions.jsonl. values: by option. criticality: best value less worst. rank: 1 the best."""
    for one in cell.judged:
        line = {"cell": cell.name, **{name: getattr(one, name) for name in PLACE}}
        for source in SOURCES:
            values = np.diagonal(getattr(one, source)) / asked.playouts
            line[source] = {
                "values": values.tolist(),
                "criticality": float(np.ptp(values)),
                "rank": float(ranks(values, one.chosen, asked.tie)),
            }
        yield line


def trace_rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """traces.csv: `seen` stands in the rows of the seat that moved."""
    for stand in cell.trace:
        for seat, value in enumerate(stand.true):
            yield {
                "cell": cell.name,
                "match": stand.match,
                "deal": stand.deal,
                "ply": stand.ply,
                "moved": stand.seat,
                "move": stand.move,
                "seat": seat,
                "true": value,
                "seen": stand.seen if seat == stand.seat else np.nan,
            }


def sheets(table: pd.DataFrame) -> Iterator[Sheet]:
    """One sheet a threshold and source of values, fallbacks left out; a row a player."""
    headings = ["player", "wins", "shared"]
    headings += [f"{name}@{k}" for k in OPTIONS for name in ("n", "ODHR", "ADR")]
    kept = table[table["fallbacks"] == "left_out"]
    readings = kept[["threshold", "values"]].drop_duplicates()
    for threshold, source in readings.itertuples(index=False):
        part = kept[(kept["threshold"] == threshold) & (kept["values"] == source)]
        rows = [_shown(own) for _, own in part.groupby(["cell", "player"], sort=False)]
        told = "the true cards" if source == "true" else "what the seat knew"
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
    folder = given.__dict__.pop("folder")
    try:
        table = measure(folder, Asked(**vars(given)))
    except (UserError, ValueError) as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    out = console()
    for sheet in sheets(table) if len(table) else ():
        out.print(sheet_view(sheet))
        out.print()
    out.print(f"tables   {folder / 'metrics'}", soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.metrics", description="How good each decision of a log was."
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the output_dir of a sweep")
    add("--playouts", type=int, default=PLAYOUTS, help="playouts an option (default %(default)s)")
    add("--thresholds", type=float, nargs="+", default=THRESHOLDS, metavar="P",
        help="judge decisions whose best and worst option are P or more apart")  # fmt: skip
    add("--tie", choices=get_args(Tie), default="min", help="the rank of equal values")
    add("--everybody", action="store_true", help="judge all players, not the subject alone")
    add("--traces", type=int, default=4, help="how many deals to trace (default %(default)s)")
    add("--threads", type=int, default=os.cpu_count() or 1, help="default: one a core")
    return parser


if __name__ == "__main__":
    sys.exit(main())
