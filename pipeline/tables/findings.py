"""What a sweep found, in sentences made from its numbers, and where a rule stopped each cell.

Does a model beat the scripted player in its seat, or help its partner more? Do scale and prompting
matter? And what could these matches not have shown at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables import controls
from gauntlet.pipeline.tables.claims import ALPHA
from gauntlet.pipeline.tables.conditions import (
    claimed_pairs,
    comparison_group,
    conditions,
    family,
    family_size,
)
from gauntlet.pipeline.tables.controls import rivals
from gauntlet.pipeline.tables.formatting import Scale, amount, p_value
from gauntlet.pipeline.tables.pairs import by_p_value
from gauntlet.pipeline.tables.primary_test import Rival, read_difference, unbeaten_control
from gauntlet.pipeline.tables.registry import Results, columns, table, truncation_note
from gauntlet.pipeline.tables.sheets import Column, View, cell_name, count, text
from gauntlet.stats.checks import Side
from gauntlet.stats.means import LEAST
from gauntlet.stats.power import detectable_mean

POWER = 0.8
MOST = 40
"""Cells that have a sentence of their own."""


@dataclass(frozen=True)
class Answer:
    """A question and the sentences that answer it."""

    question: str
    sentences: tuple[str, ...]


def answers(results: Results) -> list[Answer]:
    """The answers for each group of comparable cells."""
    summary, pairs = results["summary"], results["pairs"]
    _, tested = family(summary, results.cached(conditions), results.cached(rivals))
    by_group, answers = {one.group: one for one in tested}, []
    groups = list(dict.fromkeys(map(comparison_group, results.cells)))
    for group in groups:
        suffix = f" ({', '.join(group)})" if len(groups) > 1 else ""
        cells = [cell for cell in results.cells if comparison_group(cell) == group]
        helping = cells[0].about.helping
        aim = "Do they help the partner?" if helping else "Do they beat the baseline?"
        effects = _effects(results, _rows(summary, cells), helping)
        answers.append(Answer(aim + suffix, tuple(effects)))
        cells = [cell for cell in cells if cell.outcomes]
        if not cells:
            continue
        rows, tests = _rows(summary, cells), family_size(summary, tested, group[0])
        sentences = by_group[group].sentences()
        answers.append(Answer("Do scale and prompting matter?" + suffix, sentences))
        if limits := tuple(_limits(rows, pairs, tests, len(claimed_pairs(tested)))):
            answers.append(Answer("What could this not have shown?" + suffix, limits))
    if noise := tuple(controls.noise_sentences(results)):
        answers.append(Answer("Is it more than noise?", noise))
    return answers


def _rows(summary: pd.DataFrame, cells: Sequence[CellResults]) -> pd.DataFrame:
    return summary[summary["cell"].isin([cell.about.name for cell in cells])]


# --- do they beat the baseline?

ALSO = " and do better than always taking one option"
BETTER, WORSE, OPEN = "better", "worse", "open"
VERDICTS = {
    BETTER: ("beats the baseline", "helps"),
    WORSE: ("does worse than the baseline", "harms the partner"),
    OPEN: ("is not shown to beat the baseline", "is not shown to help"),
}
NOT_INFERIOR = {BETTER: "is not inferior to the baseline", OPEN: "is not shown to keep up"}


def _effects(results: Results, rows: pd.DataFrame, helping: bool) -> Iterator[str]:
    """How many cells do, then a sentence per cell; if there are many, for the clearest."""
    with_baseline = rows[(rows["matches"] > 0) & rows["baseline"].notna()]
    if not with_baseline.empty and not results.cached(verdicts):
        better = sum(_outcome(row) == BETTER for _, row in with_baseline.iterrows())
        also = ALSO * (not results.cached(rivals).keys().isdisjoint(with_baseline["cell"]))
        aim = _aim(with_baseline.iloc[0], helping) + also
        yield f"{better} of {len(with_baseline)} cells {aim}, after Holm's correction."
    if len(rows) > MOST:
        yield truncation_note(MOST, len(rows), "summary.csv", "clearest")
        rows = by_p_value(rows).head(MOST)
    for _, row in rows.iterrows():
        yield cell_sentence(results, row, helping)


def cell_sentence(results: Results, row: pd.Series[Any], helping: bool) -> str:
    """One cell's result in a sentence."""
    rival = results.cached(rivals).get(row["cell"])
    verdict = results.cached(verdicts).get(row["cell"], "")
    names = [str(row[part]) for part in ("model", "prompt") if row[part] != "-"]
    return f"{' '.join(names) or row['agent']}{_effect(row, helping, verdict, rival)}."


def _aim(row: pd.Series[Any], helping: bool) -> str:
    scale = Scale.from_row(row)
    if row["test"] == "non_inferior":
        return "are not inferior to their baseline"
    more = "win more" if scale.wins else f"have a higher {scale.words}"
    return f"raise the partner's {scale.words}" if helping else f"{more} than their baseline"


def _outcome(row: pd.Series[Any]) -> str:
    """What the declared test shows, after Holm's correction."""
    if not row["p_holm"] < ALPHA:
        return OPEN
    return WORSE if row["difference"] < 0 and row["test"] == "two_sided" else BETTER


def _effect(row: pd.Series[Any], helping: bool, verdict: str, rival: Rival | None) -> str:
    if not row["matches"]:
        return ": no deal is finished yet"
    scale = Scale.from_row(row)
    prefix = "the partner wins " if helping else ""
    if not scale.wins:
        prefix = f"the partner's {scale.words} is " if helping else f"{scale.words} "
    interval = f"95% interval {scale.mean(row['raw_low'])} to {scale.mean(row['raw_high'])}"
    if np.isnan(row["raw_low"]):
        interval = f"no interval, as a measure without a range takes {LEAST} deals for one"
    basis, mean = f"{row['matches']:,} matches, {interval}", scale.mean(row["raw"])
    if np.isnan(row["baseline"]):
        won = f"{prefix or 'wins '}{mean} {'of' if scale.wins else 'over'} {basis}"
        return f": {won}; there is no baseline to compare with"
    if row["estimator"] == "adjusted":
        mean = f"luck-adjusted {scale.mean(row['estimate'])}"
        basis = f"raw {scale.mean(row['raw'])} of {basis}"
    unit = " points" * scale.share
    reach = scale.reach(row["difference_low"], row["difference_high"])
    change = f"{scale.change(row['difference'])}{unit}, 95% interval {reach}"
    result = f"{prefix}{mean} instead of {scale.mean(row['baseline'])} ({change}"
    if verdict:
        verdict += control_caveat(row, rival)
        return f": {verdict}. {result}; {basis}; not corrected for where it stopped)"
    end = f"p Holm {p_value(row['p_holm'])}; {basis})"
    if (control := unbeaten_control(row, rival)) and row["p"] < ALPHA:
        return (
            f" is not shown to {'help' if helping else 'do'} better than {control}, which reads "
            f"nothing, so this is no sign of skill: {result}, {end}"
        )
    outcome, non_inferior = _outcome(row), row["test"] == "non_inferior"
    said = NOT_INFERIOR[outcome] if non_inferior else VERDICTS[outcome][helping]
    return f" {said}: {result}, {end}"


# --- what could this not have shown?

EFFECTS = {
    "two_sided": "a difference from the baseline",
    "above": "an advantage over the baseline",
    "non_inferior": "an advantage over the baseline less the margin",
}


def _limits(rows: pd.DataFrame, pairs: pd.DataFrame, tests: int, terms: int) -> Iterator[str]:
    """The smallest effects that the tests would probably have shown, by the estimates' spread.
    tests: the number of tests in the cells' family; `terms` of the pairs belong to it."""
    with_interval = rows[rows["p"].notna() & rows["difference_low"].notna()]
    if not with_interval.empty:
        widest = with_interval.iloc[
            int((with_interval["difference_high"] - with_interval["difference_low"]).argmax())
        ]
        deals, test = int(with_interval["deals"].min()), widest["test"]
        low, high, side = (
            widest["difference_low"],
            widest["difference_high"],
            DeclaredTest(test).side,
        )
        least = _detectable(widest, low, high, tests, side)
        yield (
            f"With {deals:,} deals that spread as these did and Holm over {tests} test(s), "
            f"{EFFECTS[test]} of less than {least} would have been missed more often than one time "
            "in five."
        )
    within = pairs[pairs[["cell_a", "cell_b"]].isin([*rows["cell"]]).all(axis=1)]
    reaches = [read_difference(row)[1:] for row in within[within["p"].notna()].to_dict("records")]
    reaches = [reach for reach in reaches if not np.isnan(reach[0])]
    if reaches:
        low, high = max(reaches, key=lambda reach: reach[1] - reach[0])
        tests = max(int(pairs["p"].notna().sum()) - terms, tests if terms else 0)
        yield (
            "Between two cells on the same deals a difference of less than "
            f"{_detectable(rows.iloc[0], low, high, tests, 'either')} would have been missed as "
            f"often (Holm over {tests} test(s))."
        )


def _detectable(row: pd.Series[Any], low: float, high: float, tests: int, side: Side) -> str:
    """The effect that a test of an estimate with this 95% interval shows with POWER, in words."""
    scale, error = Scale.from_row(row), (high - low) / 2 / float(ndtri(0.975))
    least = detectable_mean(error, POWER, ALPHA, tests, side)
    if least > row["measure_high"] - row["measure_low"]:
        return "any number of points" if scale.share else "any size"
    return f"{scale.change(least).lstrip('+')}{' points' * scale.share}"


# --- where a rule stopped each cell

STOPPED = View(
    lambda part: f"stop={Folder(part.results.folder).stop['rule']}",
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
        **columns("cell"),
        "deals": "deals that were complete when the rule stopped it",
        "verdict": "what the stopping rule says of the cell",
    },
    [STOPPED],
    metrics=(),
    place=22,
)
def stopped_cells(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell of a sweep that a rule stopped."""
    by_cell, rows = results.cached(verdicts), results["summary"].iterrows()
    for result, (_, row) in zip(results.cells, rows, strict=True):
        name = result.about.name
        if verdict := by_cell.get(name):
            verdict += control_caveat(row, results.cached(rivals).get(name))
            yield {"cell": name, "deals": result.complete_deals, "verdict": verdict}


def verdicts(results: Results) -> dict[str, str]:
    """The stopping rule's verdict on each cell; none if all deals were planned."""
    stop = Folder(results.folder).stop
    return {c.about.name: _verdict(stop, c.about) for c in results.cells} if stop else {}


def control_caveat(row: pd.Series[Any], rival: Rival | None) -> str:
    """Added to the verdict on a cell that is not shown to beat a control, or ""."""
    control = unbeaten_control(row, rival)
    return f", but not shown to do better than {control}" if control else ""


def _verdict(rule: Mapping[str, Any], about: CellInfo) -> str:
    stop = rule["cells"].get(about.key)
    if stop is None:
        return "undecided"
    if rule["rule"] == "sprt":
        below = f"not above the baseline: {100 * stop['target']:.1f}% is ruled out"
        return "above the baseline" if stop["above"] else below
    above = "above the baseline" if stop["above"] else "not shown to be above the baseline"
    half = rule["half_width"]
    if Scale.from_measure(about.measure).share:
        return f"known to +-{100 * half:g} points; {above}"
    reach = amount(half * (about.measure.high - about.measure.low))
    return f"{about.measure.name} known to +-{reach}; {above}"
