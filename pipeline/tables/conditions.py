"""Do models and prompts differ? The paired difference of two cells where it answers that, else the
clustered regression of each group of cells, read out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import claims
from gauntlet.pipeline.tables.claims import ALPHA, MOST, Term
from gauntlet.pipeline.tables.numbers import p_value
from gauntlet.pipeline.tables.primary_test import Rival, best_of_pair, of_pair
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.stats.multiple import holm
from gauntlet.stats.regression import Fit, clustered_linear, clustered_logit

TOO_MANY = (
    "{models} models and {prompts} prompts are too many for one regression; pairs.csv sets cells "
    "beside each other."
)
UNREAD = "not all of its cells are shown to do better than always one option"
OF_PAIRS = (
    "(Paired differences on the deals that both cells played, as pairs.csv has them; p after "
    "Holm's correction over all cells and terms of the experiment.)"
)


@dataclass(frozen=True)
class Effect:
    """What one condition changes, in words; p, and Holm's once the family is known. pair: the cells
    whose difference in pairs.csv it is, by their keys. cells: those that it sets against each
    other. p_control: the largest of theirs, 0 without controls."""

    told: str
    size: str
    p: float
    p_holm: float = np.nan
    pair: frozenset[str] | None = None
    cells: tuple[str, ...] = ()
    p_control: float = 0.0

    def sentence(self) -> str:
        if np.isnan(self.p) and self.pair:
            return f"{self.told} {self.size}): no test was made."
        if np.isnan(self.p):
            return f"{self.told}: the matches settle no finite effect."
        shown = "this matters" if self.p_holm < ALPHA else "this is not shown to matter"
        if self.p_control >= ALPHA:
            shown += f", as {UNREAD}"
        return f"{self.told} {self.size}, p Holm {p_value(self.p_holm)}): {shown}."


@dataclass(frozen=True)
class Conditions:
    """What a group of cells says of models and prompts. notes: what it cannot tell; foot: how the
    effects were found."""

    group: tuple[str, ...]
    notes: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    foot: str = ""

    @property
    def experiment(self) -> str:
        return self.group[0]

    def against(self, controls: Mapping[str, float]) -> Conditions:
        """With what the cells' controls say of the effects: p-values by the cell."""
        effects = (
            replace(
                one, p_control=max((controls.get(cell, 0.0) for cell in one.cells), default=0.0)
            )
            for one in self.effects
        )
        return replace(self, effects=tuple(effects))

    def sentences(self) -> tuple[str, ...]:
        told = (effect.sentence() for effect in self.effects)
        return (*self.notes, *told, *([self.foot] if self.foot else []))


def group_of(result: CellResults) -> tuple[str, ...]:
    """The experiment and seating whose cells can be compared with each other."""
    return claims.group_of(result.about)


def conditions(results: Results) -> list[Conditions]:
    """Of every group with finished deals, in order."""
    cells = [result for result in results.cells if result.outcomes]
    groups = dict.fromkeys(map(group_of, cells))
    return [_found(group, [c for c in cells if group_of(c) == group]) for group in groups]


def family(
    summary: pd.DataFrame, conditions: Sequence[Conditions], rivals: Mapping[str, Rival]
) -> tuple[pd.Series[float], list[Conditions]]:
    """Holm's p-values over all that each experiment's sentences could claim: the cells', and the
    conditions with theirs. Each claim is also one to beat the controls of its cells.

    summary: summary.csv, where p_holm may be missing. rivals: the least beaten control by cell.
    """
    cells, told = pd.Series(np.nan, summary.index), list(conditions)
    blind = {cell: rival.p for cell, rival in rivals.items()}
    for experiment, rows in summary.groupby("experiment"):
        told = [one.against(blind) if one.experiment == experiment else one for one in told]
        both = holm(_claims(rows, told, str(experiment), blind))
        cells[rows.index] = both[: len(rows)]
        rest = iter(both[len(rows) :].tolist())
        for at, found in enumerate(told):
            if found.experiment == experiment:
                effects = (replace(effect, p_holm=next(rest)) for effect in found.effects)
                told[at] = replace(found, effects=tuple(effects))
    return cells, told


def family_size(summary: pd.DataFrame, conditions: Sequence[Conditions], experiment: str) -> int:
    """Over how many tests Holm's correction of an experiment's claims is."""
    found = _claims(summary[summary["experiment"] == experiment], conditions, experiment, {})
    return int(np.count_nonzero(~np.isnan(found)))


def _claims(
    rows: pd.DataFrame,
    conditions: Sequence[Conditions],
    experiment: str,
    blind: Mapping[str, float],
) -> list[float]:
    """The p-values of the experiment's cells, and then of its terms: of each the larger of its own
    and that of its controls."""
    own = (found for found in conditions if found.experiment == experiment)
    terms = (np.maximum(one.p, one.p_control) for found in own for one in found.effects)
    return [*np.maximum(rows["p"], [blind.get(cell, 0.0) for cell in rows["cell"]]), *terms]


def claimed(settled: Sequence[Conditions]) -> dict[frozenset[str], float]:
    """Holm's p-values of the pairs that are a term, by the keys of both cells."""
    effects = (effect for found in settled for effect in found.effects)
    return {effect.pair: effect.p_holm for effect in effects if effect.pair}


def _found(group: tuple[str, ...], cells: Sequence[CellResults]) -> Conditions:
    """What the cells' measure has to do with model and prompt."""
    asked = [cell for cell in cells if cell.about.labels["model"] != "-"]
    models, prompts = (
        claims.values((cell.about for cell in asked), label) for label in ("model", "prompt")
    )
    if not models:
        return Conditions(group, ("No language model took part.",))
    notes = tuple(_notes(models, prompts))
    terms = claims.terms(cell.about for cell in asked)
    if len(terms) > MOST:
        notes = (*notes, TOO_MANY.format(models=len(models), prompts=len(prompts)))
    if not terms or len(terms) > MOST:
        return Conditions(group, notes)
    if len(asked) == len(terms) + 1 and 1 in (len(models), len(prompts)):
        first, *others = asked
        return Conditions(
            group,
            notes,
            tuple(_paired(term, cell, first) for term, cell in zip(terms, others, strict=True)),
            OF_PAIRS,
        )
    return Conditions(group, notes, *_regressed(asked, terms))


def _paired(term: Term, cell: CellResults, first: CellResults) -> Effect:
    """The term where one cell alone has it, and one does not: their row of pairs.csv."""
    row = of_pair(cell, first)
    difference, low, high = best_of_pair(row)
    scale = Scale.of(cell.about.measure)
    what = f"luck-adjusted {scale.words}" if row["test"] == "adjusted" else scale.words
    size = (
        f"changes the {what if scale.wins else f'mean {what}'} by {scale.change(difference)}"
        f"{' points' * scale.share} (95% interval {scale.reach(low, high)}"
    )
    pair, names = frozenset((cell.about.key, first.about.key)), (cell.about.name, first.about.name)
    return Effect(term[0], size, row["p"], pair=pair, cells=names)


def _regressed(
    asked: Sequence[CellResults], terms: Sequence[Term]
) -> tuple[tuple[Effect, ...], str]:
    """The clustered regression of the raw results on the terms: logistic where they are wins of one
    player; and how it was done."""
    odds = all(cell.about.wins and cell.about.measured == 1 for cell in asked)
    fit = _fit(asked, terms, clustered_logit if odds else clustered_linear)
    effects = [
        Effect(
            told,
            _odds(fit, column) if odds else _shift(fit, column, asked[0]),
            float(fit.p_values[column]),
            cells=_contrasted(asked, label, values),
        )
        for column, (told, label, values) in enumerate(terms, start=1)
    ]
    kind, matches = "Logistic" if odds else "Linear", sum(len(cell.outcomes) for cell in asked)
    foot = (
        f"({kind} regression of the raw results of {matches:,} matches on the terms above "
        "together, errors clustered by deal; p after Holm's correction over all cells and terms of "
        "the experiment.)"
    )
    return tuple(effects), foot


def _notes(models: Sequence[str], prompts: Sequence[str]) -> Iterator[str]:
    if len(models) == 1:
        yield f"Only {models[0]} was played, so nothing can be said about scale."
    if len(prompts) == 1:
        yield f"Only {prompts[0]} was asked, so nothing can be said about prompting."


def _contrasted(
    asked: Sequence[CellResults], label: str, values: Mapping[str, float]
) -> tuple[str, ...]:
    """The cells that a term sets against each other: those with its label, and with the first."""
    levels = {asked[0].about.labels[label], *values}
    return tuple(cell.about.name for cell in asked if cell.about.labels[label] in levels)


def _fit(
    cells: Sequence[CellResults], terms: Sequence[Term], regression: Callable[..., Fit]
) -> Fit:
    rows = [
        [1.0, *(values.get(cell.about.labels[label], 0.0) for _, label, values in terms)]
        for cell in cells
    ]
    design = np.repeat(rows, [len(cell.outcomes) for cell in cells], axis=0)
    figures, deals = (
        np.concatenate([cell.outcomes.column(name) for cell in cells])
        for name in ("figure", "deal")
    )
    return regression(figures, design, deals)


def _odds(fit: Fit, column: int) -> str:
    ratio, low, high = np.exp([fit.coefficients[column], fit.low[column], fit.high[column]])
    return f"multiplies the odds of a win by {ratio:.3f} (95% interval {low:.3f} to {high:.3f}"


def _shift(fit: Fit, column: int, cell: CellResults) -> str:
    scale = Scale.of(cell.about.measure)
    by = f"{scale.change(fit.coefficients[column])}{' points' * scale.share}"
    interval = scale.reach(fit.low[column], fit.high[column])
    return f"changes the mean {scale.words} by {by} (95% interval {interval}"
