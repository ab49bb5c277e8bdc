"""How matches ended: won, drawn or lost, whoever moved first; and tests that ask no range.

outcomes.csv   a row for each cell, and where both sides opened some of its matches one for each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from games.capabilities import MATCH_SCORE, WIN
from pipeline.log.results import About, CellResults
from pipeline.tables.apart import SCORE, interval, scores
from pipeline.tables.numbers import number, p_value, percent, whole
from pipeline.tables.scale import Scale
from pipeline.tables.table import Sheet
from stats.means import limits
from stats.paired import permutation
from stats.proportions import sign_test

ENDS = ("win", "draw", "loss")
ALL, FIRST, SECOND = "all", "first", "second"
"""Of which matches a row is: all, those that the measured side opened, those that it did not."""

COUNTS = ("wins", "draws", "losses", "shared_wins")
SIGN = ("ahead", "behind", "p_sign")
OUTCOME_COLUMNS = [
    *("cell", "moved", "deals", "matches", *COUNTS),
    *(f"{end}{limit}" for end in ENDS for limit in ("", "_low", "_high")),
    *(*SCORE, *SIGN),
]

PERMUTED = ("held_against", "p_permutation", "permutation_error")
TEST_COLUMNS = ("losses", "shared_wins", "p_sign", *PERMUTED)
"""What summary.csv has of it, at its end."""

PERMUTATION_SEED = 0


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
    won, drawn = result.outcomes.won[chosen], result.outcomes.drawn[chosen].astype(float)
    return np.stack((won, drawn, 1.0 - won - drawn))


def _counted(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    """What there is to count, and the sign test."""
    deals = result.outcomes.column("deal")[chosen]
    won, others = (result.outcomes.column(name)[chosen] for name in ("winners", "others_won"))
    ends = _ends(result, chosen).sum(1).round(9).tolist()  # thirds of a win add up
    counts = (*map(whole, ends), int(((won > 0) & (others > 0)).sum()))
    row = {"deals": len(np.unique(deals)), "matches": len(deals)}
    return {**row, **dict(zip(COUNTS, counts, strict=True)), **_signs(result, chosen)}


def _signs(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    """On how many deals the measured side won more often than the other one, or less often, and the
    two-sided sign test; none where the sides are not of one size."""
    if not result.about.even:
        return dict.fromkeys(SIGN, np.nan)
    won, others = (result.outcomes.column(name)[chosen] for name in ("winners", "others_won"))
    places = np.unique(result.outcomes.column("deal")[chosen], return_inverse=True)[1]
    lead = np.bincount(places, np.sign(won.astype(int) - others.astype(int)))
    ahead, behind = int((lead > 0).sum()), int((lead < 0).sum())
    p = float(sign_test(ahead, behind)) if len(lead) else np.nan
    return dict(zip(SIGN, (ahead, behind, p), strict=True))


def tested(result: CellResults) -> dict[str, Any]:
    """TEST_COLUMNS; the permutation test is of a measure other than wins, which have exact ones."""
    row = _counted(result, np.ones(len(result.outcomes), bool))
    found = {name: row[name] for name in TEST_COLUMNS if name in row}
    return found | dict(zip(PERMUTED, _permuted(result), strict=True))


def _permuted(result: CellResults) -> tuple[float, float, float]:
    about, values = result.about, result.by_deal()[1]
    span, base = (about.measure.low, about.measure.high), about.baseline
    against = base.rate - about.test.margin * about.span if base else _nothing_won(about)
    if about.wins or np.isnan(against) or not len(values):
        return np.nan if about.wins else against, np.nan, np.nan
    around, error = (span[0] - against, span[1] - against), base.error if base else 0.0
    side = about.test.side
    return against, *permutation(values - against, around, PERMUTATION_SEED, side, error)


def _nothing_won(about: About) -> float:
    """What two sides have in the mean of which neither is better: half of a match score, 0 of what
    lies evenly around it, as chips do; nan of all else."""
    if about.measure == MATCH_SCORE and about.even:
        return 0.5
    return 0.0 if about.measure.low == -about.measure.high else np.nan


def sheets(table: pd.DataFrame, summary: pd.DataFrame, names: dict[str, str]) -> Iterator[Sheet]:
    """How matches ended, where some are drawn or shared or the score was asked for; and what means
    other than of wins are tested against. names: by the cell's."""
    asked = MATCH_SCORE.name in set(summary["measure"])
    if asked or (table[["draws", "shared_wins"]] > 0).to_numpy().any():
        wins = WIN.name in set(summary["measure"])
        yield _ends_sheet(table[table["matches"] > 0], names, wins)
    tested = summary[summary["p_permutation"].notna()]
    if not tested.empty:
        yield _mean_sheet(tested, names)


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
            p_value(row["p_sign"]),
        )
        for _, row in table.iterrows()
    ]
    foot = (
        "moved: all matches, or those that the measured side opened (first), or did not (second). "
        "score:\na win 1, a draw 1/2. p sign: are deals ahead as frequent as deals behind? Exact, "
        "without draws,\ntwo-sided, each row by itself."
        f"{' A win rate counts a draw as no win.' * wins}"
    )
    headings = (
        *("cell", "moved", "matches", "win", "95%", "draw", "loss", "score", "95%", "p sign"),
    )
    return Sheet("Wins, draws and losses", headings, rows, foot, "outcomes.csv")


def _mean_sheet(summary: pd.DataFrame, names: dict[str, str]) -> Sheet:
    rows = []
    for _, row in summary.iterrows():
        scale = Scale.row(row)
        rows.append(
            (
                names[row["cell"]],
                f"{row['deals']:,}",
                scale.mean(row["mean"], named=True),
                scale.span(row["mean_low"], row["mean_high"]),
                scale.mean(row["held_against"]),
                p_value(row["p_permutation"]),
                number(row["permutation_error"], ".4f"),
            )
        )
    foot = (
        "p: do the deals' results lie evenly around what their mean is held against (the baseline, "
        "or 0)?\nBy flips of their signs, or the interval's own p where that is larger; +-: how "
        "well the flips\nare sampled. Without an interval it is exact of two equal players over "
        "both seats alone."
    )
    headings = ("cell", "deals", "mean", "95% interval", "held against", "p", "+-")
    return Sheet("Permutation tests of means", headings, rows, foot, "summary.csv")


def span(row: pd.Series[Any], name: str) -> str:
    """A share's 95% interval in little room."""
    return Scale.of(WIN).span(row[f"{name}_low"], row[f"{name}_high"])
