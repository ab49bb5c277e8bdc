"""How matches ended, and results by seat and by seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import MATCH_SCORE, WIN
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.cells import seed_of_deal
from gauntlet.pipeline.tables.formatting import as_integer
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, View
from gauntlet.pipeline.tables.registry import Part, Results, Sheet, columns, table
from gauntlet.pipeline.tables.sweep.primary_test import interval
from gauntlet.stats.means import limits

ENDS = ("win", "draw", "loss")
ALL, FIRST, SECOND = "all", "first", "second"
"""The matches of a row: all, those that the measured side opened, the others."""
COUNTS = ("wins", "draws", "losses", "shared_wins")
LEAD = ("ahead", "behind")
OUTCOMES = {
    **columns("cell"),
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
    **columns("score_low", "score_high"),
    "ahead": "deals on which the measured side won more matches than the other",
    "behind": "deals on which it won fewer; both of two sides of one size",
}


def _foot(part: Part) -> str:
    text = (
        "moved: all matches, or those that the measured side opened (first), or did not (second). "
        "score: a win 1, a draw 1/2. ahead, behind: deals on which that side won more, or less "
        "often, than the other."
    )
    wins = WIN.name in set(part.results["summary"]["measure"])
    return f"{text} A win rate counts a draw as no win." if wins else text


VIEW = View(
    "Wins, draws and losses",
    (
        Column("cell", sheets.cell_name),
        Column("moved", sheets.text("moved")),
        Column("matches", sheets.count("matches")),
        Column("win", sheets.share("win")),
        Column("95%", sheets.share_span("win_low", "win_high")),
        Column("draw", sheets.share("draw")),
        Column("loss", sheets.share("loss")),
        Column("score", sheets.share("score")),
        Column("95%", sheets.share_span("score_low", "score_high")),
        Column("ahead", sheets.decimal("ahead", ".0f")),
        Column("behind", sheets.decimal("behind", ".0f")),
    ),
    _foot,
    lambda rows: rows[rows["matches"] > 0],
)


def _sheets(part: Part) -> Iterator[Sheet]:
    """Shown if matches are drawn or shared, or the measure is the match score."""
    rows, measures = part.rows, set(part.results["summary"]["measure"])
    if MATCH_SCORE.name in measures or (rows[["draws", "shared_wins"]] > 0).to_numpy().any():
        yield from VIEW(part)


@table(
    "outcomes",
    OUTCOMES,
    [_sheets],
    metrics=("wins", "draws", "losses", "shared_wins", "score", "score_low", "score_high"),
    key="moved",
    place=31,
)
def outcomes(results: Results) -> pd.DataFrame:
    """A row for each cell, and one for each side that opened, if both did."""
    rows = [row for result in results.cells for row in _rows(result)]
    frame = pd.DataFrame(rows, columns=[*OUTCOMES])
    single = frame["win_low"].isna()
    counts = frame.loc[single, ["losses", "draws", "wins"]].to_numpy(float)
    values = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.5, 1.0))
    for end, worth in zip((*ENDS, "score"), values, strict=True):
        low, high = limits(worth, (0.0, 1.0), counts=counts)
        frame.loc[single, f"{end}_low"], frame.loc[single, f"{end}_high"] = low, high
    return frame


def _rows(result: CellResults) -> Iterator[dict[str, Any]]:
    """The rows of one cell; if a match is a deal, without intervals, which `outcomes` adds."""
    deals, opened = (result.outcomes.column(name) for name in ("deal", "opened"))
    parts = {ALL: np.ones(len(opened), bool)}
    if result.about.in_turn and 0 < opened.sum() < len(opened):
        parts |= {FIRST: opened, SECOND: ~opened}
    for moved, chosen in parts.items():
        row = {"cell": result.about.name, "moved": moved, **_counts(result, chosen)}
        values = [*_ends(result, chosen), scores(result)[chosen]]
        for end, each in zip((*ENDS, "score"), values, strict=True):
            row[end] = each.mean() if len(each) else np.nan
            if result.about.measured > 1 or row["deals"] < len(each):
                _, row[f"{end}_low"], row[f"{end}_high"] = interval(each, deals[chosen], WIN)
        yield row


def _ends(result: CellResults, chosen: np.ndarray) -> np.ndarray:
    """(3, matches): the shares of each that were won, drawn and lost; several measured players may
    end differently."""
    won, drawn = result.outcomes.won[chosen], result.outcomes.draws[chosen].astype(float)
    return np.stack((won, drawn, 1.0 - won - drawn))


def _counts(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    columns = (result.outcomes.column(name)[chosen] for name in ("deal", "winners", "others_won"))
    deals, won, other_wins = columns
    ends = _ends(result, chosen).sum(1).round(9).tolist()  # adds up thirds of a win
    counts = (*map(as_integer, ends), int(((won > 0) & (other_wins > 0)).sum()))
    row: dict[str, Any] = {"deals": len(np.unique(deals)), "matches": len(deals)}
    row |= zip(COUNTS, counts, strict=True)
    if not result.about.even:
        return row | dict.fromkeys(LEAD, np.nan)
    places = np.unique(deals, return_inverse=True)[1]
    lead = np.bincount(places, np.sign(won.astype(int) - other_wins.astype(int)))
    return row | dict(zip(LEAD, (int((lead > 0).sum()), int((lead < 0).sum())), strict=True))


def scores(result: CellResults) -> np.ndarray:
    """Each match's score: 1 a win, 1/2 a draw, 0 a loss; with several measured players the share
    that won."""
    values: np.ndarray = result.outcomes.won + result.outcomes.draws / 2
    return values


# --- by seat and by seed

MEANS = {
    "deals": "their deals",
    "matches": "how many",
    "mean": "mean of the measure, raw",
    **columns("low", "high", "measure"),
}
SEATS = {
    **columns("cell"),
    "seat": "the matches in which the measured player sat here; of several players joined by +",
    **MEANS,
}
SEEDS = {**columns("cell"), "seed": "the matches of this seed", **MEANS}


def _view(part: str) -> View:
    return View(
        f"By {part}",
        (
            Column("cell", sheets.cell_name),
            Column(part, sheets.text(part)),
            Column("matches", sheets.count("matches")),
            Column("mean", sheets.mean("mean")),
            Column("95% interval", sheets.span("low", "high")),
        ),
        "95% intervals over the deals, of fewer matches than the cell's own.",
    )


@table("seats", SEATS, [_view("seat")], metrics=("mean",), key="seat", place=34)
def seats(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each seat of the measured player (or players), in cells where it changes."""
    for result in results.cells:
        about, outcomes = result.about, result.outcomes
        if len(set(about.seats)) > 1 and len(outcomes):
            seatings = outcomes.column("rotation") // about.step
            for seat in sorted(set(about.seats)):
                own = [place for place, seats in enumerate(about.seats) if seats == seat]
                row = _mean_row(result, np.isin(seatings, own))
                yield {**row, "seat": "+".join(map(str, seat))}


@table("seeds", SEEDS, [_view("seed")], metrics=("mean",), key="seed", place=35)
def seeds(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell and seed, if there are several seeds."""
    seed = Folder(results.folder).seed
    if isinstance(seed, tuple):
        for result in results.cells:
            deals = result.outcomes.column("deal")
            seed_by_match = np.array([seed_of_deal(seed, int(deal))[0] for deal in deals], int)
            for value in dict.fromkeys(seed):
                yield {**_mean_row(result, seed_by_match == value), "seed": value}


def _mean_row(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    deals, values = (result.outcomes.column(name)[chosen] for name in ("deal", "figure"))
    mean, low, high = interval(values, deals, result.about.measure)
    row = {"cell": result.about.name, "deals": len(np.unique(deals)), "matches": len(deals)}
    return {**row, "mean": mean, "low": low, "high": high, "measure": result.about.measure.name}
