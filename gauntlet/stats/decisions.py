"""Quality of single decisions: rank of the chosen option, optimal-decision hit rate, mean rank.

Sources: UNO Arena (Qin et al. 2024), equations 1 to 5, for the values E, criticality, ODHR@K and
ADR@K. Values are estimated by playouts, so ranks are uncertain, and noise biases a hit rate towards
that of random choice. The intervals account for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import nan, sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gauntlet.stats import checks
from gauntlet.stats.checks import Floats
from gauntlet.stats.intervals import Limits, all_equal

Tie = Literal["min", "average", "strict_index"]

SAME = 1e-9
"""Values closer than this are equal: playouts differ by whole counts, rounding by less."""

DRAWS, REPLICATES = 200, 1000
BLOCK = 50
"""Bootstrap replicates per batch: each is as long as there are games."""
AT_ONCE = 50_000
"""Approximate number of values per batch of draws."""

NOISE = (1.0, sqrt(2.0), 2.0)
"""Standard deviations of the noise, as multiples of the values' own, at which scores are computed.
"""

EXTRAPOLATIONS = np.array(
    [
        [1.0, 0.0, 0.0],
        [*np.linalg.inv(np.vander(NOISE[:2]))[1], 0.0],
        np.linalg.inv(np.vander(NOISE))[2],
    ]
)
"""Weights of the means at NOISE: the plain mean, and the linear and quadratic extrapolations to
zero noise."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions between K options each, every option evaluated by the same playouts.

    together: shape (decisions, K, K), the number of playouts that the decider would have won after
    both
        options; on the diagonal, after that one. Common random numbers make them comparable.
    chosen: index of the option chosen, 0 to K - 1. games: the game of each decision, any labels.
    playouts: per option.
    """

    together: NDArray[np.int64]
    chosen: NDArray[np.int64]
    games: NDArray[np.int64]
    playouts: int

    def __post_init__(self) -> None:
        d, k = len(self.chosen), self.options
        if self.together.shape != (d, k, k) or len(self.games) != d:
            raise ValueError(
                f"{d} decisions need as many tables and games, got {self.together.shape} and "
                f"{len(self.games)}"
            )
        checks.at_least_one(self.playouts, "playouts")
        outside = self.chosen[(self.chosen < 0) | (self.chosen >= k)]
        if outside.size:
            raise ValueError(f"one of {k} options is 0 to {k - 1}, got {outside[0]}")

    @property
    def options(self) -> int:
        return int(self.together.shape[-1])

    @property
    def values(self) -> Floats:
        """E of every option, the share of playouts won: shape (decisions, K)."""
        wins: Floats = np.diagonal(self.together, axis1=1, axis2=2) / self.playouts
        return wins

    def take(self, which: NDArray[np.bool_]) -> Decisions:
        return Decisions(self.together[which], self.chosen[which], self.games[which], self.playouts)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over decisions with its interval; nan without decisions. denoised: the estimate with
    the noise of the values removed by extrapolation."""

    estimate: float
    low: float
    high: float
    denoised: float


@dataclass(frozen=True, slots=True)
class Score:
    """ODHR@K (0 to 1) and ADR@K (1 to K) over the critical decisions."""

    decisions: int
    hit_rate: Estimate
    mean_rank: Estimate


def won_together(won: ArrayLike) -> NDArray[np.int64]:
    """Return the table of `Decisions` from playouts won, bools of shape (K, playouts)."""
    table = np.asarray(won, np.float32)
    return np.asarray(np.rint(table @ table.T), np.int64)


def ranks(values: ArrayLike, chosen: ArrayLike, tie: Tie = "min") -> Floats:
    """Return the rank of the chosen option, 1 the best.

    values: shape (..., K). chosen: shape (...). The rank is 1 + the number of better options; among
    options tied with the chosen one, "min" counts none, "average" half, and "strict_index" those
    listed before it. Raises ValueError for another `tie`.
    """
    if tie not in get_args(Tie):
        raise ValueError(f"tie is one of {', '.join(get_args(Tie))}, got {tie!r}")
    e, at = np.asarray(values, float), np.asarray(chosen)[..., None]
    own = np.take_along_axis(e, at, -1)
    better: Floats = _number(e > own + SAME).astype(float)
    if tie == "average":
        better += (_number(np.abs(e - own) <= SAME) - 1) / 2
    elif tie == "strict_index":
        better += _number((np.abs(e - own) <= SAME) & (np.arange(e.shape[-1]) < at))
    return 1.0 + better


def critical(values: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Return whether best and worst option, along the last axis, differ by at least `threshold`."""
    e = np.asarray(values, float)
    options = np.moveaxis(e, -1, 0)  # numpy is slow along an axis of length two
    spread = reduce(np.maximum, options) - reduce(np.minimum, options)
    found: NDArray[np.bool_] = spread >= threshold - SAME
    return found


def _number(those: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the true values along the last axis."""
    return reduce(np.add, np.moveaxis(those.astype(np.int64), -1, 0))


def score(
    decisions: Decisions,
    threshold: float,
    tie: Tie = "min",
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Score:
    """Return hit rate and mean rank over the decisions that are critical at `threshold`.

    Noisy values: they are redrawn `draws` times from a normal distribution with the means and
    covariances of the playouts, and criticality and ranks recomputed. What the mean loses at twice
    and four times the noise variance shows what it has lost already: SIMEX (Cook and Stefanski
    1994, J. Am. Stat. Assoc. 89, 1314). `denoised` extrapolates linearly in the standard deviation,
    because misranking happens where values are close. The interval is the hull of those of the
    plain mean and of the linear and quadratic extrapolations, all from one bootstrap over games.
    Its coverage is 95% where the options of a decision differ by more than their noise, and it is
    mostly wider than necessary. Where they do not, ranks are pure noise and no extrapolation
    recovers them: use more playouts (docs/measurements.md lists measured coverages).

    Few games: the limits are nan with fewer than two games that have a critical decision. If all or
    nearly all games agree, a bootstrap sees no spread; `intervals.all_equal` supplies the limits.
    Raises ValueError for a threshold outside [0, 1] and for an unknown `tie`.
    """
    checks.probabilities(threshold, "threshold")
    checks.inside(level, "level")
    figures = _figures(decisions.values, decisions.chosen, threshold, tie)
    count = int(figures[0].sum())
    if not count:
        nothing = Estimate(nan, nan, nan, nan)
        return Score(0, nothing, nothing)
    rng = np.random.default_rng(seed)
    noisy = _noisy(decisions, threshold, tie, draws, rng)
    sums = _by_game(np.stack((figures, *noisy)), decisions.games)
    even = np.full(sums.shape[-1], 1 / sums.shape[-1])
    blocks = [
        sums @ rng.multinomial(len(even), even, size=BLOCK).T.astype(float)
        for _ in range(REPLICATES // BLOCK)
    ]
    resamples = np.concatenate(blocks, axis=-1)  # (levels, figures, replicates)
    games = int(np.count_nonzero(sums[0, 0]))
    hits, places = (
        _estimate(sums.sum(-1, keepdims=True)[:, at], resamples[:, at], games, limits, level)
        for at, limits in (([0, 1], (0.0, 1.0)), ([0, 2], (1.0, float(decisions.options))))
    )
    return Score(count, hits, places)


def by_chance(decisions: Decisions, threshold: float, tie: Tie = "min") -> tuple[float, float]:
    """Return hit rate and mean rank of a uniformly random player over the decisions that are
    critical at `threshold`; nan if there are none. Raises ValueError as `ranks` does."""
    values = decisions.values[critical(decisions.values, threshold)]
    if not len(values):
        return nan, nan
    each = [ranks(values, np.full(len(values), at), tie) for at in range(decisions.options)]
    return float(np.mean(np.equal(each, 1.0))), float(np.mean(each))


def _figures(values: Floats, chosen: NDArray[np.int64], threshold: float, tie: Tie) -> Floats:
    """Return whether each decision is critical, and if so its hit and rank: (3, ..., decisions)."""
    counts = critical(values, threshold).astype(float)
    places = ranks(values, chosen, tie)
    return np.stack((counts, counts * (places == 1.0), counts * places))


def _noisy(
    decisions: Decisions, threshold: float, tie: Tie, draws: int, rng: np.random.Generator
) -> Floats:
    """Like `_figures`, with the values' noise raised to each further level of NOISE: means over the
    draws, shape (levels - 1, 3, decisions)."""
    # Roots L of the values' covariances, L @ L.T, which for shares p with joint shares q from n
    # playouts are (q - p p') / n: shape (decisions, K, K).
    n, means = decisions.playouts, decisions.values
    covariances = (decisions.together / n - means[:, :, None] * means[:, None, :]) / n
    sizes, axes = np.linalg.eigh(covariances)
    roots = axes * np.sqrt(np.clip(sizes, 0.0, None))[:, None, :]
    added = [sqrt(level**2 - 1) for level in NOISE[1:]]
    sums = np.zeros((len(added), 3, len(means)))
    batch = max(1, AT_ONCE // means.size)
    for start in range(0, draws, batch):
        own = min(batch, draws - start)
        noise = np.einsum("dij,bdj->bdi", roots, rng.standard_normal((own, *means.shape)))
        chosen = np.broadcast_to(decisions.chosen, (own, len(means)))
        for at, size in enumerate(added):
            sums[at] += _figures(means + size * noise, chosen, threshold, tie).sum(axis=1)
    return sums / draws


def _by_game(figures: Floats, games: NDArray[np.int64]) -> Floats:
    """Sum over each game's decisions: shape (levels, figures, games)."""
    labels = np.unique(games, return_inverse=True)[1]
    sums = np.zeros((*figures.shape[:-1], int(labels.max()) + 1))
    for at in np.ndindex(figures.shape[:-1]):
        sums[at] = np.bincount(labels, weights=figures[at])
    return sums


def _estimate(sums: Floats, resamples: Floats, games: int, span: Limits, level: float) -> Estimate:
    """sums: number of critical decisions and a score summed over them, shape (levels, 2, 1); again:
    the same of every replicate. games: number with a critical decision. span: range of the score.
    """
    raw, linear, _ = (float(mean) for mean in _means(sums, span)[:, 0])
    if games < 2:
        return Estimate(raw, nan, nan, linear)
    tails = [(1 - level) / 2, (1 + level) / 2]
    lows, highs = np.nanquantile(_means(resamples, span), tails, axis=1)
    least, most = span
    lows = [*lows, all_equal(most, games, span, level)[0]]
    highs = [*highs, all_equal(least, games, span, level)[1]]
    if highs[0] - lows[0] < SAME:
        low, high = all_equal(raw, games, span, level)
        lows, highs = [*lows, low], [*highs, high]
    return Estimate(raw, float(min(lows)), float(max(highs)), linear)


def _means(sums: Floats, span: Limits) -> Floats:
    """Return the plain mean and its linear and quadratic extrapolations to zero noise: shape (3,
    replicates); nan where no decision is critical."""
    count, total = sums[:, 0], sums[:, 1]
    means = total / np.where(count > 0, count, nan)
    means = np.where(np.isnan(means), means[0], means)
    found: Floats = np.clip(EXTRAPOLATIONS @ means, *span)
    return found
