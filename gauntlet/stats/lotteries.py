"""The maximal lottery of a field in which nobody need be best.

A is a table of margins, (k, k): A[i, j] is the mean score of i against j, less 1/2; A = -A'.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

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

    A @ p is 0 for its members and at most 0 for all others. Raises ValueError if the margins are no
    finite antisymmetric table.
    """
    checked = _margins(margins)
    k = len(checked)
    corners = [_corner(checked, goal) for goal in np.eye(k)]
    middle = np.mean(corners, axis=0)
    middle = np.where(middle > NEAR, middle, 0.0) / middle[middle > NEAR].sum()
    if max(np.abs(one - middle).max() for one in corners) < NEAR:
        return np.asarray(middle, float)
    return _of_most_entropy(checked, middle)


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


def _margins(margins: Floats) -> Floats:
    table = np.asarray(margins, float)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise ValueError(f"margins are a square table of finite numbers, got {table.shape}")
    if np.abs(table + table.T).max(initial=0.0) > NEAR:
        raise ValueError("the margin of j against i is minus that of i against j")
    return table
