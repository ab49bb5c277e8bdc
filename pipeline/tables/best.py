"""The best estimate of every cell and of every two, and the test that was declared for it.

An adjusted estimate (`pipeline/judging/luck.py`) has the same expectation as the raw one and less
noise; so it leads wherever it can be had, and the raw one where not. The sentences, the filled
marks of the figures and the terminal's p all follow `p_test_holm`, and nothing else claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pipeline.config.read import Declared
from pipeline.log.results import CellResults
from pipeline.plan.baseline import Baseline
from pipeline.tables.conditions import ALPHA, Conditions
from pipeline.tables.scale import Scale
from stats.means import limits, p_value, reaching, with_error
from stats.multiple import holm
from stats.proportions import fisher_test

ADJUSTED = ("adjusted", "adj_low", "adj_high")
"""The luck-adjusted mean and its 95% interval."""
CHANGE = ("change", "change_low", "change_high")

CELL_COLUMNS = ("p_adjusted", *CHANGE, "test", "p_test", "p_test_holm")
"""What summary.csv has of it, at its end. p_adjusted: one-sided, of the adjusted rate against the
baseline. change: the best estimate less the baseline, with its 95% interval, both errors included.
test: the one that the config declared. p_test: of the best estimate; empty where a rule stopped the
sweep, as it takes the number of deals as fixed. p_test_holm: corrected over all that the sentences
of the experiment could claim, a test a cell and one a term of the regression."""

CONTROL_COLUMNS = ("control", "control_mean", "p_control")
"""Which of its controls a cell is least shown to beat, that one's mean, and the p-value: paired by
deal and two-sided, 1 where the cell is not ahead. Empty where no control was played. A player that
looks at nothing may beat a baseline by habit, so a claim takes both tests: its p-value is the
larger one (R. L. Berger (1982), Technometrics 24, 295-300)."""

DIFFERENCE = ("adj_difference", "adj_low", "adj_high")
PAIR_COLUMNS = (*DIFFERENCE, "p_adjusted", "p_test", "p_test_holm")
"""What pairs.csv has of it: the difference of adjusted results by deal, its 95% interval and
two-sided p. p_test is that p, or the raw one where there is none, and empty after a stopping rule;
p_test_holm is over all pairs of the table."""


def of_cell(result: CellResults) -> dict[str, Any]:
    """ADJUSTED and CELL_COLUMNS but Holm's; what cannot be said is left out."""
    about, base, found = result.about, result.about.baseline, result.adjusted
    row: dict[str, Any] = {"test": about.test.name}
    span = (about.measure.low, about.measure.high)
    values, error = (result.by_deal()[1], 0.0) if found is None else (found.values, found.error)
    if found is not None:
        own = limits(values, _reaching(values, span))
        low, high = with_error(values.mean(), *own, error)
        row |= zip(ADJUSTED, (values.mean(), max(low, span[0]), min(high, span[1])), strict=True)
        span = _reaching(values, span)  # single deals may lie outside, and so may their mean
    if base is None or not len(values):
        return row
    error = float(np.hypot(base.error, error))
    change, around = values.mean() - base.rate, (span[0] - base.rate, span[1] - base.rate)
    reach = with_error(change, *limits(values - base.rate, around), error)
    row |= zip(CHANGE, (change, *reach), strict=True)

    if found is not None:
        row["p_adjusted"] = float(p_value(values, span, base.rate, "above", error))
    if not result.stopped and found is None and _counted(result):
        row["p_test"] = _exact(result, base, about.test)
    elif not result.stopped:
        null = base.rate - about.test.margin * about.span
        row["p_test"] = float(p_value(values, span, null, about.test.side, error))
    return row


def _counted(result: CellResults) -> bool:
    """Whether a deal is a win or none, beside a baseline of games that were counted."""
    about, base = result.about, result.about.baseline
    counted = isinstance(base, Baseline) and base.mean is None
    return counted and about.wins and not about.clustered and about.test.margin == 0


def _exact(result: CellResults, base: Baseline, test: Declared) -> float:
    """Fisher's test, which never rejects more often than its level."""
    wins, games = int(result.outcomes.won.sum()), len(result.outcomes)
    above = float(fisher_test(wins, games, base.wins, base.games))
    if test.side == "above":
        return above
    lost = fisher_test(games - wins, games, base.games - base.wins, base.games)
    return min(1.0, 2 * min(above, float(lost)))


def _reaching(values: np.ndarray, span: tuple[float, float]) -> tuple[float, float]:
    low, high = np.asarray(reaching(values, span), float).tolist()
    return low, high


def of_pair(a: CellResults, b: CellResults, raw: float) -> dict[str, float]:
    """PAIR_COLUMNS but Holm's, of two cells that met the same deals. raw: the p-value of the plain
    results."""
    row = _adjusted_pair(a, b)
    if not (a.stopped or b.stopped):
        row["p_test"] = row.get("p_adjusted", raw)
    return row


def _adjusted_pair(a: CellResults, b: CellResults) -> dict[str, float]:
    one, other = a.adjusted, b.adjusted
    if one is None or other is None:
        return {}
    _, in_a, in_b = np.intersect1d(one.deals, other.deals, True, return_indices=True)
    if not len(in_a):
        return {}
    differences = one.values[in_a] - other.values[in_b]
    same = (one.reference, one.rate) == (other.reference, other.rate)  # its error cancels
    error = 0.0 if same else float(np.hypot(one.error, other.error))
    width = a.about.measure.high - a.about.measure.low
    span, mean = _reaching(differences, (-width, width)), differences.mean()
    reach = with_error(mean, *limits(differences, span), error)
    row = dict(zip(DIFFERENCE, (mean, *reach), strict=True))
    return {**row, "p_adjusted": float(p_value(differences, span, 0.0, "either", error))}


def family(
    summary: pd.DataFrame, conditions: Sequence[Conditions]
) -> tuple[pd.Series[float], list[Conditions]]:
    """Holm's p-values over all that each experiment's sentences could claim: the cells', and the
    conditions with theirs. Each claim is also one to beat the controls of its cells."""
    cells, told = pd.Series(np.nan, summary.index), list(conditions)
    for experiment, rows in summary.groupby("experiment"):
        own = [at for at, found in enumerate(told) if found.experiment == experiment]
        blind = dict(zip(rows["cell"], rows["p_control"].fillna(0.0), strict=True))
        for at in own:
            told[at] = told[at].against(blind)
        terms = [np.maximum(one.p, one.p_control) for at in own for one in told[at].effects]
        both = holm([*np.maximum(rows["p_test"], rows["p_control"].fillna(0.0)), *terms])
        cells[rows.index] = both[: len(rows)]
        rest = iter(both[len(rows) :].tolist())
        for at in own:
            effects = (replace(effect, p_holm=next(rest)) for effect in told[at].effects)
            told[at] = replace(told[at], effects=tuple(effects))
    return cells, told


def least_beaten(controls: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """CONTROL_COLUMNS by cell, of controls.csv."""
    ahead = controls["difference"] > 0
    found = controls.assign(p_control=controls["p_value"].where(ahead, 1.0).fillna(1.0))
    last = found.sort_values(["p_control", "control_mean"]).groupby("cell").tail(1)
    rows = last.to_dict("records")
    return {row["cell"]: {name: row[name] for name in CONTROL_COLUMNS} for row in rows}


def unbeaten(row: pd.Series[Any]) -> str:
    """The control that a cell is least shown to beat, in words; "" where it beats all, or none was
    played."""
    if not row["p_control"] >= ALPHA:
        return ""
    return f"always the {row['control']} ({Scale.row(row).mean(row['control_mean'])})"
