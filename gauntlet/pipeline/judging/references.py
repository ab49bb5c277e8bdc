"""The references that a cell's decisions are judged against, chosen independently of the judged
matches.

The first deals are judged against the game's own reference. If the game can imitate a player
(`games.capabilities.Imitating`), the subject's habits are learnt once FIRST deals are played, and
again each time there are GROWTH times as many: what is learnt from the deals before a stretch
judges that stretch. So no match is judged by what was learnt from it, and a deal's judgement
depends on no later deal; it is the same however far a sweep has progressed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from gauntlet.common.threads import interrupt
from gauntlet.games.capabilities import Adjustable, Imitating, Scored
from gauntlet.games.playouts import scores_of
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.baseline import measure, policies_with_baseline
from gauntlet.pipeline.plan.cells import Cell, digest
from gauntlet.pipeline.plan.rng import DEAL, stream

FIRST, GROWTH = 10, 4
"""Deals before anything is learnt, and the factor between two rounds of learning."""

A_DEAL, FEWEST, MOST = 500, 20_000, 200_000
"""Deals to measure a learnt policy, for each deal that it was learnt from, within bounds."""

CHUNK = 1_000
"""Deals per call; a signal waits until a call returns."""

THREADS = 2

SAY_EVERY = 10.0
"""Seconds between progress lines."""

T = TypeVar("T")


@dataclass(frozen=True)
class Reference:
    """start: the first deal judged against it. policy: a policy's name, or the game's encoding of
    habits. rate, error: its mean result in the subject's seat, and the standard error. learnt:
    digest of the matches it was learnt from; "" for a policy of the game."""

    start: int
    policy: str
    rate: float
    error: float
    learnt: str = ""


@dataclass(frozen=True)
class PlayedMatch:
    """The parts of a record that judging needs: which match it is, and the chosen options."""

    match: str
    deal: int
    rotation: int
    moves: tuple[str, ...]


M = TypeVar("M", PlayedMatch, MatchRecord)


def games_of(folder: Path, about: CellInfo, matches: set[str]) -> list[PlayedMatch]:
    """The wanted matches in order, without duplicates."""
    games = {
        record.match: PlayedMatch(
            record.match,
            record.deal,
            record.rotation,
            tuple(decision.move for decision in record.decisions),
        )
        for record in Folder(folder).matches(about.stem)
        if record.match in matches
    }
    return sorted(games.values(), key=lambda game: (game.deal, game.rotation))


def judged(
    cell: Cell, matches: Sequence[M], judge: Callable[[M], T], say: Callable[[str], None]
) -> Iterator[tuple[str, T]]:
    """Yield each match's id and what `judge` finds of it, in order, from THREADS at once. `say`
    gets progress lines. An interrupt ends the judging of a match, which can take minutes,
    as soon as it is back in Python."""
    last_report = time.monotonic()
    pool = ThreadPoolExecutor(THREADS)
    busy: set[threading.Thread] = set()

    def judge_one(match: M) -> T:
        busy.add(threading.current_thread())
        try:
            return judge(match)
        finally:
            busy.discard(threading.current_thread())

    try:
        judgements = zip(matches, pool.map(judge_one, matches), strict=True)
        for done, (match, value) in enumerate(judgements):
            if time.monotonic() - last_report > SAY_EVERY:
                last_report = time.monotonic()
                say(f"luck-adjusting {cell.name}: {done:,} of {len(matches):,} matches")
            yield match.match, value
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # drops queued work
        _interrupt_all(busy)
        pool.shutdown()


def _interrupt_all(busy: set[threading.Thread]) -> None:
    """Interrupt these threads, and those that are just beginning, once each.

    A thread that took a match before the queue was emptied may enter `busy` a moment later, so
    this looks again; where none is busy, as at a usual end, it waits for nothing.
    """
    sent = set[threading.Thread]()
    for _ in range(3):
        for thread in {*busy} - sent:
            interrupt(thread)
            sent.add(thread)
        if sent:
            time.sleep(0.01)


def against(cell: Cell, policy: str) -> Cell:
    """The cell with `policy` as its baseline."""
    return replace(cell, baseline=policy)


def references(
    folder: Path, cell: Cell, result: CellResults, before: Sequence[Reference], seed: Seed
) -> list[Reference]:
    """All references, by start; those learnt from the same matches are reused from `before`."""
    assert isinstance(cell.game, Adjustable)
    assert result.about.baseline is not None
    base = measure(against(cell, cell.game.references[0]), seed, result.about.baseline.games)
    assert base is not None
    references = [Reference(0, base.policy, base.rate, base.error)]
    for start, _ in [*stretches(result)][1:] if isinstance(cell.game, Imitating) else ():
        match_ids = [outcome.match for outcome in result.outcomes if outcome.deal < start]
        mark = start, digest(match_ids)
        known = next((one for one in before if (one.start, one.learnt) == mark), None)
        if known is None:
            matches = games_of(folder, result.about, set(match_ids))
            policy = imitated(cell, matches, cell.subjects[0], seed)
            deals = min(MOST, max(FEWEST, A_DEAL * start))
            known = Reference(start, policy, *mean(against(cell, policy), deals), mark[1])
        references.append(known)
    return references


def stretches(result: CellResults) -> Iterator[tuple[int, float]]:
    """Yield the first deal of each stretch, and that of the next one."""
    last = max((outcome.deal for outcome in result.outcomes), default=-1)
    start, end = 0, FIRST
    while end <= last:
        yield start, end
        start, end = end, end * GROWTH
    yield start, math.inf


def imitated(cell: Cell, matches: Sequence[PlayedMatch], player: int, seed: Seed) -> str:
    """A player's habits, learnt from these matches."""
    game = cell.game
    assert isinstance(game, Imitating)
    deals = [game.deal(stream(seed, game, match.deal, DEAL)) for match in matches]
    seats = [cell.seats_of((player,), match.rotation)[0] for match in matches]
    moves = [match.moves for match in matches]
    return game.imitate(list(zip(deals, moves, seats, strict=True)))


def mean(cell: Cell, deals: int) -> tuple[float, float]:
    """The mean result of the cell's learnt baseline in the subject's seat, and its standard error
    by deal, from simulated deals, each in every seating."""
    game, policies = cell.game, policies_with_baseline(cell)
    assert isinstance(game, Scored)

    def part(number: int) -> np.ndarray:
        seed = int(digest([cell.baseline, number]), 16) >> 2
        part_values = np.zeros(CHUNK)
        for rotation, seating in enumerate(cell.seatings):
            (measured,) = cell.seats_of(cell.measured, rotation)
            players = [str(policies[player]) for player in seating]
            part_values += scores_of(game, players, CHUNK, seed, cell.measure)[:, measured]
        return part_values / len(cell.seatings)

    pool = ThreadPoolExecutor(THREADS)
    try:
        values = np.concatenate([*pool.map(part, range(deals // CHUNK))])
    finally:
        pool.shutdown(cancel_futures=True)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
