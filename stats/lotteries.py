"""Ratings of fields in which nobody need be best: maximal lotteries, Nash averaging, deviations.

A is a table of margins, (k, k): A[i, j] is the mean score of i against j, less 1/2; A = -A'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import inf

import numpy as np
from scipy.optimize import linprog, minimize

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.chains import Truths
from gauntlet.stats.checks import Floats

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""For linear programmes: copies of players should change nothing."""
NEAR = 1e-9
"""Rounding of these."""


def maximal_lottery(margins: Floats) -> Floats:
    """Return the lottery p over k players that no player beats on average: p @ A >= 0 (G. Kreweras
    (1965); P. C. Fishburn (1984), Rev. Econ. Stud. 51, 683-692; M. Lanctot et al. (2023),
    arXiv 2312.03121). Of several the one of most entropy, which treats copies of a player alike
    (D. Balduzzi et al. (2018), NeurIPS 31, 3268-3279).

    A @ p, the Nash averages, is 0 for its members and at most 0 for all others. Raises ValueError
    if the margins are no finite antisymmetric table.
    """
    checked = _margins(margins)
    k = len(checked)
    corners = [_corner(checked, goal) for goal in np.eye(k)]
    middle = np.mean(corners, axis=0)
    middle = np.where(middle > NEAR, middle, 0.0) / middle[middle > NEAR].sum()
    if max(np.abs(one - middle).max() for one in corners) < NEAR:
        return np.asarray(middle, float)
    return _of_most_entropy(checked, middle)


def lotteries(tables: Floats) -> Floats:
    """Return a maximal lottery of each of n tables of margins, (n, k, k): (n, k).

    Near tables mostly have the same members, so those of one table's lottery are tried on all
    others.
    """
    found, left = np.zeros(tables.shape[:2]), np.arange(len(tables))
    while left.size:
        some = tables[left]
        tried, holds = _with_members(some, _unbeaten(some[0]))
        if not holds[0]:
            whole = maximal_lottery(some[0])
            tried, holds = _with_members(some, np.flatnonzero(whole > NEAR))
            tried[0], holds[0] = whole, True
        found[left[holds]] = tried[holds]
        left = left[~holds]
    return found


def _unbeaten(margins: Floats) -> Ints:
    """Return the players who do not lose to a maximal lottery."""
    any_lottery = _corner(margins, np.zeros(len(margins)))
    return np.flatnonzero(margins @ any_lottery > -NEAR)


def _with_members(tables: Floats, members: Ints) -> tuple[Floats, Truths]:
    """Return for each table, (n, k, k), the lottery against which these members have margins of 0,
    the shortest if there are several, and whether every maximal lottery has these members at most:
    all of them play, and all others lose to it."""
    own = tables[:, members][..., members]
    total = np.ones((len(tables), 1, len(members)))
    found = np.zeros(tables.shape[:2])
    found[:, members] = np.linalg.pinv(np.concatenate((own, total), axis=1), rcond=NEAR)[..., -1]
    margins = np.einsum("nij,nj->ni", tables, found)
    others = np.delete(margins, members, axis=1)
    fits = (np.abs(margins[:, members]) < NEAR).all(1) & (others < -NEAR).all(1)
    return found, fits & (found[:, members] > NEAR).all(1) & (np.abs(found.sum(1) - 1) < NEAR)


def _corner(margins: Floats, goal: Floats) -> Floats:
    """Return the maximal lottery with most of `goal`."""
    k = len(margins)
    found = linprog(
        *(-goal, -margins.T, np.zeros(k), np.ones((1, k)), [1.0]), bounds=(0, 1), options=EXACT
    )
    p: Floats = found.x
    return p


def _of_most_entropy(margins: Floats, start: Floats) -> Floats:
    """Return the maximal lottery of most entropy; `start` has all players that any has."""
    used = start > 0
    own = margins[used]
    equal = np.vstack((own[:, used].T, np.ones((1, used.sum()))))
    basis = np.linalg.svd(equal)[2][np.linalg.matrix_rank(equal, tol=NEAR) :].T
    p = start[used]

    def minus_entropy(step: Floats) -> float:
        q = np.maximum(p + basis @ step, 1e-300)
        return float((q * np.log(q)).sum())

    def slope(step: Floats) -> Floats:
        q = np.maximum(p + basis @ step, 1e-300)
        found: Floats = basis.T @ (np.log(q) + 1.0)
        return found

    others = own[:, ~used].T
    limits = [
        {"type": "ineq", "fun": lambda step: p + basis @ step, "jac": lambda _: basis},
        {
            "type": "ineq",
            "fun": lambda step: others @ (p + basis @ step),
            "jac": lambda _: others @ basis,
        },
    ]
    zero = np.zeros(basis.shape[1])
    found = minimize(
        *(minus_entropy, zero), jac=slope, constraints=limits[: 1 + bool(others.size)],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    lottery = np.zeros(len(start))
    lottery[used] = np.maximum(p + basis @ found.x, 0.0)
    return lottery / float(lottery.sum())


def deviation_ratings(payoffs: Floats) -> tuple[Floats, Floats]:
    """Return the deviation rating of each of k players, and how often a seat plays it in the joint
    play x that gives them.

    payoffs: (k, ..., k), the first seat's result where the seats play these; the game is the same
    for every seat. Over joint plays x, the largest gain E_x[G(a, others) - G] of always playing a
    is made as small as possible, those that cannot be smaller are fixed, and so on for the rest; a
    player's rating is its gain (L. Marris, S. Liu, I. Gemp, G. Piliouras and M. Lanctot (2025),
    arXiv 2502.11645). Copies of a player change nothing, nor do offsets by what the others play. Of
    two seats with margins A it refines Nash averaging. Raises ValueError for other shapes.
    """
    table = np.asarray(payoffs, float)
    if table.ndim < 2 or len({*table.shape}) > 1 or not np.isfinite(table).all():
        raise ValueError(f"payoffs have one finite table side per seat, got {table.shape}")
    plays = [*combinations_with_replacement(range(len(table)), table.ndim)]
    gains = np.array([_gains(table, play) for play in plays]).T
    fixed, x = np.full(len(table), inf), np.zeros(len(plays))
    while np.isinf(fixed).any():
        x, worst, tight = _smallest(gains, fixed)
        fixed[tight] = worst
    shares = np.array([np.bincount(play, minlength=len(table)) for play in plays]) / table.ndim
    played = np.where(x > NEAR, x, 0.0) @ shares
    return gains @ x, played / played.sum()


def _gains(table: Floats, play: Sequence[int]) -> Floats:
    """Return the gain of each deviation from one joint play, as a mean over the seats."""
    found = np.zeros(len(table))
    for seat in range(len(play)):
        others = tuple(np.delete(play, seat))
        column = table[(slice(None), *others)]
        found += column - column[play[seat]]
    return found / len(play)


def _smallest(gains: Floats, fixed: Floats) -> tuple[Floats, float, Truths]:
    """Minimise the largest gain of those not fixed yet. Returns the joint play, that gain, and
    whose cannot be smaller: those whose constraint has a price, or the nearest."""
    plays = gains.shape[1]
    free = np.isinf(fixed)
    above = np.hstack((gains, np.where(free, -1.0, 0.0)[:, None]))
    goal, total = np.append(np.zeros(plays), 1.0), np.append(np.ones(plays), 0.0)
    bounds = [*[(0, 1)] * plays, (None, None)]
    exact = (goal, above, np.where(free, 0.0, fixed), total[None], [1.0], bounds)
    found = linprog(*exact, options=EXACT)
    if found.x is None:  # infeasible by rounding
        found = linprog(*exact[:2], np.where(free, 0.0, fixed + NEAR), *exact[3:])
    prices = np.where(free, -found.ineqlin.marginals, 0.0)
    tight = prices > NEAR
    if not tight.any():
        tight = free & (prices == prices[free].max())
    return found.x[:-1], float(found.x[-1]), tight


def _margins(margins: Floats) -> Floats:
    table = np.asarray(margins, float)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise ValueError(f"margins are a square table of finite numbers, got {table.shape}")
    if np.abs(table + table.T).max(initial=0.0) > NEAR:
        raise ValueError("the margin of j against i is minus that of i against j")
    return table
