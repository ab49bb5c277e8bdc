"""How near an observer's guesses come to who really played.

A guess names a strategy a player; a truth and a guess each imply chances of the outcomes of a game.
Losses compare these, as Observer, Not Player (Eq. 5-9) defines them, and with what that leaves open
or gets wrong put right; identification compares the names. Chances lie along the last axis, the
other axes broadcast. In rock-paper-scissors the outcomes are [win, draw, loss] of the first player.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gauntlet.stats.checks import Floats

EPS = 1e-12
"""Added to a chance before its logarithm is taken: a surprise is at most -ln(EPS) = 27.6."""

WORTH = (1.0, 0.0, -1.0)
"""What each outcome is worth to the first player."""

UNDERSTOOD = 0.02
"""A Union below it is taken for understanding."""

ALIKE = 0.002
"""Outcomes that differ by less in every chance cannot be told apart by their losses."""

LATE = 50
"""Guesses, at the end, whose mean is the late one."""

FLAT = 1e-9
"""A range of cross-entropies below it is none."""

Mode = Literal["fixed", "paper", "raw"]
"""paper: the mean of the cross-entropy, min-max scaled over a grid, Brier, and EV loss by 4, as
printed. raw: of all three unscaled, as the authors' prototype has it. fixed: of the divergence by
its largest on the grid, Brier by 2 and EV loss by 4, so that each lies in [0, 1] and is 0 for a
right guess."""

Grid = Literal["global", "truth", "guess"]
"""Over which pairs the scale of a cross-entropy is taken: all truths and guesses; all guesses about
this truth; all truths for this guess, as the prototype has it."""


def cross_entropy(truth: ArrayLike, guess: ArrayLike, eps: float = EPS) -> Floats:
    """- sum of truth ln(guess + eps), from about 0 to -ln(eps)."""
    return np.asarray(-(np.asarray(truth, float) * np.log(np.asarray(guess, float) + eps)).sum(-1))


def divergence(truth: ArrayLike, guess: ArrayLike, eps: float = EPS) -> Floats:
    """The cross-entropy less that of the right guess: from 0, which only outcomes reach that
    are alike (to the order of eps). Kullback and Leibler's, where eps is small."""
    over = cross_entropy(truth, guess, eps) - cross_entropy(truth, truth, eps)
    return np.asarray(np.maximum(over, 0.0))


def brier(truth: ArrayLike, guess: ArrayLike) -> Floats:
    """The sum of squared differences, from 0 to 2."""
    return np.asarray(((np.asarray(guess, float) - np.asarray(truth, float)) ** 2).sum(-1))


def ev_loss(truth: ArrayLike, guess: ArrayLike, worth: Sequence[float] = WORTH) -> Floats:
    """The squared difference of what both say a game is worth, from 0 to the square of the range of
    `worth`, 4 for a win, a draw and a loss. Not strictly proper: equal worth is loss 0."""
    apart = (np.asarray(guess, float) - np.asarray(truth, float)) @ np.asarray(worth, float)
    return np.asarray(apart**2)


def scaled_cross_entropy(
    truth: ArrayLike,
    guess: ArrayLike,
    outcomes: ArrayLike,
    grid: Grid = "global",
    eps: float = EPS,
) -> Floats:
    """The cross-entropy, 0 the least and 1 the most on the grid over `outcomes`, float64 (pairs,
    chances); .5 where the grid is flat."""
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
    """The divergence by the largest on the grid; 0 where there is none."""
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
    """The Union loss: in [0, 1] by `fixed`, to 4/3 by `paper`, to -ln(eps)/3 + 2 by `raw`.

    outcomes: what every pair of strategies implies, float64 (pairs, chances).
    Raises ValueError for an unknown mode or grid, and an eps outside (0, 1).
    """
    for what, given, known in (("mode", mode, Mode), ("grid", grid, Grid)):
        if given not in get_args(known):
            raise ValueError(f"{what} is one of {', '.join(get_args(known))}, got {given!r}")
    if not 0 < eps < 1:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps:g}")
    apart, off = brier(truth, guess), ev_loss(truth, guess, worth)
    if mode == "raw":
        return (cross_entropy(truth, guess, eps) + apart + off) / 3
    off = off / (max(worth) - min(worth)) ** 2
    if mode == "paper":
        return (scaled_cross_entropy(truth, guess, outcomes, grid, eps) + apart + off) / 3
    return (scaled_divergence(truth, guess, outcomes, grid, eps) + apart / 2 + off) / 3


def alike(outcomes: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Which outcomes no loss tells from the true ones: each chance within ALIKE. Never nan ones."""
    off = np.abs(np.asarray(outcomes, float) - np.asarray(truth, float))
    return np.asarray(off.max(axis=-1) < ALIKE)


@dataclass(frozen=True, slots=True)
class Identified:
    """How often guesses name who played; shares of all guesses, null ones among them.

    sir: all players rightly (Strategy Identification Rate). each: each player, a share a seat.
    null_rate: no usable guess. lag: guesses between the first that names one player rightly and
    the first that has named each; never is the number of guesses + 1.
    """

    sir: float
    each: tuple[float, ...]
    null_rate: float
    lag: int


def identified(truth: Sequence[str], guesses: Sequence[Sequence[str] | None]) -> Identified:
    """truth: the strategy of each player. guesses: in the order made, None for a null one. Raises
    ValueError without a guess."""
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
    """How a loss went over a match; null guesses, nan in it, count in no mean.

    mean, late: of all guesses, and of the last LATE; nan where all are null. understood: the number
    of the first guess below UNDERSTOOD, from 1; never is the number of guesses + 1. spikes: how
    often a guess is not below it right after one that was.
    """

    mean: float
    late: float
    understood: int
    spikes: int


def course(losses: ArrayLike) -> Course:
    """losses: Union, or another loss, of each guess in the order made, nan for a null one."""
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
    """Of what is not nan; nan where all is."""
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
    """The least and the most of a loss on the grid, of a shape that broadcasts with the pairs."""
    every = np.unique(np.asarray(outcomes, float), axis=0)
    if grid == "global":
        found = loss(every[:, None, :], every, eps).reshape(-1)
    elif grid == "truth":
        found = loss(np.asarray(truth, float)[..., None, :], every, eps)
    else:
        found = loss(every, np.asarray(guess, float)[..., None, :], eps)
    return found.min(axis=-1), found.max(axis=-1)
