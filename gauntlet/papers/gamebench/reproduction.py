"""Reproduce GameBench: its Tables 1 to 3, Figs. 1a, 1b and 2 and Appendix L from the published
matches, and the same ratings of our own players over the nine games.

The columns of Tables 1 and 2 are printed under wrong headings (GB-01), and seven ratings are of
agents without a match (GB-04): every field is compared with what it really is, and the tables are
shown corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import RenderableType

from gauntlet.common.disk import write_atomically
from gauntlet.papers.gamebench import rows, views
from gauntlet.papers.gamebench.figures import figures
from gauntlet.papers.gamebench.matches import WHERE, load_matches, missing_file_message
from gauntlet.papers.gamebench.tables import PublishedResults, corrected, table
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
                renderables.append(views.table_view(published, game_table, name))
            renderables += project_ratings(settings, recomputed)
        if tournament is not None:
            renderables += map(sheet_view, rating_sheets(tournament))
            plot_style.save_png(
                {f"gamebench_own_{name}": one for name, one in rating_figures(tournament)},
                figures_dir,
            )
    return Reproduction(
        comparison, [*renderables, views.summary(comparison)], [tables, figures_dir]
    )


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
