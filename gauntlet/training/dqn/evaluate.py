"""Measure the DQN player's wins: `python -m gauntlet.training.dqn.evaluate`.

Each network plays the second of two seats, or those of --seats in turn, against a random player,
on deals used neither in its training nor for its learning curve.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from gauntlet.agents.dqn.network import Network
from gauntlet.agents.dqn.player import DQN, SHIPPED, Encoded
from gauntlet.common.ids import dotted_name
from gauntlet.common.process import as_process
from gauntlet.games.base import Game
from gauntlet.stats.proportions import wilson
from gauntlet.training.dqn.practice import Practice, practice, results

SECOND = (1,)
LEARNING, CURVE, LAST = range(3)
"""Purposes of games; each has its own seeds."""
ABREAST = 1000
"""Games played in parallel."""


class Rate(NamedTuple):
    """Wins over a number of games; low and high: Wilson's 95% interval of the rate."""

    games: int
    wins: int
    win_rate: float
    low: float
    high: float


def rate(results: np.ndarray) -> Rate:
    """results: one per game; a win if above 0."""
    wins, games = int((results > 0).sum()), len(results)
    interval = wilson(wins, games)
    return Rate(games, wins, wins / games, *(float(end) for end in (interval.low, interval.high)))


def practices(
    game: Game[Any], purpose: int, seed: int, number: int, seats: Sequence[int] = SECOND
) -> list[Practice]:
    """Return `number` practices of the seats in turn, seeded by purpose and by the learner's
    seed."""
    sequence = np.random.SeedSequence((purpose, seed))
    own = sequence.generate_state(number, np.uint64) >> np.uint64(1)
    return [practice(game, seat, int(one)) for seat, one in zip(cycle(seats), own, strict=False)]


def last_test(
    game: Game[Any], network: Network, seed: int, games: int, seats: Sequence[int] = SECOND
) -> np.ndarray:
    """Return the results of `games` games, float64."""
    tests = practices(game, LAST, seed, min(games, ABREAST), seats)
    rounds = range(-(-games // len(tests)))
    return np.concatenate([results(network, tests, number) for number in rounds])[:games]


def game_of(path: str) -> Game[Any]:
    """Return the game of a class path, with two seats. Raises ValueError."""
    module, _, name = dotted_name(path).rpartition(".")
    try:
        game: Game[Any] = getattr(importlib.import_module(module), name)(num_seats=2)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"--game {path!r} is no class of a game for two: {error}") from error
    if not isinstance(game, Encoded):
        raise ValueError(f"--game {path!r} does not tell its decisions in numbers (Encoded)")
    return game


def positive(text: str) -> int:
    """Parse a positive integer, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def add_seats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seats", type=int, nargs="+", choices=(0, 1), default=SECOND, help="the learner's"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.training.dqn.evaluate",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--game", default="gauntlet.games.uno.arena.UnoArena", help="class of the game"
    )
    parser.add_argument("--weights", default=str(SHIPPED), help="folder of the networks")
    parser.add_argument("--games", type=positive, default=20_000, help="games of each network")
    add_seats(parser)
    options = parser.parse_args(arguments)
    try:
        game = game_of(options.game)
        player = DQN(weights=options.weights)
        player.check(game)
    except ValueError as error:
        print(f"training.dqn.evaluate: {error}", file=sys.stderr)
        return 2
    report(game, player, options.games, options.seats)
    return 0


def report(game: Game[Any], player: DQN, games: int, seats: Sequence[int] = SECOND) -> None:
    """Print a Markdown table of the win rates of each network and of all. games: per network."""
    assert isinstance(game, Encoded), game
    networks = player.networks(game)
    results = [last_test(game, one, seed, games, seats) for seed, one in enumerate(networks)]
    print("| network | games | won | 95% interval |\n|---|---|---|---|")
    for seed, ended in enumerate(results):
        print(row(f"seed {seed}", rate(ended)))
    print(row("all, over games", rate(np.concatenate(results))))
    if len(results) > 1:
        mean, low, high = over_seeds(np.array([rate(ended).win_rate for ended in results]))
        print(f"| all, over seeds | | {mean:.2%} | {low:.2%} to {high:.2%} |")


def over_seeds(rates: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of the seeds' rates with Student's 95% interval, which reflects the variation
    between training runs, not the number of test games. rates: (seeds,), 2 or more."""
    spread = student.ppf(0.975, len(rates) - 1) * rates.std(ddof=1) / len(rates) ** 0.5
    mean = float(rates.mean())
    return mean, mean - float(spread), mean + float(spread)


def row(name: str, rate: Rate) -> str:
    return f"| {name} | {rate.games:,} | {rate.win_rate:.2%} | {rate.low:.2%} to {rate.high:.2%} |"


if __name__ == "__main__":
    as_process(main)
