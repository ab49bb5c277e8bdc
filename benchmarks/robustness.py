"""Variance components and partial pooling, with known truth.

    python -m benchmarks.robustness [--table components|pooled|few] [--runs N]

`components`: 3 wordings x 60 deals x 2 samples x 2 seats with effects of known spread, for normal
values and for wins with probabilities within 0 to 1; for each component z, the bias of its variance
in standard errors of the simulation, and the coverage of the 95% interval. `pooled`: the best of
eight cells whose errors correlate by .3, by their true spread in a cell's standard errors; its bias
in the same unit, and coverage, raw and partially pooled. `few`: coverage of the intervals of
pooled.csv by the numbers of cells and deals, with independent and with shared luck.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.tables.commands.robustness import PLAIN, error_floor, shrunk
from gauntlet.stats.components import Component, anova
from gauntlet.stats.pooling import partially_pooled

NAMES = ("wording", "deal", "sample", "seat")
WITHIN = {"sample": "deal"}
LEVELS = (3, 60, 2, 2)
SHAPES = {
    ("wording",): (3, 1, 1, 1),
    ("seat",): (1, 1, 1, 2),
    ("deal",): (1, 60, 1, 1),
    ("deal", "sample"): (1, 60, 2, 1),
    ("wording", "deal"): (3, 60, 1, 1),
    ("deal", "seat"): (1, 60, 1, 2),
}
"""The shape of each effect."""
KNOWN = dict(zip(SHAPES, (0.04, 0.03, 0.07, 0.05, 0.05, 0.04), strict=True))
"""Standard deviations to recover, of win probabilities; the residual is the rest."""

CELLS, TIE = 8, 0.3
SPREADS = (0.0, 0.33, 0.67, 1.67, 3.33)
SEED = 2
FEW_CELLS, DEALS, LUCK = (3, 6, 20), (5, 12, 50), (0.0, 0.5)


def simulated(rng: np.random.Generator, binary: bool) -> np.ndarray:
    """Return (wordings, deals, samples, seats): effects of known spread, either normal values or
    wins with probabilities between 0 and 1."""
    chance = np.full(LEVELS, 0.5)
    for effect, shape in SHAPES.items():
        sd = KNOWN[effect]
        reach = np.sqrt(3) * sd  # half-width of a uniform distribution with this standard deviation
        chance = chance + (
            rng.uniform(-reach, reach, shape) if binary else rng.normal(0, sd, shape)
        )
    if binary:
        assert 0 <= chance.min() <= chance.max() <= 1
        return (rng.random(LEVELS) < chance).astype(float)
    return chance + rng.normal(0, 0.4, LEVELS)


def estimate(values: np.ndarray) -> list[Component]:
    """Return the estimates of the known components."""
    design = anova(values, NAMES, WITHIN)
    return [design.component(design.effect(*effect)) for effect in SHAPES]


def recovered(runs: int, binary: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each known variance's bias in standard errors of the simulation, and the coverage."""
    rng = np.random.default_rng(seed)
    told = [estimate(simulated(rng, binary)) for _ in range(runs)]
    truth = np.array([sd**2 for sd in KNOWN.values()])
    estimates = np.array([[one.variance for one in run] for run in told])
    low, high = (
        np.array([[getattr(one, end) for one in run] for run in told]) for end in ("low", "high")
    )
    z = (estimates.mean(axis=0) - truth) / (estimates.std(axis=0) / np.sqrt(runs))
    return z, ((low <= truth) & (truth <= high)).mean(axis=0)


class Best(NamedTuple):
    """Results for the best cell: bias in a cell's standard errors, and coverage of the 95%
    interval, raw and partially pooled."""

    raw: float
    pooled: float
    raw_covered: float
    covered: float


def best_of(runs: int, spread: float, seed: int) -> Best:
    """Simulate the best of CELLS cells with this true spread, in their standard errors."""
    rng, covariance = np.random.default_rng(seed), (1 - TIE) * np.eye(CELLS) + TIE
    root, told = np.linalg.cholesky(covariance), []
    for _ in range(runs):
        truth = spread * rng.standard_normal(CELLS)
        y = truth + root @ rng.standard_normal(CELLS)
        pooled, best = partially_pooled(y, covariance), int(y.argmax())
        raw = y[best] - truth[best]
        held = pooled.low[best] <= truth[best] <= pooled.high[best]
        told.append((raw, pooled.estimates[best] - truth[best], abs(raw) < 1.96, held))
    return Best(*np.mean(told, axis=0).tolist())


def component_rows(runs: int) -> Iterator[str]:
    yield "| component | SD, points | normal: z | covered | wins: z | covered |"
    yield "|---|---|---|---|---|---|"
    normal, wins = (recovered(runs, binary, SEED) for binary in (False, True))
    for effect, *figures in zip(SHAPES, *normal, *wins, strict=True):
        name = "sample" if "sample" in effect else " x ".join(effect)
        told = " | ".join(f"{z:+.1f} | {share:.3f}" for z, share in (figures[:2], figures[2:]))
        yield f"| {name} | {100 * KNOWN[effect]:.0f} | {told} |"


def pooled_rows(runs: int) -> Iterator[str]:
    yield "| true spread, in standard errors | raw | covered | pooled | covered |"
    yield "|---|---|---|---|---|"
    for spread in SPREADS:
        one = best_of(runs, spread, SEED)
        told = f"{one.raw:+.2f} | {one.raw_covered:.3f} | {one.pooled:+.2f} | {one.covered:.3f}"
        yield f"| {spread} | {told} |"


def few_rows(runs: int) -> Iterator[str]:
    yield "| cells | deals | shared luck | all | the best |"
    yield "|---:|---:|---:|---:|---:|"
    for cells, deals, luck in product(FEW_CELLS, DEALS, LUCK):
        every, best = covered(cells, deals, luck, runs)
        yield f"| {cells} | {deals} | {luck} | {every:.3f} | {best:.3f} |"


def covered(count: int, deals: int, luck: float, runs: int) -> tuple[float, float]:
    """The share of cells, and of best cells, whose true share of wins the interval of pooled.csv
    holds. luck: the correlation of the normal numbers behind the wins of cells on one deal."""
    rng, held = np.random.default_rng((SEED, count, deals)), []
    for _ in range(runs):
        truth = np.clip(rng.normal(0.5, 0.1, count), 0.02, 0.98)
        behind = np.sqrt(luck) * rng.normal(size=deals)
        behind = behind + np.sqrt(1 - luck) * rng.normal(size=(count, deals))
        wins = (behind < ndtri(truth)[:, None]).astype(float)
        cells = [(np.arange(deals), own, error_floor(own, WIN)) for own in wins]
        found = shrunk(cells, PLAIN)
        holds = (found["low"].clip(0, 1) <= truth) & (truth <= found["high"].clip(0, 1))
        held.append((holds.mean(), holds[found["pooled"].argmax()]))
    every, best = np.mean(held, axis=0)
    return float(every), float(best)


TABLES = {
    "components": (component_rows, 3000),
    "pooled": (pooled_rows, 2000),
    "few": (few_rows, 500),
}
"""Each table's function, and its default runs per row."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", choices=TABLES, default="components")
    parser.add_argument("--runs", type=int, help="a row; default: by the table")
    given = parser.parse_args()
    rows, runs = TABLES[given.table]
    print("\n".join(rows(given.runs or runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
