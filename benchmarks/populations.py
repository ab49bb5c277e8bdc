"""Populations of deals with known truth, for `benchmarks.intervals`.

One match per deal, several, two cells on the same deals, scores, measures without a range,
luck-adjusted rates; each uses the functions that the tables use. A point is an element of a
family's grid; running it takes a generator and a number of runs, and returns rates by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import betabinom, binom

from gauntlet.stats.means import LEAST, limits, p_value, reaching, with_error
from gauntlet.stats.paired import sign_flip
from gauntlet.stats.proportions import binomial_test, fisher_test

DEALS = (10, 20, 30, 50, 100, 200, 400, 1000, 10_000)
RATES = (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
RUNS, AGAIN = 2_000, 10
"""Runs per point, and the factor for a rerun."""
VALUES = 1_000_000
"""Maximum number of values drawn for a point with all values distinct, before reruns."""
INTERVAL, FLIPS = "interval", "sign flips"
"""Columns that are not a table's test."""
SHARE, DIFFERENCE, BOUNDLESS = (0.0, 1.0), (-1.0, 1.0), (-np.inf, np.inf)

Rng = np.random.Generator


class Rate(NamedTuple):
    """A share of `runs` runs; 0 runs: computed exactly."""

    value: float
    runs: int


Rates = Mapping[str, Rate]
Run = Callable[[Rng, int], Rates]


class Point(NamedTuple):
    """An element of a family's grid; `run` takes a generator and a number of runs."""

    family: str
    where: str
    run: Run


# --- one match a deal ---

SINGLE = "one match a deal"


def single() -> Iterator[Point]:
    """Every number of wins, at rates on a grid and on both sides of every limit."""
    for n in sorted({*DEALS, 12, 15, 27, 75, 2000}):
        wins = np.arange(n + 1)
        low, high = limits(SHARE, SHARE, counts=np.stack((n - wins, wins), -1))
        edges = np.concatenate((low - 1e-9, high + 1e-9)) if n <= 1000 else low[:0]
        for p in np.unique(np.clip((*np.linspace(0.02, 0.98, 97), *edges), 0.02, 0.98)):
            chances = binom.pmf(wins, n, p)
            rejected = chances[binomial_test(wins, n, p) < 0.05].sum()
            rates = {
                INTERVAL: Rate(float(chances[(low <= p) & (p <= high)].sum()), 0),
                "exact binomial test": Rate(float(rejected), 0),
            }
            yield Point(SINGLE, f"{n:,} deals, {p:.3f}", partial(_counted, rates))


def _counted(rates: Rates, _: Rng, __: int) -> Rates:
    return rates


def against_measured() -> Iterator[Point]:
    for n, games, p in product((10, 30, 100, 1000, 10_000), (2_000, 10_000, 1_000_000), RATES):
        where = f"{n:,} deals, {p}, baseline of {games:,} games"
        yield Point(SINGLE, where, partial(_two_samples, n, games, p))


def _two_samples(n: int, games: int, p: float, rng: Rng, runs: int) -> Rates:
    found = fisher_test(rng.binomial(n, p, runs), n, rng.binomial(games, p, runs), games)
    return {"Fisher's exact test": share(found < 0.05)}


# --- several results a deal ---

KINDS = ("even", "independent", "alike", "equal", "mixed")
ROTATED = "2 to 4 results a deal"


def wins_of_a_deal(kind: str, m: int, p: float) -> np.ndarray:
    """Return the distribution of 0 to m wins on a deal, with mean rate p. even: as close to m p as
    possible (negative correlation); alike: beta-binomial with correlation 2/3; equal: all or none;
    mixed: many single wins and a few deals that are won completely, each half of all wins (or of
    all losses)."""
    number = np.arange(m + 1)
    if kind == "independent":
        return np.asarray(binom.pmf(number, m, p))
    if kind == "alike":
        return np.asarray(betabinom.pmf(number, m, p / 2, (1 - p) / 2))
    if kind == "equal":
        return np.where(number == m, p, np.where(number == 0, 1 - p, 0.0))
    if kind == "even":
        return np.maximum(0.0, 1 - np.abs(number - m * p))
    rare = min(p, 1 - p)
    found = np.zeros(m + 1)
    found[[m, 1]] += rare / 2, min(m * rare / 2, 1 - rare / 2)
    found[0] = max(0.0, 1 - found.sum())
    found /= found.sum()
    return found if p <= 0.5 else found[::-1]


def rotated() -> Iterator[Point]:
    for m, kind, n, p in product((2, 3, 4), KINDS, DEALS, RATES):
        where = f"{n:,} deals of {m}, {kind}, {p}"
        yield Point(ROTATED, where, partial(_shares, wins_of_a_deal(kind, m, p), n))
    for m, kind, n, p in product((2, 4), KINDS, (10, 100, 1000, 10_000), (*RATES[::2], 0.98)):
        where = f"{n:,} deals of {m}, {kind}, {p}, baseline of 2,000 deals"
        chances = wins_of_a_deal(kind, m, p)
        yield Point(ROTATED, where, partial(_shares_measured, chances, n, 2_000))


def _shares(chances: np.ndarray, n: int, rng: Rng, runs: int) -> Rates:
    values = np.arange(len(chances)) / (len(chances) - 1)
    truth = float(chances @ values)
    told, places = np.unique(rng.multinomial(n, chances, runs), axis=0, return_inverse=True)
    low, high = limits(values, SHARE, counts=told)
    above = p_value(values, SHARE, truth, counts=told)
    return {
        INTERVAL: share(((low <= truth) & (truth <= high))[places]),
        "test by deals": share((above < 0.05)[places]),
    }


def _shares_measured(chances: np.ndarray, n: int, deals: int, rng: Rng, runs: int) -> Rates:
    values, runs = np.arange(len(chances)) / (len(chances) - 1), min(runs, RUNS)
    told, base = (rng.multinomial(number, chances, runs) for number in (n, deals))
    rate = base @ values / deals
    error = np.sqrt(np.maximum(base @ values**2 / deals - rate**2, 0.0) / (deals - 1))
    found = p_value(values, SHARE, rate, "above", error, told)
    return {"test by deals, measured baseline": share(found < 0.05)}


# --- two cells on the same deals ---

PAIRED, PAIRED_ROTATED = "two cells, one match a deal", "two cells, 2 or 4 results a deal"


def paired() -> Iterator[Point]:
    for n, a, other, tied in product(DEALS, RATES, (None, 0.5, 0.98), (-0.5, 0.0, 0.5, 0.9)):
        b = a if other is None else other
        joint = coupled(np.array([1 - a, a]), np.array([1 - b, b]), tied)
        where = f"{n:,} deals, {a} and {b}, tied by {tied}"
        yield Point(PAIRED, where, partial(_mcnemar, joint, n))


def _mcnemar(joint: np.ndarray, n: int, rng: Rng, runs: int) -> Rates:
    """Compute the p-value of `stats.paired.mcnemar` for all tables at once."""
    told = rng.multinomial(n, joint.ravel(), runs)
    truth = float(joint[1, 0] - joint[0, 1])
    counts = np.stack((told[:, 1], told[:, 0] + told[:, 3], told[:, 2]), -1)
    unlike, places = np.unique(counts, axis=0, return_inverse=True)
    low, high = limits((-1.0, 0.0, 1.0), DIFFERENCE, counts=unlike)
    rates = {INTERVAL: share(((low <= truth) & (truth <= high))[places])}
    if abs(truth) < 1e-12:
        discordant = unlike[:, 0] + unlike[:, 2]
        p = np.minimum(1.0, 2 * binom.cdf(np.minimum(unlike[:, 0], unlike[:, 2]), discordant, 0.5))
        rates["McNemar's test"] = share((p < 0.05)[places])
    return rates


def paired_rotated() -> Iterator[Point]:
    kinds = [(kind, kind) for kind in KINDS] + [("equal", "independent"), ("mixed", "even")]
    for m, n, p, (a, b), tied in product((2, 4), DEALS, RATES, kinds, (0.0, 0.7)):
        joint = coupled(wins_of_a_deal(a, m, p), wins_of_a_deal(b, m, p), tied)
        where = f"{n:,} deals of {m}, {p}, {a} and {b}, tied by {tied}"
        yield Point(PAIRED_ROTATED, where, partial(_differences, joint, n))


def coupled(a: np.ndarray, b: np.ndarray, tied: float) -> np.ndarray:
    """Return the joint distribution of two cells' wins on a deal: a share `tied` of deals has
    common luck (opposite luck if negative), the others independent luck."""
    other = b[::-1] if tied < 0 else b
    edges = np.unique(np.concatenate(([0.0], a.cumsum(), other.cumsum())).clip(0, 1))
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    first, second = (
        np.searchsorted(side.cumsum(), middles).clip(0, len(side) - 1) for side in (a, other)
    )
    together = np.zeros((len(a), len(b)))
    np.add.at(together, (first, second), widths)
    together = together[:, ::-1] if tied < 0 else together
    joint = abs(tied) * together + (1 - abs(tied)) * np.outer(a, b)
    return np.asarray(joint / joint.sum())


def _differences(joint: np.ndarray, n: int, rng: Rng, runs: int) -> Rates:
    m = len(joint) - 1
    steps = np.subtract.outer(np.arange(m + 1), np.arange(m + 1))
    chances = np.bincount((steps + m).ravel(), joint.ravel(), 2 * m + 1)
    values = np.arange(-m, m + 1) / m
    truth = float(chances @ values)
    told, places = np.unique(rng.multinomial(n, chances, runs), axis=0, return_inverse=True)
    low, high = limits(values, DIFFERENCE, counts=told)
    p = p_value(values, DIFFERENCE, truth, "either", counts=told)
    return {
        INTERVAL: share(((low <= truth) & (truth <= high))[places]),
        "permutation test": share((p < 0.05)[places]),
    }


def flipped() -> Iterator[Point]:
    """Sign flips alone, where two cells have the same win rate with different distributions."""
    for n, p in product((30, 100), (0.02, 0.98)):
        joint = coupled(wins_of_a_deal("equal", 4, p), wins_of_a_deal("independent", 4, p), 0.0)
        where = f"{n:,} deals of 4, {p}, equal and independent"
        yield Point(PAIRED_ROTATED, where, partial(_flips, joint, n))


def _flips(joint: np.ndarray, n: int, rng: Rng, runs: int) -> Rates:
    drawn = rng.choice(joint.size, (min(runs, RUNS), n), p=joint.ravel())
    cells = (np.array(np.unravel_index(row, joint.shape)) for row in drawn)
    found = [sign_flip(a, b, 0, 999).p_value for a, b in cells]
    return {FLIPS: share(np.array(found) < 0.05)}


# --- continuous values ---

SCORES, CHIPS, LUCK = "a score from 0 to 1", "a measure without a range", "luck-adjusted rate"

Draw = Callable[[Rng, tuple[int, int]], np.ndarray]


def scores() -> Mapping[str, tuple[Draw, float]]:
    """Return scores between 0 and 1, and their mean."""

    def rare(rng: Rng, size: tuple[int, int]) -> np.ndarray:
        return np.where(rng.random(size) < 0.02, 1.0, rng.beta(1, 30, size))

    found: dict[str, tuple[Draw, float]] = {
        "beta(2, 5)": (lambda rng, size: rng.beta(2, 5, size), 2 / 7),
        "beta(.2, 4)": (lambda rng, size: rng.beta(0.2, 4, size), 0.2 / 4.2),
        "narrow": (lambda rng, size: rng.uniform(0.45, 0.55, size), 0.5),
        "a 1 in 50": (rare, 0.02 + 0.98 / 31),
    }
    turned = {
        f"1 - {name}": (partial(_turned, draw), 1 - mean) for name, (draw, mean) in found.items()
    }
    return {**found, **turned}


def _turned(draw: Draw, rng: Rng, size: tuple[int, int]) -> np.ndarray:
    return 1.0 - draw(rng, size)


def chips() -> Mapping[str, tuple[Draw, float]]:
    """Return unbounded values, and their mean."""

    def all_in(rng: Rng, size: tuple[int, int]) -> np.ndarray:
        pots = rng.normal(0, 3, size)
        return np.where(rng.random(size) < 0.04, rng.choice((-200.0, 200.0), size), pots)

    found: dict[str, tuple[Draw, float]] = {
        "normal": (lambda rng, size: rng.normal(size=size), 0.0),
        "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
        "lognormal(.5)": (lambda rng, size: rng.lognormal(0, 0.5, size), float(np.exp(0.125))),
        "a +5 in 20": (
            lambda rng, size: rng.normal(size=size) + 5 * (rng.random(size) < 0.05),
            0.25,
        ),
        "t(3)": (lambda rng, size: rng.standard_t(3, size), 0.0),
        "all in 1 in 25": (all_in, 0.0),
    }
    turned = {
        f"1 - {name}": (partial(_turned, draw), 1 - mean) for name, (draw, mean) in found.items()
    }
    return {**found, **turned}


def figures() -> Iterator[Point]:
    for n, (name, (draw, mean)) in product(DEALS, scores().items()):
        yield Point(SCORES, f"{n:,} deals, {name}", partial(_means, draw, mean, SHARE, n))
    for n, (name, (draw, mean)) in product(DEALS, chips().items()):
        if n >= LEAST:
            yield Point(CHIPS, f"{n:,} deals, {name}", partial(_means, draw, mean, BOUNDLESS, n))


def _means(
    draw: Draw, mean: float, span: tuple[float, float], n: int, rng: Rng, runs: int
) -> Rates:
    """Check the interval through the test that it inverts, which is fifty times as fast."""
    above, either = [], []
    for size in batches(runs, n):
        x = draw(rng, (size, n))
        above.append(p_value(x, span, mean))
        below = p_value(x, span, mean, "below")
        either.append(2 * np.minimum(above[-1], below))
    return {
        INTERVAL: share(np.concatenate(either) >= 0.05),
        "test by deals": share(np.concatenate(above) < 0.05),
    }


def noises() -> Mapping[str, Draw]:
    """Return distributions of a deal's deviation from the mean advantage: with mean 0."""

    def rare(jump: float, rng: Rng, size: tuple[int, int]) -> np.ndarray:
        return jump * ((rng.random(size) < 0.03) - 0.03) + 0.02 * rng.normal(size=size)

    return {
        "normal .15": lambda rng, size: 0.15 * rng.normal(size=size),
        "normal .02": lambda rng, size: 0.02 * rng.normal(size=size),
        "skewed": lambda rng, size: 0.1 * (rng.exponential(size=size) - 1.0),
        "skewed below": lambda rng, size: 0.1 * (1.0 - rng.exponential(size=size)),
        "a +.5 in 33": partial(rare, 0.5),
        "a -.5 in 33": partial(rare, -0.5),
    }


def luck() -> Iterator[Point]:
    for n, (name, noise), p in product(DEALS[:-1], noises().items(), (0.02, 0.3, 0.98)):
        for error in (0.0005, 0.005):
            where = f"{n:,} deals, {p}, {name}, baseline +-{error}"
            yield Point(LUCK, where, partial(_adjusted, noise, p, error, n))


def _adjusted(noise: Draw, p: float, error: float, n: int, rng: Rng, runs: int) -> Rates:
    covered = []
    for size in batches(min(runs, RUNS), n):
        x = p + noise(rng, (size, n)) + error * rng.normal(size=(size, 1))
        low, high = np.clip(with_error(x.mean(-1), *limits(x, reaching(x, SHARE)), error), 0.0, 1.0)
        covered.append((low <= p) & (p <= high))
    return {INTERVAL: share(np.concatenate(covered))}


def batches(runs: int, deals: int) -> Iterator[int]:
    """Batch sizes that sum to the runs, fewer for many deals, of at most VALUES values each."""
    most = max(1, VALUES // deals)
    left = min(runs, most * (AGAIN if runs > RUNS else 1))
    while left > 0:
        yield min(most, left)
        left -= most


def share(hits: np.ndarray) -> Rate:
    return Rate(float(hits.mean()), len(hits))


FAMILIES = (single, against_measured, rotated, paired, paired_rotated, flipped, figures, luck)
