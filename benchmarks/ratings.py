"""Ratings: speed, agreement with choix, and power.

    python -m benchmarks.ratings [--tournaments 1000] [--json FILE]

    seconds_limits        ratings of 277 matches like GameBench's, seven players in nine games, with
                          limits of all ratings and all win probabilities, on one core
    seconds_10000         10,000 bootstrapped ratings of the same, with means and limits
    seconds_12_players    10,000 draws of the ratings of 12 players, with a weight per deal
    loss_pairs, loss_*    mean squared error of ratings of LEAGUES leagues of matches of four, over
                          that of whole rankings (choix's Plackett-Luce model with the same prior):
                          by pairs of the rankings, and openskill's Plackett-Luce model
    choix_ratio           relative time of a loop over choix as in the published code: a draw, the
                          list of who won against whom, and ilsr_pairwise
    choix_dense_ratio     the same with a table of wins and ilsr_pairwise_dense, its fastest form
    max_abs_diff_choix    largest difference of a rating from choix's, over the draws it rated
    power, power_*        share of tournaments in which the better of two neighbours is found: ours,
                          and other methods

choix and openskill are measured if installed. In a simulated tournament every two players meet in
every deal of every game, from both seats; the cards of a deal favour a seat by a normal deviate of
standard deviation LUCK, in log odds. Power is at equal false positive rates: each method has a
statistic z, the difference over its own error, and its own bound, which 5% of tournaments between
equals exceed. For the coverage of the limits see `benchmarks.leagues`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from gauntlet.papers.gamebench.ratings import DRAWS, bootstrapped
from gauntlet.stats.bradley_terry import ALPHA, SPREAD, penalised, spectral
from gauntlet.stats.matches import Matches, draw_by_deal
from gauntlet.stats.ratings import By, rated

SIZES = (49, 41, 40, 39, 27, 25, 21, 18, 17)
SHARES, TIES = (1, 7, 8), 6
PLAYED = (196, 13, 88, 80, 93, 71, 13)
RATED = (-0.50, 1.76, -0.48, 0.06, -0.89, 0.16, -0.10)
"""GameBench's matches per game, of which three have shares as scores and one mostly ties; matches
of its players, and their ratings."""
LOOPED = 200
"""Draws rated by choix, of DRAWS."""
LISTED = 60
"""Draws rated by choix from a list of matches."""

STRENGTHS = np.array([-1.0, -0.4, 0.0, 0.25, 0.6, 1.2])
PAIR = (2, 3)
"""The neighbours to be distinguished."""
GAMES, DEALS, LUCK = 3, 10, 1.0
FEWER = 400
"""Bootstrap draws for Elo."""
FALSE = 0.05
STEP = 4.0 * np.log(10) / 400
"""Elo's K of 4, in log odds: for matches of players whose strength is constant."""

LEAGUES, RANKED, SEATS = 100, 60, 4
"""Leagues of free-for-alls, matches and sides of each."""

Z = Callable[[Matches, int], float]
"""The difference of PAIR's second and first, in errors; the integer seeds the draws."""


def tournament(
    rng: np.random.Generator, strengths: np.ndarray, games: int = GAMES, deals: int = DEALS
) -> Matches:
    """Return a match of every two players in every deal, from both seats."""
    one, other = np.triu_indices(len(strengths), 1)
    cards = LUCK * rng.standard_normal((games, deals, 1, 1)) * (1, -1)
    chances = expit((strengths[one] - strengths[other])[:, None] + cards)
    game, deal, pair, _ = (place.ravel() for place in np.indices(chances.shape))
    won = (rng.random(chances.shape) < chances).astype(float).ravel()
    return Matches(len(strengths), one[pair], other[pair], won, game, deal)


def published_like(rng: np.random.Generator) -> Matches:
    """Return as many matches as GameBench has."""
    n, game = sum(SIZES), np.repeat(np.arange(len(SIZES)), SIZES)
    chance = np.array(PLAYED) / sum(PLAYED)
    first, second = np.array([rng.choice(7, 2, replace=False, p=chance) for _ in range(n)]).T
    won = expit(np.array(RATED)[first] - np.array(RATED)[second])
    scores = (rng.random(n) < won).astype(float)
    shares = np.isin(game, SHARES)
    scores[shares] = rng.binomial(17, won[shares]) / 17
    ties = (game == TIES) & (rng.random(n) < 0.85)
    scores[ties] = 0.5
    return Matches(7, first, second, scores, game, np.arange(n))


# --- against choix ---


def speed(seed: int = 0) -> dict[str, float]:
    """Return seconds and, if choix is installed, its ratio and the largest difference."""
    with threadpool_limits(1):
        return timed(seed)


def timed(seed: int) -> dict[str, float]:
    matches = published_like(np.random.default_rng(seed))
    taken, limits = [], []
    for _ in range(5):
        start = time.process_time()
        ratings = rated(matches, by="match")
        assert not np.isnan(ratings.limits).any()
        assert not np.isnan(ratings.chances[1][0, 1:]).any()
        limits.append(time.process_time() - start)
        start = time.process_time()
        found = bootstrapped(matches, DRAWS)
        assert np.isfinite([found.mean, *found.limits]).all()
        taken.append(time.process_time() - start)
    figures = {"seconds_limits": min(limits), "seconds_10000": min(taken)}
    try:
        import choix
    except ImportError:
        return figures
    rng, most = np.random.default_rng(seed), 0.0
    chances = matches.weights / len(matches)
    start = time.process_time()
    loops = [choix_draw(choix, matches, chances, rng) for _ in range(LOOPED)]
    dense = (time.process_time() - start) * DRAWS / LOOPED
    start = time.process_time()
    for _ in range(LISTED):
        choix_list(choix, matches, chances, rng)
    seconds = (time.process_time() - start) * DRAWS / LISTED
    most = max(float(np.abs(spectral(wins) - ratings).max()) for wins, ratings in loops)
    return {
        **figures,
        "choix_seconds_10000": seconds,
        "choix_dense_seconds_10000": dense,
        "choix_ratio": seconds / figures["seconds_10000"],
        "choix_dense_ratio": dense / figures["seconds_10000"],
        "max_abs_diff_choix": most,
    }


def choix_draw(
    choix: object, matches: Matches, chances: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw matches once; return their table of wins and choix's ratings."""
    drawn = rng.choice(len(matches), len(matches), p=chances)
    drawn = drawn[matches.scores[drawn] != 0.5]
    first, second, scores = matches.first[drawn], matches.second[drawn], matches.scores[drawn]
    wins = np.zeros((matches.players, matches.players))
    np.add.at(wins, (first, second), scores)
    np.add.at(wins, (second, first), 1 - scores)
    return wins, choix.ilsr_pairwise_dense(wins, alpha=ALPHA)  # type: ignore[attr-defined]


def choix_list(
    choix: object, matches: Matches, chances: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw matches once, as a list of who won against whom, and return choix's ratings: the loop of
    the published code, whose own copy of choix also adds the loser's part of each score."""
    drawn = rng.choice(len(matches), len(matches), p=chances)
    won = matches.scores > 0.5
    pairs = np.where(won, (matches.first, matches.second), (matches.second, matches.first))
    data = [(int(one), int(other)) for one, other in pairs[:, drawn].T]
    found: np.ndarray = choix.ilsr_pairwise(  # type: ignore[attr-defined]
        matches.players, data, alpha=ALPHA
    )
    return found


# --- power ---


def by_ratings(by: By) -> Z:
    def z(matches: Matches, _: int) -> float:
        found = rated(matches, by=by)
        first, second = PAIR
        low, high = (logit(table[second, first]) for table in found.chances[1:])
        return float((found.fitted[second] - found.fitted[first]) / (high - low))

    return z


def by_elo(matches: Matches, seed: int) -> float:
    """Elo over bootstrap draws of the matches in random order: mean over error."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(matches), (len(matches), FEWER))
    ratings, every = np.zeros((FEWER, matches.players)), np.arange(FEWER)
    for step in drawn:
        one, other = matches.first[step], matches.second[step]
        gain = STEP * (matches.scores[step] - expit(ratings[every, one] - ratings[every, other]))
        ratings[every, one] += gain
        ratings[every, other] -= gain
    apart = ratings[:, PAIR[1]] - ratings[:, PAIR[0]]
    return float(apart.mean() / apart.std())


def by_openskill(matches: Matches, seed: int) -> float:
    """openskill's Plackett-Luce model over the matches in random order, with its own errors."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    ratings = [model.rating() for _ in range(matches.players)]
    for at in np.random.default_rng(seed).permutation(len(matches)):
        one, other, score = matches.first[at], matches.second[at], matches.scores[at]
        sides = model.rate([[ratings[one]], [ratings[other]]], scores=[score, 1.0 - score])
        (ratings[one],), (ratings[other],) = sides
    first, second = (ratings[player] for player in PAIR)
    return float((second.mu - first.mu) / np.hypot(first.sigma, second.sigma))


def ways() -> Mapping[str, Z]:
    found: dict[str, Z] = {"power": by_ratings("deal"), "power_by_match": by_ratings("match")}
    found["power_elo_bootstrap"] = by_elo
    try:
        import openskill  # noqa: F401
    except ImportError:
        return found
    return {**found, "power_openskill": by_openskill}


def powers(tournaments: int, seed: int) -> dict[str, float]:
    """Return the power of each method, on the same tournaments."""
    equal = STRENGTHS.copy()
    equal[list(PAIR)] = STRENGTHS[list(PAIR)].mean()
    found = ways()
    z = {name: np.empty((2, tournaments)) for name in found}
    for row, strengths in enumerate((equal, STRENGTHS)):
        rng = np.random.default_rng((seed, row))
        for number in range(tournaments):
            played = tournament(rng, strengths)
            for name, way in found.items():
                z[name][row, number] = way(played, number)
    bounds = {name: np.quantile(np.abs(under), 1 - FALSE) for name, (under, _) in z.items()}
    return {name: float((z[name][1] > bounds[name]).mean()) for name in found}


# --- several sides


def ranked(rng: np.random.Generator, strengths: np.ndarray) -> tuple[np.ndarray, Matches]:
    """Return rankings of the Plackett-Luce model, (RANKED, SEATS), and their pairs."""
    sides = rng.permuted(np.tile(np.arange(len(strengths)), (RANKED, 1)), axis=1)[:, :SEATS]
    noisy = strengths[sides] + rng.gumbel(size=sides.shape)
    order = np.take_along_axis(sides, np.argsort(-noisy, axis=1), 1)
    one, other = np.triu_indices(SEATS, 1)
    match = np.repeat(np.arange(RANKED), len(one))
    first, second = order[:, one].ravel(), order[:, other].ravel()
    won, zero = np.ones(len(match)), np.zeros(len(match), int)
    return order, Matches(len(strengths), first, second, won, zero, match, match)


def rankings(seed: int = 3) -> dict[str, float]:
    """Compare fits of free-for-alls, with choix as the reference."""
    try:
        import choix
    except ImportError:
        return {}
    errors: dict[str, list[float]] = defaultdict(list)
    rng = np.random.default_rng(seed)
    for _ in range(LEAGUES):
        strengths = rng.normal(0, 0.8, 6)
        strengths -= strengths.mean()
        order, matches = ranked(rng, strengths)
        whole = choix.opt_rankings(6, order.tolist(), alpha=SPREAD**-2)
        fits = {"whole": whole - whole.mean(), "pairs": penalised(matches.wins("half"))}
        if (theirs := by_openskill_ranked(order, len(strengths))) is not None:
            # its unit is another: the best one
            fits["openskill"] = theirs * (theirs @ strengths) / (theirs @ theirs)
        for name, fit in fits.items():
            errors[name].append(float(np.square(fit - strengths).mean()))
    whole = np.mean(errors.pop("whole"))
    return {f"loss_{name}": float(np.mean(each) / whole) for name, each in errors.items()}


def by_openskill_ranked(order: np.ndarray, players: int) -> np.ndarray | None:
    """Ratings of openskill's Plackett-Luce model around 0, if installed."""
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        return None
    model = PlackettLuce()
    ratings = [model.rating() for _ in range(players)]
    for row in order:
        for at, (rated_again,) in zip(row, model.rate([[ratings[at]] for at in row]), strict=True):
            ratings[at] = rated_again
    mu = np.array([rating.mu for rating in ratings])
    return np.asarray(mu - mu.mean())


def draws_of_twelve(seed: int = 5) -> dict[str, float]:
    """Time draws, on one core."""
    rng = np.random.default_rng(seed)
    matches = tournament(rng, rng.normal(0, 0.7, 12))
    with threadpool_limits(1):
        start = time.process_time()
        for tables, _ in draw_by_deal(matches, "half", DRAWS, rng):
            penalised(tables)
        return {"seconds_12_players": time.process_time() - start}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tournaments", type=int, default=1000, help="(default %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    figures: dict[str, float | int] = {**speed(), **draws_of_twelve(), **rankings()}
    figures |= {**powers(args.tournaments, seed=2), "tournaments": args.tournaments}
    for name, value in figures.items():
        print(f"{name:<24} {value:.3g}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
