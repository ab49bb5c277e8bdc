"""What a sweep found in detail, in sentences made from its numbers.

Does a model beat the scripted player in its seat, or help its partner more? Do scale and prompting
matter? And what could these matches not have shown at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.errors import counted
from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import Scale, p_value
from gauntlet.pipeline.tables.registry import Results, truncation_note
from gauntlet.pipeline.tables.sweep import controls
from gauntlet.pipeline.tables.sweep.claims import comparison_group
from gauntlet.pipeline.tables.sweep.conditions import claimed_pairs, family_size, tested
from gauntlet.pipeline.tables.sweep.controls import rivals
from gauntlet.pipeline.tables.sweep.pairs import by_p_value
from gauntlet.pipeline.tables.sweep.primary_test import Rival, read_difference, unbeaten_control
from gauntlet.pipeline.tables.sweep.stopped import control_caveat, verdicts
from gauntlet.pipeline.tables.sweep.verdict import (
    BETTER,
    OPEN,
    detectable,
    outcome,
    outcome_verb,
    third_person,
)
from gauntlet.stats.means import LEAST
from gauntlet.stats.multiple import ALPHA

MOST = 40
"""Cells that have a sentence of their own."""


@dataclass(frozen=True)
class Answer:
    """A question and the sentences that answer it. caution: whether they say what to beware of."""

    question: str
    sentences: tuple[str, ...]
    caution: bool = False


def answers(results: Results) -> list[Answer]:
    """The answers for each group of comparable cells."""
    summary, pairs = results["summary"], results["pairs"]
    effects = results.cached(tested)
    by_group, answers = {one.group: one for one in effects}, []
    groups = list(dict.fromkeys(comparison_group(cell.about) for cell in results.cells))
    for group in groups:
        suffix = f" ({', '.join(group)})" if len(groups) > 1 else ""
        cells = [cell for cell in results.cells if comparison_group(cell.about) == group]
        helping = cells[0].about.helping
        aim = "Do they help the partner?" if helping else "Do they beat the baseline?"
        about_baseline = tuple(_effects(results, _rows(summary, cells), helping))
        answers.append(Answer(aim + suffix, about_baseline))
        cells = [cell for cell in cells if cell.outcomes]
        if not cells:
            continue
        rows, tests = _rows(summary, cells), family_size(summary, effects, group[0])
        sentences = by_group[group].sentences()
        answers.append(Answer("Do scale and prompting matter?" + suffix, sentences))
        name = f"{' '.join(group[1:])}: " if len(groups) > 1 else ""
        shown = _limits(rows, pairs, tests, len(claimed_pairs(effects)))
        if limits := tuple(name + sentence for sentence in shown):
            answers.append(Answer("What could this not have shown?" + suffix, limits, True))
    if noise := tuple(controls.noise_sentences(results)):
        answers.append(Answer("Is it more than noise?", noise, True))
    return answers


def _rows(summary: pd.DataFrame, cells: Sequence[CellResults]) -> pd.DataFrame:
    return summary[summary["cell"].isin([cell.about.name for cell in cells])]


# --- do they beat the baseline?


def _effects(results: Results, rows: pd.DataFrame, helping: bool) -> Iterator[str]:
    """How many cells do, then a sentence per cell; if there are many, for the clearest."""
    with_baseline = rows[(rows["matches"] > 0) & rows["baseline"].notna()]
    if not with_baseline.empty and not results.cached(verdicts):
        better = sum(outcome(row) == BETTER for _, row in with_baseline.iterrows())
        aim = _aim(with_baseline.iloc[0], helping)
        if not results.cached(rivals).keys().isdisjoint(with_baseline["cell"]):
            aim += " and do better than always taking one option"
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
    reach = scale.reach(row["difference_low"], row["difference_high"])
    change = f"{scale.difference(row['difference'])}, 95% interval {reach}"
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
    shown = outcome(row)
    verb = outcome_verb(shown, row["test"], helping, "the baseline")
    verb = f"is not shown to {verb}" if shown == OPEN else third_person(verb)
    return f" {verb}: {result}, {end}"


# --- what could this not have shown?

EFFECTS = {
    "two_sided": "a difference from the baseline",
    "above": "an advantage over the baseline",
    "non_inferior": "an advantage over the baseline less the margin",
}


def _limits(rows: pd.DataFrame, pairs: pd.DataFrame, tests: int, terms: int) -> Iterator[str]:
    """The smallest effects that the tests find four times in five, by the estimates' spread.
    tests: the number of tests in the cells' family; `terms` of the pairs belong to it."""
    with_interval = rows[rows["p"].notna() & rows["difference_low"].notna()]
    if not with_interval.empty:
        widest = with_interval.iloc[
            int((with_interval["difference_high"] - with_interval["difference_low"]).argmax())
        ]
        low, high, test = widest["difference_low"], widest["difference_high"], widest["test"]
        least = detectable(widest, low, high, tests, DeclaredTest(test).side)
        deals = counted(int(with_interval["deals"].min()), "deal")
        yield (
            f"With {deals}, {_found(least, EFFECTS[test])} (Holm over {counted(tests, 'test')})"
            f"{'; smaller ones may have been missed' if least else ''}."
        )
    within = pairs[pairs[["cell_a", "cell_b"]].isin([*rows["cell"]]).all(axis=1)]
    reaches = [read_difference(row)[1:] for row in within[within["p"].notna()].to_dict("records")]
    reaches = [reach for reach in reaches if not np.isnan(reach[0])]
    if reaches:
        low, high = max(reaches, key=lambda reach: reach[1] - reach[0])
        tests = max(int(pairs["p"].notna().sum()) - terms, tests if terms else 0)
        least = detectable(rows.iloc[0], low, high, tests, "either")
        yield (
            f"Between two cells on the same deals, {_found(least, 'a difference')} (Holm over "
            f"{counted(tests, 'test')})."
        )


def _found(least: str, effect: str) -> str:
    """ "a difference of 4.7 points is found 4 times in 5"."""
    if not least:
        return f"{effect} is found less than 4 times in 5, whatever its size"
    return f"{effect} of {least} is found 4 times in 5"
