"""Cells of scripted players, counted instead of played: `simulate=true`.

A compiled game plays about a hundred thousand games between its own scripted players per second;
other games run at the speed of their rules. Only wins are stored, so there are no records, pairs or
replays, and the rows say `simulated`. The same seed gives the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, counted
from gauntlet.common.terminal import WrappedTable
from gauntlet.games.capabilities import MATCH_SCORE, WIN, has_draws
from gauntlet.games.playouts import simulate
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.baseline import Baseline, measure, scripted_policies
from gauntlet.pipeline.plan.cells import Cell, digest
from gauntlet.pipeline.tables.formatting import as_integer, percent
from gauntlet.pipeline.tables.sweep.primary_test import ESTIMATE, RAW, measure_columns
from gauntlet.pipeline.tables.sweep.summary import SUMMARY
from gauntlet.stats.means import limits

SEAT_COLUMNS = [
    *("experiment", "game", "seats", "seat", "player", "games", "wins", "win_rate"),
    *("ci_low", "ci_high", "cell"),
]


def run(out: Console, cells: Sequence[Cell], sweep: SweepConfig) -> None:
    """Count `deals` games of every cell; write and print summary.csv and seats.csv.

    Raises UserError for a cell that cannot be simulated, and for a folder with played matches.
    """
    folder, games = sweep.output_dir, sweep.deals
    if games == "auto":
        raise UserError("simulate=true needs a number of deals, not auto")
    if isinstance(sweep.seed, tuple) or any(cell.samples > 1 for cell in cells):
        raise UserError("simulate=true takes one seed and samples=1; ask for more deals instead")
    if Folder(folder).has_sweep:
        raise UserError(f"{folder} holds played matches; choose another output_dir")
    with Waiting(out, "simulating", "games") as waiting:
        counts = [wins_by_seat(cell, games, sweep.seed, waiting.reach) for cell in cells]
    rows = [
        _row(cell, won, games, measure(cell, sweep.seed))
        for cell, won in zip(cells, counts, strict=True)
    ]
    summary = pd.DataFrame(rows).reindex(columns=[*SUMMARY])
    seats = seat_table(cells, counts, games)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "summary.csv", summary.to_csv(index=False))
    write_atomically(folder / "seats.csv", seats.to_csv(index=False))
    out.print(
        f"{cells[0].experiment}: {counted(len(cells), 'cell')}, {games:,} simulated games "
        "each, no records; "
        f"seed {sweep.seed}"
    )
    out.print(seats_view(seats))
    for name in ("summary.csv", "seats.csv"):
        out.print(f"table    {folder / name}", soft_wrap=True)


def wins_by_seat(
    cell: Cell,
    games: int,
    seed: int,
    on_progress: Callable[[int, int], None] = lambda done, games: None,
) -> np.ndarray:
    """The wins of each seat in `games` games, then the games without a winner. These are not the
    games that measure a baseline.

    on_progress: as in `games.playouts.simulate`. Raises UserError if the cell is rotated, is judged
    by something other than wins and draws, or has a player that is not one of the game's scripted
    ones.
    """
    players = scripted_policies(cell)
    drawn = cell.measure == MATCH_SCORE.name and has_draws(cell.game)
    if not (cell.measure == WIN.name or drawn):
        raise UserError(f"simulate=true counts wins, and {cell.name} is judged by {cell.measure}")
    if cell.rotate:
        raise UserError(
            "simulate=true shows every seat by itself; leave rotate=true to played matches"
        )
    policies = [policy for policy in players if policy is not None]
    if len(policies) < len(players):
        names = ", ".join(player.name for player in cell.players)
        raise UserError(
            "simulate=true needs a scripted player of the game in every seat; "
            f"{cell.labels['game']} with the players {names} has to be played"
        )
    own = int(digest([seed, "simulated"]), 16) >> 1
    return simulate(cell.game, policies, games, own, on_progress)


def seat_table(cells: Sequence[Cell], counts: Sequence[np.ndarray], games: int) -> pd.DataFrame:
    """seats.csv: one row per seat of every cell, with a 95% interval (`stats.means`)."""
    rows = []
    for cell, won in zip(cells, counts, strict=True):
        low, high = limits((0.0, 1.0), (0.0, 1.0), counts=np.stack((games - won, won), -1))
        for seat, player in enumerate(cell.players):
            rows.append(
                {
                    "experiment": cell.experiment,
                    "game": cell.labels["game"],
                    "seats": cell.labels["seats"],
                    "seat": seat,
                    "player": player.name,
                    "games": games,
                    "wins": int(won[seat]),
                    "win_rate": won[seat] / games,
                    "ci_low": low[seat],
                    "ci_high": high[seat],
                    "cell": cell.name,
                }
            )
    return pd.DataFrame(rows, columns=SEAT_COLUMNS)


def seats_view(seats: pd.DataFrame) -> WrappedTable:
    """Win rates by seat, one row per cell."""
    grid = WrappedTable()
    grid.add_column("players by seat")
    grid.add_column("games", justify="right")
    for seat in range(seats["seat"].max() + 1):
        grid.add_column(f"seat {seat}", justify="right", no_wrap=True)
    for _, rows in seats.groupby(["seats", "cell"], sort=False):
        above, below = rows["ci_high"] - rows["win_rate"], rows["win_rate"] - rows["ci_low"]
        widths = np.maximum(above, below)  # they differ near 0 and 100%
        cells = [
            f"{percent(rate, 2)} +-{100 * width:.2f}"
            for rate, width in zip(rows["win_rate"], widths, strict=True)
        ]
        grid.add_row(" ".join(rows["player"]), f"{rows['games'].iloc[0]:,}", *cells)
    return grid


def _row(cell: Cell, won: np.ndarray, games: int, baseline: Baseline | None) -> dict[str, Any]:
    """A row of summary.csv; columns that counts cannot give are empty."""
    about, draws = CellInfo.from_cell(cell, baseline), int(won[-1])
    wins = as_integer(sum(int(won[seat]) for seat in cell.measured) / about.measured)
    estimates = (wins / games, *limits((0.0, 1.0), (0.0, 1.0), counts=(games - wins, wins)))
    if not about.wins:
        counts = (games - wins - draws, draws, wins)
        score = limits((0.0, 0.5, 1.0), (0.0, 1.0), counts=counts)
        estimates = ((wins + draws / 2) / games, *score)
    return {
        "cell": about.name,
        "experiment": about.experiment,
        **about.labels,
        **measure_columns(about),
        **dict(zip(ESTIMATE, estimates, strict=True)),
        **dict(zip(RAW, estimates, strict=True)),
        "estimator": "raw",
        "baseline": baseline.rate if baseline else np.nan,
        "baseline_n": baseline.games if baseline else 0,
        "deals": games,
        "matches": games,
        "failed": 0,
    }
