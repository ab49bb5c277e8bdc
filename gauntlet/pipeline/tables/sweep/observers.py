"""How well observers guessed: cells of games in which an observer guesses how others play
(`games.watch`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import number, percent
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, Row, View
from gauntlet.pipeline.tables.registry import Results, columns, table
from gauntlet.stats.proportions import clopper_pearson

SIR = "sir"
EACH = "sir_"
MEANS = ("null_rate", "same_outcome", "ce", "brier", "ev_loss", "union", "late", "spikes")
MEDIANS = ("understood", "lag", "alike")
"""Counts of guesses are skewed by matches in which something never happened."""
INDISTINGUISHABLE = (
    "who plays cannot be told by outcomes: {alike:.0f} answers lose nothing (watched.csv)"
)
COLUMNS = {
    **columns("cell"),
    "matches": "matches watched",
    "guesses": "guesses in all of them",
    SIR: "share of guesses that name all players correctly",
    "exact_low": "lower end of Clopper and Pearson's 95% interval, as if guesses were independent, "
    "which those of a match are not; empty where matches have different numbers of guesses",
    "exact_high": "upper end of it",
    "between": "standard deviation of that share over matches",
    "each": "the share for each player",
    **{name: f"mean over matches of `{name}` (`games.watch.guesses`)" for name in MEANS},
    **{name: f"median over matches of `{name}` (`games.watch.guesses`)" for name in MEDIANS},
    "blind": "share of matches whose truth no loss tells from another policy of some player",
}
FOOT = (
    "SIR: the share of guesses that name all players rightly; exact: Clopper and Pearson's "
    "interval, as if guesses were independent; sd: between matches, in points. each: of each "
    "player. class: the share that name what no loss tells from the truth. Union: mean loss; "
    "from: the guess from which it is next to none, a median. alike: so many answers lose as "
    "little as the right one."
)
BLIND = (
    "\n* cannot be told apart by outcomes: whatever one of the players is taken for, no "
    "loss shows it."
)


def _tied_guesses(row: Row) -> str:
    return f"{number(row['alike'], '.0f')}{'*' if row['blind'] > 0 else ''}"


VIEW = View(
    "Who was named by those who watched",
    (
        Column("cell", sheets.cell_name),
        Column("SIR", sheets.share(SIR)),
        Column("exact", sheets.share_span("exact_low", "exact_high")),
        Column("sd", lambda row: number(100 * row["between"], ".1f")),
        Column("each", sheets.text("each")),
        Column("class", sheets.share("same_outcome", digits=0)),
        Column("null", sheets.share("null_rate")),
        Column("Union", sheets.decimal("union", ".4f")),
        Column("from", sheets.decimal("understood", ".0f")),
        Column("alike", _tied_guesses),
    ),
    lambda part: f"{FOOT}{BLIND}" if (part.rows["blind"] > 0).any() else FOOT,
)


@table("watched", COLUMNS, [VIEW], place=24)
def watched(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell with an observer, on its gap-free deals."""
    log = Folder(results.folder)
    for result in results.cells:
        counted, matches = set(result.outcomes.column("match").tolist()), {}
        for record in log.matches(result.about.stem):
            if SIR not in record.measures:
                break
            if record.match.encode() in counted:
                values = {name: values[0] for name, values in record.measures.items()}
                matches[record.deal, record.rotation] = {"guesses": record.plies, **values}
        if matches:  # sums must not depend on the order in which matches ended
            yield _row(result, pd.DataFrame([matches[place] for place in sorted(matches)]))


def indistinguishable(results: Results) -> dict[str, str]:
    """A warning for each cell whose truth no loss shows."""
    rows = results["watched"]
    alike = rows[rows["blind"] > 0].set_index("cell")["alike"]
    return {str(name): INDISTINGUISHABLE.format(alike=count) for name, count in alike.items()}


def _row(result: CellResults, matches: pd.DataFrame) -> dict[str, Any]:
    guesses = matches["guesses"].sum()
    exact = clopper_pearson(np.rint((matches[SIR] * matches["guesses"]).sum()), guesses)
    equal_lengths = matches["guesses"].nunique() == 1
    players = [name for name in matches if str(name).startswith(EACH)]
    return {
        "cell": result.about.name,
        "matches": len(matches),
        "guesses": int(guesses),
        SIR: matches[SIR].mean(),
        "exact_low": float(exact.low) if equal_lengths else np.nan,
        "exact_high": float(exact.high) if equal_lengths else np.nan,
        "between": matches[SIR].std(ddof=1) if len(matches) > 1 else np.nan,
        "each": " ".join(percent(float(matches[name].mean()), 0) for name in players),
        **{name: matches[name].mean() for name in MEANS if name in matches},
        **{name: matches[name].median() for name in MEDIANS if name in matches},
        "blind": matches["blind"].mean() if "blind" in matches else np.nan,
    }
