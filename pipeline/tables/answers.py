"""What a sweep says to the questions that it was run for, in sentences made from its numbers.

Does a model beat the scripted player in its seat, or help its partner more than that player
would? Do scale and prompting matter? And what could these games not have shown at all?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.log.results import CellResults
from pipeline.tables.table import p_value, percent, points
from stats.power import detectable_one_proportion, detectable_paired
from stats.regression import LogitFit, clustered_logit

ALPHA, POWER = 0.05, 0.8
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """A question and what the numbers say to it."""

    question: str
    sentences: tuple[str, ...]


def answers(
    results: Sequence[CellResults], summary: pd.DataFrame, pairs: pd.DataFrame
) -> list[Answer]:
    """The answers for each experiment and seating, whose cells can be compared with each other."""
    found = []
    several = len({_group(result) for result in results}) > 1
    for group in dict.fromkeys(map(_group, results)):
        planned = [result for result in results if _group(result) == group]
        where = f" ({', '.join(group)})" if several else ""
        helping = planned[0].about.helping
        aim = "Do they help the partner?" if helping else "Do they beat the baseline?"
        found.append(Answer(aim + where, tuple(_effects(_rows(summary, planned), helping))))
        cells = [result for result in planned if result.outcomes]
        if not cells:
            continue
        rows = _rows(summary, cells)
        found += [
            Answer("Do scale and prompting matter?" + where, tuple(_conditions(cells))),
            Answer("What could this not have shown?" + where, tuple(_limits(rows, pairs))),
        ]
    return found


def _group(result: CellResults) -> tuple[str, str, str]:
    labels = result.about.labels
    return result.about.experiment, labels["game"], labels["seats"]


def _rows(summary: pd.DataFrame, cells: Sequence[CellResults]) -> pd.DataFrame:
    return summary[summary["cell"].isin([cell.about.name for cell in cells])]


def _effects(rows: pd.DataFrame, helping: bool) -> Iterator[str]:
    """A sentence on how many cells do, then one a cell."""
    known = rows[(rows["matches"] > 0) & rows["baseline"].notna()]
    if not known.empty:
        verb = "raise the partner's win rate" if helping else "win more than their baseline"
        better = (known["p_holm"] < ALPHA).sum()
        yield f"{better} of {len(known)} cells {verb}, after Holm's correction."
    for _, row in rows.iterrows():
        yield f"{_name(row)}{_effect(row, helping)}."


def _effect(row: pd.Series[Any], helping: bool) -> str:
    if not row["matches"]:
        return ": no deal is finished yet"
    whose = "the partner wins " if helping else ""
    interval = f"95% interval {percent(row['ci_low'])} to {percent(row['ci_high'])}"
    seen = f"{row['matches']:,} matches, {interval}"
    if np.isnan(row["baseline"]):
        won = f"{whose or 'wins '}{percent(row['win_rate'])} of {seen}"
        return f": {won}; there is no baseline to compare with"
    if row["p_holm"] < ALPHA:
        said = "helps" if helping else "beats the baseline"
    elif row["ci_high"] < row["baseline"]:
        said = "harms the partner" if helping else "does worse than the baseline"
    else:
        said = "is not shown to help" if helping else "is not shown to beat the baseline"
    won = f"{percent(row['win_rate'])} instead of {percent(row['baseline'])}"
    effect = f"{points(row['win_rate'] - row['baseline'])} points, p {p_value(row['p_holm'])}"
    return f" {said}: {whose}{won} ({effect}; {seen})"


def _name(row: pd.Series[Any]) -> str:
    asked = [str(row[part]) for part in ("model", "prompt") if row[part] != "-"]
    return " ".join(asked) or str(row["agent"])


def _conditions(cells: Sequence[CellResults]) -> Iterator[str]:
    """The clustered logistic regression of winning on model and prompt, read out."""
    asked = [cell for cell in cells if cell.about.labels["model"] != "-"]
    models = list(dict.fromkeys(cell.about.labels["model"] for cell in asked))
    prompts = list(dict.fromkeys(cell.about.labels["prompt"] for cell in asked))
    if not models:
        yield "No language model took part."
        return
    terms = _terms(models, prompts)
    if len(models) == 1:
        yield f"Only {models[0]} was played, so nothing can be said about scale."
    if len(prompts) == 1:
        yield f"Only {prompts[0]} was asked, so nothing can be said about prompting."
    if not terms:
        return
    fit = _fit(asked, terms)
    for column, (told, _, _) in enumerate(terms, start=1):
        yield _read_out(told, fit, column)
    yield (
        f"(Logistic regression of {sum(len(cell.outcomes) for cell in asked):,} matches on the "
        "terms above together, errors clustered by deal.)"
    )


Term = tuple[str, str, dict[str, float]]
"""What a regressor is called, the label that it reads, and its value for each label."""


def _terms(models: Sequence[str], prompts: Sequence[str]) -> list[Term]:
    """Scale as the logarithm of the size, where every name tells one; else a term a model."""
    terms: list[Term] = []
    told = {model: BILLIONS.search(model) for model in models}
    sizes = {model: float(match[1]) for model, match in told.items() if match}
    if len(sizes) == len(models) and len(set(sizes.values())) > 1:
        logs = {model: float(np.log10(size)) for model, size in sizes.items()}
        terms.append(("Ten times the parameters", "model", logs))
    else:
        terms += [(f"{m} instead of {models[0]}", "model", {m: 1.0}) for m in models[1:]]
    return terms + [(f"{p} instead of {prompts[0]}", "prompt", {p: 1.0}) for p in prompts[1:]]


def _fit(cells: Sequence[CellResults], terms: Sequence[Term]) -> LogitFit:
    won, design, deals = [], [], []
    for cell in cells:
        row = [1.0, *(values.get(cell.about.labels[label], 0.0) for _, label, values in terms)]
        won += [outcome.won for outcome in cell.outcomes]
        deals += [outcome.deal for outcome in cell.outcomes]
        design += [row] * len(cell.outcomes)
    return clustered_logit(won, design, deals)


def _read_out(told: str, fit: LogitFit, column: int) -> str:
    p = fit.p_values[column]
    if np.isnan(p):
        return f"{told}: the matches settle no finite effect."
    ratio, low, high = np.exp([fit.coefficients[column], fit.low[column], fit.high[column]])
    shown = "this matters" if p < ALPHA else "this is not shown to matter"
    return (
        f"{told} multiplies the odds of a win by {ratio:.3f} (95% interval {low:.3f} to "
        f"{high:.3f}, p {p_value(p)}): {shown}."
    )


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


def _size(difference: float) -> str:
    return "any number of" if np.isnan(difference) else f"{100 * difference:.1f}"
