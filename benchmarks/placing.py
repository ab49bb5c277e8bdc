"""Placing players on ladders: how many pairs of matches it takes, and whether rungs agree.

    python -m benchmarks.placing procedure [--placements 2000]
    python -m benchmarks.placing rungs [--within 75] [--real]

`procedure` places made-up players of known Elo on a made-up ladder, without games: mean pairs of
matches until the interval is narrow enough, and how often it covers the truth (with its 95%
limits). `rungs` places real players on two disjoint sets of rungs of one ladder: z is the
difference over its standard error, in which the errors of the rungs count. `--real`: instead those
that ask a model of `make real-models`.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console

from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.place import Placed, Wanted, place, rated, read_words
from gauntlet.stats.placing import ELO, Placement, Rungs, goodness, placing
from gauntlet.stats.proportions import wilson

MADE_UP = Rungs(
    np.array([1.0, 4, 16, 64, 256, 1024]),
    np.array([0, 200, 450, 800, 1050, 1250.0]),
    np.zeros((6, 6)),
)
"""A ladder without errors; the steps are like those of Connect Four."""
WIDTHS = (100, 75, 50)
LOW_AND_HIGH = (1, 16, 256), (4, 64, 1024)
PLAYERS = (
    ("tic_tac_toe", "agent=random"),
    ("tic_tac_toe", "agent=minimax"),
    ("tic_tac_toe", "agent=dqn"),
    ("tic_tac_toe", "model=pocket prompt=cloze"),
    ("tic_tac_toe", "agent=search agent.playouts=20"),
    ("connect_four", "agent=search agent.playouts=20"),
    ("hex", "agent=search agent.playouts=20"),
)
REAL = (
    ("tic_tac_toe", "model=smollm2_135m prompt=pride"),
    ("tic_tac_toe", "model=smollm2_135m prompt=cloze"),
)


def placed(true: float, within: float, rng: np.random.Generator, batch: int = 1) -> Placement:
    """Place a player of this Elo by coins."""
    steps = placing(MADE_UP, within, 2_000, batch)
    rung = next(steps)
    while True:
        chance = 1 / (1 + np.exp((MADE_UP.elo[rung] - true) / ELO))
        try:
            rung = steps.send([float(score) for score in rng.binomial(2, chance, batch)])
        except StopIteration as stop:
            found: Placement = stop.value
            return found


def procedure(placements: int) -> None:
    print("| within | batch | pairs, mean | covered | 95% limits |\n|---:|---:|---:|---:|---|")
    for within in WIDTHS:
        for batch in (1, 4):
            rng = np.random.default_rng((within, batch))
            players = rng.uniform(-50, MADE_UP.elo[-1] + 50, placements)
            found = [placed(true, within, rng, batch) for true in players]
            hits = sum(
                one.low <= true <= one.high for one, true in zip(found, players, strict=True)
            )
            limits = wilson(hits, placements)
            pairs = np.mean([one.pairs for one in found])
            share = f"{hits / placements:.3f} | {limits.low:.3f} to {limits.high:.3f}"
            print(f"| {within} | {batch} | {pairs:.0f} | {share} |")


def rungs(within: float, players: Sequence[tuple[str, str]]) -> None:
    print("| game | player | 1, 16, 256 | 4, 64, 1,024 | pairs | z |\n|---|---|---|---|---|---:|")
    for game, words in players:
        first, second = (_by_games(game, words, within, some) for some in LOW_AND_HIGH)
        cells = [game, first.player, _limits(first), _limits(second)]
        pairs = f"{first.placement.pairs}, {second.placement.pairs}"
        print(f"| {' | '.join(cells)} | {pairs} | {z(first, second):+.1f} |", flush=True)


def _by_games(game: str, words: str, within: float, playouts: tuple[int, ...]) -> Placed:
    with TemporaryDirectory() as folder:
        output = f"output_dir={Path(folder) / 'run'}"
        ladder, every = read_words([f"game={game}", output, *words.split()])
        wanted = Wanted(within, most=200, batch=8, rungs=playouts)
        return place(ladder, wanted, "", Console(file=io.StringIO()), *composed(every))


def _limits(placed: Placed) -> str:
    own = placed.placement
    return f"{own.elo:.0f} ({own.low:.0f} to {own.high:.0f})"


def z(first: Placed, second: Placed) -> float:
    """The difference of two placements on one ladder, over its standard error."""
    own = [(one.placement.high - one.placement.low) / 2 / 1.96 for one in (first, second)]
    return (first.placement.elo - second.placement.elo) / sqrt(
        own[0] ** 2 + own[1] ** 2 + _error_of_rungs(first, second) ** 2
    )


def _error_of_rungs(first: Placed, second: Placed) -> float:
    """The standard error that the ladder's own ratings add to the difference."""
    every = rated(first.ladder)
    weights = np.zeros(len(every.elo))
    for one, sign in ((first, 1), (second, -1)):
        at = np.searchsorted(every.playouts, one.rungs.playouts)
        met = np.bincount(one.placement.met, minlength=len(at))
        expected = goodness(one.rungs, one.placement).expected
        told = met * expected * (1 - expected)  # information about the player's Elo
        weights[at] += sign * told / told.sum()
    return sqrt(weights @ every.covariance @ weights)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["procedure", "rungs"])
    parser.add_argument("--placements", type=int, default=2_000, help="default: %(default)s")
    parser.add_argument("--within", type=float, default=75.0, help="Elo; default: %(default)g")
    parser.add_argument("--real", action="store_true", help="place real models")
    options = parser.parse_args(arguments)
    if options.what == "procedure":
        procedure(options.placements)
    else:
        rungs(options.within, REAL if options.real else PLAYERS)


if __name__ == "__main__":
    main()
