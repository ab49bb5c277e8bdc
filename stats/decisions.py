"""How good single decisions were: ranks of the option taken, optimal-decision hit rate, mean rank.

Sources: UNO Arena (Qin et al. 2024), equations 1 to 5, for the values E, criticality, ODHR@K and
ADR@K. Values are estimated by playouts, so a rank is uncertain, and a hit rate computed from
noisy values lies nearer to that of blind choice than it should. Both go into the intervals here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stats import checks
from stats.checks import Floats

Tie = Literal["min", "average", "strict_index"]

SAME = 1e-9
"""Values nearer than this are equal: playouts differ by whole counts, rounding by less."""

DRAWS, REPLICATES = 200, 1000


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions between K options each, every option judged by the same playouts.

    together: shape (decisions, K, K), in how many playouts the decider would have won after either
        of two options; on the diagonal, after that one. Common random numbers make them comparable.
    chosen: the option taken, 0 to K - 1. games: which game each decision belongs to, any labels.
    playouts: how many an option.
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
    """A mean over decisions with its interval; nan where there are no decisions.

    denoised: the estimate freed, as far as can be told, of what the noise of the values does to it.
    """

    estimate: float
    low: float
    high: float
    denoised: float


@dataclass(frozen=True, slots=True)
class Score:
    """ODHR@K (0 to 1) and ADR@K (1 to K) over the critical ones of some decisions."""

    decisions: int
    hit_rate: Estimate
    mean_rank: Estimate


def won_together(won: ArrayLike) -> NDArray[np.int64]:
    """From playouts won, bools of shape (K, playouts), to the table of `Decisions`."""
    table = np.asarray(won, np.float32)
    return np.asarray(np.rint(table @ table.T), np.int64)


def ranks(values: ArrayLike, chosen: ArrayLike, tie: Tie = "min") -> Floats:
    """The rank of the option taken, 1 the best.

    values: shape (..., K). chosen: shape (...). 1 + the number of better options; of options that
    are tied with it, "min" counts none, "average" half, and "strict_index" those listed before it.
    Raises ValueError for another `tie`.
    """
    if tie not in get_args(Tie):
        raise ValueError(f"tie is one of {', '.join(get_args(Tie))}, got {tie!r}")
    e, at = np.asarray(values, float), np.asarray(chosen)[..., None]
    own = np.take_along_axis(e, at, -1)
    better = (e > own + SAME).sum(-1)
    tied = np.abs(e - own) <= SAME
    if tie == "average":
        better = better + (tied.sum(-1) - 1) / 2
    elif tie == "strict_index":
        better = better + (tied & (np.arange(e.shape[-1]) < at)).sum(-1)
    found: Floats = 1.0 + better
    return found


def critical(values: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Whether the best and the worst option, along the last axis, are `threshold` or more apart."""
    e = np.asarray(values, float)
    found: NDArray[np.bool_] = e.max(-1) - e.min(-1) >= threshold - SAME
    return found


def score(
    decisions: Decisions,
    threshold: float,
    tie: Tie = "min",
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Score:
    """Hit rate and mean rank over the decisions that are critical at `threshold`.

    Noise of the values: they are drawn again, `draws` times, from a normal distribution with the
    means and covariances of the playouts, and criticality and ranks are found anew. What the mean
    loses by noise of twice the variance tells what it has lost already: SIMEX (Cook and Stefanski
    1994, J. Am. Stat. Assoc. 89, 1314), linear in the standard deviation, as misranking is where
    values lie close. The interval holds those of the plain and of the denoised estimate, both by
    the same bootstrap over games. With fewer than two games the limits are nan.
    Raises ValueError for a threshold outside [0, 1] and for what `ranks` refuses.
    """
    checks.probabilities(threshold, "threshold")
    checks.inside(level, "level")
    plain = _figures(decisions.values, decisions.chosen, threshold, tie)
    count = int(plain[0].sum())
    if not count:
        nothing = Estimate(nan, nan, nan, nan)
        return Score(0, nothing, nothing)
    rng = np.random.default_rng(seed)
    noisy = _noisy(decisions, threshold, tie, draws, rng)
    sums = _by_game(np.concatenate((plain, noisy)), decisions.games)
    picked = _resampled_games(sums.shape[1], rng)
    k = float(decisions.options)
    return Score(
        count,
        _estimate(sums[[0, 1, 3, 4]], picked, (0.0, 1.0), level),
        _estimate(sums[[0, 2, 3, 5]], picked, (1.0, k), level),
    )


def scaled_change(new: ArrayLike, old: ArrayLike, options: int) -> Floats:
    """The change of a mean rank in percent of its span: 100 (new - old) / (K - 1)."""
    change: Floats = 100.0 * np.subtract(new, old) / (options - 1)
    return change


class Correlation(NamedTuple):
    """Pearson's correlation over `n` pairs, with its confidence limits, all in [-1, 1]; nan where
    it cannot be said."""

    estimate: float
    n: int
    low: float
    high: float


def pearson(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Correlation:
    """Pearson's correlation over the pairs that are both known (not nan).

    The limits are R. A. Fisher's (1921), by the normal law of atanh(r) with standard error
    1 / sqrt(n - 3), so they need four pairs. All is nan with fewer than two pairs or where one
    side does not vary. Raises ValueError for a level outside (0, 1).
    """
    from scipy.stats import pearsonr

    checks.inside(level, "level")
    a, b = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    n = len(a)
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Correlation(nan, n, nan, nan)
    found = pearsonr(a, b)
    low, high = found.confidence_interval(level) if n > 3 else (nan, nan)
    return Correlation(float(found.statistic), n, float(low), float(high))


def _figures(values: Floats, chosen: NDArray[np.int64], threshold: float, tie: Tie) -> Floats:
    """Whether each decision is critical, and if so its hit and its rank: shape (3, decisions)."""
    counts = critical(values, threshold).astype(float)
    places = ranks(values, chosen, tie)
    return np.stack((counts, counts * (places == 1.0), counts * places))


def _spread(decisions: Decisions) -> Floats:
    """Roots L of the covariances of the values, L @ L.T: shape (decisions, K, K).

    Of shares p with joint shares q from n playouts, the covariances are (q - p p') / n.
    """
    n, p = decisions.playouts, decisions.values
    covariances = (decisions.together / n - p[:, :, None] * p[:, None, :]) / n
    sizes, axes = np.linalg.eigh(covariances)
    roots: Floats = axes * np.sqrt(np.clip(sizes, 0.0, None))[:, None, :]
    return roots


def _noisy(
    decisions: Decisions, threshold: float, tie: Tie, draws: int, rng: np.random.Generator
) -> Floats:
    """As `_figures`, with values drawn again: means over the draws."""
    means, roots = decisions.values, _spread(decisions)
    found = np.zeros((3, len(means)))
    for _ in range(draws):
        noise = np.einsum("dij,dj->di", roots, rng.standard_normal(means.shape))
        found += _figures(means + noise, decisions.chosen, threshold, tie)
    return found / draws


def _by_game(figures: Floats, games: NDArray[np.int64]) -> Floats:
    """Sums over each game's decisions: shape (figures, games)."""
    labels = np.unique(games, return_inverse=True)[1]
    return np.stack([np.bincount(labels, weights=row) for row in figures])


def _resampled_games(games: int, rng: np.random.Generator) -> Floats:
    """How often each game is in each replicate of a bootstrap: shape (games, replicates)."""
    picked: Floats = rng.multinomial(games, np.full(games, 1 / games), size=REPLICATES).T.astype(
        float
    )
    return picked


def _estimate(sums: Floats, picked: Floats, limits: tuple[float, float], level: float) -> Estimate:
    """sums: by game, the critical decisions and the figure over them, plain and noisy."""
    plain, denoised = _means(sums.sum(axis=1), limits)
    if sums.shape[1] < 2:
        return Estimate(float(plain), nan, nan, float(denoised))
    again = np.concatenate(_means(sums @ picked, limits)).reshape(2, -1)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.nanquantile(again, tails, axis=1)
    return Estimate(float(plain), float(low.min()), float(high.max()), float(denoised))


def _means(sums: Floats, limits: tuple[float, float]) -> tuple[Floats, Floats]:
    """The plain mean and the denoised one; nan where no decision is critical."""
    count, total, noisy_count, noisy_total = sums
    plain = total / np.where(count > 0, count, nan)
    noisy = noisy_total / np.where(noisy_count > 0, noisy_count, nan)
    denoised = plain - (np.where(np.isnan(noisy), plain, noisy) - plain) / (sqrt(2) - 1)
    return plain, np.clip(denoised, *limits)
