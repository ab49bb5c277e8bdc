"""How matches ended, and results by seat and by seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import MATCH_SCORE, WIN
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.cells import seeded
from gauntlet.pipeline.tables.numbers import whole
from gauntlet.pipeline.tables.primary_test import interval
from gauntlet.pipeline.tables.registry import Part, Results, Sheet, table
from gauntlet.pipeline.tables.sheets import (
    Column,
    View,
    cell_name,
    count,
    decimal,
    mean,
    share,
    share_span,
    span,
    text,
)
from gauntlet.stats.means import limits

ENDS = ("win", "draw", "loss")
ALL, FIRST, SECOND = "all", "first", "second"
"""Of which matches a row is: all, those that the measured side opened, those that it did not."""

COUNTS = ("wins", "draws", "losses", "shared_wins")
LEAD = ("ahead", "behind")
OUTCOMES = {
    "cell": "the cell's name",
    "moved": "which matches: `all`, those that the measured side opened (`first`), or the others",
    "deals": "their deals",
    "matches": "how many",
    "wins": "matches won; of several measured players a win is the share of them that won",
    "draws": "matches drawn",
    "losses": "matches lost",
    "shared_wins": "of the wins those that the other side had too",
    **{
        f"{end}{limit}": f"{what} of {end}s"
        for end in ENDS
        for limit, what in (
            ("", "share"),
            ("_low", "lower end of the 95% interval by deals of the share"),
            ("_high", "upper end of the 95% interval by deals of the share"),
        )
    },
    "score": "mean of 1 a win and 1/2 a draw",
    "score_low": "lower end of its 95% interval",
    "score_high": "upper end of its 95% interval",
    "ahead": "deals on which the measured side won more matches than the other",
    "behind": "deals on which it won fewer; both of two sides of one size",
}


def _asked(part: Part) -> Iterator[Sheet]:
    """Where some are drawn or shared, or the score was asked for."""
    rows, measures = part.rows, set(part.results["summary"]["measure"])
    if MATCH_SCORE.name in measures or (rows[["draws", "shared_wins"]] > 0).to_numpy().any():
        yield from ENDED(part)


def _ends_foot(part: Part) -> str:
    wins = WIN.name in set(part.results["summary"]["measure"])
    return (
        "moved: all matches, or those that the measured side opened (first), or did not (second). "
        "score:\na win 1, a draw 1/2. ahead, behind: deals on which that side won more, or less "
        f"often, than the\nother.{' A win rate counts a draw as no win.' * wins}"
    )


ENDED = View(
    "Wins, draws and losses",
    (
        Column("cell", cell_name),
        Column("moved", text("moved")),
        Column("matches", count("matches")),
        Column("win", share("win")),
        Column("95%", share_span("win_low", "win_high")),
        Column("draw", share("draw")),
        Column("loss", share("loss")),
        Column("score", share("score")),
        Column("95%", share_span("score_low", "score_high")),
        Column("ahead", decimal("ahead", ".0f")),
        Column("behind", decimal("behind", ".0f")),
    ),
    _ends_foot,
    lambda rows: rows[rows["matches"] > 0],
)


@table(
    "outcomes",
    OUTCOMES,
    [_asked],
    metrics=("wins", "draws", "losses", "shared_wins", "score", "score_low", "score_high"),
    key="moved",
    place=31,
)
def outcomes(results: Results) -> pd.DataFrame:
    """A row for each cell, and where both sides opened some of its matches one for each."""
    rows = [row for result in results.cells for row in _rows(result)]
    table = pd.DataFrame(rows, columns=[*OUTCOMES])
    single = table["win_low"].isna()
    ends = table.loc[single, ["losses", "draws", "wins"]].to_numpy(float)
    for end, own in zip((*ENDS, "score"), (*_WORTH, (0.0, 0.5, 1.0)), strict=True):
        low, high = limits(own, (0.0, 1.0), counts=ends)
        table.loc[single, f"{end}_low"], table.loc[single, f"{end}_high"] = low, high
    return table


_WORTH = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
"""What a loss, a draw and a win count of each of ENDS."""


def _rows(result: CellResults) -> Iterator[dict[str, Any]]:
    """Those of one cell, without intervals where a match is a deal: these come all at once."""
    outcomes = result.outcomes
    deals, opened = outcomes.column("deal"), outcomes.column("opened")
    parts = {ALL: np.ones(len(opened), bool)}
    if result.about.in_turn and 0 < opened.sum() < len(opened):
        parts |= {FIRST: opened, SECOND: ~opened}
    for moved, chosen in parts.items():
        row = {"cell": result.about.name, "moved": moved, **_ended_counts(result, chosen)}
        values = [*_ends(result, chosen), scores(result)[chosen]]
        for end, each in zip((*ENDS, "score"), values, strict=True):
            row[end] = each.mean() if len(each) else np.nan
            if result.about.measured > 1 or row["deals"] < len(each):
                _, row[f"{end}_low"], row[f"{end}_high"] = interval(each, deals[chosen], WIN)
        yield row


def _ends(result: CellResults, chosen: np.ndarray) -> np.ndarray:
    """(3, matches): how much of each was won, drawn and lost; of several measured players each may
    end in another way."""
    won, drawn = result.outcomes.won[chosen], result.outcomes.draws[chosen].astype(float)
    return np.stack((won, drawn, 1.0 - won - drawn))


def _ended_counts(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    """What there is to count."""
    deals = result.outcomes.column("deal")[chosen]
    won, others = (result.outcomes.column(name)[chosen] for name in ("winners", "others_won"))
    ends = _ends(result, chosen).sum(1).round(9).tolist()  # thirds of a win add up
    counts = (*map(whole, ends), int(((won > 0) & (others > 0)).sum()))
    row = {"deals": len(np.unique(deals)), "matches": len(deals)}
    return {**row, **dict(zip(COUNTS, counts, strict=True)), **_lead(result, chosen)}


def _lead(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    """On how many deals the measured side won more often than the other one, and less often; none
    where the sides are not of one size."""
    if not result.about.even:
        return dict.fromkeys(LEAD, np.nan)
    won, others = (result.outcomes.column(name)[chosen] for name in ("winners", "others_won"))
    places = np.unique(result.outcomes.column("deal")[chosen], return_inverse=True)[1]
    lead = np.bincount(places, np.sign(won.astype(int) - others.astype(int)))
    return dict(zip(LEAD, (int((lead > 0).sum()), int((lead < 0).sum())), strict=True))


# --- by seat and by seed

COUNTED = {
    "deals": "their deals",
    "matches": "how many",
    "mean": "mean of the measure, raw",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "measure": "what the cell is judged by",
}
SEATS = {
    "cell": "the cell's name",
    "seat": "the matches in which the measured player sat here; of several players joined by +",
    **COUNTED,
}
SEEDS = {"cell": "the cell's name", "seed": "the matches of this seed", **COUNTED}


def _apart(part: str) -> View:
    return View(
        f"By {part}",
        (
            Column("cell", cell_name),
            Column(part, text(part)),
            Column("matches", count("matches")),
            Column("mean", mean("mean")),
            Column("95% interval", span("low", "high")),
        ),
        "95% intervals over the deals, of fewer matches than the cell's own.",
    )


@table("seats", SEATS, [_apart("seat")], metrics=("mean",), key="seat", place=34)
def seats(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each rotated cell and seat of the measured player (or players)."""
    for result in results.cells:
        if rotated(result):
            yield from _by_seat(result)


def rotated(result: CellResults) -> bool:
    """Whether the measured players sat in more than one place."""
    return len(set(result.about.seats)) > 1 and len(result.outcomes) > 0


@table("seeds", SEEDS, [_apart("seed")], metrics=("mean",), key="seed", place=35)
def seeds(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell and seed, where a folder has several."""
    seed = Folder(results.folder).seed
    if isinstance(seed, tuple):
        for result in results.cells:
            yield from _by_seed(result, seed)


def scores(result: CellResults) -> np.ndarray:
    """The expected score of each match: 1 a win, 1/2 a draw, 0 a loss; of several measured players
    the share that won."""
    mean: np.ndarray = result.outcomes.won + result.outcomes.draws / 2
    return mean


def _by_seat(result: CellResults) -> Iterator[dict[str, Any]]:
    about = result.about
    places = result.outcomes.column("rotation") // about.step
    for seats in sorted(set(about.seats)):
        own = [place for place, sat in enumerate(about.seats) if sat == seats]
        yield {"seat": "+".join(map(str, seats)), **_counted(result, np.isin(places, own))}


def _by_seed(result: CellResults, seed: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    deals = result.outcomes.column("deal")
    of = np.array([seeded(seed, int(deal))[0] for deal in deals], int)
    for one in dict.fromkeys(seed):
        yield {"seed": one, **_counted(result, of == one)}


def _counted(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    deals = result.outcomes.column("deal")[chosen]
    figures = result.outcomes.column("figure")[chosen]
    mean, low, high = interval(figures, deals, result.about.measure)
    counted = {"deals": len(np.unique(deals)), "matches": len(deals)}
    limits = {"mean": mean, "low": low, "high": high}
    return {"cell": result.about.name, **counted, **limits, "measure": result.about.measure.name}
