"""Ratings of the players of any logs, across games: `python -m pipeline.ratings DIR...`.

Reads the records of one or more output_dirs, prints tables, and writes ratings.csv,
ratings_by_game.csv, ratings_pairs.csv, ratings_left_out.csv, for a field with cycles
ratings_cycles.csv, with --cost ratings_cost.csv, and figures (docs/ratings.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.games.capabilities import win_or_score
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.commands.rating_figures import cost_plot, rating_figures
from gauntlet.pipeline.tables.commands.ratings import (
    rate_contest,
    rating_sheets,
    write_ratings,
)
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.contest import Contest, Scoring, load_contest
from gauntlet.pipeline.tables.sweep.spending import Cost
from gauntlet.pipeline.tables.sweep.terminal import sheet_view
from gauntlet.stats.matches import Ties
from gauntlet.stats.ratings import LEVEL, By, rated

SEVERAL = Path("outputs/ratings")
"""Output folder for ratings of several folders."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if not 0 < options.level < 1:
        parser.error(f"--level lies between 0 and 1, got {options.level:g}")
    out = options.out or (options.folders[0] / "ratings" if len(options.folders) == 1 else SEVERAL)
    try:
        contest, frames = _rate(options)
        _show(contest, frames, _notes(options.folders, options.score))
        files = _write(frames, out)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or out}: {error.strerror}", file=sys.stderr)
        return 2
    for name, file in [*(("table", file) for file in files), ("figures", out / "figures")]:
        console().print(f"{name:<8} {file}", soft_wrap=True)
    return 0


def _rate(arguments: argparse.Namespace) -> tuple[Contest, Results]:
    ties, by = arguments.ties, arguments.by
    contest = load_contest(arguments.folders, scoring=arguments.score, cost=arguments.cost)
    contest.check(ties)
    rate = partial(rated, ties=ties, by=by, level=arguments.level)
    return contest, rate_contest(contest, rate, ties, by)


def _write(tables: Results, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    with plot_style.drawing_for(plot_style.WIDE):
        drawn = dict(rating_figures(tables))
        if cost := cost_plot(tables["ratings_cost"]):
            drawn["ratings_cost"] = cost
        plot_style.save_png(drawn, out / "figures")
    return write_ratings(tables, out)


def _notes(folders: Sequence[Path], scoring: Scoring) -> Iterator[str]:
    """What a reader of the ratings should know of these runs."""
    runs = [Folder(path) for path in folders]
    other = {about.measure.name for run in runs for about in run.sweep_cells()}
    other = {name for name in other if not win_or_score(name)}
    if other and scoring != "measure":
        yield (
            f"Rated by who won. The runs are judged by {', '.join(sorted(other))}, which may rank "
            "players otherwise: --score measure.\n"
        )
    if any(run.rounds for run in runs):
        yield (
            "Matches of pairing=adaptive were chosen by results, which biases ratings "
            "(docs/adaptive.md).\n"
        )


def _show(contest: Contest, tables: Results, notes: Iterable[str]) -> None:
    terminal = console()
    for sheet in rating_sheets(tables):
        terminal.print(sheet_view(sheet))
        terminal.print()
    if tables["ratings"]["low"].isna().all():
        terminal.print("No limits: a game has a single deal, which tells nothing of others.\n")
    for note in notes:
        terminal.print(note)
    for note in contest.left_out:
        terminal.print(f"{note[0].upper()}{note[1:]}.\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.ratings"),
        description="Ratings of the players of one or more sweeps, over all their games, which may "
        "have any number of sides; every game weighs the same.",
    )
    add = parser.add_argument
    add("folders", type=Path, nargs="+", metavar="DIR", help="the output_dir of a sweep")
    add("--out", type=Path, metavar="DIR",
        help=f"folder of what is written (default DIR/ratings; of several {SEVERAL})")  # fmt: skip
    ties = "count as half a win for each, or not at all"
    add("--ties", choices=get_args(Ties), default="half", help=f"{ties} (default %(default)s)")
    scores = "who came first, or each cell's measure as a share of its range"
    add(
        "--score", choices=get_args(Scoring), default="rank", help=f"{scores} (default %(default)s)"
    )
    add("--cost", choices=get_args(Cost), help="also strength against this cost of a match")
    together = "which matches hang together: those of a deal, or none"
    add("--by", choices=get_args(By), default="deal", help=f"{together} (default %(default)s)")
    add("--level", type=float, default=LEVEL, metavar="P", help="of limits (default %(default)s)")
    return parser


if __name__ == "__main__":
    as_process(main)
