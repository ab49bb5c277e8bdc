"""Verdicts on whether a result of ours agrees with a published one, given both samples' sizes.

A row's kind says what is compared. Only results enter a headline:

    result          what the paper measured, and what we measured
    setting         how something was set up, not its outcome
    recount         recomputed from what the paper itself publishes: its numbers, its match file
    own_derivation  both sides are ours, by formula
    own_earlier     both sides are ours, by simulation

Its verdict is one of these:

    agrees          a test with the errors of both values does not reject equality (p >= .05), and
                    the 95% interval of their difference contains no relevant one: none as large as
                    the distance of the published value from the one expected without any effect.
                    Exact values: equal to the printed digits
    differs         the test rejects, each row separately: one in twenty true rows does by chance
    uninformative   it does not, but the interval reaches a relevant difference
    not_computable  the paper does not report the number of games, or only draws the value
    not_run         we have no result
    no_reference    the paper has no value, or ours has no interval
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, nan, sqrt
from typing import Literal, get_args

import pandas as pd

from gauntlet.stats.intervals import difference
from gauntlet.stats.proportions import wilson

Kind = Literal["result", "setting", "recount", "own_derivation", "own_earlier"]
Verdict = Literal["agrees", "differs", "uninformative", "not_computable", "not_run", "no_reference"]
COMPARED: tuple[Verdict, ...] = ("agrees", "differs", "uninformative")
LEVEL = 0.05
"""Significance level of each row's test."""


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95% interval; nan where unknown."""

    value: float
    low: float = nan
    high: float = nan


@dataclass(frozen=True)
class Gap:
    """Our value minus the published one, its 95% interval, and the two-sided p-value of "the two
    are equal"."""

    value: float
    low: float = nan
    high: float = nan
    p_value: float = nan

    def scaled(self, scale: float) -> Gap:
        """Return the gap in another unit."""
        return Gap(scale * self.value, scale * self.low, scale * self.high, self.p_value)

    def recentred(self, value: float) -> Gap:
        """Recentre at another value: counts are integers, but the share they stand for is not."""
        off = value - self.value
        return Gap(value, self.low + off, self.high + off, self.p_value)


def judged(gap: Gap, matters: float) -> Verdict:
    """matters: the smallest relevant difference, in the unit of the gap."""
    if gap.p_value < LEVEL:
        return "differs"
    return "agrees" if -matters < gap.low and gap.high < matters else "uninformative"


def of_counts(wins: int, games: int, their_wins: int, their_games: int) -> Gap:
    """Compare two shares of independent games: Fisher's exact test, two-sided by likelihood (as R's
    fisher.test), and Newcombe's interval, which is `difference` of Wilson's."""
    from scipy.stats import fisher_exact

    ours, theirs = _share(wins, games), _share(their_wins, their_games)
    table = [[wins, games - wins], [their_wins, their_games - their_wins]]
    limits = difference((ours.value, ours.low, ours.high), (theirs.value, theirs.low, theirs.high))
    return Gap(ours.value - theirs.value, *limits, float(fisher_exact(table).pvalue))


def of_known(share: float, their_wins: int, their_games: int) -> Gap:
    """Compare a share that we know exactly: the exact binomial test of theirs."""
    from scipy.stats import binomtest

    theirs = _share(their_wins, their_games)
    p = float(binomtest(their_wins, their_games, share).pvalue)
    return Gap(share - theirs.value, share - theirs.high, share - theirs.low, p)


def of_means(
    ours: Estimate,
    degrees: float,
    published: float,
    games: float = 1.0,
    their_games: float = 1.0,
    their_error: float | None = None,
) -> Gap:
    """Compare two means: our interval inverted to a test, with the errors of both.

    degrees: of freedom of Student's t, inf for the normal distribution. their_error: their standard
    error; by default what ours would be with `their_games` instead of `games`. p is .05 where the
    interval of the difference just reaches 0.
    """
    from scipy.stats import t

    critical = float(t.ppf(1 - LEVEL / 2, degrees))

    def both(side: float) -> float:
        other = sqrt(games / their_games) * side if their_error is None else critical * their_error
        return hypot(side, other)

    below, above = both(ours.value - ours.low), both(ours.high - ours.value)
    gap = ours.value - published
    facing = below if gap > 0 else above
    p = 2 * float(t.sf(critical * abs(gap) / facing, degrees)) if facing else float(gap == 0)
    return Gap(gap, gap - below, gap + above, p)


def of_draws(
    ours: float, draws: int, published: float, their_draws: int, sd: float, rounding: float
) -> Gap:
    """Compare two means of random draws with the same standard deviation, where the printed one has
    an additional error of up to `rounding`."""
    error, gap = sd * sqrt(1 / draws + 1 / their_draws), ours - published
    nearest = published + max(-rounding, min(rounding, gap))
    bare = of_means(Estimate(ours, ours, ours), inf, nearest, their_error=error)
    return Gap(gap, bare.low + nearest - published - rounding,
               bare.high + nearest - published + rounding, bare.p_value)  # fmt: skip


def _share(wins: int, games: int) -> Estimate:
    found = wilson(wins, games)
    return Estimate(float(found.estimate), float(found.low), float(found.high))


def tally(table: pd.DataFrame) -> pd.DataFrame:
    """Count rows by kind and verdict. table: with columns kind and verdict."""
    counts = pd.crosstab(table["kind"], table["verdict"])
    kinds = [kind for kind in get_args(Kind) if kind in counts.index]
    verdicts = [verdict for verdict in get_args(Verdict) if verdict in counts]
    return counts.loc[kinds, verdicts]


def headline(table: pd.DataFrame) -> str:
    """Return the reproduction in a sentence. Only results count, not comparisons with ourselves."""
    results = table[(table["kind"] == "result") & table["verdict"].isin(COMPARED)]
    if results.empty:
        return "No result of the paper's is compared with one of ours."
    agree, differ, open_ = ((results["verdict"] == verdict).sum() for verdict in COMPARED)
    return (
        f"{len(results)} results are compared with the paper's: {agree} agree, {differ} differ, "
        f"{open_} uninformative. Each line is tested by itself at 5%, so about "
        f"{LEVEL * len(results):.1f} would differ by chance if all were the same."
    )
