"""Adaptive tournaments: who beats whom, known at any time, and which pairs to play next.

x is a player's share of a deal against another: its mean over the seats, 0 to 1. A hypothesis "the
mean of x is at most m" is tested by betting against it: the capital of a bet b is the product of
1 + b (x - m), and the e-process is the mean capital of several bets. Under the hypothesis it stays
below 1 / p for ever with probability 1 - p (Ville's inequality), so 1 over its maximum is a p-value
at every look: I. Waudby-Smith and A. Ramdas (2024), J. R. Stat. Soc. B 86, 1-27. This needs each
x to have the same mean whatever was seen before, so no pair may be chosen after any result on a
deal that it is then to play.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from gauntlet.stats import checks
from gauntlet.stats.bradley_terry import Ints, penalised
from gauntlet.stats.chains import Truths, reached
from gauntlet.stats.checks import Floats
from gauntlet.stats.multiple import holm
from gauntlet.stats.verdicts import Verdict

Reason = Literal["leader", "pair", "connect"]
"""Why a pair plays: the leader against a rival; asked for by the verdict; to join the field."""
Pair = tuple[int, int]

BETS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.4])
RIVALS = 2
"""Opponents that everybody meets, so that ratings join all players."""


def evidence(shares: Floats, mean: float, bets: Floats = BETS) -> float:
    """Return the log of the highest mean capital of bets that the mean of some shares, n in order,
    is above `mean`. bets: each below 1 / mean."""
    paths = np.log1p(bets[:, None] * (shares - mean)).cumsum(-1)
    capital: Floats = logsumexp(paths, axis=0) - np.log(len(bets))
    return float(capital.max(initial=0.0))


def limits(shares: ArrayLike, alpha: float = 0.05) -> tuple[float, float]:
    """Return limits of the mean of shares, 0 to 1, in order: those means that the e-process of
    neither side refutes at alpha / 2, with bets that grow as 1 / mean. They hold at every look at
    once."""
    from scipy.optimize import bisect  # a slow import that only tables need

    def above(mean: float, side: Floats) -> float:
        return evidence(side, mean, BETS / (2 * mean)) - most

    x = checks.probabilities(checks.finite(np.asarray(shares, float), "shares"), "shares")
    most = float(np.log(2 / checks.inside(alpha, "alpha")))
    low, high = (
        bisect(above, 1e-9, 1.0, (own,)) if x.size and above(1e-9, own) > 0 else 0.0
        for own in (x, 1.0 - x)
    )
    return low, 1.0 - high


@dataclass
class Tournament:
    """What the deals so far show of k players, numbered from 0.

    alpha: the probability that any claim "A beats B" is ever wrong, however often one looks (Holm
    over both directions of all pairs). margin: a mean share within 1/2 +- margin counts as level, 0
    to below 1/2; 0 for never. Claims that two are level have the same error rate, as a family of
    their own.
    totals, deals: (k, k), the sum of each row's shares against each column, and their number.
    """

    players: int
    verdict: Verdict = "order"
    alpha: float = 0.05
    margin: float = 0.0
    totals: Floats = field(init=False)
    deals: Ints = field(init=False)

    def __post_init__(self) -> None:
        k = self.players
        if k < 2:
            raise ValueError(f"a tournament has two players or more, got {k}")
        checks.inside(self.alpha, "alpha")
        if not 0 <= self.margin < 0.5:
            raise ValueError(f"margin lies from 0 to below 1/2, got {self.margin:g}")
        self.totals, self.deals = np.zeros((k, k)), np.zeros((k, k), np.int64)
        self._shares: dict[Pair, Floats] = {}
        self._most = np.zeros((2, k, k))

    def add(self, first: int, second: int, shares: ArrayLike) -> None:
        """Add deals in the order they were planned. shares: the first player's. Raises ValueError
        for shares outside 0 to 1."""
        x = checks.probabilities(checks.finite(np.asarray(shares, float), "shares"), "shares")
        if not x.size:
            return
        for one, other, own in ((first, second, x), (second, first, 1.0 - x)):
            self.totals[one, other] += own.sum()
            self.deals[one, other] += own.size
            every = np.append(self._shares.get((one, other), []), own)
            self._shares[one, other] = every
            means = 0.5, 0.5 - self.margin
            self._most[:, one, other] = [evidence(every, mean) for mean in means]
        for derived in ("p_values", "level", "order"):
            vars(self).pop(derived, None)

    @cached_property
    def p_values(self) -> Floats:
        """(k, k): of "the row's player does not beat the column's", after Holm; 1 on the
        diagonal."""
        found = np.ones((self.players, self.players))
        rows, columns = np.array([*permutations(range(self._tested_players), 2)]).T
        found[rows, columns] = holm(np.exp(-self._most[0, rows, columns]))
        return found

    @property
    def claims(self) -> Truths:
        """(k, k): whether the row's player is shown to beat the column's, by their own matches."""
        found: Truths = self.p_values <= self.alpha
        return found

    @cached_property
    def level(self) -> Truths:
        """(k, k): whether two are shown to be within the margin of each other."""
        found = np.zeros((self.players, self.players), bool)
        if self.margin:
            rows, columns = np.array([*combinations(range(self._tested_players), 2)]).T
            weakest = np.minimum(self._most[1], self._most[1].T)[rows, columns]
            found[rows, columns] = holm(np.exp(-weakest)) <= self.alpha
        return found | found.T

    @property
    def ratings(self) -> Floats:
        """Bradley-Terry ratings in log odds, centred on 0; after an adaptive stop they are biased,
        so they only order the players."""
        return penalised(self.totals)

    @cached_property
    def order(self) -> list[int]:
        """The players, best first: by rating, corrected where it contradicts a claim."""
        ratings, claims = self.ratings, self.claims
        left, found = set(range(self.players)), list[int]()
        while left:
            unbeaten = [one for one in left if not any(claims[other, one] for other in left)]
            best = max(unbeaten or left, key=lambda player: (ratings[player], -player))
            found.append(best)
            left.remove(best)
        return found

    @property
    def cycle(self) -> bool:
        """Whether the claims contradict an order: A beats B beats C beats A."""
        return bool(self.cyclic.any())

    @property
    def cyclic(self) -> Truths:
        """(k,): whether each player beats somebody who, by any chain of claims, beats it."""
        chains = reached(self.claims)
        found: Truths = (chains & chains.T).sum(axis=1) > 1
        return found

    @property
    def contradicted(self) -> bool:
        """Whether claims contradict what the verdict looks for: an order, or a player whom nobody
        beats."""
        if self.verdict == "top1":
            return bool(self.claims.any(axis=0).all())
        return self.verdict == "order" and self.cycle

    @property
    def open(self) -> list[Pair]:
        """The pairs that the verdict still needs, better player first. Each is tested by its own
        matches: that A beats B and B beats C does not say that A beats C."""
        settled = self.claims | self.claims.T | self.level
        return [pair for pair in self._needed() if not settled[pair]]

    def next_pairs(self) -> dict[Pair, Reason]:
        """The pairs of the next round, and why; none once the verdict is settled."""
        reason: Reason = "leader" if self.verdict == "top1" else "pair"
        found = dict.fromkeys(self.open, reason)
        if found and self.verdict == "top1":
            found.update(dict.fromkeys(self._connecting([*found]), "connect"))
        return found

    @property
    def _tested_players(self) -> int:
        """How many players the tests are about."""
        return 2 if self.verdict == "pair" else self.players

    def _needed(self) -> list[Pair]:
        if self.contradicted:
            return []
        if self.verdict == "top1":
            best, *others = self.order
            return [(best, other) for other in others]
        return [(0, 1)] if self.verdict == "pair" else list(combinations(self.order, 2))

    def _connecting(self, chosen: Sequence[Pair]) -> list[Pair]:
        """More pairs, until everybody has met `RIVALS` others."""
        met, found = self.deals > 0, list[Pair]()
        for one, other in chosen:
            met[one, other] = met[other, one] = True
        fewest = min(RIVALS, self.players - 1)
        for one in self.order:
            while met[one].sum() < fewest:
                free = [other for other in range(self.players) if other != one]
                rivals = [other for other in free if not met[one, other]]
                other = min(rivals, key=lambda each: (met[each].sum(), each))
                met[one, other] = met[other, one] = True
                found.append((one, other))
        return found
