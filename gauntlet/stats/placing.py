"""Place a player on a ladder of graded players, whose ratings are known, by few pairs of matches.

A ladder's rungs are search players of 4^0, 4^1, ... playouts, where one playout is random play.
Ratings are in Elo: a player d above another scores 1 / (1 + 10^(-d / 400)) a match, a draw being
half a win. A pair of matches (both seats on one opening) gives 0, 1/2, 1, 3/2 or 2. Between rungs
log2 of the playouts is linear in Elo, but for 2 playouts (SECOND); BETWEEN is the error of that,
and `python -m benchmarks.placing between` measures both.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtri
from scipy.stats import f as f_distribution

from gauntlet.stats.bradley_terry import FLAT, beats, information, penalised
from gauntlet.stats.chains import parts
from gauntlet.stats.checks import Floats

ELO = 400 / np.log(10)
"""Elo per unit of log odds."""
SCORES = np.arange(5) / 2
"""What a player may score in a pair of matches."""
BEYOND, STEP = 800.0, 2.0
"""How far the grid reaches beyond the outermost rungs, and its spacing, in Elo."""
LEVEL = 0.95
FEW = 6
"""Pairs of matches before a placement may end."""
SECOND = 0.69
"""Where UCT of two playouts stands between random play and UCT of four."""
BETWEEN = 0.12
"""Standard error of a player's place midway between two rungs, as a share of the step."""
FINE = 0.01
"""Spacing of the places that an interval is searched in, as a share of the step."""


@dataclass(frozen=True)
class Rungs:
    """Rungs with their ratings, in order of playouts: playouts and Elo above the first of the
    ladder, (k,), and the covariance of their errors, (k, k)."""

    playouts: Floats
    elo: Floats
    covariance: Floats

    @classmethod
    def rated(
        cls,
        playouts: Sequence[int],
        meetings: Sequence[tuple[int, int]],
        pairs: ArrayLike,
    ) -> Rungs:
        """Rate rungs by maximum likelihood (Bradley-Terry; a draw is half a win).

        meetings: two playouts each. pairs: (meetings, 5), pairs of matches by what the second of
        the two scored, as SCORES. The standard errors are the sandwich's, with the pairs as units
        (H. White (1982), Econometrica 50, 1-25). Raises ValueError unless a chain of matches joins
        all rungs.
        """
        counts = np.asarray(pairs, float)
        at = [(playouts.index(first), playouts.index(second)) for first, second in meetings]
        wins = np.zeros((len(playouts),) * 2)
        for (first, second), own in zip(at, counts, strict=True):
            wins[second, first] += own @ SCORES
            wins[first, second] += own @ (2 - SCORES)
        if parts(wins).any():
            raise ValueError("no chain of matches joins all rungs")
        b = penalised(wins, FLAT)
        middle = np.zeros_like(wins)
        for (first, second), own in zip(at, counts, strict=True):
            squares = own @ (SCORES - 2 * beats(b)[second, first]) ** 2
            middle[[first, second], [first, second]] += squares
            middle[[first, second], [second, first]] -= squares
        bread = np.zeros_like(wins)
        bread[1:, 1:] = np.linalg.inv(information(wins, b)[1:, 1:])
        return cls(np.array(playouts, float), ELO * (b - b[0]), ELO**2 * bread @ middle @ bread)

    @property
    def error(self) -> Floats:
        """The standard error of each rung's Elo, (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def only(self, playouts: Sequence[int]) -> Rungs:
        """Some of the rungs. Raises ValueError for one that is not there, or fewer than two."""
        at = np.flatnonzero(np.isin(self.playouts, playouts))
        if len(at) < max(2, len(set(playouts))):
            raise ValueError(
                f"rungs {', '.join(map(str, playouts))}: two or more of "
                f"{', '.join(f'{one:g}' for one in self.playouts)} are wanted"
            )
        return Rungs(self.playouts[at], self.elo[at], self.covariance[np.ix_(at, at)])

    @property
    def grid(self) -> Floats:
        """The ratings that a player may have."""
        return np.arange(self.elo.min() - BEYOND, self.elo.max() + BEYOND + STEP, STEP)

    @property
    def rising(self) -> Floats:
        """The Elo of each rung, made to rise by weighted isotonic regression, (k,)."""
        found = isotonic_regression(self.elo, weights=np.maximum(self.error, 1.0) ** -2).x
        # Flat stretches: any point of them.
        return np.asarray(found + 1e-6 * np.arange(len(found)), float)

    def equivalent(self, elo: float) -> float:
        """Return the playouts of the UCT player of this rating: 1 at and below random play,
        infinity above the highest rung."""
        rising = self.rising
        if elo > rising[-1]:
            return float(np.inf)
        return float(playouts_at(np.interp(elo, rising, np.arange(len(rising)))))

    def equivalents(self, placement: Placement) -> tuple[float, float]:
        """Return the fewest and the most playouts of a UCT player that the placement does not
        exclude: the squares of its interval's halves and of the line's error are added."""
        rising, numbers = self.rising, np.arange(len(self.elo))
        steps = places(len(rising))
        ahead = np.interp(steps, numbers, rising) - placement.elo
        half = np.where(ahead < 0, placement.low, placement.high) - placement.elo
        reach = float(ndtri((1 + LEVEL) / 2)) * between(steps, rising)
        at = np.interp(placement.elo, rising, numbers)
        inside = steps[np.abs(ahead) <= np.hypot(half, reach)]
        ends = playouts_at([inside.min(initial=at), inside.max(initial=at)])
        low, high = np.where(np.array([placement.low, placement.high]) > rising[-1], np.inf, ends)
        return float(low), float(high)


def places(rungs: int) -> Floats:
    """Return places on a ladder of so many rungs, in steps above random play."""
    return np.linspace(0.0, rungs - 1.0, round((rungs - 1) / FINE) + 1)


def playouts_at(steps: ArrayLike) -> Floats:
    """Return the playouts of a UCT player at these places."""
    knots = np.array([0.0, SECOND, 1.0, 64.0])
    found: Floats = 2 ** np.interp(np.asarray(steps, float), knots, [0.0, 1.0, 2.0, 128.0])
    return found


def between(steps: Floats, levels: Floats) -> Floats:
    """Return the standard error of the line through the rungs' levels at these places."""
    below = np.minimum(steps.astype(int), len(levels) - 2)
    part = steps - below
    found: Floats = BETWEEN * 4.0 * part * (1.0 - part) * np.abs(np.diff(levels))[below]
    return found


@dataclass(frozen=True)
class Placement:
    """Where a player stands: its Elo, the limits of its interval, and the pairs of matches played:
    the index of the rung and what the player scored, in order. settled: whether the interval is as
    narrow as was wanted."""

    elo: float
    low: float
    high: float
    met: tuple[int, ...]
    scores: tuple[float, ...]
    settled: bool

    @property
    def pairs(self) -> int:
        return len(self.met)


def placing(
    rungs: Rungs, within: float, most: int, batch: int = 1
) -> Generator[int, Sequence[float], Placement]:
    """Yields the index of the rung to meet next, is sent the scores of `batch` pairs of matches
    with it, or of what is left to `most`; returns the placement.

    The posterior of the player's Elo starts flat on `rungs.grid`; each opponent is the rung nearest
    its mean. Ends when half the width of the equal-tailed 95% interval is at most `within` Elo, or
    after `most` pairs. The ladder's own errors are not in the interval: whoever uses the same
    ladder has the same ones.
    """
    met, scores = list[int](), list[float]()
    grid = rungs.grid
    log_posterior = np.zeros_like(grid)
    while True:
        found = _placement(rungs, log_posterior, met, scores, within)
        if len(met) >= most or (found.settled and len(met) >= FEW):
            return found
        rung = int(np.argmin(np.abs(rungs.elo - found.elo)))
        for score in (yield rung)[: most - len(met)]:
            met.append(rung)
            scores.append(score)
            log_posterior += log_likelihood(grid - rungs.elo[rung], score)


def log_likelihood(ahead: ArrayLike, score: float, pairs: int = 1) -> Floats:
    """Return the log-likelihood of what a player scored in pairs of matches, 0 to 2 each, if it is
    this much Elo ahead. A draw counts as half a win and half a loss, which makes intervals too wide
    rather than too narrow where there are many."""
    logits = np.asarray(ahead, float) / ELO
    found: Floats = -score * np.logaddexp(0, -logits) - (2 * pairs - score) * np.logaddexp(
        0, logits
    )
    return found


def _placement(
    rungs: Rungs, log_posterior: Floats, met: Sequence[int], scores: Sequence[float], within: float
) -> Placement:
    weights = np.exp(log_posterior - log_posterior.max())
    below = np.cumsum(weights) / weights.sum()
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = (float(rungs.grid[np.searchsorted(below, tail)]) for tail in tails)
    mean = float(rungs.grid @ weights / weights.sum())
    return Placement(mean, low, high, tuple(met), tuple(scores), (high - low) / 2 <= within)


@dataclass(frozen=True)
class Fit:
    """Whether one strength explains the results against all rungs. expected: what the player of
    this Elo would score a match with each rung, (k,); f, of the F distribution with these
    degrees of freedom, and its p-value; nan for a single rung."""

    expected: Floats
    f: float
    degrees: tuple[int, int]
    p: float


def goodness(rungs: Rungs, placement: Placement) -> Fit:
    """Compare the mean score against each rung with that of the best single Elo.

    The chi-square is Pearson's over pairs of matches, divided by their dispersion within rungs,
    since draws and common openings make it smaller than that of coins (P. McCullagh and J. A.
    Nelder (1989), Generalized Linear Models, section 4.5); so p is of the F distribution. Results
    decide who is met next, so it is approximate.
    """
    met, scores = np.array(placement.met, int), np.array(placement.scores)
    total = sum(
        log_likelihood(rungs.grid - rungs.elo[m], s) for m, s in zip(met, scores, strict=True)
    )
    best = rungs.grid[int(np.argmax(total))] if len(met) else placement.elo
    expected = 1 / (1 + np.exp((rungs.elo - best) / ELO))
    variance = 2 * expected * (1 - expected)  # of a pair's score
    groups: list[NDArray[np.float64]] = [scores[met == rung] for rung in range(len(expected))]
    played = [rung for rung, own in enumerate(groups) if len(own)]
    degrees, left = len(played) - 1, len(met) - len(played)
    if degrees < 1 or left < 1:
        return Fit(expected, float("nan"), (max(degrees, 0), max(left, 0)), float("nan"))
    within = sum(((groups[r] - groups[r].mean()) ** 2).sum() / variance[r] for r in played)
    dispersion = within / left if within else 1.0  # nothing varies: as for coins
    between = sum(
        len(groups[r]) * (groups[r].mean() - 2 * expected[r]) ** 2 / variance[r] for r in played
    )
    f = float(between / dispersion / degrees)
    return Fit(expected, f, (degrees, left), float(f_distribution.sf(f, degrees, left)))
