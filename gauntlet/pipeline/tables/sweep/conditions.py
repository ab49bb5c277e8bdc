"""Do models and prompts matter? The paired difference of two cells where that answers it, else a
clustered regression over each group of cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import Scale, p_value
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep import claims
from gauntlet.pipeline.tables.sweep.claims import MOST, Term
from gauntlet.pipeline.tables.sweep.controls import rivals
from gauntlet.pipeline.tables.sweep.primary_test import Rival, pair_columns, read_difference
from gauntlet.stats.multiple import ALPHA, holm
from gauntlet.stats.regression import clustered_linear, clustered_logit

TOO_MANY = (
    "{models} models and {prompts} prompts are too many for one regression; pairs.csv sets cells "
    "beside each other."
)
UNREAD = "not all of its cells are shown to do better than always taking one option"
PAIRS_FOOT = (
    "(Paired differences on the deals that both cells played, as pairs.csv has them; p after "
    "Holm's correction over all cells and terms of the experiment.)"
)


@dataclass(frozen=True)
class Effect:
    """What one condition changes.

    name, change, interval: in words. claim: what it shows. label: `model` or `prompt`. p_holm: set
    once the family is known. pair: the keys of both cells if it is a row of pairs.csv. cells: those
    that it compares. p_control: their largest p against controls, 0 without controls.
    reach, deals: of a pair, its difference with 95% limits, and the number of shared deals.
    """

    name: str
    label: str
    change: str
    interval: str
    claim: str
    p: float
    p_holm: float = np.nan
    pair: frozenset[str] | None = None
    cells: tuple[str, ...] = ()
    p_control: float = 0.0
    reach: tuple[float, float, float] | None = None
    deals: int = 0

    def sentence(self) -> str:
        if np.isnan(self.p) and self.pair:
            return f"{self.name} {self.change} ({self.interval}): no test was made."
        if np.isnan(self.p):
            return f"{self.name}: the matches settle no finite effect."
        verdict = "this matters" if self.p_holm < ALPHA else "this is not shown to matter"
        if self.p_control >= ALPHA:
            verdict += f", as {UNREAD}"
        p_holm = p_value(self.p_holm)
        return f"{self.name} {self.change} ({self.interval}, p Holm {p_holm}): {verdict}."


@dataclass(frozen=True)
class Conditions:
    """The effects of models and prompts in a group of cells. notes: what it cannot show. foot: the
    method."""

    group: tuple[str, ...]
    notes: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    foot: str = ""

    @property
    def experiment(self) -> str:
        return self.group[0]

    def sentences(self) -> tuple[str, ...]:
        effects = (effect.sentence() for effect in self.effects)
        return (*self.notes, *effects, *filter(None, [self.foot]))


def conditions(results: Results) -> list[Conditions]:
    """One for every group with finished deals, in order."""
    groups = defaultdict[tuple[str, ...], list[CellResults]](list)
    for result in results.cells:
        if result.outcomes:
            groups[claims.comparison_group(result.about)].append(result)
    return [_conditions(group, cells) for group, cells in groups.items()]


def tested(results: Results) -> list[Conditions]:
    """What models and prompts change, after Holm's correction."""
    return family(results["summary"], results.cached(conditions), results.cached(rivals))[1]


def family(
    summary: pd.DataFrame, conditions: Sequence[Conditions], rivals: Mapping[str, Rival]
) -> tuple[pd.Series[float], list[Conditions]]:
    """Holm's p-values over everything that each experiment's sentences claim: the cells', and the
    conditions with theirs. A claim includes that its cells beat their controls.

    summary: summary.csv, where p_holm may be missing.
    """
    cells, tested = pd.Series(np.nan, summary.index), list(conditions)
    controls = {cell: rival.p for cell, rival in rivals.items()}
    for experiment, rows in summary.groupby("experiment"):
        members = [at for at, one in enumerate(tested) if one.experiment == experiment]
        for at in members:
            effects = tuple(
                replace(
                    effect, p_control=max((controls.get(c, 0.0) for c in effect.cells), default=0.0)
                )
                for effect in tested[at].effects
            )
            tested[at] = replace(tested[at], effects=effects)
        corrected = holm(_p_values(rows, [tested[at] for at in members], controls))
        cells[rows.index] = corrected[: len(rows)]
        rest = iter(corrected[len(rows) :].tolist())
        for at in members:
            effects = tuple(replace(effect, p_holm=next(rest)) for effect in tested[at].effects)
            tested[at] = replace(tested[at], effects=effects)
    return cells, tested


def family_size(summary: pd.DataFrame, conditions: Sequence[Conditions], experiment: str) -> int:
    """The number of tests that Holm's correction of an experiment's claims covers."""
    rows = summary[summary["experiment"] == experiment]
    of_experiment = [one for one in conditions if one.experiment == experiment]
    return int(np.count_nonzero(~np.isnan(_p_values(rows, of_experiment, {}))))


def _p_values(
    rows: pd.DataFrame, conditions: Sequence[Conditions], controls: Mapping[str, float]
) -> list[float]:
    """The p-values of an experiment's cells, then of its terms, each at least that against its
    controls."""
    terms = (np.maximum(one.p, one.p_control) for found in conditions for one in found.effects)
    return [*np.maximum(rows["p"], [controls.get(cell, 0.0) for cell in rows["cell"]]), *terms]


def claimed_pairs(tested: Sequence[Conditions]) -> dict[frozenset[str], float]:
    """Holm's p-values of the pairs that are a term, by the keys of both cells."""
    effects = (effect for one in tested for effect in one.effects)
    return {effect.pair: effect.p_holm for effect in effects if effect.pair}


def _conditions(group: tuple[str, ...], cells: Sequence[CellResults]) -> Conditions:
    """How the cells' measure depends on model and prompt."""
    cells = [cell for cell in cells if cell.about.labels["model"] != "-"]
    abouts = [cell.about for cell in cells]
    models, prompts = (claims.values(abouts, label) for label in ("model", "prompt"))
    if not models:
        return Conditions(group, ("No language model took part.",))
    notes, terms = [], claims.terms(abouts)
    if len(models) == 1:
        notes.append(f"Only {models[0]} was played, so nothing can be said about scale.")
    if len(prompts) == 1:
        notes.append(f"Only {prompts[0]} was asked, so nothing can be said about prompting.")
    if len(terms) > MOST:
        notes.append(TOO_MANY.format(models=len(models), prompts=len(prompts)))
    if not terms or len(terms) > MOST:
        return Conditions(group, tuple(notes))
    if len(cells) == len(terms) + 1 and 1 in (len(models), len(prompts)):
        first, *others = cells
        effects = [_paired(term, cell, first) for term, cell in zip(terms, others, strict=True)]
        return Conditions(group, tuple(notes), tuple(effects), PAIRS_FOOT)
    return Conditions(group, tuple(notes), *_regression(cells, terms))


def _paired(term: Term, cell: CellResults, first: CellResults) -> Effect:
    """A term that one cell has and one does not: their row of pairs.csv."""
    row = pair_columns(cell, first)
    difference, low, high = read_difference(row)
    scale = Scale.from_measure(cell.about.measure)
    adjusted = row["test"] == "adjusted"
    what = f"luck-adjusted {scale.words}" if adjusted else scale.words
    better, worse = (one.about.labels[term[1]] for one in (cell, first))
    ends = (low, high)
    if difference < 0:
        better, worse, ends = worse, better, (-high, -low)
    lead = scale.difference(abs(difference), sign=False)
    span = f"{scale.reach(*ends)}{', luck removed' if adjusted else ''}"
    return Effect(
        name=term[0],
        label=term[1],
        change=f"changes the {what if scale.wins else f'mean {what}'} by "
        f"{scale.difference(difference)}",
        interval=f"95% interval {scale.reach(low, high)}",
        claim=f"{better} is better than {worse} by {lead} (95% interval {span})",
        p=row["p"],
        pair=frozenset((cell.about.key, first.about.key)),
        cells=(cell.about.name, first.about.name),
        reach=(difference, low, high),
        deals=row["deals"],
    )


def _regression(
    cells: Sequence[CellResults], terms: Sequence[Term]
) -> tuple[tuple[Effect, ...], str]:
    """A clustered regression of the raw results on the terms, logistic for wins of one player; and
    a note on the method."""
    logit = all(cell.about.wins and cell.about.measured == 1 for cell in cells)
    rows = [
        [1.0, *(values.get(cell.about.labels[label], 0.0) for _, label, values in terms)]
        for cell in cells
    ]
    design = np.repeat(rows, [len(cell.outcomes) for cell in cells], axis=0)
    results, deals = (
        np.concatenate([cell.outcomes.column(name) for cell in cells])
        for name in ("figure", "deal")
    )
    fit = (clustered_logit if logit else clustered_linear)(results, design, deals)
    testable = all(cell.testable for cell in cells)
    effects = []
    for column, (name, label, values) in enumerate(terms, start=1):
        ends = fit.coefficients[column], fit.low[column], fit.high[column]
        if logit:
            ratio, low, high = np.exp(ends)
            change = f"multiplies the odds of a win by {ratio:.3f}"
            interval = f"95% interval {low:.3f} to {high:.3f}"
        else:
            scale = Scale.from_measure(cells[0].about.measure)
            change = f"changes the mean {scale.words} by {scale.difference(ends[0])}"
            interval = f"95% interval {scale.reach(*ends[1:])}"
        levels = {cells[0].about.labels[label], *values}
        p = float(fit.p_values[column]) if testable else np.nan
        compared = tuple(c.about.name for c in cells if c.about.labels[label] in levels)
        claim = f"{name} {change} ({interval})"
        effects.append(Effect(name, label, change, interval, claim, p, cells=compared))
    foot = (
        f"({'Logistic' if logit else 'Linear'} regression of the raw results of {len(deals):,} "
        "matches on the terms above together, errors clustered by deal; p after Holm's correction "
        "over all cells and terms of the experiment.)"
    )
    return tuple(effects), foot
