"""The one estimate of every cell and of every two, its interval, and the test declared for it.

An adjusted estimate (`pipeline/judging/luck.py`) has the same expectation as the raw one and less
noise; so it leads wherever it can be had, and the raw one where not. Every p-value that is printed
of a cell or of two is `p_test`, or `p_test_holm`, which corrects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import Measure
from gauntlet.pipeline.config.read import Declared
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.breakdowns import interval
from gauntlet.pipeline.tables.claims import ALPHA, null_value
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.stats.means import limits, p_value, per_deal, reaching, with_error
from gauntlet.stats.paired import count_pairs, mcnemar, permutation
from gauntlet.stats.proportions import fisher_test

MEAN = ("mean", "mean_low", "mean_high")
ADJUSTED = ("adjusted", "adj_low", "adj_high")
"""The raw and the luck-adjusted mean, each with its 95% interval."""
CHANGE = ("change", "change_low", "change_high")

CELL_COLUMNS = (*CHANGE, "test", "null_value", "p_test", "p_test_holm")
"""What summary.csv has of it, at its end. change: the best estimate less the baseline, with its 95%
interval, both errors included. test: the one that the config declared; null_value: see
`claims.null_value`. p_test: of the best estimate; empty where a rule stopped the sweep, as it
takes the number of deals as fixed. p_test_holm: corrected over all that the sentences of the
experiment could claim, a test a cell and one a term."""

CONTROL_COLUMNS = ("control", "control_mean", "p_control")
"""Which of its controls a cell is least shown to beat, that one's mean, and the p-value: paired by
deal and two-sided, 1 where the cell is not ahead. Empty where no control was played. A player that
looks at nothing may beat a baseline by habit, so a claim takes both tests: its p-value is the
larger one (R. L. Berger (1982), Technometrics 24, 295-300)."""

RAW_DIFFERENCE = ("difference", "ci_low", "ci_high")
DIFFERENCE = ("adj_difference", "adj_low", "adj_high")
PAIR_COLUMNS = (*DIFFERENCE, "test", "p_test", "p_test_holm")
"""What pairs.csv has of it: the difference of adjusted results by deal with its 95% interval; the
test, `adjusted` of that difference, else `mcnemar` or `permutation` of the raw one; its two-sided
p, empty after a stopping rule; and Holm's: with the experiment's cells where a sentence tells the
pair, else over the other pairs of the table."""

PERMUTATION_SEED = 0

Estimate = tuple[float, float, float]
"""A mean or a difference with its 95% limits."""


def estimate(result: CellResults) -> Estimate:
    """The best one of a cell's mean."""
    about, found = result.about, result.adjusted
    if found is None:
        return interval(
            result.outcomes.column("figure"), result.outcomes.column("deal"), about.measure
        )
    span = _span(about.measure)
    mean, own = float(found.values.mean()), limits(found.values, _reaching(found.values, span))
    low, high = with_error(mean, *own, found.error)
    return mean, max(float(low), span[0]), min(float(high), span[1])


def of_cell(result: CellResults) -> dict[str, Any]:
    """ADJUSTED and CELL_COLUMNS but Holm's; what cannot be said is left out."""
    about, base, found = result.about, result.about.baseline, result.adjusted
    against, span, error = null_value(about), _span(about.measure), 0.0
    row: dict[str, Any] = {"test": about.test.name, "null_value": against}
    values = per_deal(result.outcomes.column("figure"), result.outcomes.column("deal"))
    if found is not None:
        values, error = found.values, found.error
        row |= zip(ADJUSTED, estimate(result), strict=True)
        span = _reaching(values, span)  # single deals may lie outside, and so may their mean
    if not len(values):
        return row
    if base is not None:
        error = float(np.hypot(base.error, error))
        change, around = values.mean() - base.rate, (span[0] - base.rate, span[1] - base.rate)
        reach = with_error(change, *limits(values - base.rate, around), error)
        row |= zip(CHANGE, (change, *reach), strict=True)
    if not result.stopped and found is None and _counted(about):
        row["p_test"] = _exact(result, about.test)
    elif not result.stopped:
        row["p_test"] = float(p_value(values, span, against, about.test.side, error))
    return row


def _counted(about: CellInfo) -> bool:
    """Whether a deal is a win or none, beside a baseline of games that were counted."""
    base = about.baseline
    counted = isinstance(base, Baseline) and base.mean is None
    return counted and about.wins and not about.clustered and about.test.margin == 0


def _exact(result: CellResults, test: Declared) -> float:
    """Fisher's test, which never rejects more often than its level."""
    base = result.about.baseline
    assert base is not None
    wins, games = int(result.outcomes.won.sum()), len(result.outcomes)
    above = float(fisher_test(wins, games, base.wins, base.games))
    if test.side == "above":
        return above
    lost = fisher_test(games - wins, games, base.games - base.wins, base.games)
    return min(1.0, 2 * min(above, float(lost)))


def _span(measure: Measure) -> tuple[float, float]:
    return measure.low, measure.high


def _reaching(values: np.ndarray, span: tuple[float, float]) -> tuple[float, float]:
    low, high = np.asarray(reaching(values, span), float).tolist()
    return low, high


class ByDeal(dict[int, tuple[CellResults, tuple[np.ndarray, np.ndarray]]]):
    """What each cell's deals gave, found once however many pairs it is in."""

    def of(self, cell: CellResults) -> tuple[np.ndarray, np.ndarray]:
        if id(cell) not in self:
            self[id(cell)] = cell, cell.by_deal()  # the cell too, lest another take its place
        return self[id(cell)][1]


def of_pair(a: CellResults, b: CellResults, played: ByDeal | None = None) -> dict[str, Any]:
    """A row of pairs.csv but for Holm's, of two cells that met the same deals."""
    row = {**raw_pair(a, b, played), **_adjusted_pair(a, b)}
    p = row.pop("p")
    return {**row, "p_test": np.nan if a.stopped or b.stopped else p}


def best_of_cell(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate of the mean in a row of summary.csv."""
    return _best(row, ADJUSTED, MEAN)


def best_of_pair(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate of the difference in a row of pairs.csv."""
    return _best(row, DIFFERENCE, RAW_DIFFERENCE)


def _best(row: Any, adjusted: Sequence[str], raw: Sequence[str]) -> Estimate:
    mean, low, high = (
        float(row[name]) for name in (raw if pd.isna(row[adjusted[0]]) else adjusted)
    )
    return mean, low, high


def raw_pair(a: CellResults, b: CellResults, played: ByDeal | None = None) -> dict[str, Any]:
    """Two cells by their raw results on the deals that both have finished, with `test` and `p`.

    One win or loss a deal: exact McNemar. Several (rotated seats, several measured players), or
    another measure: a deal's mean is compared, by a paired permutation test.
    """
    played = ByDeal() if played is None else played
    (deals_a, means_a), (deals_b, means_b) = played.of(a), played.of(b)
    shared, x, y = deals_a, means_a, means_b
    if not np.array_equal(deals_a, deals_b):
        shared, in_a, in_b = np.intersect1d(deals_a, deals_b, True, return_indices=True)
        x, y = means_a[in_a], means_b[in_b]
    row = {
        "cell_a": a.about.name,
        "cell_b": b.about.name,
        "deals": len(shared),
        "a_only": int((x > y).sum()),
        "b_only": int((y > x).sum()),
        **measured_by(a.about),
    }
    if a.about.wins and not (a.about.clustered or b.about.clustered):
        test = mcnemar(count_pairs(x, y))
        return {
            **row,
            **dict(zip(RAW_DIFFERENCE, (test.difference, test.low, test.high), strict=True)),
            "correlation": test.phi,
            "test": "mcnemar",
            "p": test.p_value,
        }
    span = _span_of_differences(a.about.measure)
    p, error = permutation(x - y, span, PERMUTATION_SEED)
    reach = ((x - y).mean() if len(shared) else np.nan, *limits(x - y, span))
    return {
        **row,
        **dict(zip(RAW_DIFFERENCE, reach, strict=True)),
        "correlation": _correlation(x, y),
        "test": "permutation",
        "p": p,
        "permutation_error": error,
    }


def measured_by(about: CellInfo) -> dict[str, Any]:
    """Which measure it is; a bound that is not there is nan."""
    bounds = {"measure_low": about.measure.low, "measure_high": about.measure.high}
    finite = {name: x if np.isfinite(x) else np.nan for name, x in bounds.items()}
    return {"measure": about.measure.name, **finite}


def _span_of_differences(measure: Measure) -> tuple[float, float]:
    return measure.low - measure.high, measure.high - measure.low


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    varies = len(x) > 1 and x.std() > 0 and y.std() > 0
    return float(np.corrcoef(x, y)[0, 1]) if varies else np.nan


def _adjusted_pair(a: CellResults, b: CellResults) -> dict[str, Any]:
    """What takes the place of the raw test where both cells are adjusted."""
    one, other = a.adjusted, b.adjusted
    if one is None or other is None:
        return {}
    _, in_a, in_b = np.intersect1d(one.deals, other.deals, True, return_indices=True)
    if not len(in_a):
        return {}
    differences = one.values[in_a] - other.values[in_b]
    same = (one.reference, one.rate) == (other.reference, other.rate)  # its error cancels
    error = 0.0 if same else float(np.hypot(one.error, other.error))
    span = _reaching(differences, _span_of_differences(a.about.measure))
    mean = differences.mean()
    reach = with_error(mean, *limits(differences, span), error)
    row = dict(zip(DIFFERENCE, (mean, *reach), strict=True))
    p = float(p_value(differences, span, 0.0, "either", error))
    return {**row, "test": "adjusted", "p": p, "permutation_error": np.nan}


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
