"""The one estimate of every cell and of every two, its interval, and the test declared for it.

An adjusted estimate (`pipeline/judging/luck.py`) has the same expectation as the raw one and less
noise; so it leads wherever it can be had, and the raw one where not. Every p-value that is printed
of a cell or of two is `p`, or `p_holm`, which corrects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import WIN, Measure
from gauntlet.pipeline.config.read import Declared
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.claims import ALPHA, null_value
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.stats.means import limits, p_value, per_deal, reaching, with_error
from gauntlet.stats.paired import count_pairs, mcnemar, permutation
from gauntlet.stats.proportions import fisher_test

ESTIMATE, RAW = ("estimate", "ci_low", "ci_high"), ("raw", "raw_low", "raw_high")
"""The best and the raw mean of a cell, or difference of two, each with its 95% interval. Of a pair
the best one is called `difference`."""
CHANGE = ("difference", "difference_low", "difference_high")
"""A cell's best estimate less its baseline, with the 95% interval, both errors included."""
DIFFERENCE = ("difference", "ci_low", "ci_high")

PERMUTATION_SEED = 0

Estimate = tuple[float, float, float]
"""A mean or a difference with its 95% limits."""


def interval(values: np.ndarray, deals: np.ndarray, measure: Measure) -> Estimate:
    """The mean with its 95% limits by deal."""
    low, high = limits(per_deal(values, deals), (measure.low, measure.high))
    return float(values.mean()) if len(values) else np.nan, float(low), float(high)


def raw(result: CellResults) -> Estimate:
    """A cell's mean as it was played."""
    about, outcomes = result.about, result.outcomes
    if not about.wins:
        return interval(outcomes.column("figure"), outcomes.column("deal"), about.measure)
    if about.clustered:
        return interval(outcomes.won, outcomes.column("deal"), WIN)
    wins, matches = outcomes.column("winners").sum().item(), len(outcomes)
    low, high = limits((0.0, 1.0), (0.0, 1.0), counts=(matches - wins, wins))
    return wins / matches if matches else np.nan, float(low), float(high)


def estimate(result: CellResults) -> Estimate:
    """The best estimate of a cell's mean."""
    about, found = result.about, result.adjusted
    if found is None:
        return raw(result)
    span = _span(about.measure)
    mean, own = float(found.values.mean()), limits(found.values, _reaching(found.values, span))
    low, high = with_error(mean, *own, found.error)
    return mean, max(float(low), span[0]), min(float(high), span[1])


def of_cell(result: CellResults) -> dict[str, Any]:
    """What summary.csv says of a cell's measure, but for Holm's p; what cannot be said is left
    out."""
    about, base, found = result.about, result.about.baseline, result.adjusted
    against, span, error = null_value(about), _span(about.measure), 0.0
    row: dict[str, Any] = {"estimator": "raw" if found is None else "adjusted"}
    row |= {"test": about.test.name, **dict(zip(RAW, raw(result), strict=True))}
    row |= zip(ESTIMATE, estimate(result), strict=True)
    values = per_deal(result.outcomes.column("figure"), result.outcomes.column("deal"))
    if found is not None:
        values, error = found.values, found.error
        span = _reaching(values, span)  # single deals may lie outside, and so may their mean
    if not len(values):
        return row
    if base is not None:
        error = float(np.hypot(base.error, error))
        change, around = values.mean() - base.rate, (span[0] - base.rate, span[1] - base.rate)
        reach = with_error(change, *limits(values - base.rate, around), error)
        row |= zip(CHANGE, (change, *reach), strict=True)
    if not result.stopped and found is None and _counted(about):
        row["p"] = _exact(result, about.test)
    elif not result.stopped:
        row["p"] = float(p_value(values, span, against, about.test.side, error))
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
    """A row of pairs.csv but for Holm's p, of two cells that met the same deals."""
    found = raw_pair(a, b, played)
    raw_one = (found[name] for name in DIFFERENCE)
    row = {**found, **dict(zip(RAW, raw_one, strict=True)), **_adjusted_pair(a, b)}
    return {**row, "p": np.nan if a.stopped or b.stopped else row["p"]}


def best_of_cell(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate of the mean in a row of summary.csv."""
    mean, low, high = (float(row[name]) for name in ESTIMATE)
    return mean, low, high


def best_of_pair(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """The best estimate of the difference in a row of pairs.csv."""
    mean, low, high = (float(row[name]) for name in DIFFERENCE)
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
        "measure": a.about.measure.name,
    }
    if a.about.wins and not (a.about.clustered or b.about.clustered):
        test = mcnemar(count_pairs(x, y))
        return {
            **row,
            **dict(zip(DIFFERENCE, (test.difference, test.low, test.high), strict=True)),
            "correlation": test.phi,
            "test": "mcnemar",
            "p": test.p_value,
        }
    span = _span_of_differences(a.about.measure)
    p, _ = permutation(x - y, span, PERMUTATION_SEED)
    reach = ((x - y).mean() if len(shared) else np.nan, *limits(x - y, span))
    return {
        **row,
        **dict(zip(DIFFERENCE, reach, strict=True)),
        "correlation": _correlation(x, y),
        "test": "permutation",
        "p": p,
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
    return {**row, "test": "adjusted", "p": p}


@dataclass(frozen=True)
class Rival:
    """The control that a cell is least shown to beat: which one, its mean, and the p-value, paired
    by deal and two-sided, 1 where the cell is not ahead.

    A player that looks at nothing may beat a baseline by habit, so a claim takes both tests: its
    p-value is the larger one (R. L. Berger (1982), Technometrics 24, 295-300).
    """

    control: str
    mean: float
    p: float


def least_beaten(controls: pd.DataFrame) -> dict[str, Rival]:
    """By cell, of controls.csv; without the cells beside which no control was played."""
    ahead = controls["difference"] > 0
    found = controls.assign(p=controls["p"].where(ahead, 1.0).fillna(1.0))
    last = found.sort_values(["p", "control_mean"]).groupby("cell").tail(1)
    return {
        row["cell"]: Rival(row["control"], row["control_mean"], row["p"])
        for row in last.to_dict("records")
    }


def unbeaten(row: pd.Series[Any], rival: Rival | None) -> str:
    """The control that a cell of summary.csv is least shown to beat, in words; "" where it beats
    all, or none was played."""
    if rival is None or not rival.p >= ALPHA:
        return ""
    return f"always the {rival.control} ({Scale.row(row).mean(rival.mean)})"
