"""How far a cell's result hangs on decisions that were hardly the player's own.

Two kinds: a fallback took the move, or the best option lay no further above the second than
rounding alone may carry a score. Each is told as bounds: the result if every match with such a
decision had come out at the worst, and at the best.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gauntlet.games.capabilities import Measure
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.pipeline.log.schema import DecisionRecord

ROUNDING = {"float32": 2.0**-19, "float16": 2.0**-6, "bfloat16": 2.0**-3}
"""By the dtype of a network, how far rounding alone may move a log-probability: a unit in the last
place of a logit of 16 to 32 (IEEE 754; bfloat16 has 8 significant bits)."""


def bounds(figures: np.ndarray, unsure: np.ndarray, measure: Measure) -> tuple[float, float]:
    """The mean of `figures` if those that are `unsure` were the measure's least, and its most;
    infinite where it has no such end, nan without figures."""
    if not len(figures):
        return math.nan, math.nan
    low, high = (np.where(unsure, end, figures) for end in (measure.low, measure.high))
    return float(low.mean()), float(high.mean())


def by_rounding(decision: DecisionRecord, rounding: float) -> bool:
    """Whether rounding may have settled a model's scored decision; a tie always is, by the order of
    the options.

    rounding: how far each log-probability may be off, so that a probability may be by a factor.
    Where it may not, no such change turns the choice of a score that sums an option's probabilities
    (`cloze`), divides one by a constant (`calibrated`, `pride`) or subtracts two of one prompt
    (`counterfactual`).
    """
    margin = decision.margin
    if margin is None or math.isnan(margin) or decision.fallback or not decision.asked:
        return False
    best = max(abs(score) for score in decision.scores if score is not None)
    return margin <= 2 * math.expm1(rounding) * max(best, _heaviest(decision))


def _heaviest(decision: DecisionRecord) -> float:
    """The most probability that the scored answers of one prompt had together."""
    rows = (
        row
        for exchange in decision.asked
        if isinstance(exchange, ScoreExchange)
        for row in exchange.logprobs
    )
    masses = (math.fsum(math.exp(x) for x in row if x is not None) for row in rows)
    return max(masses, default=0.0)


def figures(
    values: np.ndarray, fallbacks: np.ndarray, close: np.ndarray, decisions: int, measure: Measure
) -> dict[str, Any]:
    """Columns of diagnostics.csv.

    values: what each match gave the cell's measure. fallbacks, close: whether it has a decision of
    the kind. decisions: how many are close.
    """
    kept = values[~fallbacks]
    low, high = bounds(values, fallbacks, measure)
    least, most = bounds(values, close, measure)
    return {
        "fallback_matches": int(fallbacks.sum()),
        "without_fallbacks": float(kept.mean()) if len(kept) else math.nan,
        "fallback_low": low,
        "fallback_high": high,
        "close_decisions": decisions,
        "close_matches": int(close.sum()),
        "close_low": least,
        "close_high": most,
    }
