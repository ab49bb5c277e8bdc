"""Do models and prompts differ? The clustered regression of each group of cells, read out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.log.results import CellResults
from pipeline.tables.numbers import p_value
from pipeline.tables.scale import Scale
from stats.regression import Fit, clustered_linear, clustered_logit

ALPHA = 0.05
MOST = 40
"""Terms of a regression: it grows with their square, and its errors need more deals than terms."""
TOO_MANY = (
    "{models} models and {prompts} prompts are too many for one regression; pairs.csv sets cells "
    "beside each other."
)
UNREAD = "not all of its cells are shown to do better than always one option"
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)


@dataclass(frozen=True)
class Effect:
    """What one condition changes, in words; p, and Holm's once the family is known. cells: those
    that it sets against each other. p_control: the largest of theirs, 0 without controls."""

    told: str
    size: str
    p: float
    p_holm: float = np.nan
    cells: tuple[str, ...] = ()
    p_control: float = 0.0

    def sentence(self) -> str:
        if np.isnan(self.p):
            return f"{self.told}: the matches settle no finite effect."
        shown = "this matters" if self.p_holm < ALPHA else "this is not shown to matter"
        if self.p_control >= ALPHA:
            shown += f", as {UNREAD}"
        return f"{self.told} {self.size}, p {p_value(self.p_holm)}): {shown}."


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
    about, labels = result.about, result.about.labels
    measure = () if about.wins else (about.measure.name,)
    return about.experiment, labels["game"], labels["seats"], *measure


def conditions(results: Sequence[CellResults]) -> list[Conditions]:
    """Of every group with finished deals, in order."""
    cells = [result for result in results if result.outcomes]
    groups = dict.fromkeys(map(group_of, cells))
    return [_found(group, [c for c in cells if group_of(c) == group]) for group in groups]


def _found(group: tuple[str, ...], cells: Sequence[CellResults]) -> Conditions:
    """The clustered regression of the cells' measure on model and prompt: logistic where it is wins
    of one player."""
    asked = [cell for cell in cells if cell.about.labels["model"] != "-"]
    models = list(dict.fromkeys(cell.about.labels["model"] for cell in asked))
    prompts = list(dict.fromkeys(cell.about.labels["prompt"] for cell in asked))
    if not models:
        return Conditions(group, ("No language model took part.",))
    notes = tuple(_notes(models, prompts))
    terms = _terms(models, prompts)
    if len(terms) > MOST:
        notes = (*notes, TOO_MANY.format(models=len(models), prompts=len(prompts)))
    if not terms or len(terms) > MOST:
        return Conditions(group, notes)
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
        f"({kind} regression of {matches:,} matches on the terms above together, errors clustered "
        "by deal; p after Holm's correction over all cells and terms of the experiment.)"
    )
    return Conditions(group, notes, tuple(effects), foot)


def _notes(models: Sequence[str], prompts: Sequence[str]) -> Iterator[str]:
    if len(models) == 1:
        yield f"Only {models[0]} was played, so nothing can be said about scale."
    if len(prompts) == 1:
        yield f"Only {prompts[0]} was asked, so nothing can be said about prompting."


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
