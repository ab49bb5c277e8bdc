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
from scipy.special import stdtrit

from pipeline.log.results import CellResults
from pipeline.tables.best import family, unbeaten
from pipeline.tables.conditions import ALPHA, Conditions, group_of
from pipeline.tables.numbers import p_value, percent
from pipeline.tables.scale import Scale
from pipeline.tables.stops import no_better
from pipeline.tables.table import ROWS, clearest, left_out
from stats.means import LEAST
from stats.power import detectable_mean, detectable_one_proportion, detectable_paired

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
        rows = _rows(summary, cells)
        found += [
            Answer("Do scale and prompting matter?" + where, matter[group].sentences()),
            Answer("What could this not have shown?" + where, tuple(_limits(rows, pairs))),
        ]
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
            f"sign of skill: {told}, p {p_value(row['p_test_holm'])} against both; {seen})"
        )
    return f" {said}: {told}, p {p_value(row['p_test_holm'])}; {seen})"


def _name(row: pd.Series[Any]) -> str:
    asked = [str(row[part]) for part in ("model", "prompt") if row[part] != "-"]
    return " ".join(asked) or str(row["agent"])


def _limits(rows: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[str]:
    """The smallest effects that had a fair chance to be found."""
    deals, tests = int(rows["deals"].min()), len(rows)
    for baseline in sorted(set(rows["baseline"].dropna())):
        least = detectable_one_proportion(deals, baseline, POWER, ALPHA, tests)
        yield (
            f"With {deals:,} deals and Holm over {tests} cell(s), an advantage over "
            f"{percent(baseline)} of less than {_size(least)} points would have been missed more "
            "often than one time in five."
        )
    known = rows[rows["baseline_mean"].notna() & rows["mean_low"].notna()]
    if not known.empty and not Scale.row(known.iloc[0]).wins:
        yield _least_mean(known, tests)
    own = set(rows["cell"])
    within = pairs[pairs["cell_a"].isin(own) & pairs["cell_b"].isin(own)]
    within = within[within["p_mcnemar"].notna() & (within["a_only"] + within["b_only"] > 0)]
    if not within.empty:
        discordant = float(((within["a_only"] + within["b_only"]) / within["deals"]).max())
        least = detectable_paired(int(within["deals"].min()), discordant, POWER, ALPHA, len(within))
        yield (
            "Between two cells on the same deals, of which up to "
            f"{percent(discordant, 0)} were won by one alone, a difference of less than "
            f"{_size(least)} points would have been missed as often."
        )


def _least_mean(rows: pd.DataFrame, tests: int) -> str:
    """Of a measure other than wins, by the widest interval that was seen."""
    scale, deals = Scale.row(rows.iloc[0]), int(rows["deals"].min())
    reach = float((rows["mean_high"] - rows["mean_low"]).max()) / 2
    least = detectable_mean(reach / float(stdtrit(deals - 1, 0.975)), POWER, ALPHA, tests)
    told = f"{scale.change(least).lstrip('+')}{' points' * scale.share}"
    return (
        f"With {deals:,} deals that spread as these did and Holm over {tests} cell(s), a mean "
        f"{scale.words} of less than {told} over the baseline would have been missed more often "
        "than one time in five."
    )


def _size(difference: float) -> str:
    return "any number of" if np.isnan(difference) else f"{100 * difference:.1f}"
