"""The 19 strategies of Observer, Not Player: 16 fixed mixes and three reactive ones, which answer
the other player's last hand.

Source: the authors' prototype (github.com/pen9rum/rps), whose letters and mixes these are. Hands
are numbered as in HANDS, so each hand is beaten by the next.

Long-run mixes are computed by the paper's damped iteration and by the exact Markov chain. The paper
(Observer, Not Player, Eq. 1-4) iterates reactive mixes to a fixed point and treats the two as
independent. Exactly, two strategies that look back one round are a Markov chain over the nine pairs
of last hands; its long-run mean needs no initial guess and no convergence. Against a fixed mix both
methods agree; two reactive players depend on their start alone in both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Mix = tuple[float, float, float]
"""The probabilities of rock, paper and scissors."""

UNIFORM: Mix = (1 / 3, 1 / 3, 1 / 3)
LEGACY_D: Mix = (0.333, 0.333, 0.334)
"""D as the prototype rounds it."""

MIXES: dict[str, Mix] = {
    "A": (0.0, 0.0, 1.0),
    "B": (1.0, 0.0, 0.0),
    "C": (0.0, 1.0, 0.0),
    "D": UNIFORM,
    "E": (0.5, 0.5, 0.0),
    "F": (0.5, 0.0, 0.5),
    "G": (0.0, 0.5, 0.5),
    "H": (0.5, 0.25, 0.25),
    "I": (0.25, 0.5, 0.25),
    "J": (0.25, 0.25, 0.5),
    "K": (0.5, 0.333, 0.167),
    "L": (0.5, 0.167, 0.333),
    "M": (0.333, 0.5, 0.167),
    "N": (0.167, 0.5, 0.333),
    "O": (0.333, 0.167, 0.5),
    "P": (0.167, 0.333, 0.5),
}
ANSWERS = {"X": 1, "Y": 2, "Z": 0}
"""What a reactive strategy adds to the other's last hand: X beats it, Y loses to it, Z copies it.
Round 1 is uniform."""

CODES = (*MIXES, *ANSWERS)
"""The order of the catalogue, and of every grid over it."""

RULES = {
    "X": "plays the hand that beats the other player's previous hand; in round 1 any hand",
    "Y": "plays the hand that loses to the other player's previous hand; in round 1 any hand",
    "Z": "repeats the other player's previous hand; in round 1 any hand",
}
SETTLED = re.compile(r"([XYZ])\(([^,()]+),([^,()]+),([^,()]+)\)")


def mixes(legacy_d: bool = False) -> dict[str, Mix]:
    return MIXES | {"D": LEGACY_D} if legacy_d else dict(MIXES)


def settled(code: str, mix: Sequence[float]) -> str:
    """Return the name of a reactive strategy that draws from its long-run mix instead of following
    its rule."""
    return f"{code}({','.join(repr(float(chance)) for chance in mix)})"


def fixed(name: str, legacy_d: bool = False) -> Mix | None:
    """Return the mix of a strategy; None for a reactive one. Raises ValueError for a name that is
    not in CODES, not "random" and not from `settled`."""
    if name in ANSWERS:
        return None
    if name in MIXES:
        return LEGACY_D if legacy_d and name == "D" else MIXES[name]
    if name == "random":
        return UNIFORM
    if found := SETTLED.fullmatch(name):
        rock, paper, scissors = map(float, found.groups()[1:])
        return rock, paper, scissors
    raise ValueError(f"rock-paper-scissors has the policies {', '.join(CODES)}, not {name!r}")


def first_mix(name: str, legacy_d: bool = False) -> Mix:
    """Return the probability of each hand in round 1."""
    return fixed(name, legacy_d) or UNIFORM


def after(name: str, other: int, legacy_d: bool = False) -> Mix:
    """Return the probability of each hand after the other player's hand `other`."""
    mix = fixed(name, legacy_d)
    if mix is not None:
        return mix
    rock, paper, scissors = (float(hand == (other + ANSWERS[name]) % 3) for hand in range(3))
    return rock, paper, scissors


def responses(names: Sequence[str], legacy_d: bool = False) -> Floats:
    """Return the probability of each hand given the other's last hand: float64 (names, 3 other's
    last, 3)."""
    return np.array([[after(name, other, legacy_d) for other in range(3)] for name in names])


def play_rounds(
    names: Sequence[str], games: int, rounds: int, rng: np.random.Generator, legacy_d: bool = False
) -> NDArray[np.int64]:
    """Return the hands of both players in `games` games: int64 (2, games, rounds)."""
    hands = rng.integers(3, size=(2, games, rounds))
    for seat, name in enumerate(names):
        mix = fixed(name, legacy_d)
        if mix is not None and name != "random":
            hands[seat] = rng.choice(3, size=(games, rounds), p=mix)
    ahead_of = enumerate(map(ANSWERS.get, names))
    reactive = [(seat, ahead) for seat, ahead in ahead_of if ahead is not None]
    for number in range(1, rounds if reactive else 1):
        for seat, ahead in reactive:
            hands[seat, :, number] = (hands[1 - seat, :, number - 1] + ahead) % 3
    return hands


def likelihoods(mine: np.ndarray, other: np.ndarray) -> Floats:
    """Return the likelihood of each hand of a player under each of CODES: float64 (..., rounds,
    CODES). mine, other: the hands of both players, (..., rounds)."""
    first, after = _by_rule()
    later = after[:, other[..., :-1], mine[..., 1:]]
    found = np.concatenate([first[:, mine[..., :1]], later], axis=-1)
    return np.moveaxis(found, 0, -1)


@cache
def _by_rule() -> tuple[Floats, Floats]:
    """Return the hand probabilities in round 1, (CODES, 3), and given the other's last, (CODES, 3,
    3)."""
    return np.array([first_mix(code) for code in CODES]), responses(CODES)


def sentence(code: str, legacy_d: bool = False) -> str:
    """Describe a strategy for a reader who knows the game."""
    mix = fixed(code, legacy_d)
    if mix is None:
        return RULES[code]
    hands = ("rock", "paper", "scissors")
    if max(mix) == 1:
        return f"always plays {hands[mix.index(1.0)]}"
    shares = [f"{hand} {100 * chance:.3g}%" for hand, chance in zip(hands, mix, strict=True)]
    return f"plays {', '.join(shares)} of the time, whatever was played before"


DAMPING, TOLERANCE, CAP = 0.7, 1e-4, 10_000
LAST = 100
"""Number of last iterates to average for a pair that did not converge."""
SQUARINGS = 10
"""Squarings of the lazy chain. Its slowest eigenvalue is (1 + exp(i pi / 3)) / 2, of modulus .87:
after 2^10 steps it has vanished in float64."""

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Steady:
    """The result of the damped iteration for each pair.

    mixes: float64 (pairs, 2, 3). iterations: int64 (pairs,), from 1. converged: bool (pairs,);
    where it is False the mix is the mean of the last LAST iterates. degenerate: bool (pairs,): two
    reactive players whose start was already a fixed point, so the result says nothing.
    """

    mixes: Floats
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    degenerate: NDArray[np.bool_]

    @property
    def outcomes(self) -> Floats:
        """The probabilities of [win, draw, loss] for the first player: float64 (pairs, 3)."""
        return outcomes(self.mixes[:, 0, :, None] * self.mixes[:, 1, None, :])


def outcomes(joint: ArrayLike) -> Floats:
    """Return [win, draw, loss] of the first player, (..., 3), from the joint distribution of hands,
    (..., 3, 3); axis -2 is the first player's hand."""
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
    """Iterate all pairs at once: s <- damping g(other's s) + (1 - damping) s for reactive
    strategies.

    init: the start of reactive mixes, one mix for both seats or one per seat; uniform if None.
    tolerance: a pair has converged once both its L1 changes are below it. cap: maximum iterations.
    Raises ValueError for a start that is no mix, a damping outside (0, 1) and a cap below 1.
    """
    if not 0 < damping < 1:
        raise ValueError(f"damping must lie strictly between 0 and 1, got {damping:g}")
    if cap < 1:
        raise ValueError(f"cap must be a whole number from 1, got {cap}")
    reactive, answer = _reactive(pairs), _answers(pairs, legacy_d)
    mixes = _opening(pairs, legacy_d, init)
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


def exact(pairs: Pairs, legacy_d: bool = False, init: ArrayLike | None = None) -> Floats:
    """Return the long-run joint distribution of hands where reactive players follow their rule:
    float64 (pairs, 3, 3), axis 1 the first player's hand.

    It is the time average (Cesaro), so it exists for periodic chains too. init: the start of
    reactive players, as in `steady`; the result for two of them depends on it. Raises ValueError
    for a start that is no mix.
    """
    answer = _answers(pairs, legacy_d)
    # from (a, b) to (c, d): the first answers b with c, the second a with d
    step = np.einsum("pbc,pad->pabcd", answer[:, 0], answer[:, 1]).reshape(-1, 9, 9)
    lazy = (step + np.eye(9)) / 2
    for _ in range(SQUARINGS):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=2, keepdims=True)
    opening = _opening(pairs, legacy_d, init)
    start = (opening[:, 0, :, None] * opening[:, 1, None, :]).reshape(-1, 1, 9)
    return np.asarray((start @ lazy).reshape(-1, 3, 3))


@lru_cache(maxsize=2)
def grid(legacy_d: bool = False) -> Floats:
    """Return the exact outcomes of all pairs of CODES: float64 (19, 19, 3), [win, draw, loss] of
    the first player. Read-only."""
    found = outcomes(exact(all_pairs(), legacy_d)).reshape(len(CODES), len(CODES), 3)
    found.flags.writeable = False
    return found


def all_pairs() -> list[tuple[str, str]]:
    """Return every ordered pair of CODES, the second varying fastest."""
    return [(one, other) for one in CODES for other in CODES]


def _answers(pairs: Pairs, legacy_d: bool) -> Floats:
    """Return what every seat plays after each hand of the other: float64 (pairs, 2, 3, 3)."""
    names = [name for pair in pairs for name in pair]
    return responses(names, legacy_d).reshape(-1, 2, 3, 3)


def _reactive(pairs: Pairs) -> NDArray[np.bool_]:
    return np.array([[name in ANSWERS for name in pair] for pair in pairs])


def _opening(pairs: Pairs, legacy_d: bool, init: ArrayLike | None) -> Floats:
    """Return the initial mix of every seat: float64 (pairs, 2, 3)."""
    own = np.array([[first_mix(name, legacy_d) for name in pair] for pair in pairs], np.float64)
    return np.where(_reactive(pairs)[..., None], _start(init), own)


def _start(init: ArrayLike | None) -> Floats:
    initial = np.full(3, 1 / 3) if init is None else np.asarray(init, np.float64)
    if initial.shape not in ((3,), (2, 3)):
        raise ValueError(f"init is a mix of 3 chances, or one a seat, got shape {initial.shape}")
    if (initial < 0).any() or not np.allclose(initial.sum(axis=-1), 1):
        raise ValueError(f"init must be chances that sum to 1, got {initial.tolist()}")
    return np.broadcast_to(initial, (2, 3))
