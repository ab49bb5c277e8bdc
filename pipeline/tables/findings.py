"""What a sweep says to the questions that it was run for, in sentences made from its numbers.

Does a model beat the scripted player in its seat, or help its partner more than that player
would? Do scale and prompting matter? And what could these games not have shown at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from gauntlet.pipeline.config.read import Declared
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.claims import ALPHA
from gauntlet.pipeline.tables.conditions import Conditions, claimed, family, family_size, group_of
from gauntlet.pipeline.tables.numbers import p_value
from gauntlet.pipeline.tables.primary_test import best_of_pair, unbeaten
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.stops import no_better
from gauntlet.pipeline.tables.table import ROWS, clearest, left_out
from gauntlet.stats.checks import Side
from gauntlet.stats.means import LEAST
from gauntlet.stats.power import detectable_mean

POWER = 0.8


@dataclass(frozen=True)
class Answer:
    """A question and what the numbers say to it."""

    question: str
    sentences: tuple[str, ...]


def answers(
    results: Sequence[CellResults],
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    conditions: Sequence[Conditions],
    verdicts: Mapping[str, str] = MappingProxyType({}),
) -> list[Answer]:
    """The answers for each experiment and seating, whose cells can be compared with each other.

    conditions: what the regressions found, not yet corrected. verdicts: what the rule that
    stopped the sweep says of the cells, by name; empty where all deals were planned.
    """
    _, settled = family(summary, conditions)
    found, matter = [], {found.group: found for found in settled}
    several = len({group_of(result) for result in results}) > 1
    for group in dict.fromkeys(map(group_of, results)):
        planned = [result for result in results if group_of(result) == group]
        where = f" ({', '.join(group)})" if several else ""
        helping = planned[0].about.helping
        aim = "Do they help the partner?" if helping else "Do they beat the baseline?"
        found.append(
            Answer(aim + where, tuple(_effects(_rows(summary, planned), helping, verdicts)))
        )
        cells = [result for result in planned if result.outcomes]
        if not cells:
            continue
        rows, tests = _rows(summary, cells), family_size(summary, settled, group[0])
        found.append(Answer("Do scale and prompting matter?" + where, matter[group].sentences()))
        if least := tuple(_limits(rows, pairs, tests, len(claimed(settled)))):
            found.append(Answer("What could this not have shown?" + where, least))
    return found


def _rows(summary: pd.DataFrame, cells: Sequence[CellResults]) -> pd.DataFrame:
    return summary[summary["cell"].isin([cell.about.name for cell in cells])]


def _effects(rows: pd.DataFrame, helping: bool, verdicts: Mapping[str, str]) -> Iterator[str]:
    """A sentence on how many cells do, then one a cell; of many the clearest."""
    known = rows[(rows["matches"] > 0) & rows["baseline_mean"].notna()]
    if not known.empty and not verdicts:
        better = sum(_outcome(row) == BETTER for _, row in known.iterrows())
        what = _aim(known.iloc[0], helping) + ALSO * bool(known["p_control"].notna().any())
        yield f"{better} of {len(known)} cells {what}, after Holm's correction."
    if len(rows) > ROWS:
        yield left_out(ROWS, len(rows), "summary.csv", "clearest")
        rows = clearest(rows, ROWS)
    for _, row in rows.iterrows():
        yield of_cell(row, helping, verdicts.get(row["cell"], ""))


def of_cell(row: pd.Series[Any], helping: bool, verdict: str = "") -> str:
    """One cell's result in a sentence. verdict: what a rule that stopped it says."""
    return f"{_name(row)}{_effect(row, helping, verdict)}."


def _aim(row: pd.Series[Any], helping: bool) -> str:
    scale = Scale.row(row)
    if row["test"] == "non_inferior":
        return "are not inferior to their baseline"
    more = "win more" if scale.wins else f"have a higher {scale.words}"
    return f"raise the partner's {scale.words}" if helping else f"{more} than their baseline"


ALSO = " and do better than always one option"
BETTER, WORSE, OPEN = "better", "worse", "open"


def _outcome(row: pd.Series[Any]) -> str:
    """What the declared test shows, within its family."""
    if not row["p_test_holm"] < ALPHA:
        return OPEN
    return WORSE if row["change"] < 0 and row["test"] == "two_sided" else BETTER


SAID = {
    BETTER: ("beats the baseline", "helps"),
    WORSE: ("does worse than the baseline", "harms the partner"),
    OPEN: ("is not shown to beat the baseline", "is not shown to help"),
}
NOT_INFERIOR = {BETTER: "is not inferior to the baseline", OPEN: "is not shown to keep up"}


def _effect(row: pd.Series[Any], helping: bool, verdict: str) -> str:
    if not row["matches"]:
        return ": no deal is finished yet"
    scale = Scale.row(row)
    whose = "the partner wins " if helping else ""
    if not scale.wins:
        whose = f"the partner's {scale.words} is " if helping else f"{scale.words} "
    interval = f"95% interval {scale.mean(row['mean_low'])} to {scale.mean(row['mean_high'])}"
    if np.isnan(row["mean_low"]):
        interval = f"no interval, as a measure without a range takes {LEAST} deals for one"
    seen, mean = f"{row['matches']:,} matches, {interval}", scale.mean(row["mean"])
    if np.isnan(row["baseline_mean"]):
        won = f"{whose or 'wins '}{mean} {'of' if scale.wins else 'over'} {seen}"
        return f": {won}; there is no baseline to compare with"
    outcome = _outcome(row)
    said = NOT_INFERIOR[outcome] if row["test"] == "non_inferior" else SAID[outcome][helping]
    if not np.isnan(row["adjusted"]):
        mean = f"luck-adjusted {scale.mean(row['adjusted'])}"
        seen = f"raw {scale.mean(row['mean'])} of {seen}"
    unit = " points" * scale.share
    reach = scale.reach(row["change_low"], row["change_high"])
    change = f"{scale.change(row['change'])}{unit}, 95% interval {reach}"
    told = f"{whose}{mean} instead of {scale.mean(row['baseline_mean'])} ({change}"
    if verdict:
        known = f"{verdict}{no_better(row)}"
        return f": {known}. {told}; {seen}; not corrected for where it stopped)"
    if (beside := unbeaten(row)) and row["p_test"] < ALPHA:
        shown = "help" if helping else "do"
        return (
            f" is not shown to {shown} better than {beside}, which reads nothing, so this is no "
            f"sign of skill: {told}, p Holm {p_value(row['p_test_holm'])}; {seen})"
        )
    return f" {said}: {told}, p Holm {p_value(row['p_test_holm'])}; {seen})"


def _name(row: pd.Series[Any]) -> str:
    asked = [str(row[part]) for part in ("model", "prompt") if row[part] != "-"]
    return " ".join(asked) or str(row["agent"])


def _limits(rows: pd.DataFrame, pairs: pd.DataFrame, tests: int, terms: int) -> Iterator[str]:
    """The smallest effects that had a fair chance to be found, by the spread of the estimates that
    were tested. tests: over how many Holm's correction of the cells is, and of the pairs that are
    terms, `terms` of them."""
    known = rows[rows["p_test"].notna() & rows["change_low"].notna()]
    if not known.empty:
        widest = known.iloc[int((known["change_high"] - known["change_low"]).argmax())]
        deals, test = int(known["deals"].min()), widest["test"]
        low, high, side = widest["change_low"], widest["change_high"], Declared(test).side
        least = _least(widest, low, high, tests, side)
        yield (
            f"With {deals:,} deals that spread as these did and Holm over {tests} test(s), "
            f"{FROM[test]} of less than {least} would have been missed more often than one time in "
            "five."
        )
    own = set(rows["cell"])
    within = pairs[pairs["cell_a"].isin(own) & pairs["cell_b"].isin(own) & pairs["p_test"].notna()]
    reaches = [best_of_pair(row)[1:] for row in within.to_dict("records")]
    reaches = [reach for reach in reaches if not np.isnan(reach[0])]
    if reaches:
        low, high = max(reaches, key=lambda reach: reach[1] - reach[0])
        tests = max(int(pairs["p_test"].notna().sum()) - terms, tests if terms else 0)
        yield (
            "Between two cells on the same deals a difference of less than "
            f"{_least(within.iloc[0], low, high, tests, 'either')} would have been missed as often "
            f"(Holm over {tests} test(s))."
        )


FROM = {
    "two_sided": "a difference from the baseline",
    "above": "an advantage over the baseline",
    "non_inferior": "an advantage over the baseline less the margin",
}


def _least(row: pd.Series[Any], low: float, high: float, tests: int, side: Side) -> str:
    """What a test of an estimate with this 95% interval shows with POWER, in words."""
    scale, error = Scale.row(row), (high - low) / 2 / float(ndtri(0.975))
    least = detectable_mean(error, POWER, ALPHA, tests, side)
    if least > row["measure_high"] - row["measure_low"]:
        return "any number of points" if scale.share else "any size"
    return f"{scale.change(least).lstrip('+')}{' points' * scale.share}"
