"""Ratings of the players of any logs, across games: `python -m pipeline.ratings DIR...`.

Reads the records of one or more output_dirs, prints tables, and writes ratings.csv,
ratings_by_game.csv, ratings_pairs.csv, ratings_left_out.csv and figures (docs/ratings.md). If
MLflow has the sweeps, the ratings are added to their runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.common.terminal import console
from gauntlet.pipeline.tables import plot_style
from gauntlet.pipeline.tables.ratings import (
    rate_contest,
    rating_figures,
    rating_sheets,
    write_ratings,
)
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.standings import Contest, load_contest
from gauntlet.pipeline.tables.terminal import sheet_view
from gauntlet.pipeline.tracking.rated import add_ratings
from gauntlet.pipeline.tracking.store import STORE, tracking_uri
from gauntlet.stats.matches import Ties
from gauntlet.stats.ratings import LEVEL, By, Fit, rated

NONE = "none"
"""The value of --store for no store."""
SEVERAL = Path("outputs/ratings")
"""Output folder for ratings of several folders."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if not 0 < given.level < 1:
        parser.error(f"--level lies between 0 and 1, got {given.level:g}")
    out = given.out or (given.folders[0] / "ratings" if len(given.folders) == 1 else SEVERAL)
    try:
        contest, found = _rate(given)
        files = _write(found, out)
        known = 0
        if given.store != NONE:
            known = add_ratings(given.folders, given.store, out, found["ratings"])
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {out} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    _show(contest, found, files, out)
    if known:
        print(f"MLflow   {tracking_uri(given.store)}")
    return 0


def _rate(arguments: argparse.Namespace) -> tuple[Contest, Results]:
    contest = load_contest(arguments.folders)
    contest.check(arguments.ties)
    rate = partial(
        rated, fit=arguments.fit, ties=arguments.ties, by=arguments.by, level=arguments.level
    )
    return contest, rate_contest(contest, rate)


def _write(tables: Results, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    with plot_style.drawing_for(plot_style.WIDE):
        plot_style.save_png(dict(rating_figures(tables)), out / "figures")
    return write_ratings(tables, out)


def _show(contest: Contest, tables: Results, files: Sequence[Path], out: Path) -> None:
    shown = console()
    for sheet in rating_sheets(tables):
        shown.print(sheet_view(sheet))
        shown.print()
    if tables["ratings"]["low"].isna().all():
        shown.print("No limits: a game has a single deal, which tells nothing of others.\n")
    if contest.omitted:
        shown.print(f"{contest.omitted} cell(s) left out, which are not of two even sides.\n")
    for file in (*files, out / "figures"):
        shown.print(
            f"{'figures' if file == out / 'figures' else 'table':<8} {file}", soft_wrap=True
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.ratings",
        description="Ratings of the players of one or more sweeps, over all their games: Bradley "
        "and Terry's model of each match's score, every game weighing the same.",
    )
    add = parser.add_argument
    add("folders", type=Path, nargs="+", metavar="DIR", help="the output_dir of a sweep")
    add("--out", type=Path, metavar="DIR",
        help=f"folder of what is written (default DIR/ratings; of several {SEVERAL})")  # fmt: skip
    fits = "maximum likelihood with a small prior, or as GameBench fits"
    add("--fit", choices=get_args(Fit), default="penalised", help=f"{fits} (default %(default)s)")
    ties = "count as half a win for each, or not at all"
    add("--ties", choices=get_args(Ties), default="half", help=f"{ties} (default %(default)s)")
    together = "which matches hang together: those of a deal, or none"
    add("--by", choices=get_args(By), default="deal", help=f"{together} (default %(default)s)")
    add("--level", type=float, default=LEVEL, metavar="P", help="of limits (default %(default)s)")
    add("--store", default=str(STORE), metavar="STORE",
        help=f"MLflow's folder or address, or {NONE} (default %(default)s)")  # fmt: skip
    return parser


if __name__ == "__main__":
    as_process(main)
