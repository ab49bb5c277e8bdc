"""GameBench's rows of a reproduction: every printed number next to ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

from gauntlet.papers.gamebench.ratings import DRAWS
from gauntlet.papers.gamebench.tables import ALL, PublishedResults, fields
from gauntlet.papers.published import (
    Entry,
    Row,
    exact_row,
    not_run,
    only_drawn,
    unreferenced_row,
    with_verdict,
)
from gauntlet.papers.verdicts import Estimate, Gap, of_draws
from gauntlet.pipeline.tables.registry import Results
from gauntlet.stats.bradley_terry import ALPHA
from gauntlet.stats.ratings import LEVEL

THEIR_DRAWS = 1000
"""The public code's number; the paper says otherwise."""
ROUNDED = 0.005 + 1e-9
"""Rounding error of a printed rating or score."""


def setting_rows(reported: Mapping[str, Any], recomputed: PublishedResults | None) -> Iterator[Row]:
    """Settings that affect the ratings; those of games and agents are not in the match file."""
    our_settings = {"bootstrap_B": DRAWS, "ci": LEVEL, "ilsr_alpha": ALPHA}
    if recomputed is not None:
        our_settings |= {"games": len(recomputed.contest.games), "agents": len(recomputed.agents)}
    for printed in reported["settings"]:
        entry, name = {**printed, "kind": "setting"}, printed["id"].rpartition(".")[2]
        yield exact_row(entry, our_settings[name]) if name in our_settings else not_run(entry)


def table_rows(
    reported: Mapping[str, Any], name: str, recomputed: PublishedResults | None
) -> Iterator[Row]:
    """Yield Table 1 or 2, one row per field under its printed column; n: matches of the agent, the
    same for both sides. Fields that are blank in print have no reference."""
    for agent, column, game, value in fields(reported, name):
        entry = {"id": f"gamebench.{name}.{agent}.{column}", "kind": "recount", "value": value}
        if recomputed is None:
            yield not_run(entry)
            continue
        n = recomputed.match_count(agent, game)
        if name == "table1":
            yield replace(rating_row(entry, recomputed, agent, game), n=n, published_n=n)
        elif isnan(value):
            yield unreferenced_row(entry, Estimate(recomputed.score(agent, game)), n)
        else:
            yield replace(
                exact_row(entry, recomputed.score(agent, game), ROUNDED), n=n, published_n=n
            )


def rating_row(entry: Entry, recomputed: PublishedResults, agent: str, game: str) -> Row:
    """The row of a rating, a mean of random draws on both sides; 0 is the mean agent's rating."""
    ours = recomputed.rating(agent, game)
    gap = rating_gap(recomputed, agent, game, entry["value"])
    return with_verdict(unreferenced_row(entry, Estimate(ours)), {**entry, "without": 0.0}, gap)


def rating_gap(recomputed: PublishedResults, agent: str, game: str, value: float) -> Gap:
    """Return our rating minus a printed one, with the errors of both numbers of draws."""
    sd, ours = recomputed.spread(agent, game), recomputed.rating(agent, game)
    return of_draws(ours, recomputed.draws, value, THEIR_DRAWS, sd, ROUNDED)


def category_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """Table 3: printed totals against the number of listed games."""
    for name, category in reported["table3"].items():
        entry = {"id": f"gamebench.table3.{name}", "kind": "recount", "value": category["total"]}
        yield exact_row(entry, len(category["games"]))


def count_rows(reported: Mapping[str, Any], recomputed: PublishedResults | None) -> Iterator[Row]:
    """Fig. 2: matches by game, by agent, and in total."""
    where, kind = "gamebench.fig2.matches", {"kind": "recount"}
    for game, count in reported["matches"]["games"].items():
        entry = {"id": f"{where}.game.{game}", "value": count, **kind}
        yield exact_row(entry, len(recomputed.matches(game))) if recomputed else not_run(entry)
    for agent, count in reported["matches"]["agents"].items():
        entry = {"id": f"{where}.agent.{agent}", "value": count, **kind}
        yield exact_row(entry, recomputed.match_count(agent, ALL)) if recomputed else not_run(entry)
    entry = {"id": f"{where}.total", "value": reported["matches"]["total"], **kind}
    yield exact_row(entry, len(recomputed.contest.matches)) if recomputed else not_run(entry)


def figure_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """Figures without printed numbers: drawn from the same matches, with no reference."""
    for figure in reported["figures"]:
        yield only_drawn({"id": f"gamebench.{figure}"})


def own_rows(ratings: Results) -> Iterator[Row]:
    """Our own players over the nine games, which the paper does not have: with 90% intervals."""
    for row in ratings["ratings"].to_dict("records"):
        where, rating = f"gamebench.own.{row['player']}.Overall", _rating(row)
        yield unreferenced_row({"id": f"{where}.rating"}, rating, row["matches"])
        yield unreferenced_row({"id": f"{where}.score"}, Estimate(row["score"]), row["matches"])
    for row in ratings["ratings_by_game"].to_dict("records"):
        where = f"gamebench.own.{row['player']}.{row['game']}"
        yield unreferenced_row({"id": f"{where}.rating"}, _rating(row), row["matches"])


def _rating(row: Mapping[Any, Any]) -> Estimate:
    return Estimate(row["rating"], row["low"], row["high"])
