"""Reproduce GameBench: its Tables 1 to 3, Figs. 1a, 1b and 2 and Appendix L from the published
matches, and the same ratings of our own players over the nine games.

The columns of Tables 1 and 2 are printed under wrong headings (GB-01), and seven ratings are of
agents without a match (GB-04): every field is compared with what it really is, and the tables are
shown corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.disk import write_atomically
from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.gamebench import rows
from gauntlet.papers.gamebench.figures import figures
from gauntlet.papers.gamebench.matches import WHERE, load_matches, missing_file_message
from gauntlet.papers.gamebench.tables import OVERALL, PublishedResults, corrected, heading, table
from gauntlet.papers.published import Row, frame, paper
from gauntlet.papers.reproductions import Reproduction, Settings
from gauntlet.pipeline.tables.commands.rating_figures import rating_figures
from gauntlet.pipeline.tables.commands.ratings import (
    rate_contest,
    rating_sheets,
    write_ratings,
)
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.contest import load_contest
from gauntlet.pipeline.tables.sweep.terminal import sheet_view
from gauntlet.stats.ratings import rated

MODELS, DEALS = "", 10
"""No models: the experiment has its own players. Deals per pair and game, each in every seating."""
ROUND_ROBIN = "gamebench_round_robin"
TABLES = ("table1", "table2")


def lacks(settings: Settings) -> str:
    return missing_file_message(settings.matches)


def reproduce(settings: Settings) -> Reproduction:
    """Make and write everything. Raises UserError for an invalid match file."""
    published, contest = paper("gamebench"), load_matches(settings.matches)
    recomputed = None if contest is None else PublishedResults(contest)
    tournament = round_robin(settings)
    comparison = frame([*lines(recomputed, tournament)])
    tables, figures_dir = settings.out / "tables", settings.out / "figures"
    tables.mkdir(exist_ok=True)
    renderables: list[RenderableType] = []
    with plot_style.drawing_for(plot_style.WIDE):
        if recomputed is None:
            renderables.append(WHERE)
        else:
            plot_style.save_png(dict(figures(published, recomputed)), figures_dir)
            for name in TABLES:
                game_table = table(published, recomputed, name)
                write_atomically(tables / f"gamebench_{name}.csv", game_table.to_csv(index=False))
                right = corrected(published, game_table).to_csv()
                write_atomically(tables / f"gamebench_{name}_corrected.csv", right)
                renderables.append(table_view(published, game_table, name))
            renderables += project_ratings(settings, recomputed)
        if tournament is not None:
            renderables += map(sheet_view, rating_sheets(tournament))
            plot_style.save_png(
                {f"gamebench_own_{name}": one for name, one in rating_figures(tournament)},
                figures_dir,
            )
    return Reproduction(comparison, [*renderables, summary(comparison)], [tables, figures_dir])


def lines(recomputed: PublishedResults | None, own_ratings: Results | None) -> Iterator[Row]:
    """Yield every row of gamebench.csv."""
    published = paper("gamebench")
    yield from rows.setting_rows(published, recomputed)
    for name in TABLES:
        yield from rows.table_rows(published, name, recomputed)
    yield from rows.category_rows(published)
    yield from rows.count_rows(published, recomputed)
    yield from rows.figure_rows(published)
    if own_ratings is not None:
        yield from rows.own_rows(own_ratings)


def project_ratings(settings: Settings, recomputed: PublishedResults) -> Iterator[RenderableType]:
    """Rate the published matches with this project's method: a tie is half a win for each, players
    without a match get no rating, and ratings without each single game are included."""
    ratings = rate_contest(recomputed.contest, partial(rated, by="match"))
    folder = settings.out / "tables" / "gamebench_ratings"
    folder.mkdir(exist_ok=True)
    write_ratings(ratings, folder)
    yield from map(sheet_view, rating_sheets(ratings))


def round_robin(settings: Settings) -> Results:
    """Play a round robin of our own players over the nine games and rate it by deal."""
    folder = settings.run(ROUND_ROBIN, ROUND_ROBIN, f"deals={settings.deals}")
    ratings = rate_contest(load_contest([folder]), rated)
    where = settings.out / "tables" / "gamebench_own"
    where.mkdir(parents=True, exist_ok=True)
    write_ratings(ratings, where)
    return ratings


# --- Tables 1 and 2 for the terminal, under the right headings

TITLES = {"table1": "Table 1: ratings", "table2": "Table 2: mean scores"}
FOOT = (
    "Under each game's own heading; in brackets what is printed, under the heading in the second "
    "line. Empty: nobody played, though Table 1 has a rating. *: of ties alone, which do not count."
)


def table_view(reported: Mapping[str, Any], ratings: pd.DataFrame, name: str) -> RenderableType:
    """ratings: from `tables.table`."""
    grid = WrappedTable(header_style="dim")
    order = [OVERALL, *reported["games"]]
    fields = {
        (row["agent"], heading(reported, row["game"])): row for row in ratings.to_dict("records")
    }
    first = next(iter(reported["agents"]))
    grid.add_column("agent", no_wrap=True)
    for short in order:
        title = f"{short}\n({fields[first, short]['printed_column']})"
        grid.add_column(title, justify="right", no_wrap=True)
    for agent in reported["agents"]:
        grid.add_row(agent, *(_field(fields[agent, short]) for short in order))
    return Group(Text(TITLES[name], "bold"), grid, Text(FOOT, "dim"))


def _field(row: Mapping[Any, Any]) -> str:
    mine = "" if np.isnan(row["corrected"]) else f"{row['corrected']:.2f}"
    alone = "*" if row["matches"] and row["matches"] == row["ties"] else ""
    printed = "NaN" if np.isnan(row["printed"]) else f"{row['printed']:.2f}"
    return f"{mine}{alone}\n({printed})"


def summary(frame: pd.DataFrame) -> str:
    """Return the number of rows with each verdict, by table, and the largest difference."""
    lines = []
    for part in ("table1", "table2", "table3", "fig2"):
        own = frame[frame["id"].str.startswith(f"gamebench.{part}.")]
        verdicts = ", ".join(f"{n} {said}" for said, n in own["verdict"].value_counts().items())
        most = own["gap"].abs().max()
        lines.append(
            f"{part}: {verdicts}" + ("" if np.isnan(most) else f"; at most {most:.3f} off")
        )
    return "\n".join(lines)
