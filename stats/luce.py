"""Plackett-Luce ratings with ties, from whole rankings.

A match ranks its sides: the best are chosen from all, the next from the rest, and so on. From the
sides S a group C that ties is chosen with a probability proportional to

    f(C) = delta_|C| exp(mean of b over C),    C up to D sides of S,

with delta_1 = 1 (H. L. Turner, J. van Etten, D. Firth and I. Kosmidis (2020), Computational
Statistics 35, 1027-1057, equation 4). Without ties f is the worth exp(b) alone. D is the largest
tie that a game's matches have, and delta_2, ..., delta_D are its own. The log-likelihood is concave
in b and log delta; each rating and log delta has a prior N(0, spread^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import logsumexp, stdtrit

from gauntlet.stats.bradley_terry import FAR, NEAR, SPREAD, STEPS, Ints
from gauntlet.stats.chains import bounded
from gauntlet.stats.checks import Floats
from gauntlet.stats.matches import Matches, Ties

MOST = 2_000
"""Groups that may be chosen from the sides of one match."""


@dataclass(frozen=True)
class Choices:
    """Choices of one number of alternatives, by design rows: log f of alternative a of choice c is
    design[c, a] @ (b, log delta). The first alternative is the one taken.

    weights: of each choice's match. units: its deal.
    """

    design: Floats
    weights: Floats
    units: Ints


@dataclass(frozen=True)
class LuceFit:
    """A fit. rating: (players,). ties: log delta of the games' ties. cover: the covariance of both,
    by the sandwich of deals. deals: effective number of deals."""

    rating: Floats
    ties: Floats
    cover: Floats
    deals: float

    def limits(
        self, matches: Matches, ties: Ties, level: float, players: Ints, against: Floats
    ) -> tuple[Floats, Floats]:
        """As `profile.limits`, by the normal approximation, with Student's t of deals - 1."""
        contrasts = -against
        contrasts[np.arange(len(players)), players] += 1.0
        k = len(self.rating)
        centre = contrasts @ self.rating
        error = np.sqrt(np.einsum("ik,kl,il->i", contrasts, self.cover[:k, :k], contrasts))
        width = stdtrit(max(self.deals - 1.0, 1.0), (1.0 + level) / 2.0) * error
        low, high = bounded(matches.wins(ties), contrasts, matches.teams)
        return np.where(low, centre - width, -np.inf), np.where(high, centre + width, np.inf)


def luce(matches: Matches, ties: Ties, units: Ints, spread: float = SPREAD) -> LuceFit:
    """Fit the rankings of `matches`. ties: "half" models ties; with "drop" tied sides have no
    order, and each is compared with those ranked lower alone. units: the deal of each pair. spread:
    standard deviation of the priors.

    Raises ValueError for matches whose ties leave more than MOST alternatives.
    """
    choices, deltas = _choices(matches, ties, units)
    k = matches.players
    theta = np.zeros(k + deltas)
    precision = np.full(len(theta), spread**-2)
    for _ in range(STEPS):
        slope, bend = _derivatives(choices, theta)
        step = np.linalg.solve(bend + np.diag(precision), slope - precision * theta)
        far = float(step.max() - step.min()) if len(step) else 0.0
        theta = theta + step * (np.log1p(far) / far if far > 0 else 1.0)
        if far < NEAR or np.abs(theta).max() > FAR:
            break
    cover, deals = _sandwich(choices, theta, precision)
    return LuceFit(theta[:k] - theta[:k].mean(), theta[k:], cover, deals)


def _derivatives(choices: Sequence[Choices], theta: Floats) -> tuple[Floats, Floats]:
    """Return the slope of the log-likelihood, and minus its second derivative."""
    slope, bend = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    for one in choices:
        off, chance, mean = _off(one, theta)
        slope += one.weights @ off
        spread = np.einsum("ca,cai,caj->cij", chance, one.design, one.design)
        bend += np.tensordot(one.weights, spread - mean[:, :, None] * mean[:, None, :], 1)
    return slope, bend


def _off(choices: Choices, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the slope of each choice's log-likelihood, the chances, and the mean design row."""
    power = choices.design @ theta
    chance = np.exp(power - logsumexp(power, axis=1, keepdims=True))
    mean = np.einsum("ca,cai->ci", chance, choices.design)
    return choices.design[:, 0] - mean, chance, mean


def _sandwich(choices: Sequence[Choices], theta: Floats, precision: Floats) -> tuple[Floats, float]:
    """Return the covariance of theta, and the effective number of deals."""
    _, bend = _derivatives(choices, theta)
    inverse = np.linalg.inv(bend + np.diag(precision))
    units = np.concatenate([one.units for one in choices])
    rows = np.concatenate([one.weights[:, None] * _off(one, theta)[0] for one in choices])
    _, place = np.unique(units, return_inverse=True)
    sums = np.zeros((place.max(initial=-1) + 1, len(theta)))
    np.add.at(sums, place, rows)
    deals = len(sums)
    few = deals / max(deals - 1.0, 1.0)
    return inverse @ (few * sums.T @ sums) @ inverse, float(deals)


# --- rankings


def _choices(matches: Matches, ties: Ties, units: Ints) -> tuple[list[Choices], int]:
    """Return all choices, by number of alternatives, and the number of parameters for ties."""
    rankings = [*_rankings(matches)]
    largest: dict[int, int] = {}
    if ties == "half":
        for at, groups in rankings:
            game, size = int(matches.games[at]), max(map(len, groups))
            largest[game] = max(largest.get(game, 1), size)
    starts, deltas = {}, 0
    for game, size in largest.items():
        starts[game], deltas = deltas, deltas + size - 1
    teams = np.eye(matches.players) if matches.teams is None else matches.teams
    rows: dict[int, list[tuple[Floats, float, int]]] = {}
    for at, groups in rankings:
        game = int(matches.games[at])
        most = largest.get(game, 1)
        weight = float(matches.weights[at] / matches.shares[at])
        start = matches.players + starts.get(game, 0)
        for design in _stages(groups, most, teams, start, matches.players + deltas):
            rows.setdefault(len(design), []).append((design, weight, int(units[at])))
    found = []
    for some in rows.values():
        designs, weights, places = zip(*some, strict=True)
        found.append(Choices(np.array(designs), np.array(weights), np.array(places)))
    return found, deltas


def _rankings(matches: Matches) -> list[tuple[int, list[list[int]]]]:
    """Return each match's first pair, and its sides in groups that tie, the best first."""
    order = np.argsort(matches.numbers, kind="stable")
    starts = np.unique(matches.numbers[order], return_index=True)[1]
    found = []
    for rows in np.split(order, starts[1:]) if len(order) else []:
        points: dict[int, float] = {}
        for at in rows:
            one, other, score = matches.first[at], matches.second[at], matches.scores[at]
            points[int(one)] = points.get(int(one), 0.0) + score
            points[int(other)] = points.get(int(other), 0.0) + 1.0 - score
        groups: dict[float, list[int]] = {}
        for side, total in points.items():
            groups.setdefault(round(total, 9), []).append(side)
        found.append((int(rows[0]), [groups[total] for total in sorted(groups, reverse=True)]))
    return found


def _stages(
    groups: Sequence[Sequence[int]], most: int, teams: Floats, start: int, size: int
) -> list[Floats]:
    """Return the design of each choice of a ranking: (alternatives, size), the taken one first.

    most: sides in the largest tie that is modelled; 1: tied sides are chosen one by one in no
    order, so each of them only against those ranked lower.
    """
    found = []
    for at, group in enumerate(groups):
        rest = [side for below in groups[at + 1 :] for side in below]
        if most == 1:
            found += [_singles([side, *rest], teams, size) for side in group if rest]
            continue
        left = [*group, *rest]
        if len(left) == 1:
            continue
        if sum(comb(len(left), tied) for tied in range(1, min(most, len(left)) + 1)) > MOST:
            raise ValueError(f"a tie of {most} of {len(left)} sides has too many alternatives")
        taken = tuple(group)
        others = [
            some
            for tied in range(1, min(most, len(left)) + 1)
            for some in combinations(left, tied)
            if some != taken
        ]
        design = np.zeros((len(others) + 1, size))
        for row, some in zip(design, (taken, *others), strict=True):
            row[: teams.shape[1]] = teams[list(some)].mean(0)
            if len(some) > 1:
                row[start + len(some) - 2] = 1.0
        found.append(design)
    return found


def _singles(sides: Sequence[int], teams: Floats, size: int) -> Floats:
    design = np.zeros((len(sides), size))
    design[:, : teams.shape[1]] = teams[list(sides)]
    return design
