"""What a sweep says to the questions that it was run for, in sentences made from its numbers.

Does a model beat the scripted player in its seat, or help its partner more than that player
would? Do scale and prompting matter? And what could these games not have shown at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from gauntlet.pipeline.config.read import Declared
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables import noise
from gauntlet.pipeline.tables.claims import ALPHA
from gauntlet.pipeline.tables.conditions import claimed, conditions, family, family_size, group_of
from gauntlet.pipeline.tables.controls import rivals
from gauntlet.pipeline.tables.numbers import amount, p_value
from gauntlet.pipeline.tables.primary_test import Rival, best_of_pair, unbeaten
from gauntlet.pipeline.tables.registry import Part, Results, left_out, table
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.sheets import Column, View, cell_name, count, text
from gauntlet.pipeline.tables.summary import clearest
from gauntlet.stats.checks import Side
from gauntlet.stats.means import LEAST
from gauntlet.stats.power import detectable_mean

POWER = 0.8
MOST = 40
"""Cells that have a sentence of their own."""


@dataclass(frozen=True)
class Answer:
    """A question and what the numbers say to it."""

    question: str
    sentences: tuple[str, ...]


def answers(results: Results) -> list[Answer]:
    """The answers for each experiment and seating, whose cells can be compared with each other."""
    summary, pairs = results["summary"], results["pairs"]
    _, settled = family(summary, results.once(conditions), results.once(rivals))
    found, matter = [], {found.group: found for found in settled}
    several = len({group_of(cell) for cell in results.cells}) > 1
    for group in dict.fromkeys(map(group_of, results.cells)):
        planned = [cell for cell in results.cells if group_of(cell) == group]
        where = f" ({', '.join(group)})" if several else ""
        helping = planned[0].about.helping
        aim = "Do they help the partner?" if helping else "Do they beat the baseline?"
        found.append(
            Answer(aim + where, tuple(_effects(results, _rows(summary, planned), helping)))
        )
        cells = [cell for cell in planned if cell.outcomes]
        if not cells:
            continue
        rows, tests = _rows(summary, cells), family_size(summary, settled, group[0])
        found.append(Answer("Do scale and prompting matter?" + where, matter[group].sentences()))
        if least := tuple(_limits(rows, pairs, tests, len(claimed(settled)))):
            found.append(Answer("What could this not have shown?" + where, least))
    if more := tuple(noise.sentences(results)):
        found.append(Answer("Is it more than noise?", more))
    return found


def _rows(summary: pd.DataFrame, cells: Sequence[CellResults]) -> pd.DataFrame:
    return summary[summary["cell"].isin([cell.about.name for cell in cells])]


def _effects(results: Results, rows: pd.DataFrame, helping: bool) -> Iterator[str]:
    """A sentence on how many cells do, then one a cell; of many the clearest."""
    known = rows[(rows["matches"] > 0) & rows["baseline"].notna()]
    if not known.empty and not results.once(verdicts):
        better = sum(_outcome(row) == BETTER for _, row in known.iterrows())
        also = ALSO * (not results.once(rivals).keys().isdisjoint(known["cell"]))
        what = _aim(known.iloc[0], helping) + also
        yield f"{better} of {len(known)} cells {what}, after Holm's correction."
    if len(rows) > MOST:
        yield left_out(MOST, len(rows), "summary.csv", "clearest")
        rows = clearest(rows).head(MOST)
    for _, row in rows.iterrows():
        yield of_cell(results, row, helping)


def of_cell(results: Results, row: pd.Series[Any], helping: bool) -> str:
    """One cell's result in a sentence."""
    rival = results.once(rivals).get(row["cell"])
    verdict = results.once(verdicts).get(row["cell"], "")
    return f"{_name(row)}{_effect(row, helping, verdict, rival)}."


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
    if not row["p_holm"] < ALPHA:
        return OPEN
    return WORSE if row["difference"] < 0 and row["test"] == "two_sided" else BETTER


SAID = {
    BETTER: ("beats the baseline", "helps"),
    WORSE: ("does worse than the baseline", "harms the partner"),
    OPEN: ("is not shown to beat the baseline", "is not shown to help"),
}
NOT_INFERIOR = {BETTER: "is not inferior to the baseline", OPEN: "is not shown to keep up"}


def _effect(row: pd.Series[Any], helping: bool, verdict: str, rival: Rival | None) -> str:
    if not row["matches"]:
        return ": no deal is finished yet"
    scale = Scale.row(row)
    whose = "the partner wins " if helping else ""
    if not scale.wins:
        whose = f"the partner's {scale.words} is " if helping else f"{scale.words} "
    interval = f"95% interval {scale.mean(row['raw_low'])} to {scale.mean(row['raw_high'])}"
    if np.isnan(row["raw_low"]):
        interval = f"no interval, as a measure without a range takes {LEAST} deals for one"
    seen, mean = f"{row['matches']:,} matches, {interval}", scale.mean(row["raw"])
    if np.isnan(row["baseline"]):
        won = f"{whose or 'wins '}{mean} {'of' if scale.wins else 'over'} {seen}"
        return f": {won}; there is no baseline to compare with"
    outcome = _outcome(row)
    said = NOT_INFERIOR[outcome] if row["test"] == "non_inferior" else SAID[outcome][helping]
    if row["estimator"] == "adjusted":
        mean = f"luck-adjusted {scale.mean(row['estimate'])}"
        seen = f"raw {scale.mean(row['raw'])} of {seen}"
    unit = " points" * scale.share
    reach = scale.reach(row["difference_low"], row["difference_high"])
    change = f"{scale.change(row['difference'])}{unit}, 95% interval {reach}"
    told = f"{whose}{mean} instead of {scale.mean(row['baseline'])} ({change}"
    if verdict:
        known = f"{verdict}{no_better(row, rival)}"
        return f": {known}. {told}; {seen}; not corrected for where it stopped)"
    if (beside := unbeaten(row, rival)) and row["p"] < ALPHA:
        shown = "help" if helping else "do"
        return (
            f" is not shown to {shown} better than {beside}, which reads nothing, so this is no "
            f"sign of skill: {told}, p Holm {p_value(row['p_holm'])}; {seen})"
        )
    return f" {said}: {told}, p Holm {p_value(row['p_holm'])}; {seen})"


def _name(row: pd.Series[Any]) -> str:
    asked = [str(row[part]) for part in ("model", "prompt") if row[part] != "-"]
    return " ".join(asked) or str(row["agent"])


def _limits(rows: pd.DataFrame, pairs: pd.DataFrame, tests: int, terms: int) -> Iterator[str]:
    """The smallest effects that had a fair chance to be found, by the spread of the estimates that
    were tested. tests: over how many Holm's correction of the cells is, and of the pairs that are
    terms, `terms` of them."""
    known = rows[rows["p"].notna() & rows["difference_low"].notna()]
    if not known.empty:
        widest = known.iloc[int((known["difference_high"] - known["difference_low"]).argmax())]
        deals, test = int(known["deals"].min()), widest["test"]
        low, high, side = widest["difference_low"], widest["difference_high"], Declared(test).side
        least = _least(widest, low, high, tests, side)
        yield (
            f"With {deals:,} deals that spread as these did and Holm over {tests} test(s), "
            f"{FROM[test]} of less than {least} would have been missed more often than one time in "
            "five."
        )
    own = set(rows["cell"])
    within = pairs[pairs["cell_a"].isin(own) & pairs["cell_b"].isin(own) & pairs["p"].notna()]
    reaches = [best_of_pair(row)[1:] for row in within.to_dict("records")]
    reaches = [reach for reach in reaches if not np.isnan(reach[0])]
    if reaches:
        low, high = max(reaches, key=lambda reach: reach[1] - reach[0])
        tests = max(int(pairs["p"].notna().sum()) - terms, tests if terms else 0)
        yield (
            "Between two cells on the same deals a difference of less than "
            f"{_least(rows.iloc[0], low, high, tests, 'either')} would have been missed as often "
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


# --- where a rule stopped each cell


def _rule(part: Part) -> str:
    return f"stop={Folder(part.results.folder).stop['rule']}"


STOPPED = View(
    _rule,
    (
        Column("cell", cell_name),
        Column("deals", count("deals")),
        Column("verdict", text("verdict")),
    ),
    "Deals were played until the rule stopped. The verdict allows for every look; z, p and the\n"
    "intervals of the tables take the number of deals as fixed, and do not.",
)


@table(
    "verdicts",
    {
        "cell": "the cell's name",
        "deals": "deals that were complete when the rule stopped it",
        "verdict": "what the stopping rule says of the cell",
    },
    [STOPPED],
    metrics=(),
    place=22,
)
def stopped(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell of a sweep that a rule stopped."""
    told, rows = results.once(verdicts), results["summary"].iterrows()
    for result, (_, row) in zip(results.cells, rows, strict=True):
        if name := told.get(result.about.name):
            rival = results.once(rivals).get(result.about.name)
            yield {
                "cell": result.about.name,
                "deals": result.complete_deals,
                "verdict": name + no_better(row, rival),
            }


def verdicts(results: Results) -> dict[str, str]:
    """What the rule that stopped the sweep says of each cell, by name; none where all deals were
    planned."""
    found = Folder(results.folder).stop
    return {c.about.name: _verdict(found, c.about) for c in results.cells} if found else {}


def no_better(row: pd.Series[Any], rival: Rival | None) -> str:
    """What goes with the verdict on a cell that does no better than a control; "" else."""
    beside = unbeaten(row, rival)
    return f", but not shown to do better than {beside}" if beside else ""


def _verdict(found: Mapping[str, Any], about: CellInfo) -> str:
    stop = found["cells"].get(about.key)
    if stop is None:
        return "undecided"
    if found["rule"] == "sprt":
        target = stop.get("target", found["win_rate"])  # older ones had one for all cells
        below = f"not above the baseline: {100 * target:.1f}% is ruled out"
        return "above the baseline" if stop["above"] else below
    above = "above the baseline" if stop["above"] else "not shown to be above the baseline"
    half = found["half_width"]
    if Scale.of(about.measure).share:
        return f"known to +-{100 * half:g} points; {above}"
    reach = amount(half * (about.measure.high - about.measure.low))
    return f"{about.measure.name} known to +-{reach}; {above}"
