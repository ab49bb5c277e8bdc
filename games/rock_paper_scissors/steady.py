"""Where two strategies settle: the damped iteration of the paper, and the exact chain beside it.

The paper (Observer, Not Player, Eq. 1-4) lets reactive mixes follow each other until they stand
still and takes both as independent. Exactly, two strategies that look back one round are a Markov
chain over the nine pairs of last hands; its long-run mean needs no start to be guessed and no
iteration to converge. Against a fixed mix both give the same chances; two reactive players keep
whatever they began with, so what either says of them hangs on the start alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.rock_paper_scissors.strategies import ANSWERS, CODES, Floats, first, responses

DAMPING, TOLERANCE, CAP = 0.7, 1e-4, 10_000
LAST = 100
"""Iterates whose mean stands for a pair that did not converge."""
SQUARINGS = 10
"""Doublings of the lazy chain. Its slowest eigenvalue is (1 + exp(i pi / 3)) / 2, of modulus .87:
after 2^10 steps nothing of it is left in float64."""

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Steady:
    """Where the damped iteration left each pair.

    mixes: float64 (pairs, 2, 3). iterations: int64 (pairs,), from 1. converged: bool (pairs,);
    where it is False the mix is the mean of the last LAST iterates. degenerate: bool (pairs,): two
    reactive players whose start was a fixed point already, so that nothing was found out.
    """

    mixes: Floats
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    degenerate: NDArray[np.bool_]

    @property
    def outcomes(self) -> Floats:
        """The chances of [win, draw, loss] for the first player: float64 (pairs, 3)."""
        return outcomes(self.mixes[:, 0, :, None] * self.mixes[:, 1, None, :])


def outcomes(joint: ArrayLike) -> Floats:
    """[win, draw, loss] of the first player, (..., 3), from the chances of both hands, (..., 3, 3);
    axis -2 is the first player's hand."""
    table = np.asarray(joint, np.float64)
    won = [np.roll(np.eye(3), ahead, axis=0) for ahead in (1, 0, 2)]
    return np.stack([(table * mask).sum(axis=(-2, -1)) for mask in won], axis=-1)


def steady(
    pairs: Pairs,
    legacy_d: bool = False,
    init: ArrayLike | None = None,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    cap: int = CAP,
) -> Steady:
    """Lets all pairs settle at once: s <- damping g(other's s) + (1 - damping) s for reactive ones.

    init: where reactive mixes start, a mix for both seats or one a seat; uniform where None.
    tolerance: both L1 changes of a pair lie below it once it has converged. cap: the most
    iterations. Raises ValueError for a start that is no mix, and a damping outside (0, 1).
    """
    if not 0 < damping < 1:
        raise ValueError(f"damping must lie strictly between 0 and 1, got {damping:g}")
    if cap < 1:
        raise ValueError(f"cap must be a whole number from 1, got {cap}")
    reactive = np.array([[name in ANSWERS for name in pair] for pair in pairs])
    answer = _answers(pairs, legacy_d)
    mixes = np.array([[first(name, legacy_d) for name in pair] for pair in pairs], np.float64)
    mixes = np.where(reactive[..., None], _start(init), mixes)
    iterations = np.full(len(pairs), cap, np.int64)
    degenerate = np.zeros(len(pairs), np.bool_)
    going, tail = np.arange(len(pairs)), np.zeros_like(mixes)
    for number in range(1, cap + 1):
        now = mixes[going]
        moved = damping * np.einsum("psh,pshk->psk", now[:, ::-1], answer[going])
        moved = np.where(reactive[going][..., None], moved + (1 - damping) * now, now)
        change = np.abs(moved - now).sum(axis=2).max(axis=1)
        mixes[going] = moved
        tail[going] += moved * (number > cap - LAST)
        if number == 1:
            degenerate = reactive.all(axis=1) & (change < 1e-12)
        done = change < tolerance
        iterations[going[done]] = number
        going = going[~done]
        if not going.size:
            break
    mixes[going] = tail[going] / min(LAST, cap)
    converged = np.ones(len(pairs), np.bool_)
    converged[going] = False
    return Steady(mixes, iterations, converged, degenerate)


def exact(pairs: Pairs, legacy_d: bool = False) -> Floats:
    """The long-run chances of both hands where reactive players follow their rule: float64 (pairs,
    3, 3), axis 1 the first player's hand.

    The mean over time (Cesaro), so it exists for periodic chains too. The start is that of round 1.
    """
    answer = _answers(pairs, legacy_d)
    # from (a, b) to (c, d): the first answers b with c, the second a with d
    step = np.einsum("pbc,pad->pabcd", answer[:, 0], answer[:, 1]).reshape(-1, 9, 9)
    lazy = (step + np.eye(9)) / 2
    for _ in range(SQUARINGS):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=2, keepdims=True)
    opening = np.array([[first(name, legacy_d) for name in pair] for pair in pairs], np.float64)
    start = (opening[:, 0, :, None] * opening[:, 1, None, :]).reshape(-1, 1, 9)
    return np.asarray((start @ lazy).reshape(-1, 3, 3))


@lru_cache(maxsize=2)
def grid(legacy_d: bool = False) -> Floats:
    """The exact outcomes of all pairs of CODES: float64 (19, 19, 3), [win, draw, loss] of the first
    player. Not to be written to."""
    found = outcomes(exact(all_pairs(), legacy_d)).reshape(len(CODES), len(CODES), 3)
    found.flags.writeable = False
    return found


def all_pairs() -> list[tuple[str, str]]:
    """Every ordered pair of CODES, the second running fastest."""
    return [(one, other) for one in CODES for other in CODES]


def _answers(pairs: Pairs, legacy_d: bool) -> Floats:
    """What every seat plays after each hand of the other: float64 (pairs, 2, 3, 3)."""
    names = [name for pair in pairs for name in pair]
    return responses(names, legacy_d).reshape(-1, 2, 3, 3)


def _start(init: ArrayLike | None) -> Floats:
    given = np.full(3, 1 / 3) if init is None else np.asarray(init, np.float64)
    if given.shape not in ((3,), (2, 3)):
        raise ValueError(f"init is a mix of 3 chances, or one a seat, got shape {given.shape}")
    if (given < 0).any() or not np.allclose(given.sum(axis=-1), 1):
        raise ValueError(f"init must be chances that sum to 1, got {given.tolist()}")
    return np.broadcast_to(given, (2, 3))
