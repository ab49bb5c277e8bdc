"""Sequential stopping: error rates and deals saved, in simulated sweeps.

    python -m benchmarks.stopping [--sweeps 10000] [--json FILE]

Real deals are played first: RLCard's rule player in seat 1 of UNO against a random player, each
deal with its result and its luck-adjusted value. A simulated sweep draws from those deals with
replacement: wins and losses are weighted, or adjusted values shifted, so that the mean is the null
(the random player's win rate) or the win rate that a sweep expects (54.5%).

    false_positive_upper  one-sided 99% upper bound (Clopper and Pearson) of the share of null
                          sweeps that end with "above the baseline"; at most alpha + .005
    power                 share of sweeps with an effect that do
    median_n              median number of deals of those with an effect
    games_saved           mean share saved of the deals that a z test of raw wins would be
                          planned with, for an equal alpha and a power of 90%

`sprt` stops on raw wins, `precision` on adjusted values; names without a prefix are the worse of
the two. A sweep ends undecided after CAP deals.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import beta

from gauntlet.games.uno import Uno, luck
from gauntlet.stats.power import deals_one_proportion
from gauntlet.stats.sequential import Stop, precision, sprt

ALPHA, POWER, RATE, HALF_WIDTH = 0.05, 0.9, 0.545, 0.03
CAP = 3_000
DEALS = 4_000
SEED = 7

Rule = Callable[[np.ndarray], Stop | None]


def real_deals() -> tuple[np.ndarray, np.ndarray, float]:
    """Return result (won or not) and advantage of each deal, and the reference's win rate."""
    game, players = Uno(), ("random", "rule")
    base = game.simulate(("random", "random"), 2_000_000, SEED)
    found = luck.sample(game.codes(players), game.code("random"), 1, 1, DEALS, 100, SEED, luck.WALK)
    return found[:, 0], found[:, 1], float(base[1] / base.sum())


def sweeps(values: np.ndarray, weights: np.ndarray, rule: Rule, number: int) -> np.ndarray:
    """Return the number of deals and whether the sweep ended above the null: (number, 2)."""
    rng = np.random.default_rng(SEED)
    steps = weights.cumsum() / weights.sum()
    found = np.empty((number, 2))
    for sweep in range(number):
        drawn = np.searchsorted(steps, rng.random(CAP), side="right")
        stop = rule(values[np.minimum(drawn, len(values) - 1)])
        found[sweep] = (CAP, False) if stop is None else (stop.deals, stop.above)
    return found


def judged(name: str, null: np.ndarray, effect: np.ndarray, fixed: int) -> dict[str, float]:
    number, wrong = len(null), int(null[:, 1].sum())
    figures = {
        "false_positive_upper": float(beta.ppf(0.99, wrong + 1, number - wrong)),
        "power": float(effect[:, 1].mean()),
        "median_n": float(np.median(effect[:, 0])),
        "games_saved": float(1 - effect[:, 0].mean() / fixed),
        "median_n_null": float(np.median(null[:, 0])),
    }
    print(
        f"{name:10} false positives {wrong / number:.4f} (99% upper bound "
        f"{figures['false_positive_upper']:.4f})  power {figures['power']:.3f}  median deals "
        f"{figures['median_n']:,.0f} (no effect {figures['median_n_null']:,.0f})  saved "
        f"{100 * figures['games_saved']:.0f}%",
        flush=True,
    )
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=10_000, help="simulated sweeps a case")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    won, advantage, base = real_deals()
    fixed = deals_one_proportion(RATE, base, POWER, ALPHA)
    print(
        f"{DEALS:,} real deals: won {won.mean():.4f}, adjusted {base + advantage.mean():.4f}, "
        f"standard deviation {won.std():.3f} and {advantage.std():.3f}; null {base:.4f}, effect "
        f"{RATE}; a fixed plan takes {fixed:,} deals",
        flush=True,
    )

    def by_wins(wins: np.ndarray) -> Stop | None:
        return sprt(wins, base, RATE, ALPHA, 1 - POWER)

    def by_width(values: np.ndarray) -> Stop | None:
        return precision(values, base, HALF_WIDTH, ALPHA)

    def wins_at(rate: float) -> np.ndarray:
        chances = np.where(won > 0, rate / won.mean(), (1 - rate) / (1 - won.mean()))
        return sweeps(won, chances, by_wins, args.sweeps)

    def values_at(rate: float) -> np.ndarray:
        values = advantage - advantage.mean() + rate
        return sweeps(values, np.ones(len(values)), by_width, args.sweeps)

    rules = {
        "sprt": judged("sprt", wins_at(base), wins_at(RATE), fixed),
        "precision": judged("precision", values_at(base), values_at(RATE), fixed),
    }
    figures = {
        f"{rule}.{key}": value for rule, found in rules.items() for key, value in found.items()
    }
    for key, worse in (
        ("false_positive_upper", max),
        ("power", min),
        ("median_n", max),
        ("games_saved", min),
    ):
        figures[key] = worse(found[key] for found in rules.values())
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    limit = ALPHA + 0.005
    kept = figures["false_positive_upper"] <= limit
    print(f"false positives {'within' if kept else 'ABOVE'} {limit}")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
