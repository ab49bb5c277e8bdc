"""How many games can be drawn, solved and kept: `python -m benchmarks.evergreen [--games N]`.

    games      kept, a third of them of each family, of seeds from 0
    different  by positions, ends, values and margins (`games.evergreen.game.signature`)
    seconds    of two processes
    positions  of a kept game, median
    perfect, one ply  what they lead random play by, a match, mean

`--losses` prints instead what players of the first seeds of each family give away a decision, with
exact values: a mean over games with its 95% interval. The random player's is known exactly.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from gauntlet.games.evergreen.game import FAMILIES, signature, solved
from gauntlet.games.evergreen.rules import Position
from gauntlet.games.evergreen.solving import POLICIES, Solution

CORES = 2
ROW = "| {} | {:,} | {:,} | {:,.0f} | {:,.0f} | {:.2f} | {:.2f} |"


def row_of(place: tuple[str, int]) -> tuple[tuple[float, ...], int, tuple[float, float]]:
    """A game's signature, positions and leads."""
    found = solved(*place)
    leads = (found.margin("perfect", "random"), found.margin("one_ply", "random"))
    return signature(found), len(found.values), leads


def family_row(family: str, games: int, pool: ProcessPoolExecutor) -> str:
    started = time.perf_counter()
    found = [*pool.map(row_of, ((family, seed) for seed in range(games)), chunksize=4)]
    seconds = time.perf_counter() - started
    signatures, positions, leads = zip(*found, strict=True)
    means = np.mean(leads, axis=0)
    return ROW.format(
        *(family, games, len({*signatures}), seconds, float(np.median(positions)), *means)
    )


def given_away(solution: Solution, policy: str) -> float:
    """The mean loss of a decision with a choice, in games of the policy against itself."""
    total = np.zeros(2)
    for position, chance in reached(solution, policy):
        node = solution.node(position)
        for seat, moves in zip(node.seats, node.moves, strict=True):
            if len(moves) > 1:
                values = solution.options(position, seat)
                own = np.array(solution.chances(policy, position, seat))
                total += chance * np.array([float(values.max() - own @ values), 1.0])
    return max(0.0, float(total[0] / total[1]))


def reached(solution: Solution, policy: str) -> Iterator[tuple[Position, float]]:
    """Every position with the probability to come there."""
    level = {solution.rules.start(): 1.0}
    while level:
        following: dict[Position, float] = {}
        for position, chance in level.items():
            yield position, chance
            node = solution.node(position)
            own = [solution.chances(policy, position, seat) for seat in node.seats]
            chances = np.ones(1 if own else 0)
            for each in own:
                chances = np.outer(chances, each).ravel()
            after = node.after if len(own) < 2 else [one for row in node.after for one in row]
            for share, one in zip(chances, after, strict=True):
                if share > 0:
                    following[one] = following.get(one, 0.0) + chance * float(share)
        level = following


def losses(family: str, games: int, pool: ProcessPoolExecutor) -> str:
    cells = []
    for policy in POLICIES:
        own = partial(lost_by, family, policy)
        values = np.array([*pool.map(own, range(games), chunksize=4)])
        error = values.std(ddof=1) / np.sqrt(games)
        cells.append(f"{values.mean():.3f} +- {1.96 * error:.3f}")
    return f"| {family} | {games:,} | {' | '.join(cells)} |"


def lost_by(family: str, policy: str, seed: int) -> float:
    return given_away(solved(family, seed), policy)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evergreen", description=__doc__)
    parser.add_argument("--games", type=int, default=999, metavar="N")
    parser.add_argument("--losses", action="store_true")
    options = parser.parse_args(arguments)
    each = max(2, options.games // len(FAMILIES))
    if options.losses:
        print(f"| family | games | {' | '.join(POLICIES)} |\n|---|---|---|---|---|")
    else:
        print("| family | games | different | seconds | positions | perfect | one ply |")
        print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(CORES) as pool:
        for family in FAMILIES:
            row = (losses if options.losses else family_row)(family, each, pool)
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
