"""How results depend on circumstances: variance components, partial pooling of the cells of an
experiment (docs/statistics.md), and games under made-up names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.ids import class_id
from gauntlet.games.capabilities import Measure
from gauntlet.games.obfuscated import Obfuscated
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, Row, View
from gauntlet.pipeline.tables.registry import Results, columns, table
from gauntlet.pipeline.tables.sweep.pairs import compare_pairs
from gauntlet.pipeline.tables.sweep.primary_test import measure_columns, read_difference
from gauntlet.stats.components import Anova, Effect, anova
from gauntlet.stats.means import LEAST as LEAST_DEALS
from gauntlet.stats.pooling import LEAST, moderated, partially_pooled

# --- variance components

FACTORS = ("wording", "deal", "sample", "seat")
NESTED = {"sample": "deal"}
LABELS = ("game", "seats", "agent", "model", "prompt")
COMPONENTS = {
    **columns("experiment", "game", "agent", "model"),
    "prompt": "its prompting method, without the wording",
    **columns("seats"),
    "component": "where the spread comes from: `wording`, `deal`, `sample`, `seat`, two together, "
    "or the `rest`",
    "levels": "how many of each there were",
    "variance": "variance of one match's result; may lie below 0",
    "low": "lower end of its 95% interval, never below 0",
    "high": "upper end of it",
    "share": "of the sum of the variances above 0",
    "measure": "what cells are judged by",
}


def _component_name(row: Row) -> str:
    """With the labels that vary."""
    every = row.results["components"]
    varying = (str(row[key]) for key in LABELS if every[key].nunique() > 1)
    return " ".join([*varying, row["component"]])


def _deviation(row: Row, column: str) -> str:
    return f"{row.scale.factor * np.sqrt(max(row[column], 0.0)):.3g}"


COMPONENTS_VIEW = View(
    "Variance components",
    (
        Column("where spread comes from", _component_name),
        Column("levels", sheets.text("levels")),
        Column("SD", lambda row: _deviation(row, "variance")),
        Column(
            "95% interval", lambda row: f"{_deviation(row, 'low')} to {_deviation(row, 'high')}"
        ),
        Column("share", sheets.share("share")),
    ),
    "How far a match's result goes up and down with each; SD in points where the measure is a"
    " share. wording: how far the mean would move if it were asked in other words. sample:"
    " luck of play, the deal held. a x b: what a changes on one b and not on another. rest:"
    " all else. Few levels tell little, as the intervals show.",
)


@table("components", COMPONENTS, [COMPONENTS_VIEW], place=36)
def components(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each component of the cells that differ in wording only."""
    groups: defaultdict[Hashable, dict[str, CellResults]] = defaultdict(dict)
    for result in results.cells:
        about = result.about
        prompt, wording = split_wording(about.labels["prompt"])
        labels = tuple(about.labels[key] for key in LABELS if key != "prompt")
        design = (about.rotations, about.step, about.samples, about.seats, about.deal_key)
        groups[about.experiment, labels, prompt, about.measure, design][wording] = result
    for cells in groups.values():
        yield from _components(list(cells.values()))


def split_wording(prompt: str) -> tuple[str, str]:
    """A prompt's label without its wording, and that: of cloze[wording=terse] cloze and terse."""
    name, _, settings = prompt.removesuffix("]").partition("[")
    changes = [change for change in settings.split(",") if change]
    wording = [change for change in changes if change.startswith("wording=")]
    others = ",".join(change for change in changes if change not in wording)
    value = wording[0].partition("=")[2] if wording else "plain"
    return f"{name}[{others}]" if others else name, value


def _components(cells: Sequence[CellResults]) -> Iterator[dict[str, Any]]:
    values = crossed(cells)
    if values.shape[1] < 2 or max(len(cells), values.shape[2], values.shape[3]) < 2:
        return
    about, analysis = cells[0].about, anova(values, FACTORS, NESTED)
    by_name: defaultdict[str, list[Effect]] = defaultdict(list)
    for effect in analysis.effects:
        by_name[_effect_name(analysis, effect)].append(effect)
    parts = {name: analysis.component(*effects) for name, effects in by_name.items()}
    total = sum(max(one.variance, 0.0) for one in parts.values())
    levels = dict(zip(FACTORS, values.shape, strict=True))
    for name, component in parts.items():
        yield {
            **{key: about.labels[key] for key in LABELS},
            "experiment": about.experiment,
            "prompt": split_wording(about.labels["prompt"])[0],
            "component": name,
            "levels": " x ".join(str(levels[part]) for part in name.split(" x ") if part in levels),
            "variance": component.variance,
            "low": component.low,
            "high": component.high,
            "share": max(component.variance, 0.0) / total if total else np.nan,
            "measure": about.measure.name,
        }


def crossed(cells: Sequence[CellResults]) -> np.ndarray:
    """(cells, deals, samples, rotations): the results on deals that all cells finished."""
    about, deals = cells[0].about, min(cell.complete_deals for cell in cells)
    values = np.full((len(cells), deals, about.rotations), np.nan)
    for row, cell in zip(values, cells, strict=True):
        first = cell.outcomes.first(deals)
        row[first.column("deal"), first.column("rotation") // about.step] = first.column("figure")
    complete = np.isfinite(values).all(axis=(0, 2))
    per_sample = about.rotations // about.samples
    return values[:, complete].reshape(len(cells), -1, about.samples, per_sample)


def _effect_name(analysis: Anova, effect: Effect) -> str:
    """An effect's name; "rest" for the residual and interactions of three or more."""
    parts = [analysis.names[axis] for axis in sorted(effect)]
    if effect == analysis.effects[-1] or len(parts) > 2:
        return "rest"
    return "sample" if "sample" in parts else " x ".join(parts)


# --- partial pooling

FEWEST = 5
"""Deals that a cell needs; `stats.means.LEAST` if the measure has no range. With fewer, intervals
cover too seldom (docs/validation.md)."""
DealValues = tuple[np.ndarray, np.ndarray, float]
"""Deals, their values, and the least squared error of the mean."""
PLAIN = ("mean", "error", "pooled", "low", "high", "group_mean", "group_spread")
ADJUSTED = (
    *("adjusted", "adj_error", "adj_pooled", "adj_low", "adj_high"),
    *("adj_group_mean", "adj_group_spread"),
)
_MEANINGS = (
    "the {}mean",
    "its standard error, clustered by deal",
    "the {}mean drawn towards the common mean of the cells",
    "lower end of its 95% interval, within the measure's range",
    "upper end of it",
    "the common mean",
    "how far the cells' true means lie apart: their standard deviation",
)
POOLED = {
    **columns("experiment", "game", "seats", "cell"),
    **{name: what.format("raw ") for name, what in zip(PLAIN, _MEANINGS, strict=True)},
    **columns("measure"),
    **{name: what.format("luck-adjusted ") for name, what in zip(ADJUSTED, _MEANINGS, strict=True)},
}


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    """By group; by the adjusted means if all cells of the group have one."""
    groups = []
    for _, group in rows.groupby(["experiment", "game", "seats", "measure"], sort=False):
        by = "adj_pooled" if group["adj_pooled"].notna().all() else "pooled"
        groups.append(group.sort_values(by, ascending=False, kind="stable"))
    return pd.concat(groups)


def _prefix(row: Row) -> str:
    return "adj_" if np.isfinite(row["adj_pooled"]) else ""


POOLED_VIEW = View(
    "Partially pooled",
    (
        Column("cell", sheets.cell_name),
        Column("raw", sheets.mean("mean")),
        Column(
            "adjusted",
            sheets.mean("adjusted"),
            where=lambda part: bool(part.rows["adjusted"].notna().any()),
        ),
        Column("pooled", lambda row: sheets.mean(f"{_prefix(row)}pooled")(row)),
        Column(
            "95% interval",
            lambda row: sheets.span(f"{_prefix(row)}low", f"{_prefix(row)}high")(row),
        ),
        Column("all cells", lambda row: sheets.mean(f"{_prefix(row)}group_mean")(row)),
    ),
    "Each cell's best estimate (adjusted where all of its game and seats are), shrunk towards"
    " their mean, because the best of many is partly lucky.",
    _best_first,
)


@table("pooled", POOLED, [POOLED_VIEW], metrics=(), place=37)
def pooled(results: Results) -> Iterator[dict[str, Any]]:
    """The cells of an experiment with one game, seating and measure, if three or more have enough
    deals; luck-adjusted too if all of them are."""
    groups: defaultdict[Hashable, list[tuple[CellResults, DealValues]]] = defaultdict(list)
    for result in results.cells:
        about, (deals, values) = result.about, result.by_deal()
        bounded = np.isfinite(about.measure.high - about.measure.low)
        enough = len(deals) >= (FEWEST if bounded else LEAST_DEALS)
        if enough and (floor := error_floor(values, about.measure)) > 0:
            group = (about.experiment, about.labels["game"], about.labels["seats"])
            groups[group, about.measure, about.deal_key].append((result, (deals, values, floor)))
    for members in groups.values():
        if len(members) >= LEAST:
            cells, raw = zip(*members, strict=True)
            yield from _pooled(cells, raw)


def _pooled(cells: Sequence[CellResults], raw: Sequence[DealValues]) -> Iterator[dict[str, Any]]:
    values = shrunk(raw, PLAIN)
    adjusted = [cell.adjusted for cell in cells if cell.adjusted is not None]
    if len(adjusted) == len(cells) and all(one.values.std() > 0 for one in adjusted):
        by_deal = [(one.deals, one.values, 0.0) for one in adjusted]
        # cells with the same reference share the error of its mean
        errors, references = (
            np.array([one.error for one in adjusted]),
            [(one.reference, one.rate) for one in adjusted],
        )
        same = np.array([[a == b for b in references] for a in references])
        values |= shrunk(by_deal, ADJUSTED, np.outer(errors, errors) * same)
    measure = cells[0].about.measure
    for name in {"low", "high", "adj_low", "adj_high"} & values.keys():
        values[name] = np.clip(values[name], measure.low, measure.high)
    for at, cell in enumerate(cells):
        about = cell.about
        yield {
            "experiment": about.experiment,
            "game": about.labels["game"],
            "seats": about.labels["seats"],
            "cell": about.name,
            **{name: each[at] for name, each in values.items()},
            "measure": about.measure.name,
        }


def shrunk(
    cells: Sequence[DealValues], names: Sequence[str], shared: float | np.ndarray = 0.0
) -> dict[str, np.ndarray]:
    """Means with their errors, pooled. shared: an additional covariance, which is known."""
    size = max(int(deals.max()) for deals, _, _ in cells) + 1
    means, shares, met = np.zeros(len(cells)), *np.zeros((2, len(cells), size))
    for at, (deals, by_deal, _) in enumerate(cells):
        means[at] = by_deal.mean()
        shares[at, deals] = (by_deal - means[at]) / np.sqrt(len(deals) * (len(deals) - 1))
        met[at, deals] = len(deals) ** -0.5
    covariance = shares @ shares.T  # of the means' errors: cells that share deals share luck
    floors = [floor for _, _, floor in cells]
    covariance[np.diag_indices(len(cells))] = np.maximum(np.diag(covariance), floors)
    counts = np.array([len(deals) for deals, _, _ in cells])
    pool = partially_pooled(means, moderated(covariance, counts, met @ met.T) + shared)
    covariance += shared
    group = (np.full(len(cells), each) for each in (pool.mean, pool.spread))
    values = (means, np.sqrt(np.diag(covariance)), pool.estimates, pool.low, pool.high, *group)
    return dict(zip(names, values, strict=True))


def error_floor(values: np.ndarray, measure: Measure) -> float:
    """The least squared error of a mean, also for deals that all gave the same: that of Agresti and
    Coull's proportion, two successes and two failures added, scaled to the measure's range. Without
    a range that of the deals, which may be 0."""
    width = measure.high - measure.low
    if not np.isfinite(width) or values.std() > 0:
        return float(values.var(ddof=1) / len(values))
    share = ((values.mean() - measure.low) / width * len(values) + 2) / (len(values) + 4)
    return float(width**2 * share * (1 - share) / (len(values) + 4))


# --- games under made-up names

OBFUSCATED = class_id(Obfuscated)
PLAYER = ("agent", "model", "prompt", "seats")
OBFUSCATION = {
    **columns("experiment"),
    "game": "the plain game",
    "obfuscated_game": "the game under made-up names",
    "names": "the seed that made the names",
    **columns("agent", "model", "prompt", "seats", "deals"),
    "plain": "the mean over these deals with the plain names, raw",
    "obfuscated": "the mean with made-up names, raw",
    "difference": "obfuscated less plain, paired: luck-adjusted where pairs.csv is",
    **columns("low", "high"),
    "p": "as in pairs.csv",
    "p_holm": "as in pairs.csv, or corrected over the rows that pairs.csv lacks",
    "measure": "what both are judged by",
    **columns("measure_low", "measure_high"),
}


def _player(row: Row) -> str:
    names = [row[key] for key in ("model", "prompt") if row[key] != "-"] or [row["agent"]]
    several = row.results["obfuscation"]["seats"].nunique() > 1
    return " ".join([*names, *[row["seats"]] * several])


def _game(row: Row) -> str:
    several = row.results["obfuscation"]["names"].nunique() > 1
    return f"{row['game']}, names {row['names']}" if several else str(row["game"])


OBFUSCATION_VIEW = View(
    "Under other names",
    (
        Column("player", _player),
        Column("game", _game),
        Column("deals", sheets.count("deals")),
        Column("plain", sheets.mean("plain")),
        Column("obfuscated", sheets.mean("obfuscated")),
        Column("difference", sheets.change("difference")),
        Column("95% interval", sheets.change_span("low", "high")),
        Column("p Holm", sheets.p("p_holm")),
    ),
    "The same deals, the same rules and the same actions, under made-up names and with the "
    "options in another order: what is lost depended on names. Differences, intervals and p "
    "Holm are those of pairs.csv.",
)
Renamed = tuple[CellResults, CellResults, int]
"""A cell under made-up names, the plain one, and the names' seed."""


@table("obfuscation", OBFUSCATION, [OBFUSCATION_VIEW], place=30)
def obfuscation(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each agent, model, prompt and seating that played both games."""
    renamed = list(_renamed(results))
    rows = {(row["cell_a"], row["cell_b"]): row for row in results["pairs"].to_dict("records")}
    missing = [
        (cell, plain)
        for cell, plain, _ in renamed
        if not {(cell.about.name, plain.about.name), (plain.about.name, cell.about.name)} & {*rows}
    ]
    more = compare_pairs(missing).to_dict("records")
    rows |= {(row["cell_a"], row["cell_b"]): row for row in more}
    yield from (_obfuscation_row(*one, rows) for one in renamed)


def _renamed(results: Results) -> Iterator[Renamed]:
    log = Folder(results.folder)
    games = [log.description(result.about)["identity"]["game"] for result in results.cells]
    for cell, game in zip(results.cells, games, strict=True):
        if game["class"] == OBFUSCATED:
            for plain, other in zip(results.cells, games, strict=True):
                same = cell.about.paired_by == plain.about.paired_by and all(
                    cell.about.labels[key] == plain.about.labels[key] for key in PLAYER
                )
                if same and other == game["of"] and cell.about.experiment == plain.about.experiment:
                    yield cell, plain, int(game["seed"])


def _obfuscation_row(
    cell: CellResults,
    plain: CellResults,
    names: int,
    rows: Mapping[tuple[str, str], Mapping[Any, Any]],
) -> dict[str, Any]:
    labels, pair = plain.about.labels, (cell.about.name, plain.about.name)
    row, sign = (rows[pair], 1) if pair in rows else (rows[pair[::-1]], -1)
    difference, *ends = (sign * value for value in read_difference(row))
    (deals, values), (plain_deals, plain_values) = cell.by_deal(), plain.by_deal()
    has_deals = bool(row["deals"])
    return {
        "experiment": plain.about.experiment,
        "game": labels["game"],
        "obfuscated_game": cell.about.labels["game"],
        "names": names,
        **{key: labels[key] for key in PLAYER},
        "deals": row["deals"],
        "plain": plain_values[np.isin(plain_deals, deals)].mean() if has_deals else np.nan,
        "obfuscated": values[np.isin(deals, plain_deals)].mean() if has_deals else np.nan,
        "difference": difference,
        **dict(zip(("low", "high"), sorted(ends), strict=True)),
        "p": row["p"],
        "p_holm": row["p_holm"],
        **measure_columns(plain.about),
    }
