"""Play the matches of a ladder: `python -m benchmarks.ladder GAME --within 15`.

Plays pairs of matches of two rungs until every rung's Elo has at most that standard error, and each
time those two whose pairs lower the errors most for their cost. It goes on where
games/ladder/GAME.csv ends. `--table` prints the ratings of all ladders instead, and plays nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import inf

import numpy as np

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
from gauntlet.stats.placing import Rungs

BATCH, MORE = 20, 0.05
"""Pairs of matches between two writes at least, and as a share of what the two rungs have played.
"""
OVERHEAD = 16
"""What a match costs beside the playouts of a decision of each player, in playouts."""
SCORES = ("lost", "quarter", "even", "three_quarters", "won")
MEETINGS = (*pairwise(RUNGS), *zip(RUNGS, RUNGS[2:], strict=False))
"""Who meets whom: next neighbours but one check that one strength is enough."""


def extend(ladder: Ladder, within: float, until: float = inf) -> None:
    """Play until all errors are small enough, in Elo, or this much processor time has passed."""
    every = {(row.first, row.second): row for row in ladders.rows(ladder)}
    while time.process_time() < until and (two := next_meeting(every, within)):
        row = every.get(two) or Row(VERSION, "", *two)
        cell, played = _cell(ladder, *two), sum(row.pairs)
        row = replace(row, code=code_of(cell).fingerprint)
        for deal in range(played, played + _batch(row)):
            name = SCORES[round(2 * pair_score(cell, deal))]
            row = replace(row, **{name: getattr(row, name) + 1})
        every[two] = row
        write_atomically(ladder.file, ladders.as_text(every[key] for key in sorted(every)))


def _batch(row: Row) -> int:
    return max(BATCH, round(MORE * sum(row.pairs)))


def next_meeting(every: Mapping[tuple[int, int], Row], within: float) -> tuple[int, int] | None:
    """The two rungs to meet next, or None where every error is at most `within`."""
    for two in MEETINGS:
        if two not in every:
            return two
    pairs = np.array([every[two].pairs for two in MEETINGS], float)
    excess = _excess(pairs, within)
    if not excess:
        return None
    gains = []
    for at, two in enumerate(MEETINGS):
        batch, more = _batch(every[two]), pairs.copy()
        more[at] *= 1 + batch / pairs[at].sum()
        gains.append((excess - _excess(more, within)) / (batch * (sum(two) + OVERHEAD)))
    return MEETINGS[int(np.argmax(gains))]


def _excess(pairs: np.ndarray, within: float) -> float:
    """By how much the variances of the rungs' Elo are too large, in sum."""
    variance = np.diag(Rungs.rated(RUNGS, MEETINGS, pairs).covariance)
    return float(np.maximum(variance - within**2, 0.0).sum())


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
    parser.add_argument("--within", type=float, default=15.0, help="Elo; default: %(default)g")
    parser.add_argument("--minutes", type=float, default=inf, help="of a processor, at the most")
    parser.add_argument("--table", action="store_true", help="print the ratings of all ladders")
    options = parser.parse_args(arguments)
    if options.table:
        print_table()
        return
    for name in options.game or known:
        extend(known[name], options.within, time.process_time() + 60 * options.minutes)


if __name__ == "__main__":
    main()
