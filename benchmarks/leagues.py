"""Coverage of 90% limits of ratings, by kind of league and player (tables of docs/ratings.md).

    python -m benchmarks.leagues [--leagues 400]
    python -m benchmarks.leagues --costs [--leagues 2000]

Every league draws its players' strengths, in log odds, and plays. Matches follow the Bradley-Terry
model, those of several sides the Plackett-Luce model, and the cards of a deal favour one seat in
all of its matches: the latent normal deviates of one deal and seat have correlation LUCK. A rating
is compared with the true one around the same zero, and a win probability (`pair`: two random
players of the league) with the true probability.

`--costs`: five players, and a newcomer who has met one of them on few deals of every game, whose
matches all cost the same on average: how often the newcomer's limits hold, and how often it is
called cheaper than one whom it has not met, or dearer, at 1% and 5%.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

from gauntlet.stats.bradley_terry import Ints
from gauntlet.stats.checks import Floats
from gauntlet.stats.front import Costs, Spent
from gauntlet.stats.matches import Matches
from gauntlet.stats.proportions import wilson
from gauntlet.stats.ratings import By, Ratings, rated

LUCK = 0.3
LEAGUES, COSTS = 400, 2000
PAIR = "pair"


class League(NamedTuple):
    """Strengths, the kind of each player, and n matches: (n, 5) of first, second, game, deal, and
    the side that the deal favours, 1 the first and -1 the second."""

    strengths: Floats
    kinds: Sequence[str]
    matches: Ints
    by: By = "deal"
    luck: float = LUCK

    def played(self, rng: np.random.Generator) -> Matches:
        first, second, games, deals, favoured = self.matches.T
        unit = np.unique(np.stack((games, deals)), axis=1, return_inverse=True)[1].ravel()
        cards = rng.standard_normal(unit.max() + 1)[unit] * favoured
        own = np.sqrt(1.0 - self.luck) * rng.standard_normal(len(first))
        chances = expit(self.strengths[first] - self.strengths[second])
        won = np.sqrt(self.luck) * cards + own < ndtri(chances)
        return Matches(len(self.strengths), first, second, won.astype(float), games, deals)


class SeatedLeague(NamedTuple):
    """Strengths, the kind of each player, and n matches of several sides: `seated`, (n, sides), has
    the side in each seat, `deals` the deal of each. teams: as in `Matches`."""

    strengths: Floats
    kinds: Sequence[str]
    seated: Ints
    deals: Ints
    teams: Floats | None = None
    by: By = "deal"

    def played(self, rng: np.random.Generator) -> Matches:
        strengths = self.strengths if self.teams is None else self.teams @ self.strengths
        seats = self.seated.shape[1]
        cards = rng.standard_normal((self.deals.max() + 1, seats))[self.deals]
        own = np.sqrt(1.0 - LUCK) * rng.standard_normal(cards.shape)
        noise = -np.log(-np.log(ndtr(np.sqrt(LUCK) * cards + own)))  # Gumbel
        found = strengths[self.seated] + noise
        one, other = np.triu_indices(seats, 1)
        first, second = self.seated[:, one].ravel(), self.seated[:, other].ravel()
        scores = (found[:, one] > found[:, other]).astype(float).ravel()
        match = np.repeat(np.arange(len(self.seated)), len(one))
        zero, deals = np.zeros(len(match), int), self.deals[match]
        players = len(self.strengths)
        return Matches(players, first, second, scores, zero, deals, match, self.teams)


class Held(NamedTuple):
    """Counts for one kind of player in one kind of league: limits, how many covered the truth, and
    how many were infinite."""

    league: str
    player: str
    limits: int
    held: int
    open: int

    @property
    def share(self) -> float:
        return self.held / self.limits


def robin(players: Sequence[int], games: Sequence[int], seats: Sequence[int] = (1, -1)) -> Ints:
    """Return a match of every pair of players on every deal. games: deals per game. seats: 1 and -1
    for a match from either seat, 1 alone for one match per pair."""
    pairs = [(a, b) for at, a in enumerate(players) for b in players[at + 1 :]]
    rows = [
        (a, b, game, deal, seat)
        for game, deals in enumerate(games)
        for deal in range(deals)
        for seat in seats
        for a, b in pairs
    ]
    return np.array(rows)


# --- the leagues ---


def even(rng: np.random.Generator) -> League:
    return League(rng.normal(0, 0.8, 6), ["any"] * 6, robin(range(6), (10, 10, 10)))


def one_seat(rng: np.random.Generator) -> League:
    """All matches of a player on a deal share its luck."""
    return League(rng.normal(0, 0.8, 6), ["any"] * 6, robin(range(6), (12,), (1,)))


def few_deals(rng: np.random.Generator) -> League:
    return League(rng.normal(0, 0.8, 4), ["any"] * 4, robin(range(4), (8,)))


def edges(rng: np.random.Generator) -> League:
    """One player often wins everything, one often loses everything."""
    strengths = np.append(rng.normal(0, 0.6, 3), np.array([1, -1]) * rng.uniform(1.5, 4.5, 2))
    kinds = ["others"] * 3 + ["often unbeaten", "often winless"]
    return League(strengths, kinds, robin(range(5), (6,)))


def two_players(rng: np.random.Generator) -> League:
    """20 matches, one per deal."""
    matches = np.array([(0, 1, 0, deal, 1) for deal in range(20)])
    return League(np.array([1, -1]) * rng.uniform(0, 2, 1), ["stronger", "weaker"], matches)


def newcomers(rng: np.random.Generator) -> League:
    """Five play 12 deals; two meet them in two matches, one on one deal and one on two."""
    one, other = rng.choice(5, 2, replace=False)
    late = [(5, one, 0, 0, 1), (5, one, 0, 0, -1), (6, one, 0, 1, 1), (6, other, 0, 2, 1)]
    kinds = ["others"] * 5 + ["two matches, one deal", "two matches, two deals"]
    return League(rng.normal(0, 0.8, 7), kinds, np.append(robin(range(5), (12,)), late, axis=0))


def uneven_games(rng: np.random.Generator) -> League:
    """30, 8 and 4 deals: matches weigh up to 7.5 times as much as others."""
    strengths = np.append(rng.normal(0, 0.8, 4), rng.uniform(1.5, 4))
    return League(strengths, ["others"] * 4 + ["strong"], robin(range(5), (30, 8, 4)))


def unbalanced(rng: np.random.Generator, by: By = "deal", luck: float = LUCK) -> League:
    """150 matches of two games, in which some players have ten times as many as others."""
    lot = np.array([0.37, 0.28, 0.18, 0.09, 0.05, 0.03])
    pairs = [rng.choice(6, 2, replace=False, p=lot) for _ in range(150)]
    rest = np.stack((rng.integers(0, 2, 150), rng.integers(0, 30, 150), rng.choice([1, -1], 150)))
    kinds = ["many matches"] * 2 + ["some matches"] * 2 + ["few matches"] * 2
    rows = np.concatenate((np.array(pairs), rest.T), axis=1)
    return League(rng.normal(0, 0.8, 6), kinds, rows, by, luck)


def by_match(rng: np.random.Generator) -> League:
    return unbalanced(rng, "match", 0.0)


def disconnected(rng: np.random.Generator) -> League:
    """Two groups that never meet; in one of them a player is much stronger."""
    strengths = rng.normal(0, 0.8, 7)
    strengths[0] = rng.uniform(1.5, 4)
    kinds = ["strong"] + ["its group"] * 3 + ["other group"] * 3
    return League(strengths, kinds, np.append(robin(range(4), (10,)), robin((4, 5, 6), (10,)), 0))


def free_for_all(seats: int) -> Callable[[np.random.Generator], SeatedLeague]:
    """Six players, 24 deals, of each `seats` of them in every rotation."""

    def drawn(rng: np.random.Generator) -> SeatedLeague:
        groups = np.array([rng.choice(6, seats, replace=False) for _ in range(24)])
        turns = (np.arange(seats)[:, None] + np.arange(seats)) % seats
        seated, deals = groups[:, turns].reshape(-1, seats), np.repeat(np.arange(24), seats)
        return SeatedLeague(rng.normal(0, 0.8, 6), ["any"] * 6, seated, deals)

    return drawn


def uneven_teams(rng: np.random.Generator) -> SeatedLeague:
    """Five players, 40 deals: one or two against two or three, from both seats."""
    teams = np.zeros((80, 5))
    for deal in range(40):
        small, large = rng.integers(1, 3), rng.integers(2, 4)
        order = rng.permutation(5)
        teams[2 * deal, order[:small]] = 1 / small
        teams[2 * deal + 1, order[small : small + large]] = 1 / large
    sides, place = np.unique(teams, axis=0, return_inverse=True)
    pairs = place.reshape(40, 2)
    seated = np.stack((pairs, pairs[:, ::-1]), axis=1).reshape(-1, 2)
    deals = np.repeat(np.arange(40), 2)
    return SeatedLeague(rng.normal(0, 0.8, 5), ["any"] * 5, seated, deals, sides)


LEAGUES_BY_NAME: dict[str, Callable[[np.random.Generator], League | SeatedLeague]] = {
    "six players, three games of 10 deals": even,
    "six players, 12 deals, one seat each": one_seat,
    "four players, 8 deals": few_deals,
    "five players, 6 deals": edges,
    "two players, 20 matches": two_players,
    "five players, 12 deals, two newcomers": newcomers,
    "five players, games of 30, 8, 4 deals": uneven_games,
    "two groups, 10 deals": disconnected,
    "unbalanced, 150 matches": unbalanced,
    "the same, no luck, by match": by_match,
    "free-for-all of 3, 24 deals": free_for_all(3),
    "free-for-all of 4, 24 deals": free_for_all(4),
    "teams of 1 or 2 against 2 or 3, 40 deals": uneven_teams,
}


def coverage(leagues: int, seed: int = 0) -> Iterator[Held]:
    """Yield the rows of the table."""
    for at, (name, league) in enumerate(LEAGUES_BY_NAME.items()):
        rng = np.random.default_rng((seed, at))
        found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for _ in range(leagues):
            one = league(rng)
            ratings = rated(one.played(rng), by=one.by)
            for kind, *held in _held(one, ratings, rng):
                found[kind].append((held[0], held[1]))
        for kind, each in found.items():
            held, opened = np.sum(each, axis=0)
            yield Held(name, kind, len(each), int(held), int(opened))


def _held(
    league: League | SeatedLeague, ratings: Ratings, rng: np.random.Generator
) -> Iterator[tuple[str, bool, bool]]:
    """For each player, and for a pair, whether its limits cover the truth, and are infinite."""
    low, high = ratings.limits
    truth = league.strengths - ratings.zero @ league.strengths
    for kind, least, true, most in zip(league.kinds, low, truth, high, strict=True):
        if not np.isnan(least):
            yield kind, least <= true <= most, bool(np.isinf([least, most]).any())
    one, other = rng.choice(np.flatnonzero(ratings.parts == 0), 2, replace=False)
    _, low, high = ratings.chances
    true = expit(league.strengths[one] - league.strengths[other])
    least, most = low[one, other], high[one, other]
    yield PAIR, least <= true <= most, least == 0 or most == 1


SPENDING = [((100,), 3), ((30, 30, 30), 3), ((12,), 3), ((100,), 10)]
"""Deals of each game, and those of them that the newcomer plays."""


def cost_table(leagues: int, seed: int = 0) -> Iterator[str]:
    """Yield the lines of the table of `--costs`, in Markdown. Half of the variance of a cost is its
    deal's. Costs are normal, or log-normal with a spread of 1/2."""
    yield "| deals | newcomer's | costs | 90% limits hold | p < .01 | p < .05 |"
    yield "|---|---:|---|---|---:|---:|"
    for at, (games, few) in enumerate(SPENDING):
        rows = robin(range(5), games, seats=(1,))
        late = [(5, 0, game, deal, 1) for game in range(len(games)) for deal in range(few)]
        league = League(np.zeros(6), ["others"] * 5 + ["newcomer"], np.append(rows, late, axis=0))
        for kind, truth in (("normal", 10.0), ("skewed", np.exp(1 / 8))):
            rng = np.random.default_rng((seed, at))
            held, p = 0, np.empty((leagues, 2, 4))
            for number in range(leagues):
                played = league.played(rng)
                spent = _spent(played, rng, kind == "skewed")
                costs = Costs.from_matches(spent, played)
                low, high = costs.limits(0.9)
                held += low[5] <= truth <= high[5]
                p[number] = costs.cheaper()[5, 1:5], costs.cheaper()[1:5, 5]
            ends = wilson(held, leagues)
            share = f"{held / leagues:.1%} ({ends.low:.1%} to {ends.high:.1%})"
            called = " | ".join(f"{(p < alpha).mean():.1%}" for alpha in (0.01, 0.05))
            name = f"{len(games)} x {games[0]}" if len(games) > 1 else f"{games[0]}"
            yield f"| {name} | {few} | {kind} | {share} | {called} |"


def _spent(matches: Matches, rng: np.random.Generator, skewed: bool) -> Spent:
    players = np.concatenate((matches.first, matches.second))
    units = np.tile(matches.units, 2)
    own = rng.standard_normal((matches.units.max() + 1, matches.players))[units, players]
    noise = np.sqrt(0.5) * (rng.standard_normal(matches.units.max() + 1)[units] + own)
    amounts = np.exp(noise / 2) if skewed else 10 + noise
    return Spent(players, np.tile(matches.games, 2), np.tile(matches.deals, 2), amounts)


def table(lines: Sequence[Held]) -> str:
    """Format the results in Markdown."""
    rows = ["| league | player | 90% limits hold | of | open |", "|---|---|---|---|---|"]
    for line in lines:
        ends = wilson(line.held, line.limits)
        rows.append(
            f"| {line.league} | {line.player} | {line.share:.1%} ({ends.low:.1%} to "
            f"{ends.high:.1%}) | {line.limits:,} | {line.open / line.limits:.0%} |"
        )
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--leagues", type=int, help=f"(default {LEAGUES}; of costs {COSTS})")
    parser.add_argument("--costs", action="store_true", help="limits and tests of costs")
    options = parser.parse_args()
    if options.costs:
        print(*cost_table(options.leagues or COSTS), sep="\n")
    else:
        print(table([*coverage(options.leagues or LEAGUES)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
