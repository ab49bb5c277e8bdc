"""A cell's baseline: a scripted player in the subject's seat, measured by simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.agents.base import scripted_policy
from gauntlet.common.errors import UserError, suggest
from gauntlet.games.base import Game
from gauntlet.games.capabilities import (
    MATCH_SCORE,
    WIN,
    Measure,
    Scored,
    Simulated,
    has_draws,
    judgeable_measures,
    measures_of,
)
from gauntlet.games.contract import values_with_score
from gauntlet.games.playouts import play_game, policies_of, scores_of, simulate, targeted_policy
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.plan.cells import Cell, seed_of_deal
from gauntlet.pipeline.plan.time_budget import FEW, SECONDS, UNSEEN, ProgressCallbacks, TimeBudget

GAMES, FEWEST, A_DEAL = 1_000_000, 100_000, 1_000
"""Simulated games for the baseline of a self-simulating game: a thousand for each deal of the
sweep, within these bounds. Its error is then a thirtieth of the sweep's, or about a tenth after
luck adjustment. A million games take seconds and have an error of .0005."""

ERROR = 0.005
"""Target standard error for other games, relative to the measure's range, or for a measure without
one to twice its standard deviation."""

LEAST, BATCH = 2_000, 100
"""Fewest deals to play, and deals between two checks of the error."""

PLIES = 500_000
"""No further batch is played after this many plies: about ten seconds of tic-tac-toe."""

QUICK = 20.0
"""Seconds of thread time that GAMES games of a self-simulating game may take; this project's take
less than ten. A slower one is played like the others, until its error is below ERROR."""

TRIED = 1_000
"""Games played to estimate the speed of a self-simulating game."""

SOME = 100
"""Games of a slow self-simulating game per batch."""

SCORED = 50_000
"""Deals for a baseline of a measure other than wins, if the game simulates its scores itself."""


@dataclass(frozen=True)
class Baseline:
    """The measured seats' results with `policy` in the subject's seat.

    wins, games: counted over deals, rotations and measured players. mean, deviation: of the cell's
    measure, the mean and its standard error by deal; None if only wins were counted.
    """

    policy: str
    wins: int
    games: int
    mean: float | None = None
    deviation: float | None = None

    @property
    def rate(self) -> float:
        """The mean of the cell's measure: the win rate, for wins."""
        return self.wins / self.games if self.mean is None else self.mean

    @property
    def error(self) -> float:
        """Standard error of the rate."""
        if self.deviation is not None:
            return self.deviation
        return math.sqrt(self.rate * (1 - self.rate) / self.games)

    @property
    def worth(self) -> float:
        """The wins or losses that know the rate as well; infinite if it is known exactly."""
        return self.rate * (1 - self.rate) / self.error**2 if self.error else math.inf


Table = tuple[tuple[str, ...], tuple[int, ...]]
"""A rotation: the policy of each seat, and the seats whose results count."""


def enough_games(deals: int) -> int:
    """Simulated games that measure a baseline for `deals` deals."""
    return min(GAMES, max(FEWEST, A_DEAL * deals))


def measure(
    cell: Cell,
    seed: Seed,
    games: int = GAMES,
    watch: ProgressCallbacks = UNSEEN,
    slow: float = math.inf,
) -> Baseline | None:
    """The cell's baseline. None if the cell has none, another player is not a scripted policy, or
    fewer than FEW games can be played in SECONDS.

    games: how many to play if the game simulates itself; other games are played until the error is
    small.
    slow: enough deals for either kind if slow; play never exceeds SECONDS.
    In a rotated cell the baseline is the mean over the rotations, like the cell's own results. The
    first of several seeds is used.
    Raises UserError for an unknown policy, and for a game that does not end.
    """
    if cell.baseline is None:
        return None
    known = policies_of(cell.game)
    if cell.baseline not in known:
        hint = suggest(cell.baseline, known)
        raise UserError(f"baseline={cell.baseline} is not a scripted player of this game{hint}")
    policies = policies_with_baseline(cell)
    if any(policy is None for policy in policies):
        return None
    tables = tuple(
        (
            tuple(str(policies[player]) for player in seating),
            cell.seats_of(cell.measured, rotation),
        )
        for rotation, seating in enumerate(cell.seatings)
    )
    seed, _ = seed_of_deal(seed, 0)
    game: Any = cell.game  # frozen, so it can be a cache key
    measure_names = {one.name for one in measures_of(game)}
    drawn = (
        cell.measure == MATCH_SCORE.name and has_draws(game) and cell.measure not in measure_names
    )
    if (cell.measure == WIN.name or drawn) and isinstance(game, Simulated):
        return _from_counts(cell.baseline, game, tables, cell.measure, games, seed, watch, slow)
    if isinstance(cell.game, Scored) and cell.measure in measure_names:
        return _scored(cell.baseline, game, tables, cell.measure, seed)
    return _from_deals(cell.baseline, game, tables, cell.measure, seed, watch, slow)


def scripted_policies(cell: Cell) -> list[str | None]:
    """The scripted policy that plays like each of a cell's players, or None."""
    return [scripted_policy(player.agent) for player in cell.players]


def policies_with_baseline(cell: Cell) -> list[str | None]:
    """As `scripted`, with the baseline in each subject's seat and aimed at the same seat."""
    policies = scripted_policies(cell)
    for subject in cell.subjects:
        policies[subject] = cell.baseline
        if cell.baseline is not None:
            try:
                at = cell.players[subject].helps
                policies[subject] = targeted_policy(cell.game, cell.baseline, subject, at)
            except ValueError as error:
                raise UserError(f"baseline={cell.baseline}: {error}") from error
    return policies


def _from_counts(
    policy: str,
    game: Any,
    tables: Sequence[Table],
    name: str,
    games: int,
    seed: int,
    watch: ProgressCallbacks,
    slow: float,
) -> Baseline | None:
    """From `games` games that the game simulates itself; for a slow game until the error is
    small."""
    if not _quick(game, tables[0][0], seed):
        return _in_turns(policy, game, tables, name, seed, watch, slow)
    games //= len(tables)
    counts = [_simulated(game, policies, games, seed) for policies, _ in tables]
    return _of_counts(policy, tables, name, games, counts)


def _of_counts(
    policy: str, tables: Sequence[Table], name: str, games: int, counts: Sequence[Sequence[int]]
) -> Baseline:
    """name: WIN's or MATCH_SCORE's. counts: for each table, the wins of each seat in `games` games,
    then the games without a winner."""
    wins = sum(own[seat] for own, (_, seats) in zip(counts, tables, strict=True) for seat in seats)
    results = games * sum(len(seats) for _, seats in tables)
    if name == WIN.name and results == games * len(tables):
        return Baseline(policy, wins, results)
    draws = sum(own[-1] * len(seats) for own, (_, seats) in zip(counts, tables, strict=True))
    drawn = draws / results if name == MATCH_SCORE.name else 0.0
    rate = wins / results + drawn / 2
    spread = rate * (1 - rate) - drawn / 4
    # partners may win together, so a game counts as one observation
    return Baseline(policy, wins, results, rate, math.sqrt(spread / games / len(tables)))


@lru_cache
def _simulated(game: Game[Any], policies: Sequence[str], games: int, seed: int) -> tuple[int, ...]:
    return tuple(int(count) for count in simulate(game, policies, games, seed))


@lru_cache
def _quick(game: Game[Any], policies: Sequence[str], seed: int) -> bool:
    """Whether GAMES games would take less than QUICK seconds, estimated from a few of them."""
    simulate(game, policies, 1, seed)  # compile first
    for tried in (TRIED // 100, TRIED):
        started = time.thread_time()
        simulate(game, policies, tried, seed)
        if (time.thread_time() - started) * GAMES / TRIED >= QUICK:
            return False
    return True


@lru_cache
def _in_turns(
    policy: str,
    game: Game[Any],
    tables: Sequence[Table],
    name: str,
    seed: int,
    watch: ProgressCallbacks,
    slow: float,
) -> Baseline | None:
    """As many games of each table as make the error small, or as time allows."""
    most = math.ceil(1 / (2 * ERROR) ** 2 / len(tables))
    counts, games = [np.zeros(game.num_seats + 1, np.int64) for _ in tables], 0
    patience = TimeBudget(slow)
    while games < most and not patience.ends(games):
        own = np.random.default_rng((seed, games)).integers(2**62)
        for count, (policies, _) in zip(counts, tables, strict=True):
            count += simulate(game, policies, SOME, int(own))
        games += SOME
        watch.on_progress(games * len(tables), most * len(tables))
    found = _of_counts(policy, tables, name, games, [count.tolist() for count in counts])
    return _announce(found, game, name, games, watch, short=games < most)


@lru_cache
def _scored(policy: str, game: Any, tables: Sequence[Table], name: str, seed: int) -> Baseline:
    """From SCORED deals that the game simulates itself, each in every rotation."""
    wins, scores = (
        np.mean(
            [
                scores_of(game, policies, SCORED, seed, one)[:, seats].mean(axis=1)
                for policies, seats in tables
            ],
            axis=0,
        )
        for one in (WIN.name, name)
    )
    each = sum(len(seats) for _, seats in tables) * SCORED
    error = float(scores.std(ddof=1) / math.sqrt(SCORED))
    return Baseline(policy, round(float(wins.mean()) * each), each, float(scores.mean()), error)


@lru_cache
def _from_deals(
    policy: str,
    game: Game[Any],
    tables: Sequence[Table],
    name: str,
    seed: int,
    watch: ProgressCallbacks,
    slow: float,
) -> Baseline | None:
    """As many deals as make the error small, or as time allows, each in every rotation."""
    (figure,) = (one for one in judgeable_measures(game) if one.name == name)
    span = figure.high - figure.low
    deals: list[tuple[float, float]] = []
    plies, patience = 0, TimeBudget(slow)
    while not _enough(deals, span) and plies < PLIES and not patience.ends(len(deals)):
        for deal in range(len(deals), len(deals) + BATCH):
            won, got, took = _play_deal(game, tables, name, seed, deal)
            deals.append((won, got))
            plies += took
            if patience.late:
                break
        watch.on_progress(len(tables) * len(deals), len(tables) * _likely(deals, figure))
    each = sum(len(seats) for _, seats in tables)
    wins, mean = np.mean(deals, axis=0).tolist()
    games = each * len(deals)
    found = Baseline(policy, round(wins * games), games, mean, _error(deals))
    return _announce(found, game, name, len(deals), watch, short=not _enough(deals, span))


def _announce(
    baseline: Baseline,
    game: Game[Any],
    name: str,
    deals: int,
    watch: ProgressCallbacks,
    short: bool,
) -> Baseline | None:
    """The baseline, with a message if its error is not small; None if there were too few deals."""
    label = f"baseline {baseline.policy} of {getattr(game, 'name', type(game).__name__)}"
    if deals < FEW:
        many = "deal" if deals == 1 else "deals"
        watch.on_message(f"no {label}: {deals} {many} took {SECONDS:g} s, and {FEW} are needed")
        return None
    if short:
        watch.on_message(
            f"{label}: {baseline.games:,} games, as they are slow: {name} {baseline.rate:.3f}, "
            f"standard error {baseline.error:.3f}"
        )
    return baseline


def _play_deal(
    game: Game[Any], tables: Sequence[Table], name: str, seed: int, deal: int
) -> tuple[float, float, int]:
    """Play one deal in every rotation: mean of wins, mean of the measure, number of plies."""
    wins, scores, plies = [], [], 0
    for policies, seats in tables:
        last, took = play_game(game, policies, seed, deal)
        found = values_with_score(game, last)
        wins += [found[WIN.name][seat] for seat in seats]
        scores += [found[name][seat] for seat in seats]
        plies += took
    return float(np.mean(wins)), float(np.mean(scores)), plies


def _enough(deals: Sequence[tuple[float, float]], span: float) -> bool:
    if len(deals) < LEAST:
        return False
    return _error(deals) <= ERROR * _deviation(deals, span)


def _likely(deals: Sequence[tuple[float, float]], figure: Measure) -> int:
    """The estimated number of deals needed, from the spread of those played."""
    if len(deals) < FEW:
        return LEAST
    more = (_error(deals) / (ERROR * _deviation(deals, figure.high - figure.low) or 1)) ** 2
    return max(LEAST, len(deals), math.ceil(len(deals) * more))


def _deviation(deals: Sequence[tuple[float, float]], span: float) -> float:
    return span if math.isfinite(span) else 2 * float(np.std([got for _, got in deals]))


def _error(deals: Sequence[tuple[float, float]]) -> float:
    """Standard error of the mean of the measure; nan for a single deal."""
    if len(deals) < 2:
        return math.nan
    return float(np.std([got for _, got in deals], ddof=1) / math.sqrt(len(deals)))
