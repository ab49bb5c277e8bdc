"""GameBench's lines of a reproduction: every printed figure, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan, nan
from typing import Any

from papers.gamebench.tables import ALL, OVERALL, Again, fields
from papers.published import Row, exact, measured, not_run
from pipeline.tables.ratings import RatingTables
from stats.bradley_terry import ALPHA
from stats.ratings import DRAWS, LEVEL

NEAR = {OVERALL: 0.02}
"""How far a rating may lie from print and agree: the noise of the authors' 1,000 draws."""
NEAR_OF_A_GAME = 0.21
ROUNDED = 0.005 + 1e-9
"""Half a digit of a score in print."""


def setting_rows(told: Mapping[str, Any], again: Again | None) -> Iterator[Row]:
    """The settings that come into ratings; those of games and agents are not of the match file."""
    own = {"bootstrap_B": DRAWS, "ci": LEVEL, "ilsr_alpha": ALPHA}
    if again is not None:
        own |= {"games": len(again.contest.games), "agents": len(again.agents)}
    for entry in told["settings"]:
        name = entry["id"].rpartition(".")[2]
        yield exact(entry, own[name]) if name in own else not_run(entry)


def table_rows(told: Mapping[str, Any], name: str, again: Again | None) -> Iterator[Row]:
    """Table 1 or 2, a line a field under its printed column; n: matches of the agent. A blank in
    print has no reference."""
    for agent, column, game, value in fields(told, name):
        entry = {"id": f"gamebench.{name}.{agent}.{column}", "value": value}
        if again is None:
            yield not_run(entry)
            continue
        near = NEAR.get(column, NEAR_OF_A_GAME) if name == "table1" else ROUNDED
        ours = (again.rating if name == "table1" else again.score)(agent, game)
        found = exact(entry, ours, near)
        if isnan(value):
            found = replace(found, verdict="no_reference")
        yield replace(found, n=again.played(agent, game))


def category_rows(told: Mapping[str, Any]) -> Iterator[Row]:
    """Table 3: printed totals against the games that are listed."""
    for name, category in told["table3"].items():
        entry = {"id": f"gamebench.table3.{name}", "value": category["total"]}
        yield exact(entry, len(category["games"]))


def count_rows(told: Mapping[str, Any], again: Again | None) -> Iterator[Row]:
    """Fig. 2: matches by game and by agent, and in all."""
    where = "gamebench.fig2.matches"
    for game, count in told["matches"]["games"].items():
        entry = {"id": f"{where}.game.{game}", "value": count}
        yield exact(entry, len(again.matches(game))) if again else not_run(entry)
    for agent, count in told["matches"]["agents"].items():
        entry = {"id": f"{where}.agent.{agent}", "value": count}
        yield exact(entry, again.played(agent, ALL)) if again else not_run(entry)
    entry = {"id": f"{where}.total", "value": told["matches"]["total"]}
    yield exact(entry, len(again.contest.matches)) if again else not_run(entry)


def figure_rows(told: Mapping[str, Any]) -> Iterator[Row]:
    """Figures that print no number are drawn of the same matches, and have none to be held to."""
    for figure in told["figures"]:
        yield replace(not_run({"id": f"gamebench.{figure}"}), verdict="not_computable")


def own_rows(found: RatingTables) -> Iterator[Row]:
    """Our own players over the nine games, whom the paper does not have: with 90% intervals."""
    for row in found.overall.to_dict("records"):
        where = f"gamebench.own.{row['player']}"
        entry = {"id": f"{where}.Overall.rating"}
        yield measured(entry, row["rating"], row["low"], row["high"], row["matches"])
        yield measured({"id": f"{where}.Overall.score"}, row["score"], nan, nan, row["matches"])
    for row in found.by_game.to_dict("records"):
        entry = {"id": f"gamebench.own.{row['player']}.{row['game']}.rating"}
        yield measured(entry, row["rating"], row["low"], row["high"], row["matches"])
