"""What matches can tell of rating differences: whose they join, and which they bound.

A table of wins is as in `stats.bradley_terry`, of sides; `teams`, (sides, players), gives the part
of each player in each side, None where side i is player i. A win of side s over t shows that
(teams[s] - teams[t]) @ b is not minus infinity. With single players chains of wins answer all
questions; with teams linear programmes do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.checks import Floats

NEAR = 1e-9
"""Rounding in linear programmes and ranks."""

Truths = NDArray[np.bool_]


def parts(counts: ArrayLike, teams: Floats | None = None) -> Ints:
    """Return the part of each player, numbered from 0 in order: the matches determine rating
    differences within a part only. Of single players it is a connected component: a chain of
    matches joins any two.

    counts: (sides, sides), above 0 where two have a match that counts. A player without any gets
    -1.
    """
    joined = np.asarray(counts) > 0
    joined |= joined.T
    played: Truths = np.asarray(joined.any(axis=1))
    same = reached(joined)
    if teams is not None:
        played = np.asarray((teams[played] > 0).any(axis=0))
        same = _determined(joined, teams)
    found = np.full(len(played), -1)
    found[played] = _group_numbers(same[np.ix_(played, played)])
    return found


def mixed(wins: ArrayLike, teams: Floats | None = None) -> Ints:
    """Return the group of each player, numbered from 0 in order: within a group, and only there,
    the matches bound rating differences on both sides. Of single players a chain of wins leads from
    each to each other: a strongly connected component (L. R. Ford (1957), Am. Math. Monthly 64 (8),
    28-33).
    """
    if teams is None:
        chains = reached(wins)
        return _group_numbers(chains & chains.T)
    k = teams.shape[1]
    one, other = np.triu_indices(k, 1)
    same = np.eye(k, dtype=bool)
    same[one, other] = bounded(wins, np.eye(k)[one] - np.eye(k)[other], teams).all(0)
    return _group_numbers(same | same.T)


def bounded(wins: ArrayLike, contrasts: Floats, teams: Floats | None = None) -> Truths:
    """Return whether the matches bound each difference c @ b from below and from above: (2,
    differences). contrasts: (differences, players), rows that sum to 0 and are above 0 for one
    player alone, or with teams any."""
    if teams is None:
        chains, held = reached(wins), contrasts < 0
        players = contrasts.argmax(1)
        return np.array([(table[players] | ~held).all(1) for table in (chains, chains.T)])
    won, lost = np.nonzero(np.asarray(wins) > 0)
    steps = teams[won] - teams[lost]
    if not _one_way(steps):
        free = np.abs(contrasts @ _unseen(steps).T) > NEAR**0.5
        return np.array([~free.any(1)] * 2)
    signs = (1.0, -1.0)  # b can go down without end, or up
    return np.array([[_stops(steps, sign * one) for one in contrasts] for sign in signs])


def reached(wins: ArrayLike) -> Truths:
    """Return whether a chain of wins leads from each row's side to each column's; every side
    reaches itself."""
    reachable = np.asarray(wins) > 0
    reachable |= np.eye(len(reachable), dtype=bool)
    while True:
        grown = (reachable.astype(float) @ reachable) > 0
        if (grown == reachable).all():
            return reachable
        reachable = grown


def _stops(steps: Floats, contrast: Floats) -> bool:
    """Whether no direction lowers `contrast` without lowering any winner against its loser."""
    from scipy.optimize import linprog  # a slow import that only teams need

    found = linprog(contrast, -steps, np.zeros(len(steps)), bounds=(-1.0, 1.0))
    return bool(found.fun > -NEAR)


def _one_way(steps: Floats) -> bool:
    """Whether some direction raises a winner against its loser, and lowers none."""
    from scipy.optimize import linprog

    n, k = steps.shape
    gains = np.hstack((-steps, np.eye(n)))  # steps @ d >= gain, each gain at most 1
    goal = np.append(np.zeros(k), -np.ones(n))
    found = linprog(goal, gains, np.zeros(n), bounds=[*[(None, None)] * k, *[(0.0, 1.0)] * n])
    return bool(found.fun < -NEAR)


def _unseen(steps: Floats) -> Floats:
    """Directions in which no two sides that met move apart: (directions, players)."""
    _, sizes, rows = np.linalg.svd(steps)
    found: Floats = rows[(sizes > NEAR).sum() :]
    return found


def _determined(joined: Truths, teams: Floats) -> Truths:
    """Whether the difference of each two players is a sum of differences of sides that met."""
    one, other = np.nonzero(np.triu(joined))
    free = _unseen(teams[one] - teams[other])
    apart = np.abs(free[:, :, None] - free[:, None, :])
    found: Truths = (apart < NEAR**0.5).all(axis=0)
    return found


def _group_numbers(same_part: Truths) -> Ints:
    """Number the groups of an equivalence relation given as a table, row by row."""
    first = same_part.argmax(axis=1) if same_part.size else np.zeros(len(same_part), np.int64)
    return np.unique(first, return_inverse=True)[1].astype(np.int64)
