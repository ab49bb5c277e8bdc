"""What observers came to: cells of games in which somebody guesses how others play (`games.watch`).

watched.csv   a row a cell
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.numbers import number, percent
from gauntlet.pipeline.tables.table import Sheet
from gauntlet.stats.proportions import clopper_pearson

FILE = "watched.csv"
SIR = "sir"
EACH = "sir_"
MEANS = ("null_rate", "same_outcome", "ce", "brier", "ev_loss", "union", "late", "spikes")
MEDIANS = ("understood", "lag", "alike")
"""Of matches; counts of guesses have a tail of those in which something never happened."""

BLIND = "who plays cannot be told by outcomes: {alike:.0f} answers lose nothing (watched.csv)"

COLUMNS = [
    *("cell", "matches", "guesses", SIR, "exact_low", "exact_high", "between", "each"),
    *(*MEANS, *MEDIANS, "blind"),
]
"""watched.csv. exact_low, exact_high: Clopper and Pearson's 95% interval of the share of guesses
that name all players rightly, as if guesses were independent, which those of a match are not: the
interval of summary.csv is by deals. Empty where matches have different numbers of guesses.
between: the standard deviation over matches. each: the share
of each player. The others: means, of MEDIANS medians, of the measures of those names
(`games.watch.guesses.measures_of`), empty where the watched game knows no losses. blind: the share
of matches whose truth no loss tells from any other policy of one of the players."""


def watched_table(folder: Folder, results: Sequence[CellResults]) -> pd.DataFrame:
    """watched.csv, of the gap-free deals; without a row where no cell watches."""
    rows = [row for result in results if (row := _row(result, _matches(folder, result)))]
    return pd.DataFrame(rows, columns=COLUMNS)


def _matches(folder: Folder, result: CellResults) -> Iterator[MatchRecord]:
    """The matches of a cell that watches."""
    kept = set(result.outcomes.column("match").tolist())
    for record in folder.matches(result.about.stem):
        if SIR not in record.measures:
            return
        if record.match.encode() in kept:
            kept.remove(record.match.encode())
            yield record


def _row(result: CellResults, matches: Iterator[MatchRecord]) -> dict[str, Any] | None:
    told = [
        {"guesses": one.plies, **{name: own[0] for name, own in one.measures.items()}}
        for one in matches
    ]
    if not told:
        return None
    every = pd.DataFrame(told)
    guesses = every["guesses"].sum()
    exact = clopper_pearson(np.rint((every[SIR] * every["guesses"]).sum()), guesses)
    known = every["guesses"].nunique() == 1
    each = [percent(float(every[name].mean()), 0) for name in every if str(name).startswith(EACH)]
    return {
        "cell": result.about.name,
        "matches": len(every),
        "guesses": int(guesses),
        SIR: every[SIR].mean(),
        "exact_low": float(exact.low) if known else np.nan,
        "exact_high": float(exact.high) if known else np.nan,
        "between": every[SIR].std(ddof=1) if len(every) > 1 else np.nan,
        "each": " ".join(each),
        **{name: every[name].mean() for name in MEANS if name in every},
        **{name: every[name].median() for name in MEDIANS if name in every},
        "blind": every["blind"].mean() if "blind" in every else np.nan,
    }


def sheet(found: pd.DataFrame, names: Mapping[str, str]) -> Sheet:
    """The table as a person reads it. names: by the cell's."""
    rows = [
        (
            names[row["cell"]],
            percent(row[SIR]),
            _span(row["exact_low"], row["exact_high"]),
            number(100 * row["between"], ".1f"),
            row["each"],
            percent(row["same_outcome"], 0),
            percent(row["null_rate"]),
            number(row["union"], ".4f"),
            number(row["understood"], ".0f"),
            f"{number(row['alike'], '.0f')}{'*' if row['blind'] > 0 else ''}",
        )
        for _, row in found.iterrows()
    ]
    foot = (
        "SIR: the share of guesses that name all players rightly; exact: Clopper and Pearson's "
        "interval,\nas if guesses were independent; sd: between matches, in points. each: of each "
        "player. class: the\nshare that name what no loss tells from the truth. Union: mean loss; "
        "from: the guess from which it\nis next to none, a median. alike: so many answers lose as "
        "little as the right one."
    )
    if (found["blind"] > 0).any():
        foot += (
            "\n* cannot be told apart by outcomes: whatever one of the players is taken for, no "
            "loss shows it."
        )
    headings = (*("cell", "SIR", "exact", "sd", "each", "class", "null", "Union", "from", "alike"),)
    return Sheet("Who was named by those who watched", headings, rows, foot, FILE)


def warned(summary: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """The summary with a warning of cells whose truth no loss shows."""
    alike = found[found["blind"] > 0].set_index("cell")["alike"]
    lines = [
        "; ".join(filter(None, (told, BLIND.format(alike=alike[cell]) if cell in alike else "")))
        for cell, told in zip(summary["cell"], summary["warning"], strict=True)
    ]
    return summary.assign(warning=lines)


def _span(low: float, high: float) -> str:
    return "-" if np.isnan(low) else f"{100 * low:.1f}-{100 * high:.1f}%"
