"""Train the DQN player: `python -m gauntlet.training.dqn.train`.

The learner has the second of two seats, or those of --seats in turn, against a random player. All
seeds train at once but independently; the same seeds on the same machine give the same networks.
Under --out, named after the game's encoding, are the networks (.npz), the learning curve (.csv) and
the settings (.json), each written atomically at every point of the curve and at the end: an
interrupted run leaves its last point. `python -m gauntlet.training.dqn.curves` draws the curves and
logs them.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gauntlet.agents.dqn.network import Network, save
from gauntlet.agents.dqn.player import Encoded
from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process
from gauntlet.games.base import Game
from gauntlet.training.dqn.evaluate import (
    CURVE,
    LEARNING,
    Rate,
    add_seats,
    game_of,
    positive,
    practices,
    rate,
)
from gauntlet.training.dqn.practice import SeatInTurn, results

OUT = Path("outputs/dqn")
HEADER = ("seed", "episodes", "steps", *Rate._fields)
"""A curve's columns: training so far, and the test without exploration."""

Point = tuple[int, int, int, Rate]
"""Seed, episodes, steps, and the test."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        require("torch", "local")
        game = game_of(options.game)
    except (UserError, ValueError) as error:
        return refused(error)
    try:
        run(game, options)
    except OSError as error:
        return refused(error)
    return 0


def refused(error: Exception) -> int:
    print(f"gauntlet: {error}", file=sys.stderr)
    return 2


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.training.dqn.train",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--game", default="gauntlet.games.uno.arena.UnoArena", help="class of the game"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the networks")
    parser.add_argument("--seeds", type=positive, default=5, help="networks, of seeds from 0 on")
    parser.add_argument("--episodes", type=positive, default=50_000, help="games a seed learns in")
    parser.add_argument("--every", type=positive, default=2500, help="episodes between two tests")
    parser.add_argument("--tests", type=positive, default=1000, help="games of a test")
    add_seats(parser)
    return parser.parse_args(arguments)


def run(game: Game[Any], options: argparse.Namespace) -> None:
    from gauntlet.training.dqn.learner import (  # imported late, as it needs torch
        Settings,
        one_thread,
        train,
    )

    assert isinstance(game, Encoded), game
    one_thread()
    seeds = range(options.seeds)
    out: Path = options.out / game.encoding
    out.parent.mkdir(parents=True, exist_ok=True)
    seats = options.seats
    tests = [practices(game, CURVE, seed, options.tests, seats) for seed in seeds]
    learning = [SeatInTurn(practices(game, LEARNING, seed, len(seats), seats)) for seed in seeds]
    reached: dict[int, dict[int, Network]] = defaultdict(dict)
    curve: list[Point] = []
    settings, started = Settings(), time.time()
    course = train(learning, seeds, options.episodes, options.every, settings)
    for seed, episodes, steps, network in course:
        found = results(network, tests[seed], -(-episodes // options.every))
        curve.append((seed, episodes, steps, rate(found)))
        networks = reached[episodes]
        networks[seed] = network
        if len(networks) < len(seeds):
            continue
        minutes = round((time.time() - started) / 60, 1)
        rates = [test.win_rate for _, after, _, test in curve if after == episodes]
        won = 100 * sum(rates) / len(rates)
        print(f"{minutes} minutes, {episodes} episodes, {won:.2f}% won", flush=True)
        report = {"game": options.game, "episodes": episodes, "minutes": minutes}
        report["seats"] = [*seats]
        report["settings"] = dataclasses.asdict(settings)
        write(out, [networks[each] for each in seeds], curve, report)


def write(
    out: Path, networks: Sequence[Network], curve: Sequence[Point], report: dict[str, Any]
) -> None:
    """Write the three files atomically. Raises OSError."""
    save(out.with_suffix(".npz"), networks)
    rows = [(seed, episodes, steps, *test) for seed, episodes, steps, test in sorted(curve)]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([HEADER, *rows])
    write_atomically(out.with_suffix(".csv"), table.getvalue().encode())
    write_atomically(out.with_suffix(".json"), (json.dumps(report, indent=2) + "\n").encode())


if __name__ == "__main__":
    as_process(main)
