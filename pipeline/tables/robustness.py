"""How far a result depends on its circumstances, and the cells of a table pooled in part
(docs/statistics.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.pipeline.tables.sheets import Column, Row, View, cell_name, mean, share, span, text
from gauntlet.stats.components import Anova, Effect, anova
from gauntlet.stats.pooling import LEAST, partially_pooled

FACTORS = ("wording", "deal", "sample", "seat")
WITHIN = {"sample": "deal"}
REST = "rest"

COMPONENTS = {
    "experiment": "as in the config",
    "game": "the game",
    "agent": "what plays in the subject's seat",
    "model": "its model",
    "prompt": "its prompting method, without the wording",
    "seats": "who sits where",
    "component": "where the spread comes from: `wording`, `deal`, `sample`, `seat`, two together, "
    "or the `rest`",
    "levels": "how many of each there were",
    "variance": "variance of one match's result; may lie below 0",
    "low": "lower end of its 95% interval, never below 0",
    "high": "upper end of it",
    "share": "of the sum of the variances above 0",
    "measure": "what cells are judged by",
}
PLAIN = ("mean", "error", "pooled", "low", "high", "group_mean", "group_spread")
ADJUSTED = (
    *("adjusted", "adj_error", "adj_pooled", "adj_low", "adj_high"),
    *("adj_group_mean", "adj_group_spread"),
)
LIMITS = {"low", "high", "adj_low", "adj_high"}
_MEANT = (
    "the {}mean",
    "its standard error, clustered by deal",
    "the {}mean drawn towards the common mean of the cells",
    "lower end of its 95% interval, within the measure's range",
    "upper end of it",
    "the common mean",
    "how far the cells' true means lie apart: their standard deviation",
)
POOLED = {
    "experiment": "as in the config",
    "game": "the game",
    "seats": "who sits where",
    "cell": "the cell's name",
    **{name: what.format("raw ") for name, what in zip(PLAIN, _MEANT, strict=True)},
    "measure": "what the cell is judged by",
    **{name: what.format("luck-adjusted ") for name, what in zip(ADJUSTED, _MEANT, strict=True)},
}


# --- variance components

LABELS = ("game", "seats", "agent", "model", "prompt")


def _component(row: Row) -> str:
    """Its name, led by what tells its cells from others."""
    every = row.results["components"]
    varied = (str(row[key]) for key in LABELS if every[key].nunique() > 1)
    return " ".join([*varied, row["component"]])


def _spread(row: Row, part: str) -> str:
    return f"{row.scale.factor * np.sqrt(max(row[part], 0.0)):.3g}"


SPREAD = View(
    "Variance components",
    (
        Column("where spread comes from", _component),
        Column("levels", text("levels")),
        Column("SD", lambda row: _spread(row, "variance")),
        Column("95% interval", lambda row: f"{_spread(row, 'low')} to {_spread(row, 'high')}"),
        Column("share", share("share")),
    ),
    "How far a match's result goes up and down with each; SD in points where the measure is a"
    "\nshare. wording: how far the mean would move if it were asked in other words. sample:"
    "\nluck of play, the deal held. a x b: what a changes on one b and not on another. rest:"
    "\nall else. Few levels tell little, as the intervals show.",
)


@table("components", COMPONENTS, [SPREAD], place=36)
def components(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each component of the cells that differ in wording alone."""
    groups: defaultdict[Hashable, dict[str, CellResults]] = defaultdict(dict)
    for result in results.cells:
        prompt, wording = worded(result.about.labels["prompt"])
        about = result.about
        design = (about.rotations, about.step, about.samples, about.seats, about.deal_key)
        groups[_labels(result), prompt, about.measure, design][wording] = result
    for cells in groups.values():
        yield from _components(list(cells.values()))


def worded(prompt: str) -> tuple[str, str]:
    """A prompt's label without its wording, and that: of cloze[wording=terse] cloze and terse."""
    name, _, changes = prompt.removesuffix("]").partition("[")
    kept = [change for change in changes.split(",") if change]
    wording = [change for change in kept if change.startswith("wording=")]
    others = ",".join(change for change in kept if change not in wording)
    told = wording[0].partition("=")[2] if wording else "plain"
    return f"{name}[{others}]" if others else name, told


def _labels(result: CellResults) -> tuple[str, ...]:
    labels = result.about.labels
    return (result.about.experiment, *(labels[key] for key in ("game", "agent", "model", "seats")))


def _components(cells: Sequence[CellResults]) -> Iterator[dict[str, Any]]:
    values = crossed(cells)
    if values.shape[1] < 2 or max(len(cells), values.shape[2], values.shape[3]) < 2:
        return
    about, found = cells[0].about, anova(values, FACTORS, WITHIN)
    named: defaultdict[str, list[Effect]] = defaultdict(list)
    for effect in found.effects:
        named[_name(found, effect)].append(effect)
    told = {name: found.component(*effects) for name, effects in named.items()}
    whole = sum(max(one.variance, 0.0) for one in told.values())
    levels = dict(zip(FACTORS, values.shape, strict=True))
    labels = {key: about.labels[key] for key in ("game", "agent", "model", "seats")}
    for name, one in told.items():
        yield {
            **labels,
            "experiment": about.experiment,
            "prompt": worded(about.labels["prompt"])[0],
            "component": name,
            "levels": " x ".join(str(levels[part]) for part in name.split(" x ") if part in levels),
            "variance": one.variance,
            "low": one.low,
            "high": one.high,
            "share": max(one.variance, 0.0) / whole if whole else np.nan,
            "measure": about.measure.name,
        }


def crossed(cells: Sequence[CellResults]) -> np.ndarray:
    """(cells, deals, samples, rotations): what the measure gave, on deals that all have in full."""
    about, deals = cells[0].about, min(cell.complete_deals for cell in cells)
    values = np.full((len(cells), deals, about.rotations), np.nan)
    for own, cell in zip(values, cells, strict=True):
        first = cell.outcomes.first(deals)
        own[first.column("deal"), first.column("rotation") // about.step] = first.column("figure")
    whole = np.isfinite(values).all(axis=(0, 2))
    per_sample = about.rotations // about.samples
    return values[:, whole].reshape(len(cells), -1, about.samples, per_sample)


def _name(found: Anova, effect: Effect) -> str:
    """What an effect is called; "rest" for the residual and what nobody would look for."""
    parts = [found.names[axis] for axis in sorted(effect)]
    if effect == found.effects[-1] or len(parts) > 2:
        return REST
    return "sample" if "sample" in parts else " x ".join(parts)


# --- partial pooling


def _adjusted(part: Part) -> bool:
    return bool(part.rows["adjusted"].notna().any())


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    """By group; of the adjusted means where there are some, which have less noise."""
    groups = []
    for _, group in rows.groupby(["experiment", "game", "seats", "measure"], sort=False):
        by = "adj_pooled" if group["adj_pooled"].notna().all() else "pooled"
        groups.append(group.sort_values(by, ascending=False, kind="stable"))
    return pd.concat(groups)


def _best(row: Row) -> str:
    return "adj_" if np.isfinite(row["adj_pooled"]) else ""


DRAWN = View(
    "Partially pooled",
    (
        Column("cell", cell_name),
        Column("raw", mean("mean")),
        Column("adjusted", mean("adjusted"), where=_adjusted),
        Column("pooled", lambda row: mean(f"{_best(row)}pooled")(row)),
        Column("95% interval", lambda row: span(f"{_best(row)}low", f"{_best(row)}high")(row)),
        Column("all cells", lambda row: mean(f"{_best(row)}group_mean")(row)),
    ),
    "Each cell's best estimate (adjusted where all of its game and seats are) drawn towards the"
    "\nmean of these by as much as it is noise: what to expect of the best of many, which owes"
    "\nits place to luck too.",
    _best_first,
)


@table("pooled", POOLED, [DRAWN], metrics=(), place=37)
def pooled(results: Results) -> Iterator[dict[str, Any]]:
    """The cells of an experiment with one game, seating and measure, where these are three or
    more; luck-adjusted too where every one of these cells is."""
    groups: defaultdict[Hashable, list[CellResults]] = defaultdict(list)
    for result in results.cells:
        about = result.about
        if len(result.by_deal()[0]) > 1 and _error_floor(result) > 0:
            key = (about.experiment, about.labels["game"], about.labels["seats"])
            groups[key, about.measure, about.deal_key].append(result)
    for cells in groups.values():
        if len(cells) >= LEAST:
            yield from _pooled(cells)


def _pooled(cells: Sequence[CellResults]) -> Iterator[dict[str, Any]]:
    raw = [(*cell.by_deal(), _error_floor(cell)) for cell in cells]
    columns = _pulled(raw, PLAIN)
    known = [cell.adjusted for cell in cells if cell.adjusted is not None]
    if len(known) == len(cells) and all(one.values.std() > 0 for one in known):
        adjusted = [(one.deals, one.values, 0.0) for one in known]
        columns |= _pulled(adjusted, ADJUSTED, _references(known))
    measure = cells[0].about.measure
    for name in LIMITS & columns.keys():
        columns[name] = np.clip(columns[name], measure.low, measure.high)
    for at, cell in enumerate(cells):
        about = cell.about
        yield {
            "experiment": about.experiment,
            "game": about.labels["game"],
            "seats": about.labels["seats"],
            "cell": about.name,
            **{name: values[at] for name, values in columns.items()},
            "measure": about.measure.name,
        }


Deals = tuple[np.ndarray, np.ndarray, float]
"""Deals, what each gave, and the least that their mean's squared error counts as."""


def _pulled(
    cells: Sequence[Deals], columns: Sequence[str], shared: float | np.ndarray = 0.0
) -> dict[str, np.ndarray]:
    """Means with their errors, pooled; shared: the covariance that comes on top."""
    means, covariance = _estimates(cells)
    covariance += shared
    found = partially_pooled(means, covariance)
    group = (np.full(len(cells), each) for each in (found.mean, found.spread))
    told = (means, np.sqrt(np.diag(covariance)), found.estimates, found.low, found.high, *group)
    return dict(zip(columns, told, strict=True))


def _estimates(cells: Sequence[Deals]) -> tuple[np.ndarray, np.ndarray]:
    """Means, and the covariance of their errors: cells that share deals share luck."""
    deals = max(int(own.max()) for own, _, _ in cells) + 1
    shares, means = np.zeros((len(cells), deals)), np.zeros(len(cells))
    for at, (own, values, _) in enumerate(cells):
        means[at] = values.mean()
        shares[at, own] = (values - means[at]) / np.sqrt(len(own) * (len(own) - 1))
    covariance = shares @ shares.T
    floors = [floor for _, _, floor in cells]
    covariance[np.diag_indices(len(cells))] = np.maximum(np.diag(covariance), floors)
    return means, covariance


def _references(known: Sequence[Adjusted]) -> np.ndarray:
    """The covariance that the errors of the references' means bring: one that cells share is one
    error."""
    of = [(one.reference, one.rate) for one in known]
    errors = np.array([one.error for one in known])
    same = np.array([[a == b for b in of] for a in of])
    found: np.ndarray = np.outer(errors, errors) * same
    return found


def _error_floor(cell: CellResults) -> float:
    """The least that the squared error of a mean counts as, so that deals which all came out alike
    have one: that of Agresti and Coull's proportion, two successes and two failures added, in parts
    of the measure's range. Without a range that of the deals, which may be 0."""
    values, measure = cell.by_deal()[1], cell.about.measure
    span = measure.high - measure.low
    if not np.isfinite(span) or values.std() > 0:
        return float(values.var(ddof=1) / len(values))
    share = ((values.mean() - measure.low) / span * len(values) + 2) / (len(values) + 4)
    return float(span**2 * share * (1 - share) / (len(values) + 4))
