"""The one estimate of each cell and of each pair, its interval, and its declared test.

A luck-adjusted estimate (`pipeline/judging/luck.py`) has the same expectation as the raw one. The
one whose interval is narrower leads, by the first half of the deals (`control_variates.leads`).
Every printed p-value of a cell or a pair is `p` or its correction `p_holm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import WIN, Measure
from gauntlet.pipeline.config.read import DeclaredTest
from gauntlet.pipeline.log.results import Adjusted, CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.formatting import Scale
from gauntlet.pipeline.tables.sweep.claims import null_value
from gauntlet.stats.means import limits, p_value, per_deal, reaching, with_error
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.paired import count_pairs, mcnemar, permutation
from gauntlet.stats.proportions import fisher_test

ESTIMATE, RAW = ("estimate", "ci_low", "ci_high"), ("raw", "raw_low", "raw_high")
"""A cell's best and raw mean, or a pair's raw difference, with its 95% interval."""
CHANGE = ("difference", "difference_low", "difference_high")
"""A cell's best estimate less its baseline; the 95% interval includes both errors."""
DIFFERENCE = ("difference", "ci_low", "ci_high")
"""A pair's best estimate, with its 95% interval."""
CONTROL = ("control", "control_difference", "control_low", "control_high")
"""A cell's strongest control, and its raw difference from it with its 95% interval."""
PERMUTATION_SEED = 0

Estimate = tuple[float, float, float]
"""A mean or a difference with its 95% limits."""
Bounds = tuple[float, float]


def interval(values: np.ndarray, deals: np.ndarray, measure: Measure) -> Estimate:
    """The mean with its 95% limits by deal."""
    low, high = limits(per_deal(values, deals), (measure.low, measure.high))
    return float(values.mean()) if len(values) else np.nan, float(low), float(high)


def raw(result: CellResults) -> Estimate:
    """A cell's mean as played."""
    about, outcomes = result.about, result.outcomes
    if not about.wins:
        return interval(outcomes.column("figure"), outcomes.column("deal"), about.measure)
    if about.clustered:
        return interval(outcomes.won, outcomes.column("deal"), WIN)
    wins, matches = outcomes.column("winners").sum().item(), len(outcomes)
    low, high = limits((0.0, 1.0), (0.0, 1.0), counts=(matches - wins, wins))
    return wins / matches if matches else np.nan, float(low), float(high)


def leading(result: CellResults) -> Adjusted | None:
    """A cell's luck-adjusted results, if they lead."""
    return result.adjusted if result.adjusted is not None and result.adjusted.leads else None


def luck_adjusted(about: CellInfo, adjusted: Adjusted) -> Estimate:
    """The mean without luck, whether or not it leads."""
    values, bounds = adjusted.values, (about.measure.low, about.measure.high)
    mean = float(values.mean())
    around = _reaching(values, bounds, about.seats_taken)
    return _within((mean, *with_error(mean, *limits(values, around), adjusted.error)), bounds)


def estimate(result: CellResults) -> Estimate:
    """The best estimate of a cell's mean."""
    adjusted = leading(result)
    return raw(result) if adjusted is None else luck_adjusted(result.about, adjusted)


def cell_columns(result: CellResults) -> dict[str, Any]:
    """A cell's columns of summary.csv about its measure, except Holm's p; unknown ones are
    missing."""
    about, base, adjusted = result.about, result.about.baseline, leading(result)
    bounds, error = (about.measure.low, about.measure.high), 0.0
    row: dict[str, Any] = {"estimator": "raw" if adjusted is None else "adjusted"}
    row |= {"test": about.test.name, **dict(zip(RAW, raw(result), strict=True))}
    row |= zip(ESTIMATE, estimate(result), strict=True)
    values = per_deal(result.outcomes.column("figure"), result.outcomes.column("deal"))
    if adjusted is not None:
        values, error = adjusted.values, adjusted.error
        bounds = _reaching(values, bounds, about.seats_taken)
    if not len(values):
        return row
    if base is not None:
        error = float(np.hypot(base.error, error))
        change, around = values.mean() - base.rate, (bounds[0] - base.rate, bounds[1] - base.rate)
        ends = with_error(change, *limits(values - base.rate, around), error)
        most = with_error(
            0.0, about.measure.low - base.rate, about.measure.high - base.rate, base.error
        )
        row |= zip(CHANGE, _within((change, *ends), most), strict=True)
    counts = isinstance(base, Baseline) and base.mean is None  # deals and games won or lost
    counts = counts and about.wins and not about.clustered and about.test.margin == 0
    if result.testable and adjusted is None and counts:
        row["p"] = _exact(result, about.test)
    elif result.testable:
        row["p"] = float(p_value(values, bounds, null_value(about), about.test.side, error))
    return row


def _exact(result: CellResults, test: DeclaredTest) -> float:
    """Fisher's test, which never rejects more often than its level."""
    base = result.about.baseline
    assert base is not None
    wins, games = int(result.outcomes.won.sum()), len(result.outcomes)
    above = float(fisher_test(wins, games, base.wins, base.games))
    if test.side == "above":
        return above
    below = fisher_test(games - wins, games, base.games - base.wins, base.games)
    return min(1.0, 2 * min(above, float(below)))


def _reaching(values: np.ndarray, bounds: Bounds, seatings: int) -> Bounds:
    low, high = np.asarray(reaching(values, bounds, seatings), float).tolist()
    return low, high


def measure_columns(about: CellInfo) -> dict[str, Any]:
    """The cell's measure; infinite bounds are nan."""
    return {"measure": about.measure.name, **finite_bounds(about.measure)}


def finite_bounds(measure: Measure) -> dict[str, float]:
    bounds = {"measure_low": measure.low, "measure_high": measure.high}
    return {name: x if np.isfinite(x) else np.nan for name, x in bounds.items()}


class DealMeans(dict[int, tuple[CellResults, tuple[np.ndarray, np.ndarray]]]):
    """Each cell's deals and their means, computed once for all its pairs."""

    def by_deal(self, cell: CellResults) -> tuple[np.ndarray, np.ndarray]:
        if id(cell) not in self:
            self[id(cell)] = cell, cell.by_deal()  # holds the cell, so that its id stays unique
        return self[id(cell)][1]


def pair_columns(a: CellResults, b: CellResults, means: DealMeans | None = None) -> dict[str, Any]:
    """A row of pairs.csv without Holm's p; both cells must have the same deals."""
    row = raw_pair(a, b, means)
    row |= zip(RAW, [row[name] for name in DIFFERENCE], strict=True)
    row |= _adjusted_pair(a, b)
    return {**row, "p": row["p"] if a.testable and b.testable else np.nan}


def read_estimate(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate in a row of summary.csv."""
    mean, low, high = (float(row[name]) for name in ESTIMATE)
    return mean, low, high


def read_difference(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate in a row of pairs.csv."""
    mean, low, high = (float(row[name]) for name in DIFFERENCE)
    return mean, low, high


def raw_pair(a: CellResults, b: CellResults, means: DealMeans | None = None) -> dict[str, Any]:
    """Two cells' raw results on the deals that both finished, with `test` and `p`.

    One win or loss per deal: exact McNemar. Several (rotated seats, several measured players), or
    another measure: a paired permutation test of the deals' means.
    """
    means = DealMeans() if means is None else means
    (deals_a, x), (deals_b, y) = means.by_deal(a), means.by_deal(b)
    if not np.array_equal(deals_a, deals_b):
        _, in_a, in_b = np.intersect1d(deals_a, deals_b, True, return_indices=True)
        x, y = x[in_a], y[in_b]
    if a.about.wins and not (a.about.clustered or b.about.clustered):
        result = mcnemar(count_pairs(x, y))
        test, p, correlation = "mcnemar", result.p_value, result.phi
        ends: Any = (result.difference, result.low, result.high)
    else:
        bounds = _difference_bounds(a.about.measure)
        test, (p, _) = "permutation", permutation(x - y, bounds, PERMUTATION_SEED)
        varies = len(x) > 1 and x.std() > 0 and y.std() > 0
        correlation = float(np.corrcoef(x, y)[0, 1]) if varies else np.nan
        ends = ((x - y).mean() if len(x) else np.nan, *limits(x - y, bounds))
    return {
        "cell_a": a.about.name,
        "cell_b": b.about.name,
        "deals": len(x),
        "a_only": int((x > y).sum()),
        "b_only": int((y > x).sum()),
        "measure": a.about.measure.name,
        **dict(zip(DIFFERENCE, ends, strict=True)),
        "correlation": correlation,
        "test": test,
        "p": p,
    }


def _difference_bounds(measure: Measure) -> Bounds:
    return measure.low - measure.high, measure.high - measure.low


def _within(adjusted: Sequence[Any], bounds: Sequence[Any]) -> Estimate:
    """A luck-adjusted estimate with its limits, cut at bounds that it cannot truly lie beyond."""
    value, low, high = np.clip(np.array(adjusted, float), *bounds).tolist()
    return value, low, high


def _adjusted_pair(a: CellResults, b: CellResults) -> dict[str, Any]:
    """Replaces the raw estimate and test if luck-adjusted differences lead."""
    adjusted = _adjusted_differences(a, b)
    if adjusted is None:
        return {}
    differences, error = adjusted
    span = _difference_bounds(a.about.measure)
    seatings = min(a.about.seats_taken, b.about.seats_taken)
    bounds, mean = _reaching(differences, span, seatings), differences.mean()
    change = _within((mean, *with_error(mean, *limits(differences, bounds), error)), span)
    p = float(p_value(differences, bounds, 0.0, "either", error))
    return {**dict(zip(DIFFERENCE, change, strict=True)), "test": "adjusted", "p": p}


def _adjusted_differences(a: CellResults, b: CellResults) -> tuple[np.ndarray, float] | None:
    """The luck-adjusted differences by deal and their common standard error; None if the raw ones
    lead."""
    ours, theirs = leading(a), leading(b)
    if ours is None or theirs is None:
        return None
    _, in_a, in_b = np.intersect1d(ours.deals, theirs.deals, True, return_indices=True)
    if not len(in_a):
        return None
    same = (ours.reference, ours.rate) == (theirs.reference, theirs.rate)  # its error cancels
    error = 0.0 if same else float(np.hypot(ours.error, theirs.error))
    return ours.values[in_a] - theirs.values[in_b], error


def results_by_deal(a: CellResults, b: CellResults | None = None) -> np.ndarray:
    """A cell's results by deal, luck removed where its estimate has it removed; or the differences
    from another cell's, on the deals of both."""
    if b is None:
        adjusted, outcomes = leading(a), a.outcomes
        if adjusted is not None:
            return adjusted.values
        return per_deal(outcomes.column("figure"), outcomes.column("deal"))
    if adjusted_pair := _adjusted_differences(a, b):
        return adjusted_pair[0]
    (deals, ours), (others, theirs) = a.by_deal(), b.by_deal()
    _, in_a, in_b = np.intersect1d(deals, others, True, return_indices=True)
    differences: np.ndarray = ours[in_a] - theirs[in_b]
    return differences


@dataclass(frozen=True)
class Rival:
    """The strongest control of a cell: its mean, the cell's raw difference from it by deal with 95%
    limits, and the two-sided p-value, 1 if the cell is not ahead.

    A player that ignores the game may beat a baseline by habit, so a claim takes both tests: its
    p-value is the larger one (R. L. Berger (1982), Technometrics 24, 295-300).
    """

    control: str
    mean: float
    difference: float
    low: float
    high: float
    p: float

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns of summary.csv."""
        return dict(zip(CONTROL, (self.control, self.difference, self.low, self.high), strict=True))


def strongest_controls(controls: pd.DataFrame) -> dict[str, Rival]:
    """Each cell's rival among the rows of controls.csv."""
    ahead = controls["difference"] > 0
    rows = controls.assign(p=controls["p"].where(ahead, 1.0).fillna(1.0))
    last = rows.sort_values(["p", "control_mean"]).groupby("cell").tail(1)
    figures = (last[name] for name in ("control", "control_mean", *DIFFERENCE, "p"))
    return {cell: Rival(*figures) for cell, *figures in zip(last["cell"], *figures, strict=True)}


def unbeaten_control(row: pd.Series[Any], rival: Rival | None) -> str:
    """The control that a cell of summary.csv is not shown to beat, in words, or "". Where Holm's
    correction leaves a claim open, that is by the larger of its two p."""
    if rival is None:
        return ""
    in_the_way = row["p_holm"] >= ALPHA and rival.p > row["p"]
    if not (rival.p >= ALPHA or in_the_way):
        return ""
    return f"always taking the {rival.control} ({Scale.from_row(row).mean(rival.mean)})"
