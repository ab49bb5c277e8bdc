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
from gauntlet.papers.gamebench.matches import WHERE, load_matches
from gauntlet.papers.gamebench.tables import PublishedResults, corrected, table
from gauntlet.papers.published import Row, frame, paper
from gauntlet.papers.reproductions import Reproduction, Settings
from gauntlet.pipeline.config.compose import CONF
from gauntlet.pipeline.tables import plot_style
from gauntlet.pipeline.tables.ratings import (
    rate_contest,
    rating_figures,
    rating_sheets,
    write_ratings,
)
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.standings import load_contest
from gauntlet.pipeline.tables.terminal import sheet_view
from gauntlet.stats.ratings import rated

MODELS, DEALS = "", 10
"""No models: the experiment has its own players. Deals per pair and game, each in every seating."""
ROUND_ROBIN = "gamebench_round_robin"
TABLES = ("table1", "table2")


def reproduce(settings: Settings) -> Reproduction:
    """Make and write everything. Raises UserError for an invalid match file."""
    told, contest = paper("gamebench"), load_matches(settings.matches)
    again = None if contest is None else PublishedResults(contest)
    own = round_robin(settings)
    found = frame([*lines(again, own)])
    tables, drawn = settings.out / "tables", settings.out / "figures"
    tables.mkdir(exist_ok=True)
    shown: list[RenderableType] = []
    with plot_style.drawing_for(plot_style.WIDE):
        if again is None:
            shown.append(WHERE)
        else:
            plot_style.save_png(dict(figures(told, again)), drawn)
            for name in TABLES:
                one = table(told, again, name)
                write_atomically(tables / f"gamebench_{name}.csv", one.to_csv(index=False))
                right = corrected(told, one).to_csv()
                write_atomically(tables / f"gamebench_{name}_corrected.csv", right)
                shown.append(views.table_view(told, one, name))
            shown += project_ratings(settings, again)
        if own is not None:
            shown += map(sheet_view, rating_sheets(own))
            plot_style.save_png(
                {f"gamebench_own_{name}": one for name, one in rating_figures(own)}, drawn
            )
    return Reproduction(found, [*shown, views.summary(found)], [tables, drawn])


def lines(again: PublishedResults | None, own_ratings: Results | None) -> Iterator[Row]:
    """Yield every row of gamebench.csv."""
    told = paper("gamebench")
    yield from rows.setting_rows(told, again)
    for name in TABLES:
        yield from rows.table_rows(told, name, again)
    yield from rows.category_rows(told)
    yield from rows.count_rows(told, again)
    yield from rows.figure_rows(told)
    if own_ratings is not None:
        yield from rows.own_rows(own_ratings)


def project_ratings(settings: Settings, again: PublishedResults) -> Iterator[RenderableType]:
    """Rate the published matches with this project's method: a tie is half a win for each, players
    without a match get no rating, and ratings without each single game are included."""
    found = rate_contest(again.contest, partial(rated, by="match"))
    folder = settings.out / "tables" / "gamebench_ratings"
    folder.mkdir(exist_ok=True)
    write_ratings(found, folder)
    yield from map(sheet_view, rating_sheets(found))


def round_robin(settings: Settings) -> Results | None:
    """Play a round robin of our own players over the nine games and rate it by deal; None if conf
    has no such experiment."""
    if not (CONF / "experiment" / f"{ROUND_ROBIN}.yaml").exists():
        return None
    folder = settings.run(ROUND_ROBIN, ROUND_ROBIN, f"deals={settings.deals}")
    found = rate_contest(load_contest([folder]), rated)
    where = settings.out / "tables" / "gamebench_own"
    where.mkdir(parents=True, exist_ok=True)
    write_ratings(found, where)
    return found
