"""Play the matches of a ladder: `python -m benchmarks.ladder GAME --pairs 200`.

Plays rungs against each other until the highest two have met in that many pairs of matches, and
lower ones in more. It goes on where games/ladder/GAME.csv ends. `--table` prints the ratings of all
ladders instead, and plays nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from gauntlet.common.disk import write_atomically
from gauntlet.games import ladder as ladders
from gauntlet.games.capabilities import add_match_score
from gauntlet.games.ladder import RUNGS, VERSION, Ladder, Row
from gauntlet.models.base import Reply
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.place import rated, read_words, rung_cells
from gauntlet.pipeline.plan.cells import Cell, Task, match_id
from gauntlet.pipeline.plan.fingerprint import code_of
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import play

BATCH = 20
"""Pairs of matches between two writes."""
SCORES = ("lost", "quarter", "even", "three_quarters", "won")


def extend(ladder: Ladder, pairs: int) -> None:
    """Play what is missing, every two rungs in turn, so that an interrupted run is even."""
    for target in range(BATCH, pairs + BATCH, BATCH):
        for first, second, times in meetings(RUNGS):
            _extend_row(ladder, first, second, int(min(target, pairs) * times))


def meetings(rungs: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """Who meets whom, and in how many times the pairs of the highest two. A match of lower rungs
    costs a quarter, so they play twice as many; next neighbours check that one strength is enough.
    """
    for below, two in enumerate(reversed([*pairwise(rungs)])):
        yield *two, 2.0**below
    for below, two in enumerate(reversed([*zip(rungs, rungs[2:], strict=False)])):
        yield *two, 2.0**below / 4


def _extend_row(ladder: Ladder, first: int, second: int, pairs: int) -> None:
    every = {(row.first, row.second): row for row in ladders.rows(ladder)}
    row = every.get((first, second))
    played = sum(row.pairs) if row else 0
    if played >= pairs:
        return
    cell = _cell(ladder, first, second)
    row = row or Row(VERSION, "", first, second)
    row = replace(row, code=code_of(cell).fingerprint)
    for deal in range(played, pairs):
        name = SCORES[round(2 * pair_score(cell, deal))]
        row = replace(row, **{name: getattr(row, name) + 1})
    every[first, second] = row
    write_atomically(ladder.file, ladders.as_text(every[key] for key in sorted(every)))


@cache
def _cell(ladder: Ladder, first: int, second: int) -> Cell:
    _, words = read_words([f"game={ladder.name}", "agent=uct", f"agent.playouts={second}"])
    return rung_cells(composed(words)[0])[RUNGS.index(first)]


def pair_score(cell: Cell, deal: int) -> float:
    """What the measured player scores in a deal from both seats: 0 to 2."""
    score = 0.0
    for rotation in cell.rotations:
        match = match_id(cell.key, ladders.SEED, deal, rotation)
        record = run(play(cell, Task(cell.key, deal, rotation, match), ladders.SEED), _no_model)
        score += add_match_score({}, record.returns)["match_score"][record.measured[0]]
    return score


def _no_model(ask: Ask) -> Reply:
    raise AssertionError("a rung asks no model")


def print_table() -> None:
    """The ratings of every ladder, in Markdown."""
    heads = ["random", *(f"{rung:,}" for rung in RUNGS[1:])]
    print(f"| game | matches | {' | '.join(heads)} |\n|---|---:|{'---:|' * len(heads)}")
    for ladder in ladders.ladders().values():
        rungs = rated(ladder)
        matches = 2 * sum(sum(row.pairs) for row in ladders.rows(ladder))
        elo = [
            f"{one:.0f} ± {error:.0f}" for one, error in zip(rungs.elo, rungs.error, strict=True)
        ]
        print(f"| {ladder.title} | {matches:,} | {' | '.join(['0', *elo[1:]])} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = ladders.ladders()
    parser.add_argument("game", nargs="*", metavar="GAME", help="default: all of them")
    parser.add_argument("--pairs", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--table", action="store_true", help="print the ratings of all ladders")
    options = parser.parse_args(arguments)
    if options.table:
        print_table()
        return
    for name in options.game or known:
        extend(known[name], options.pairs)


if __name__ == "__main__":
    main()
