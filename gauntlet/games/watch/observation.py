"""Score an observer's guesses of the players' strategies.

A guess names one strategy per player; truth and guess each imply probabilities of a game's
outcomes. Losses compare these, as Observer, Not Player (Eq. 5-9) defines them, and with its gaps
and errors corrected; identification compares the names. Probabilities lie along the last axis, the
other axes broadcast. In rock-paper-scissors the outcomes are [win, draw, loss] of the first player.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

EPS = 1e-12
"""Added to a probability before its logarithm: a surprise is at most -ln(EPS) = 27.6."""

WORTH = (1.0, 0.0, -1.0)
"""Value of each outcome to the first player."""

UNDERSTOOD = 0.02
"""A Union loss below this counts as understanding."""

ALIKE = 0.002
"""Losses cannot tell apart outcomes whose probabilities all differ by less than this."""

LATE = 50
"""Number of last guesses that make up the late mean."""

FLAT = 1e-9
"""A range of cross-entropies below this counts as zero."""

Mode = Literal["fixed", "paper", "raw"]
"""paper: mean of the cross-entropy, min-max scaled over a grid, Brier, and EV loss over 4, as
printed. raw: mean of all three unscaled, as in the authors' prototype. fixed: mean of the
divergence over its maximum on the grid, Brier over 2 and EV loss over 4, so that each lies in [0,
1] and is 0 for a right guess."""

Grid = Literal["global", "truth", "guess"]
"""The pairs over which a cross-entropy is scaled: all truths and guesses; all guesses about this
truth; all truths for this guess, as in the prototype."""


def cross_entropy(truth: ArrayLike, guess: ArrayLike, eps: float = EPS) -> Floats:
    """Return - sum of truth ln(guess + eps), from about 0 to -ln(eps)."""
    return np.asarray(-(np.asarray(truth, float) * np.log(np.asarray(guess, float) + eps)).sum(-1))


def divergence(truth: ArrayLike, guess: ArrayLike, eps: float = EPS) -> Floats:
    """Return the cross-entropy less that of the right guess, at least 0; 0 only for equal outcomes
    (to the order of eps). For small eps this is the Kullback-Leibler divergence."""
    over = cross_entropy(truth, guess, eps) - cross_entropy(truth, truth, eps)
    return np.asarray(np.maximum(over, 0.0))


def brier(truth: ArrayLike, guess: ArrayLike) -> Floats:
    """Return the sum of squared differences, from 0 to 2."""
    return np.asarray(((np.asarray(guess, float) - np.asarray(truth, float)) ** 2).sum(-1))


def ev_loss(truth: ArrayLike, guess: ArrayLike, worth: Sequence[float] = WORTH) -> Floats:
    """Return the squared difference of the game's expected values, from 0 to the square of the
    range of `worth`, 4 for a win, a draw and a loss. Not strictly proper: equal values have loss 0.
    """
    apart = (np.asarray(guess, float) - np.asarray(truth, float)) @ np.asarray(worth, float)
    return np.asarray(apart**2)


def scaled_cross_entropy(
    truth: ArrayLike,
    guess: ArrayLike,
    outcomes: ArrayLike,
    grid: Grid = "global",
    eps: float = EPS,
) -> Floats:
    """Return the cross-entropy, min-max scaled over the grid on `outcomes`, float64 (pairs,
    probabilities); .5 where the grid is flat."""
    low, high = _ends(cross_entropy, truth, guess, outcomes, grid, eps)
    flat = high - low < FLAT
    scaled = (cross_entropy(truth, guess, eps) - low) / np.where(flat, 1.0, high - low)
    return np.where(flat, 0.5, scaled)


def scaled_divergence(
    truth: ArrayLike,
    guess: ArrayLike,
    outcomes: ArrayLike,
    grid: Grid = "global",
    eps: float = EPS,
) -> Floats:
    """Return the divergence over its maximum on the grid; 0 where that is 0."""
    _, high = _ends(divergence, truth, guess, outcomes, grid, eps)
    return np.asarray(divergence(truth, guess, eps) / np.where(high < FLAT, 1.0, high))


def union(
    truth: ArrayLike,
    guess: ArrayLike,
    outcomes: ArrayLike,
    mode: Mode = "fixed",
    grid: Grid = "global",
    eps: float = EPS,
    worth: Sequence[float] = WORTH,
) -> Floats:
    """Return the Union loss: in [0, 1] for `fixed`, up to 4/3 for `paper`, up to -ln(eps)/3 + 2 for
    `raw`.

    outcomes: those implied by every pair of strategies, float64 (pairs, probabilities). Raises
    ValueError for an unknown mode or grid, and an eps outside (0, 1).
    """
    for what, given, known in (("mode", mode, Mode), ("grid", grid, Grid)):
        if given not in get_args(known):
            raise ValueError(f"{what} is one of {', '.join(get_args(known))}, got {given!r}")
    if not 0 < eps < 1:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps:g}")
    brier_loss, off = brier(truth, guess), ev_loss(truth, guess, worth)
    if mode == "raw":
        return (cross_entropy(truth, guess, eps) + brier_loss + off) / 3
    off = off / (max(worth) - min(worth)) ** 2
    if mode == "paper":
        return (scaled_cross_entropy(truth, guess, outcomes, grid, eps) + brier_loss + off) / 3
    return (scaled_divergence(truth, guess, outcomes, grid, eps) + brier_loss / 2 + off) / 3


def indistinguishable(outcomes: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Return which outcomes no loss can tell from the truth: each probability within ALIKE. False
    for nan."""
    off = np.abs(np.asarray(outcomes, float) - np.asarray(truth, float))
    return np.asarray(off.max(axis=-1) < ALIKE)


@dataclass(frozen=True, slots=True)
class Identified:
    """How often guesses identify the players; shares of all guesses, including null ones.

    sir: all players right (Strategy Identification Rate). each: share of right guesses per seat.
    null_rate: share without a usable guess. lag: guesses between the first that names one player
    right and the first by which each has been named; number of guesses + 1 if that never happens.
    """

    sir: float
    each: tuple[float, ...]
    null_rate: float
    lag: int


def identified(truth: Sequence[str], guesses: Sequence[Sequence[str] | None]) -> Identified:
    """truth: the strategy of each player. guesses: in order, None for a null one. Raises ValueError
    without guesses."""
    if not guesses:
        raise ValueError("there is no guess")
    named = [guess or (None,) * len(truth) for guess in guesses]
    right = np.array([[is_ == said for is_, said in zip(truth, g, strict=True)] for g in named])
    firsts = np.where(right.any(axis=0), right.argmax(axis=0), len(guesses))
    lag = len(guesses) + 1 if firsts.max() == len(guesses) else int(np.ptp(firsts))
    return Identified(
        sir=float(right.all(axis=1).mean()),
        each=tuple(right.mean(axis=0).tolist()),
        null_rate=sum(guess is None for guess in guesses) / len(guesses),
        lag=lag,
    )


@dataclass(frozen=True, slots=True)
class Course:
    """A loss over the course of a match; null guesses (nan) are excluded from the means.

    mean, late: over all guesses, and over the last LATE; nan where all are null. understood: number
    of the first guess below UNDERSTOOD, from 1, or number of guesses + 1. spikes: number of guesses
    not below it right after one that was.
    """

    mean: float
    late: float
    understood: int
    spikes: int


def course(losses: ArrayLike) -> Course:
    """losses: Union, or another loss, of each guess in order, nan for a null one."""
    curve = np.asarray(losses, float)
    known = curve[~np.isnan(curve)]
    low = known < UNDERSTOOD
    below = np.flatnonzero(curve < UNDERSTOOD)
    return Course(
        mean=mean(curve),
        late=mean(curve[-LATE:]),
        understood=int(below[0]) + 1 if below.size else curve.size + 1,
        spikes=int((low[:-1] & ~low[1:]).sum()),
    )


def mean(values: Floats) -> float:
    """Return the mean without nan; nan if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _ends(
    loss: Callable[[ArrayLike, ArrayLike, float], Floats],
    truth: ArrayLike,
    guess: ArrayLike,
    outcomes: ArrayLike,
    grid: Grid,
    eps: float,
) -> tuple[Floats, Floats]:
    """Return minimum and maximum of a loss on the grid, broadcastable with the pairs."""
    every = np.unique(np.asarray(outcomes, float), axis=0)
    if grid == "global":
        losses = loss(every[:, None, :], every, eps).reshape(-1)
    elif grid == "truth":
        losses = loss(np.asarray(truth, float)[..., None, :], every, eps)
    else:
        losses = loss(every, np.asarray(guess, float)[..., None, :], eps)
    return losses.min(axis=-1), losses.max(axis=-1)
