"""How matches ended: won, drawn or lost, whoever moved first.

outcomes.csv   a row for each cell, and where both sides opened some of its matches one for each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import MATCH_SCORE, WIN
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.breakdowns import SCORE, interval, scores
from gauntlet.pipeline.tables.numbers import number, percent, whole
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet
from gauntlet.stats.means import limits

ENDS = ("win", "draw", "loss")
ALL, FIRST, SECOND = "all", "first", "second"
"""Of which matches a row is: all, those that the measured side opened, those that it did not."""

COUNTS = ("wins", "draws", "losses", "shared_wins")
LEAD = ("ahead", "behind")
OUTCOME_COLUMNS = [
    *("cell", "moved", "deals", "matches", *COUNTS),
    *(f"{end}{limit}" for end in ENDS for limit in ("", "_low", "_high")),
    *(*SCORE, *LEAD),
]

COUNTED = ("losses", "shared_wins")
"""What summary.csv has of it, at its end."""


def outcomes_table(results: Sequence[CellResults]) -> pd.DataFrame:
    """outcomes.csv. All 95% intervals are by deals, as summary.csv has them."""
    rows = [row for result in results for row in _rows(result)]
    table = pd.DataFrame(rows, columns=OUTCOME_COLUMNS)
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
        row = {"cell": result.about.name, "moved": moved, **_counted(result, chosen)}
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


def _counted(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
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


def counted(result: CellResults) -> dict[str, Any]:
    """COUNTED."""
    row = _counted(result, np.ones(len(result.outcomes), bool))
    return {name: row[name] for name in COUNTED}


def sheets(table: pd.DataFrame, summary: pd.DataFrame, names: dict[str, str]) -> Iterator[Sheet]:
    """How matches ended, where some are drawn or shared or the score was asked for. names: by the
    cell's."""
    asked = MATCH_SCORE.name in set(summary["measure"])
    if asked or (table[["draws", "shared_wins"]] > 0).to_numpy().any():
        wins = WIN.name in set(summary["measure"])
        yield _ends_sheet(table[table["matches"] > 0], names, wins)


def _ends_sheet(table: pd.DataFrame, names: dict[str, str], wins: bool) -> Sheet:
    """wins: whether cells are judged by their win rates."""
    rows = [
        (
            names[row["cell"]],
            row["moved"],
            f"{row['matches']:,}",
            percent(row["win"]),
            span(row, "win"),
            percent(row["draw"]),
            percent(row["loss"]),
            percent(row["score"]),
            span(row, "score"),
            *(number(row[name], ".0f") for name in LEAD),
        )
        for _, row in table.iterrows()
    ]
    foot = (
        "moved: all matches, or those that the measured side opened (first), or did not (second). "
        "score:\na win 1, a draw 1/2. ahead, behind: deals on which that side won more, or less "
        "often, than the\nother."
        f"{' A win rate counts a draw as no win.' * wins}"
    )
    headings = (*("cell", "moved", "matches", "win", "95%", "draw", "loss", "score", "95%", *LEAD),)
    return Sheet("Wins, draws and losses", headings, rows, foot, "outcomes.csv")


def span(row: pd.Series[Any], name: str) -> str:
    """A share's 95% interval in little room."""
    return Scale.of(WIN).span(row[f"{name}_low"], row[f"{name}_high"])
