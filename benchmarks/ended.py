"""Coverage of intervals and rejection rates of tests in the outcome tables, with known truth.

    python -m benchmarks.ended [--table worst|money] [--runs 100] [--json FILE]

Covers outcomes.csv, standings.csv and shared_opponents.csv, and permutation tests of chips and
scores. The method is that of `benchmarks.intervals`: the worst point of each family, rerun with new
random numbers. `even` populations are symmetric around the null value, like the results of two
equal players over both seats of a deal; `uneven` ones have that mean but are not symmetric. Money
of hold'em is drawn from 25,000 matches of each pair of scripted players, two hands each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial, reduce
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from benchmarks.intervals import SEED, measured, table
from benchmarks.luck_holdem import GAME, Table
from benchmarks.populations import (
    BOUNDLESS,
    DIFFERENCE,
    INTERVAL,
    SHARE,
    Draw,
    Point,
    Rate,
    Rates,
    Rng,
    batches,
    chips,
    scores,
    share,
)
from gauntlet.stats.means import LEAST, limits, p_value, per_deal
from gauntlet.stats.paired import permutation

DEALS = (10, 20, 30, 50, 100, 1000)
FLIPPED, SHARED = "permutation test", "`p_value`"
RUNS, MOST = 100, 2_000
"""Runs per point, and at most for a rerun."""
RESAMPLES = 199
PLAYERS = 4
HANDS = 50_000
"""Per pair of scripted players, two per match."""
MEETINGS = (
    *(("tight", "random"), ("tight", "caller"), ("tight", "maniac"), ("tight", "tight")),
    *(("caller", "random"), ("caller", "maniac"), ("maniac", "random"), ("noisy", "tight")),
)
SHOWN, WIDTHS = (30, 100, 400, 1000), 100
"""Deals and runs of the table of widths."""

# --- outcomes

ENDS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 1.0]])
"""Value of a loss, a draw and a win in the win, draw and loss rates and the score."""


def mixes() -> Iterator[np.ndarray]:
    """Yield probabilities of a loss, a draw and a win, each from 2% to 96%."""
    for lost, drawn in product((0.02, 0.1, 0.3, 0.49, 0.7, 0.96), repeat=2):
        if lost + drawn < 0.99:
            yield np.array([lost, drawn, 1 - lost - drawn])


def ends() -> Iterator[Point]:
    for n, mix in product(DEALS, mixes()):
        where = f"{n:,} deals, {mix[2]:.2f} won, {mix[1]:.2f} drawn"
        yield Point("win, draw, loss, score; one match a deal", where, partial(_ends, mix, n))


def _ends(mix: np.ndarray, n: int, rng: Rng, runs: int) -> Rates:
    """Return the lowest coverage of the four."""
    told, places = np.unique(rng.multinomial(n, mix, runs), axis=0, return_inverse=True)
    least = Rate(1.0, runs)
    for worth in ENDS:
        low, high = limits(worth, SHARE, counts=told)
        truth = float(mix @ worth)
        least = min(least, share(((low <= truth) & (truth <= high))[places]))
    return {INTERVAL: least}


def opened() -> Iterator[Point]:
    """Yield points for matches moved first by one side, if that is random: 0 to 2 per deal."""
    for n, p, tied in product(DEALS, (0.05, 0.3, 0.5, 0.9), (0.0, 1.0)):
        where = f"{n:,} deals, {p}, tied by {tied}"
        run = partial(_opened, p, tied, n)
        yield Point("a share of 0 to 2 matches a deal", where, run)


def _opened(p: float, tied: float, n: int, rng: Rng, runs: int) -> Rates:
    covered = []
    for _ in range(runs):
        deals = np.repeat(np.arange(n), rng.binomial(2, 0.5, n))
        luck = rng.random(n)[deals]
        own = np.where(rng.random(len(deals)) < tied, luck, rng.random(len(deals)))
        low, high = limits(per_deal((own < p).astype(float), deals), SHARE)
        covered.append(low <= p <= high)
    return {INTERVAL: share(np.array(covered))}


# --- chips and scores


def even() -> Mapping[str, Draw]:
    """Return chips of two equal players over both seats of a deal: symmetric around 0."""
    known = {name: chips()[name][0] for name in ("normal", "t(3)", "all in 1 in 25")}
    return {**known, "-1, 0, 1": lambda rng, size: rng.integers(-1, 2, size).astype(float)}


def uneven() -> Mapping[str, Draw]:
    """Return populations with mean 0 that are not symmetric."""

    def moved(draw: Draw, mean: float, rng: Rng, size: tuple[int, int]) -> np.ndarray:
        return draw(rng, size) - mean

    names = ("exponential", "lognormal(.5)", "a +5 in 20")
    known = {name: partial(moved, *chips()[name]) for name in names}
    return {**known, "9 or -1": lambda rng, size: 10.0 * (rng.random(size) < 0.1) - 1.0}


def unbounded() -> Iterator[Point]:
    """From LEAST deals on: with fewer there is neither an interval nor a p-value."""
    for name, draws in (("even", even()), ("uneven", uneven())):
        for n, (kind, draw) in product((LEAST, 300, 1000), draws.items()):
            run = partial(_tested, draw, BOUNDLESS, 0.0, n)
            yield Point(f"chips without a range, {name}", f"{n:,} deals, {kind}", run)


def bounded() -> Iterator[Point]:
    for n, (kind, (draw, mean)) in product(DEALS, scores().items()):
        run = partial(_tested, draw, SHARE, mean, n)
        yield Point("a score from 0 to 1", f"{n:,} deals, {kind}", run)


def money() -> Iterator[Point]:
    """Yield points for big blinds per hand, within a stack on either side; and as if unbounded."""
    low, high = GAME.measures[0].low, GAME.measures[0].high
    for meeting, n in product(MEETINGS, DEALS):
        draw, mean = partial(_draw_values, meeting), float(played(meeting).mean())
        where = f"{n:,} deals, {' against '.join(meeting)}"
        run = partial(_tested, draw, (low, high), mean, n)
        yield Point("money of hold'em", where, run)
        if n >= LEAST:
            run = partial(_tested, draw, BOUNDLESS, mean, n)
            yield Point("money of hold'em, were there no range", where, run)


@cache
def played(meeting: tuple[str, str]) -> np.ndarray:
    """Return the first of two scripted players' result in each match of two hands."""
    found: np.ndarray = Table(*meeting).sample(HANDS, 0)[:, 0]
    return found


def widths() -> str:
    """Return a Markdown table of the widths of the money intervals relative to Student's; medians
    of WIDTHS runs."""
    rng, span = np.random.default_rng(SEED), (GAME.measures[0].low, GAME.measures[0].high)
    told = ("| players | SD of a deal |", *(f" {n:,} deals |" for n in SHOWN))
    lines = ["".join(told), "|---" * (2 + len(SHOWN)) + "|"]
    for meeting in MEETINGS:
        cells = [" against ".join(meeting), f"{played(meeting).std():.1f}"]
        for n in SHOWN:
            rows = _draw_values(meeting, rng, (WIDTHS, n))
            low, high = limits(rows, span)
            plain = 2 * stdtrit(n - 1, 0.975) * rows.std(-1, ddof=1) / np.sqrt(n)
            cells.append(f"{np.median((high - low) / plain):.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _draw_values(meeting: tuple[str, str], rng: Rng, size: tuple[int, int]) -> np.ndarray:
    found: np.ndarray = rng.choice(played(meeting), size)
    return found


def _tested(
    draw: Draw, span: tuple[float, float], mean: float, n: int, rng: Rng, runs: int
) -> Rates:
    """Check the interval through the test that it inverts."""
    around, flips, own = (span[0] - mean, span[1] - mean), list[float](), list[np.ndarray]()
    for size in batches(min(runs, MOST), n):
        rows = draw(rng, (size, n)) - mean
        own.append(p_value(rows, around, 0.0, "either"))
        flips.extend(permutation(row, around, 0, resamples=RESAMPLES)[0] for row in rows)
    rejected = share(np.array(flips) < 0.05)
    return {INTERVAL: share(np.concatenate(own) >= 0.05), FLIPPED: rejected}


# --- round robins


def robins() -> Iterator[Point]:
    """Yield points for equally strong players whose results depend partly on the luck of the deal,
    which they share from both seats."""
    for n, mix, tied in product((*DEALS, 10_000), list(mixes())[::3], (0.0, 0.5, 1.0)):
        where = f"{n:,} deals, {mix[2]:.2f} won, {mix[1]:.2f} drawn, tied by {tied}"
        yield Point(f"mean over {PLAYERS - 1} opponents", where, partial(_standing, mix, tied, n))
        run = partial(_shared, mix, tied, n)
        yield Point(f"two over {PLAYERS - 2} shared opponents", where, run)


def _standing(mix: np.ndarray, tied: float, n: int, rng: Rng, runs: int) -> Rates:
    """Return the lowest coverage of win, draw, loss and score."""
    matches, least = 2 * (PLAYERS - 1), Rate(1.0, runs)
    values = np.arange(2 * matches + 1) / (2 * matches)
    for worth in ENDS:
        chances = mix @ _sums(mix, tied, worth, matches)
        told, places = np.unique(rng.multinomial(n, chances, runs), axis=0, return_inverse=True)
        low, high = limits(values, SHARE, counts=told)
        truth = float(mix @ worth)
        least = min(least, share(((low <= truth) & (truth <= high))[places]))
    return {INTERVAL: least}


def _shared(mix: np.ndarray, tied: float, n: int, rng: Rng, runs: int) -> Rates:
    """Test the scores of two equally strong players."""
    matches = 2 * (PLAYERS - 2)
    sums = _sums(mix, tied, ENDS[-1], matches)
    chances = mix @ np.array([np.convolve(one, one[::-1]) for one in sums])
    values = np.arange(-2 * matches, 2 * matches + 1) / (2 * matches)
    told, places = np.unique(rng.multinomial(n, chances, runs), axis=0, return_inverse=True)
    low, high = limits(values, DIFFERENCE, counts=told)
    p = p_value(values, DIFFERENCE, 0.0, "either", counts=told)
    covered, rejected = (low <= 0) & (high >= 0), p < 0.05
    return {INTERVAL: share(covered[places]), SHARED: share(rejected[places])}


def _sums(mix: np.ndarray, tied: float, worth: np.ndarray, matches: int) -> np.ndarray:
    """Return (3, 2 matches + 1): for each outcome that the deal's luck favours, the distribution of
    the sum, in halves, of `matches` results, of which a share `tied` has that outcome."""
    found = []
    for says in np.eye(3):
        one = np.bincount((2 * worth).astype(int), tied * says + (1 - tied) * mix, 3)
        found.append(reduce(np.convolve, [one] * matches))
    return np.array(found)


FAMILIES: tuple[Callable[[], Iterator[Point]], ...] = (
    *(ends, opened, unbounded, bounded, money, robins),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", choices=("worst", "money"), default="worst")
    args = parser.parse_args()
    if args.table == "money":
        print(widths())
        return 0
    found = measured(FAMILIES, args.runs)
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps([worst._asdict() for worst in found], indent=2) + "\n")
    return int(not all(worst.holds for worst in found))


if __name__ == "__main__":
    sys.exit(main())
