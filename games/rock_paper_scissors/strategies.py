"""The 19 strategies of Observer, Not Player: 16 fixed mixes and three that answer the other's last
hand.

Source: the authors' prototype (github.com/pen9rum/rps), whose letters and mixes these are. Hands
are numbered as in HANDS, so the hand after another one beats it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mix = tuple[float, float, float]
"""The chances of rock, paper and scissors."""

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
"""What a reactive strategy adds to the number of the other's last hand: X beats it, Y loses to it,
Z copies it. In round 1 each hand is as likely."""

CODES = (*MIXES, *ANSWERS)
"""The order of the catalogue, and of every grid over it."""

RULES = {
    "X": "plays the hand that beats the other player's previous hand; in round 1 any hand",
    "Y": "plays the hand that loses to the other player's previous hand; in round 1 any hand",
    "Z": "repeats the other player's previous hand; in round 1 any hand",
}
SETTLED = re.compile(r"([XYZ])\(([^,()]+),([^,()]+),([^,()]+)\)")


def mixes(legacy_d: bool = False) -> dict[str, Mix]:
    """The fixed mixes by code."""
    return MIXES | {"D": LEGACY_D} if legacy_d else dict(MIXES)


def settled(code: str, mix: Sequence[float]) -> str:
    """The name of a reactive strategy that is drawn from the mix it settles at, by no rule."""
    return f"{code}({','.join(repr(float(chance)) for chance in mix)})"


def fixed(name: str, legacy_d: bool = False) -> Mix | None:
    """The mix of a strategy; None for one that answers the other's last hand. Raises ValueError for
    a name that is none of CODES, "random", or one that `settled` gives."""
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


def first(name: str, legacy_d: bool = False) -> Mix:
    """The chances of each hand in round 1."""
    return fixed(name, legacy_d) or UNIFORM


def after(name: str, other: int, legacy_d: bool = False) -> Mix:
    """The chances of each hand after the other player's hand `other`."""
    mix = fixed(name, legacy_d)
    if mix is not None:
        return mix
    rock, paper, scissors = (float(hand == (other + ANSWERS[name]) % 3) for hand in range(3))
    return rock, paper, scissors


def responses(names: Sequence[str], legacy_d: bool = False) -> Floats:
    """The chances of each hand after each hand of the other: float64 (names, 3 other's last, 3)."""
    return np.array([[after(name, other, legacy_d) for other in range(3)] for name in names])


def drawn(
    names: Sequence[str], games: int, rounds: int, rng: np.random.Generator, legacy_d: bool = False
) -> NDArray[np.int64]:
    """The hands of both players in so many games at once: int64 (2, games, rounds)."""
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


def likelihoods(own: np.ndarray, other: np.ndarray) -> Floats:
    """How likely each of CODES makes each hand of a player, by its rule: float64 (..., rounds,
    CODES). own, other: the hands of both, (..., rounds)."""
    first, after = _by_rule()
    later = after[:, other[..., :-1], own[..., 1:]]
    found = np.concatenate([first[:, own[..., :1]], later], axis=-1)
    return np.moveaxis(found, 0, -1)


@cache
def _by_rule() -> tuple[Floats, Floats]:
    """The chances of each hand in round 1, (CODES, 3), and after each of the other's, (CODES, 3,
    3)."""
    return np.array([first(code) for code in CODES]), responses(CODES)


def sentence(code: str, legacy_d: bool = False) -> str:
    """What a strategy does, for a reader who knows the game."""
    mix = fixed(code, legacy_d)
    if mix is None:
        return RULES[code]
    hands = ("rock", "paper", "scissors")
    if max(mix) == 1:
        return f"always plays {hands[mix.index(1.0)]}"
    shares = [f"{hand} {100 * chance:.3g}%" for hand, chance in zip(hands, mix, strict=True)]
    return f"plays {', '.join(shares)} of the time, whatever was played before"
