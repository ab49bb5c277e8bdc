"""Bradley-Terry ratings from tables of wins, fitted to many tables at once.

A table of wins has shape (players, players): entry [i, j] is the weight of i's wins against j. The
weights need not be integers: a match that ends 0.7 to 0.3 adds 0.7 to one entry and 0.3 to the
other. Player i beats j with probability 1 / (1 + exp(b_j - b_i)) (R. A. Bradley and M. E. Terry
(1952), Biometrika 39, 324-345); the ratings b are in log odds.

Where sides are teams, a table is of sides, and `teams`, (sides, players) with rows that sum to 1,
gives the strength of each: teams @ b, the mean of its members' ratings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gauntlet.stats.checks import Floats

Ints = NDArray[np.int64]

ALPHA = 0.001
"""Added to every rate of the Markov chain, unless another value is passed."""
SPREAD = 5.0
"""Standard deviation of the penalised fit's prior, in log odds: 870 Elo points."""
FLAT = 1000.0
"""Standard deviation of a flat prior: it settles only what the matches leave open."""
STEPS, NEAR = 200, 1e-4
"""Maximum number of Newton steps, and the size of the last one; the remaining error is about half
its square."""
FAR = 300.0
"""Ratings beyond this are diverging, and the fit stops there."""
FEW = 8
"""Tables up to which LAPACK, one at a time, beats an elimination of all at once."""
AT_ONCE = 200_000
"""Table entries processed per batch."""


def spectral(wins: ArrayLike, alpha: float = ALPHA) -> Floats:
    """Return the iterative Luce spectral ratings of (..., k, k) tables of wins, each table centred
    on 0: (..., k).

    L. Maystre and M. Grossglauser (2015), NIPS 28, 172-180, with `alpha` > 0 added to each rate of
    the Markov chain and its weights kept to a sum of k. The chain is stationary where, for every i,

        sum_j w_ij - n_ij P(i beats j) = alpha k (exp(b_i) - 1),    n_ij = w_ij + w_ji,

    which maximises the log-likelihood less alpha k sum_i (exp(b_i) - b_i): worths exp(b) with the
    prior Gamma(alpha k, alpha k), per log worth. Newton's method finds that point, so the number of
    iterations does not matter. Raises ValueError for invalid tables and alpha <= 0.
    """
    tables = _tables(wins)
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha:g}")
    return _fitted(tables, worth=alpha * tables.shape[-1], precision=0.0)


def penalised(wins: ArrayLike, spread: float = SPREAD, teams: Floats | None = None) -> Floats:
    """Return the ratings of (..., k, k) tables of wins by maximum likelihood with a prior N(0,
    spread^2) on each rating, each table centred on 0: (..., players).

    The prior keeps the ratings of players who won or lost everything finite, and hardly matters
    elsewhere. The maximum is unique even where some players never met. Raises ValueError for
    invalid tables and spread <= 0.
    """
    tables = _tables(wins)
    if not spread > 0:
        raise ValueError(f"spread must be above 0, got {spread:g}")
    return _fitted(tables, worth=0.0, precision=spread**-2, teams=teams)


def pulled(wins: Floats, pull: Floats, start: Floats, teams: Floats | None = None) -> Floats:
    """Return, for each row of `pull` (n, players), which sums to 0, the ratings b that maximise the
    log-likelihood of one (k, k) table of wins plus pull · b: (n, players). start: initial ratings.

    With pull = t c these are the points of the profile likelihood of c · b, as t goes from minus to
    plus infinity; t is its slope, and acts like extra wins for players with c > 0.
    """
    tables = np.repeat(wins[:, :, None], len(pull), axis=2)
    near = np.repeat(start[:, None], len(pull), axis=1)
    return _newton(tables, near, 0.0, FLAT**-2, pull.T, teams).T


def strengths(ratings: Floats, teams: Floats | None) -> Floats:
    """Return the strength of each side from ratings (..., players): (..., k)."""
    found: Floats = ratings if teams is None else ratings @ teams.T
    return found


def log_likelihood(wins: Floats, ratings: Floats, teams: Floats | None = None) -> Floats:
    """Return the log-likelihood of one (k, k) table of wins at ratings (..., players)."""
    sides = strengths(ratings, teams)
    apart = sides[..., :, None] - sides[..., None, :]
    found: Floats = -(wins * np.logaddexp(0.0, -apart)).sum((-1, -2))
    return found


def information(wins: Floats, ratings: Floats, teams: Floats | None = None) -> Floats:
    """Return the negative second derivative of the log-likelihood at ratings (..., players), with
    the prior FLAT: (..., players, players)."""
    chances = beats(strengths(ratings, teams))
    spread = (wins + wins.T) * chances * (1.0 - chances)
    bend = np.eye(len(wins)) * spread.sum(-1)[..., None] - spread
    if teams is not None:
        bend = teams.T @ bend @ teams
    found: Floats = bend + np.eye(bend.shape[-1]) * FLAT**-2
    return found


def beats(ratings: ArrayLike) -> Floats:
    """Return the probability that each row's player beats each column's: (..., k, k)."""
    b = np.asarray(ratings, float)
    found: Floats = 1.0 / (1.0 + np.exp(b[..., None, :] - b[..., :, None]))
    return found


def _tables(wins: ArrayLike) -> Floats:
    tables = np.asarray(wins, float)
    if tables.ndim < 2 or tables.shape[-1] != tables.shape[-2] or tables.shape[-1] < 2:
        raise ValueError(
            f"a table of wins is square, with two players or more, got shape {tables.shape}"
        )
    if not (np.isfinite(tables) & (tables >= 0)).all():
        raise ValueError("a weight of wins is finite and 0 or more")
    if np.einsum("...ii->...", tables).any():
        raise ValueError("nobody plays against itself: the diagonal of a table of wins is 0")
    return tables


def _fitted(tables: Floats, worth: float, precision: float, teams: Floats | None = None) -> Floats:
    """Centre the ratings: a small prior hardly determines their mean."""
    k = tables.shape[-1]
    players = k if teams is None else teams.shape[1]
    flat = tables.reshape(-1, k, k)
    fits, step = np.empty((len(flat), players)), max(1, AT_ONCE // (k * k))
    if len(flat):
        mean, zero = flat.mean(0)[..., None], np.zeros((players, 1))
        start = _newton(mean, zero, worth, precision, teams=teams)
    for at in range(0, len(flat), step):
        some = np.moveaxis(flat[at : at + step], 0, -1)
        close = np.repeat(start, some.shape[-1], axis=1)
        fits[at : at + step] = _newton(some, close, worth, precision, teams=teams).T
    centred: Floats = fits - fits.mean(1, keepdims=True)
    return centred.reshape(*tables.shape[:-2], players)


def _newton(
    wins: Floats,
    start: Floats,
    worth: float,
    precision: float,
    pull: Floats | None = None,
    teams: Floats | None = None,
) -> Floats:
    """Maximise the log-likelihood plus pull b less worth (exp(b) - b) + precision b^2 / 2. wins:
    (k, k, tables), start and pull: (players, tables).

    Steps are damped so that they cannot overshoot: log(1 + d) / d times Newton's, where d is the
    largest change of any rating or difference of two (T. Sun and Q. Tran-Dinh (2019), Math.
    Program. 178, 145-213: the function is self-concordant of order 2).
    """
    k, ratings = len(wins), start.copy()
    one, other = np.triu_indices(k, 1)
    met = wins[one, other].any(-1) | wins[other, one].any(-1)
    one, other = one[met], other[met]
    played, won = wins[one, other] + wins[other, one], wins.sum(1)
    won = won if teams is None else teams.T @ won
    won = won if pull is None else won + pull
    moving = np.arange(start.shape[1])
    for _ in range(STEPS):
        b = ratings[:, moving]
        slope, bend = _derivatives(b if teams is None else teams @ b, one, other, played)
        if teams is not None:
            slope, bend = teams.T @ slope, _of_members(bend, teams)
        grown = worth * np.exp(b)
        bend[range(len(b)), range(len(b))] += grown + precision
        step = _solved(bend, slope + won - (grown - worth) - precision * b)
        up, down = step.max(0), -step.min(0)
        far = np.maximum(np.maximum(up, down), up + down)
        ratings[:, moving] = b + step * (np.log1p(far) / np.where(far > 0, far, 1.0))
        on = (far >= NEAR) & (np.abs(ratings[:, moving]).max(0) < FAR)
        if not on.any():
            break
        moving, played, won = moving[on], played[:, on], won[:, on]
    return ratings


def _derivatives(b: Floats, left: Ints, right: Ints, played: Floats) -> tuple[Floats, Floats]:
    """Return minus the expected wins at strengths b, (k, tables), and the upper half of minus the
    second derivative. left, right: pairs that met, `played` between each."""
    worths, k = np.exp(b), len(b)
    first = worths[left] / (worths[left] + worths[right])
    expected = played * first
    spread = expected * (1.0 - first)
    ones, others = np.eye(k)[:, left], np.eye(k)[:, right]
    slope = -(ones @ expected) - others @ (played - expected)
    bend = np.zeros((k, *b.shape))
    bend[left, right] = -spread
    bend[range(k), range(k)] = (ones + others) @ spread
    return slope, bend


def _of_members(bend: Floats, teams: Floats) -> Floats:
    """Turn the upper half of second derivatives by side, (k, k, tables), into those by player."""
    tables = np.moveaxis(bend, -1, 0)
    whole = tables + np.triu(tables, 1).swapaxes(-1, -2)
    return np.ascontiguousarray(np.moveaxis(teams.T @ whole @ teams, 0, -1))


def _solved(table: Floats, right: Floats) -> Floats:
    """Solve table x = right by elimination, for symmetric positive definite tables of which only
    the upper half is used: (k, k, tables) and (k, tables). May overwrite both."""
    k = len(right)
    if right.shape[-1] <= FEW:
        upper = np.moveaxis(table, -1, 0)
        whole = np.triu(upper) + np.triu(upper, 1).swapaxes(1, 2)
        found = np.linalg.solve(whole, right.T[..., None])
        return np.ascontiguousarray(found[..., 0].T)
    for row in range(k):
        parts = table[row, row + 1 :] / table[row, row]
        for below in range(row + 1, k):
            table[below, below:] -= parts[below - row - 1] * table[row, below:]
            right[below] -= parts[below - row - 1] * right[row]
    for row in range(k - 1, -1, -1):
        for after in range(row + 1, k):
            right[row] -= table[row, after] * right[after]
        right[row] /= table[row, row]
    return right
