"""Bradley-Terry ratings from tables of wins, fitted to many tables at once.

A table of wins has shape (players, players): entry [i, j] is the weight of i's wins against j. The
weights need not be integers: a match that ends 0.7 to 0.3 adds 0.7 to one entry and 0.3 to the
other. Player i beats j with probability 1 / (1 + exp(b_j - b_i)) (R. A. Bradley and M. E. Terry
(1952), Biometrika 39, 324-345); the ratings b are in log odds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gauntlet.stats.checks import Floats

Ints = NDArray[np.int64]

ALPHA = 0.001
"""Added to every rate of the Markov chain by GameBench's published code."""
SPREAD = 5.0
"""Standard deviation of the penalised fit's prior, in log odds: 870 Elo points."""
FLAT = 1000.0
"""Standard deviation of a flat prior: it settles only what the matches leave open."""
STEPS, NEAR = 200, 1e-4
"""Maximum number of Newton steps, and the size of the last one; the remaining error is about half
its square."""
FAR = 300.0
"""Ratings beyond this are diverging, and the fit stops there."""
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


def penalised(wins: ArrayLike, spread: float = SPREAD) -> Floats:
    """Return the ratings of (..., k, k) tables of wins by maximum likelihood with a prior N(0,
    spread^2) on each rating, each table centred on 0: (..., k).

    The prior keeps the ratings of players who won or lost everything finite, and hardly matters
    elsewhere. The maximum is unique even where some players never met. Raises ValueError for
    invalid tables and spread <= 0.
    """
    tables = _tables(wins)
    if not spread > 0:
        raise ValueError(f"spread must be above 0, got {spread:g}")
    return _fitted(tables, worth=0.0, precision=spread**-2)


def pulled(wins: Floats, pull: Floats, start: Floats) -> Floats:
    """Return, for each row of `pull` (n, k), which sums to 0, the ratings b that maximise the
    log-likelihood of one (k, k) table of wins plus pull · b: (n, k). start: initial ratings, (k,).

    With pull = t c these are the points of the profile likelihood of c · b, as t goes from minus to
    plus infinity; t is its slope, and acts like extra wins for players with c > 0.
    """
    tables = np.repeat(wins[:, :, None], len(pull), axis=2)
    near = np.repeat(start[:, None], len(pull), axis=1)
    return _newton(tables, near, 0.0, FLAT**-2, pull.T).T


def log_likelihood(wins: Floats, ratings: Floats) -> Floats:
    """Return the log-likelihood of one (k, k) table of wins at ratings (..., k)."""
    apart = ratings[..., :, None] - ratings[..., None, :]
    found: Floats = -(wins * np.logaddexp(0.0, -apart)).sum((-1, -2))
    return found


def information(wins: Floats, ratings: Floats) -> Floats:
    """Return the negative second derivative of the log-likelihood at ratings (..., k), with the
    prior FLAT: (..., k, k)."""
    chances = beats(ratings)
    spread = (wins + wins.T) * chances * (1.0 - chances)
    found: Floats = np.eye(len(wins)) * (spread.sum(-1) + FLAT**-2)[..., None] - spread
    return found


def beats(ratings: ArrayLike) -> Floats:
    """Return the probability that each row's player beats each column's: (..., k, k)."""
    b = np.asarray(ratings, float)
    found: Floats = 1.0 / (1.0 + np.exp(b[..., None, :] - b[..., :, None]))
    return found


def parts(counts: ArrayLike) -> Ints:
    """Return the connected component of each player, numbered from 0 in order. A chain of matches
    joins any two players of a component; ratings of different components cannot be compared.

    met: (k, k), above 0 where two players have a match that counts. A player without any gets -1.
    """
    joined = np.asarray(counts) > 0
    joined |= joined.T
    met_any = joined.any(axis=1)
    found = np.full(len(joined), -1)
    found[met_any] = _group_numbers(reached(joined)[met_any])
    return found


def mixed(wins: ArrayLike) -> Ints:
    """Return the group of each player, numbered from 0 in order: in a group a chain of wins leads
    from each player to each other (a strongly connected component).

    Only within a group do the matches bound rating differences on both sides (L. R. Ford (1957),
    Am. Math. Monthly 64 (8), 28-33).
    """
    chains = reached(wins)
    return _group_numbers(chains & chains.T)


def reached(wins: ArrayLike) -> NDArray[np.bool_]:
    """Return whether a chain of wins leads from each row's player to each column's; every player
    reaches itself."""
    reachable = np.asarray(wins) > 0
    reachable |= np.eye(len(reachable), dtype=bool)
    while True:
        grown = (reachable.astype(float) @ reachable) > 0
        if (grown == reachable).all():
            return reachable
        reachable = grown


def _group_numbers(same_part: NDArray[np.bool_]) -> Ints:
    """Number the groups of an equivalence relation given as a table, row by row."""
    first = same_part.argmax(axis=1) if same_part.size else np.zeros(len(same_part), np.int64)
    return np.unique(first, return_inverse=True)[1].astype(np.int64)


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


def _fitted(tables: Floats, worth: float, precision: float) -> Floats:
    """Centre the ratings: a small prior hardly determines their mean."""
    k = tables.shape[-1]
    flat = tables.reshape(-1, k, k)
    if not len(flat):
        return np.zeros(tables.shape[:-1])
    start = _newton(flat.mean(0)[..., None], np.zeros((k, 1)), worth, precision)
    fits, step = np.empty((len(flat), k)), max(1, AT_ONCE // (k * k))
    for at in range(0, len(flat), step):
        some = np.moveaxis(flat[at : at + step], 0, -1)
        close = np.repeat(start, some.shape[-1], axis=1)
        fits[at : at + step] = _newton(some, close, worth, precision).T
    centred: Floats = fits - fits.mean(1, keepdims=True)
    return centred.reshape(tables.shape[:-1])


def _newton(
    wins: Floats, start: Floats, worth: float, precision: float, pull: Floats | float = 0.0
) -> Floats:
    """Maximise the log-likelihood plus pull b less worth (exp(b) - b) + precision b^2 / 2. wins:
    (k, k, tables), start and pull: (k, tables).

    Steps are damped so that they cannot overshoot: log(1 + d) / d times Newton's, where d is the
    largest change of any rating or difference of two (T. Sun and Q. Tran-Dinh (2019), Math.
    Program. 178, 145-213: the function is self-concordant of order 2).
    """
    k, strengths = len(wins), start.copy()
    one, other = np.triu_indices(k, 1)
    met = wins[one, other].any(-1) | wins[other, one].any(-1)
    one, other = one[met], other[met]
    played, won = wins[one, other] + wins[other, one], wins.sum(1) + pull
    moving = np.arange(start.shape[1])
    for _ in range(STEPS):
        b = strengths[:, moving]
        step = _step(b, one, other, played, won, worth, precision)
        up, down = step.max(0), -step.min(0)
        far = np.maximum(np.maximum(up, down), up + down)
        strengths[:, moving] = b + step * (np.log1p(far) / np.where(far > 0, far, 1.0))
        on = (far >= NEAR) & (np.abs(strengths[:, moving]).max(0) < FAR)
        if not on.any():
            break
        moving, played, won = moving[on], played[:, on], won[:, on]
    return strengths


def _step(
    b: Floats, left: Ints, right: Ints, played: Floats, won: Floats, worth: float, precision: float
) -> Floats:
    """Newton step from b, (k, tables). left, right: pairs that met, `played` between each."""
    worths = np.exp(b)
    first = worths[left] / (worths[left] + worths[right])
    expected = played * first
    spread, grown = expected * (1.0 - first), worth * worths
    slope = won - (grown - worth) - precision * b
    bend = np.zeros((len(b), *b.shape))
    for at, (i, j) in enumerate(zip(left, right, strict=True)):
        slope[i] -= expected[at]
        slope[j] -= played[at] - expected[at]
        bend[i, j] = -spread[at]
        bend[i, i] += spread[at]
        bend[j, j] += spread[at]
    bend[range(len(b)), range(len(b))] += grown + precision
    return _solved(bend, slope)


def _solved(table: Floats, right: Floats) -> Floats:
    """Solve table x = right by elimination, for symmetric positive definite tables of which only
    the upper half is used: (k, k, tables) and (k, tables). Overwrites both."""
    k = len(right)
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
