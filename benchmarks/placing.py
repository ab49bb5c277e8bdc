"""Placing players on ladders: how many pairs of matches it takes, and whether rungs agree.

    python -m benchmarks.placing procedure [--placements 2000]
    python -m benchmarks.placing between [--placements 200]
    python -m benchmarks.placing rungs [--within 75] [--real]

`procedure` places made-up players of known Elo on a made-up ladder, without games: mean pairs of
matches until the interval is narrow enough, and how often it covers the truth (with its 95%
limits). `between` measures UCT players of 2, 8 and 32 playouts by PAIRS pairs of matches with each
of the two rungs beside them: their Elo, where they stand as a share of the step, and how often the
interval of a placement by coins of this Elo covers their playouts. `rungs` places real players on
two disjoint sets of rungs of one ladder: z is the difference over its standard error, in which the
errors of the rungs count. `--real`: instead those that ask a model of `make real-models`.
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

from benchmarks.ladder import pair_score
from gauntlet.games import ladder as ladders
from gauntlet.games.ladder import RUNGS, Ladder
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.place import Placed, Wanted, place, rated, read_words, rung_cells
from gauntlet.stats.placing import ELO, Placement, Rungs, goodness, log_likelihood, placing
from gauntlet.stats.proportions import wilson

MADE_UP = Rungs(
    np.array([1.0, 4, 16, 64, 256, 1024]),
    np.array([0, 200, 450, 800, 1050, 1250.0]),
    np.zeros((6, 6)),
)
"""A ladder without errors; the steps are like those of Connect Four."""
WIDTHS = (100, 75, 50)
PAIRS = 300
BETWEEN, NARROW = (2, 8, 32), (75, 50, 25)
"""Players between two rungs, by playouts, and halves of intervals in Elo."""
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


def placed(
    true: float, within: float, rng: np.random.Generator, batch: int = 1, rungs: Rungs = MADE_UP
) -> Placement:
    """Place a player of this Elo by coins."""
    steps = placing(rungs, within, 2_000, batch)
    rung = next(steps)
    while True:
        chance = 1 / (1 + np.exp((rungs.elo[rung] - true) / ELO))
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


def between(placements: int) -> None:
    """Print the table of players between rungs."""
    heads = ["game", "playouts", "Elo", "share of the step", *(f"within {one}" for one in NARROW)]
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for ladder in ladders.ladders().values():
        for playouts in BETWEEN:
            _between(ladder, playouts, placements)


def _between(ladder: Ladder, playouts: int, placements: int) -> None:
    rungs, rng = rated(ladder), np.random.default_rng(playouts)
    _, words = read_words([f"game={ladder.name}", "agent=uct", f"agent.playouts={playouts}"])
    cells = rung_cells(composed(words)[0])
    above = next(at for at, rung in enumerate(RUNGS) if rung > playouts)
    likelihood = np.zeros_like(rungs.grid)
    for at in (above - 1, above):
        points = sum(pair_score(cells[at], deal) for deal in range(PAIRS))
        likelihood += log_likelihood(rungs.grid - rungs.elo[at], points, PAIRS)
    elo = float(rungs.grid[int(np.argmax(likelihood))])
    below, step = rungs.elo[above - 1], rungs.elo[above] - rungs.elo[above - 1]
    row = [ladder.title, f"{playouts}", f"{elo:.0f}", f"{(elo - below) / step:.2f}"]
    for within in NARROW:
        found = [placed(elo, within, rng, 4, rungs) for _ in range(placements)]
        held = [low <= playouts <= high for low, high in map(rungs.equivalents, found)]
        row.append(f"{np.mean(held):.2f}")
    print(f"| {' | '.join(row)} |", flush=True)


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
    parser.add_argument("what", choices=["procedure", "between", "rungs"])
    parser.add_argument("--placements", type=int, help="default: 2,000; between rungs 200")
    parser.add_argument("--within", type=float, default=75.0, help="Elo; default: %(default)g")
    parser.add_argument("--real", action="store_true", help="place real models")
    options = parser.parse_args(arguments)
    if options.what == "procedure":
        procedure(options.placements or 2_000)
    elif options.what == "between":
        between(options.placements or 200)
    else:
        rungs(options.within, REAL if options.real else PLAYERS)


if __name__ == "__main__":
    main()
