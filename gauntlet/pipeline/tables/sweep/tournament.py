"""What an adaptive sweep has settled: a row for each two players."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from gauntlet.common.errors import counted
from gauntlet.pipeline.judging.tournament import evidence, pair_of, sentences, shares
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Part, Results, columns, table
from gauntlet.stats.tournament import Pair, Tournament, limits

TOURNAMENT = {
    **columns("experiment"),
    "game": "the game",
    "player_a": "the player who leads by rating",
    "player_b": "the other player",
    "rounds": "rounds in which they met",
    "deals": "deals that they finished, each in every seat",
    **columns("matches"),
    "share": "A's mean share of a deal: 1/2 if they are equal",
    "low": "lower end of its 95% confidence sequence, which holds at every look, for this pair",
    "high": "upper end of it",
    "p_holm": "of A not being better, at every look, after Holm over both directions of all pairs",
    "verdict": "of A: `better` than B; `worse`, though A leads by rating; `level` within the "
    "margin; `open`: still needed; `unneeded` by the verdict",
}


def _title(part: Part) -> str:
    log = Folder(part.results.folder)
    return f"verdict={log.rule['verdict']} after {counted(len(log.rounds), 'round')}"


VIEW = View(
    _title,
    (
        Column(
            "A and B", lambda row: f"{sheets.text('player_a')(row)}, {sheets.text('player_b')(row)}"
        ),
        Column("deals", sheets.count("deals")),
        Column("share of A", sheets.mean("share")),
        Column("95%", sheets.span("low", "high")),
        Column("p Holm", sheets.p("p_holm")),
        Column("A is", sheets.text("verdict")),
    ),
    "All of it holds at every look. Intervals and p of other tables take the deals as fixed, and "
    "do\nnot; nor do they allow for the choice of pairs, by which all means are biased.",
)


def tournament(results: Results) -> Tournament | None:
    """The evidence of an adaptive sweep; None for others."""
    rule = Folder(results.folder).rule
    cells = [cell for cell in results.cells if not cell.unrepeatable]
    return evidence(rule, cells) if rule else None


def tournament_verdict(results: Results) -> list[str]:
    """What an adaptive sweep found, in sentences; [] for others."""
    log, evidence = Folder(results.folder), results.cached(tournament)
    return [*sentences(log.rule, evidence, len(log.rounds))] if evidence else []


@table("tournament", TOURNAMENT, [VIEW], metrics=(), place=4)
def tournament_rows(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each two players, in order of rating."""
    if (settled := results.cached(tournament)) is None:
        return
    log = Folder(results.folder)
    rule, rounds = log.rule, log.rounds
    cells = {frozenset(pair_of(rule, cell.about)): cell for cell in results.cells}
    for pair in combinations(settled.order, 2):
        cell = cells[frozenset(pair)]
        first, second = (rule["players"][number] for number in pair)
        x = shares(cell) if pair == pair_of(rule, cell.about) else 1 - shares(cell)
        low, high = limits(x) if x.size else (np.nan, np.nan)
        yield {
            "experiment": cell.about.experiment,
            "game": cell.about.labels["game"],
            "player_a": first,
            "player_b": second,
            "rounds": sum(cell.about.key in each.cells for each in rounds),
            "matches": len(cell.outcomes),
            "deals": x.size,
            "share": x.mean() if x.size else np.nan,
            "low": low,
            "high": high,
            "p_holm": settled.p_values[pair],
            "verdict": pair_verdict(settled, pair),
        }


def pair_verdict(tournament: Tournament, pair: Pair) -> str:
    """What is shown of the first of a pair, as the column says."""
    if tournament.claims[pair]:
        return "better"
    if tournament.claims[pair[::-1]]:
        return "worse"
    if tournament.level[pair]:
        return "level"
    return "open" if pair in tournament.open or pair[::-1] in tournament.open else "unneeded"
