"""How many matches an adaptive tournament needs, and how often it is wrong.

    python -m benchmarks.adaptive verdicts [--leagues 2000] [--players 8 12 20] [--verdicts top1]
    python -m benchmarks.adaptive equals [--leagues 2000]

`verdicts` plays made-up leagues whose neighbours lie .25 to .4 log odds apart, to a settled order
and to a settled best player, looking after every batch of 8 deals. Beside it stands a round robin
with Holm's test and transitivity, of as many deals as settle the same in 90% of these leagues: a
number that nobody knows beforehand. `equals` plays leagues of equal players, where every claim is
wrong, next to the same looks at ordinary p-values.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student

from gauntlet.stats.chains import reached
from gauntlet.stats.multiple import holm
from gauntlet.stats.proportions import wilson
from gauntlet.stats.tournament import Tournament, Verdict

BATCH = 8
ALPHA, POWER = 0.05, 0.9
LUCK = 0.5
"""The part of the variance of a (latent) result that the deal makes, for each player its own."""
GAPS = (0.25, 0.4)
MOST = 40_000
"""Most deals of a league."""
VERDICTS: tuple[Verdict, ...] = ("order", "top1", "all")
COARSE = 1.06
"""Factor between the sizes of round robins that are tried."""


@dataclass(frozen=True)
class League:
    """Made-up players; a match on a deal is won with a chance that the ratings give, and the
    results on one deal hang together."""

    ratings: np.ndarray
    seed: int

    def shares(self, deals: range) -> np.ndarray:
        """(players, players, deals): every player's share of each deal against each other."""
        k, rng = len(self.ratings), np.random.default_rng((self.seed, deals.start))
        chance = norm.ppf(expit(self.ratings[:, None] - self.ratings))[..., None]
        liked = rng.normal(size=(k, len(deals)))
        deal = np.sqrt(LUCK / 2) * (liked[:, None] - liked)
        seats = np.sqrt(1 - LUCK) * rng.normal(size=(2, k, k, len(deals)))
        upper = (deal + seats < chance).mean(0)
        low = np.tril(np.ones((k, k), bool))
        upper[low] = 1 - upper.swapaxes(0, 1)[low]
        return upper


def league(players: int, seed: int) -> League:
    rng = np.random.default_rng((seed, players))
    ratings = np.append(0, rng.uniform(*GAPS, players - 1).cumsum())
    return League(rng.permutation(ratings), seed)


@dataclass(frozen=True)
class Played:
    """A tournament to its end: deals of two matches, whether it settled, and whether a claim is
    wrong."""

    deals: int
    settled: bool
    wrong: bool


def adaptive(field: League, verdict: Verdict, most: int = MOST) -> Played:
    """Play in rounds of fresh deals until the verdict is settled."""
    found, at = Tournament(len(field.ratings), verdict, ALPHA), 0
    while (pairs := found.next_pairs()) and found.deals.sum() / 2 < most:
        shares = field.shares(range(at, at + BATCH))
        for one, other in pairs:
            found.add(one, other, shares[one, other])
        at += BATCH
    return Played(int(found.deals.sum() / 2), not pairs, _wrong(field, found.claims))


def _wrong(field: League, claims: np.ndarray) -> bool:
    better = field.ratings[:, None] > field.ratings
    return bool((claims & ~better).any())


def round_robin(fields: Sequence[League], verdict: Verdict) -> int:
    """The deals a pair after which a share `POWER` of round robins is settled."""
    deals = np.unique(np.geomspace(20, 4000, int(np.log(200) / np.log(COARSE))).astype(int))
    settled = np.zeros(len(deals))
    for field in fields:
        shares = field.shares(range(int(deals[-1])))
        settled += [_settled(shares[:, :, :n], verdict) for n in deals]
    return int(deals[np.argmax(settled >= POWER * len(fields))])


def _settled(shares: np.ndarray, verdict: Verdict) -> bool:
    k, (rows, columns) = len(shares), np.array([*combinations(range(len(shares)), 2)]).T
    own = shares[rows, columns]
    p = holm(_p_values(own))
    known = np.zeros((k, k), bool)
    means = own.mean(1)
    known[rows, columns], known[columns, rows] = (
        (p <= ALPHA) & (means > 0.5),
        (p <= ALPHA) & (means < 0.5),
    )
    known = reached(known) & ~np.eye(k, dtype=bool)
    above = known.sum(1)
    return bool(above.max() == k - 1 if verdict == "top1" else len({*above}) == k)


def _p_values(shares: np.ndarray) -> np.ndarray:
    """Of t-tests that the mean of each row is 1/2."""
    error = shares.std(1, ddof=1) / np.sqrt(shares.shape[1])
    t = (shares.mean(1) - 0.5) / np.maximum(error, 1e-9)
    found: np.ndarray = 2 * student.sf(np.abs(t), shares.shape[1] - 1)
    return found


def verdicts(sizes: Sequence[int], kinds: Sequence[Verdict], leagues: int, robins: int) -> None:
    print(
        "| players | verdict | deals, mean | round robin | ratio | settled | wrong | 95% limits |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|---|")
    for k in sizes:
        for verdict in kinds:
            played = [adaptive(league(k, seed), verdict) for seed in range(leagues)]
            own = np.mean([one.deals for one in played])
            robin = round_robin([league(k, seed) for seed in range(robins)], verdict)
            whole = robin * k * (k - 1) // 2
            wrong, settled = (sum(getattr(one, a) for one in played) for a in ("wrong", "settled"))
            low, high = wilson(wrong, leagues).low, wilson(wrong, leagues).high
            print(
                f"| {k} | {verdict} | {own:,.0f} | {whole:,} | {whole / own:.1f} | "
                f"{settled / leagues:.1%} | {wrong} of {leagues:,} | {low:.1%} to {high:.1%} |",
                flush=True,
            )


def equals(leagues: int) -> None:
    """Equal players, so each claim is wrong; every pair plays every batch, and all looks count."""
    print("| players | looks | wrong | 95% limits | wrong by ordinary p-values |")
    print("|---:|---:|---:|---|---:|")
    for k, looks in ((8, 54), (20, 40)):
        wrong = naive = 0
        for seed in range(leagues):
            found, field = Tournament(k, "all", ALPHA), League(np.zeros(k), seed)
            shares = field.shares(range(looks * BATCH))
            for one, other in combinations(range(k), 2):
                found.add(one, other, shares[one, other])
            wrong += bool(found.claims.any())
            naive += _ever_significant(shares)
        limits = wilson(wrong, leagues)
        print(
            f"| {k} | {looks} | {wrong} of {leagues:,} | {limits.low:.1%} to {limits.high:.1%} | "
            f"{naive} |",
            flush=True,
        )


def _ever_significant(shares: np.ndarray) -> bool:
    """Whether a look finds a difference by t-tests and Holm."""
    rows, columns = np.triu_indices(len(shares), 1)
    own = shares[rows, columns]
    return any(
        np.nanmin(holm(_p_values(own[:, :deals]))) <= ALPHA
        for deals in range(BATCH, own.shape[1] + 1, BATCH)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["verdicts", "equals"])
    parser.add_argument("--leagues", type=int, default=2_000, help="default: %(default)s")
    parser.add_argument("--robins", type=int, default=60, metavar="N",
                        help="leagues that size the round robin; default: %(default)s")  # fmt: skip
    parser.add_argument("--players", type=int, nargs="+", default=[8, 12, 20], metavar="K")
    parser.add_argument("--verdicts", nargs="+", default=VERDICTS, choices=VERDICTS)
    options = parser.parse_args(arguments)
    if options.what == "verdicts":
        verdicts(options.players, options.verdicts, options.leagues, options.robins)
    else:
        equals(options.leagues)


if __name__ == "__main__":
    main()
