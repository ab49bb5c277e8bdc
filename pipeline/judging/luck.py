"""Luck-adjusted results: the subject's decisions judged by playouts, match by match.

The mean result of a reference policy in the subject's place is known from a million games; the game
names policies for it (`games.capabilities.Adjustable`). What the subject's decisions were worth
more or less than the reference's is measured in every match, and the luck of the deal, of the draws
and of the other players' choices drops out of it. The sum is an unbiased estimate of the subject's
mean result where three conditions hold:

(a) every other player is a scripted policy of the game, which the playouts play exactly;
(b) the subject chooses by what its seat may know: an agent is shown nothing else;
(c) the reference is one policy of one game, in its mean result and in the playouts.

Where (a) or (c) fails nothing is adjusted, and the reason is told. Where a game names several
references, a cell takes the one that its first matches vary least against. The reference's own
standard error enters the interval. Advantages are kept in <output_dir>/luck/<cell>.json and are a
view of the log: without the file they are found again.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from msgspec import convert

from common.disk import write_atomically
from games.capabilities import Adjustable
from pipeline.config.read import Seed
from pipeline.log.folder import Folder
from pipeline.log.results import About, Adjusted, CellResults
from pipeline.log.schema import MatchRecord
from pipeline.log.small import parsed, written
from pipeline.plan.baseline import measure, scripted, with_reference
from pipeline.plan.cells import Cell
from pipeline.plan.chance import DEAL, LUCK, stream

WARNINGS = logging.getLogger("gauntlet")

PLAYOUTS = 150
"""Playouts an option: some ten milliseconds a game of UNO. Twice as many would make one match worth
a sixth more."""

CHOOSING = 500
"""Matches, the first ones, by which a cell's reference is chosen."""

THREADS = 2
SAY_EVERY = 10.0
"""Seconds between lines where adjusting takes long."""


@dataclass(frozen=True)
class Luck:
    """What a cell's matches are worth without luck.

    reason: why nothing is adjusted, in words; "" where it is.
    reference, playouts: what the advantages were measured with.
    rate, error: the reference's mean result in the subject's place, and its standard error.
    advantages: by match id.
    """

    reason: str
    reference: str = ""
    playouts: int = 0
    rate: float = math.nan
    error: float = math.nan
    advantages: Mapping[str, float] = field(default_factory=dict)


def refusal(cell: Cell) -> str:
    """Why the cell cannot be adjusted, in words; "" where it can."""
    if not isinstance(cell.game, Adjustable):
        return f"{cell.labels['game']} has no playouts to judge luck by"
    if reason := cell.game.unadjustable(cell.measure):
        return reason
    if (len(cell.subjects), len(cell.measured)) != (1, 1):
        return "its playouts judge one player's decisions by one player's results"
    if cell.baseline is None:
        return "there is no baseline to compare with"
    for number, policy in enumerate(scripted(cell)):
        if number not in cell.subjects and policy is None:
            return (
                f"player {number}, {cell.players[number].name}, is no scripted policy of the game, "
                "so that playouts cannot play it"
            )
    return ""


def adjust(
    folder: Path,
    cells: Sequence[Cell],
    results: Sequence[CellResults],
    seed: Seed,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Brings the kept advantages of all cells up to the results. `say` is told if it takes long."""
    for cell, result in zip(cells, results, strict=True):
        reason = refusal(cell)
        if reason:
            keep(folder, result.about, Luck(reason))
            continue
        before = read(folder, result.about)
        judged = against(cell, reference(folder, cell, result, before, seed))
        assert result.about.baseline is not None
        base = measure(judged, seed, result.about.baseline.games)
        assert base is not None
        fresh = Luck("", base.policy, PLAYOUTS, base.rate, base.error)
        if before and (before.reference, before.playouts) == (fresh.reference, fresh.playouts):
            fresh = replace(fresh, advantages=before.advantages)
        wanted = {outcome.match for outcome in result.outcomes} - fresh.advantages.keys()
        if wanted:
            found = dict(advantages(judged, games_of(folder, result.about, wanted), seed, say))
            fresh = replace(fresh, advantages={**fresh.advantages, **found})
        keep(folder, result.about, fresh)


def against(cell: Cell, policy: str) -> Cell:
    """The cell with a reference of its game for its baseline."""
    return replace(cell, baseline=policy)


def reference(
    folder: Path, cell: Cell, result: CellResults, before: Luck | None, seed: Seed
) -> str:
    """The game's reference that the cell's first matches vary least against; once chosen by
    CHOOSING of them it stays."""
    assert isinstance(cell.game, Adjustable)
    known = cell.game.references
    if len(known) == 1:
        return known[0]
    if before and before.reference in known and len(before.advantages) >= CHOOSING:
        return before.reference
    first = [outcome.match for outcome in result.outcomes][:CHOOSING]
    games = games_of(folder, result.about, set(first))
    spread = {}
    for policy in known:
        gained = [value for _, value in advantages(against(cell, policy), games, seed)]
        spread[policy] = float(np.var(gained)) if gained else 0.0
    return min(known, key=spread.__getitem__)


@dataclass(frozen=True)
class Played:
    """What of a record it takes to judge it: which match it is, and the options taken."""

    match: str
    deal: int
    rotation: int
    moves: tuple[str, ...]

    @classmethod
    def of(cls, record: MatchRecord) -> Played:
        moves = tuple(decision.move for decision in record.decisions)
        return cls(record.match, record.deal, record.rotation, moves)


def games_of(folder: Path, about: About, wanted: set[str]) -> list[Played]:
    """Each wanted match once, as the log has it."""
    records = Folder(folder).matches(about.stem)
    found = {record.match: Played.of(record) for record in records if record.match in wanted}
    return list(found.values())


def advantages(
    cell: Cell, games: Sequence[Played], seed: Seed, say: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[str, float]]:
    """Match id and advantage over the cell's baseline of each match of a cell that `refusal` has
    nothing against."""
    said = time.monotonic()
    pool = ThreadPoolExecutor(THREADS)
    found = pool.map(lambda game: advantage(cell, game, seed), games)
    try:
        for done, (game, value) in enumerate(zip(games, found, strict=True)):
            if time.monotonic() - said > SAY_EVERY:
                said = time.monotonic()
                say(f"luck-adjusting {cell.name}: {done:,} of {len(games):,} matches")
            yield game.match, value
    finally:
        pool.shutdown(cancel_futures=True)  # who is interrupted waits for none that is waiting


def advantage(cell: Cell, played: Played, seed: Seed) -> float:
    """The subject's advantage over the cell's baseline in one match."""
    game = cell.game
    seat, measured = cell.seats_of((*cell.subjects, *cell.measured), played.rotation)
    assert isinstance(game, Adjustable)
    policies = with_reference(cell)
    return game.advantage(
        game.deal(stream(seed, game, played.deal, DEAL)),
        played.moves,
        seat,
        measured,
        [str(policies[player]) for player in cell.seating(played.rotation)],
        PLAYOUTS,
        int(stream(seed, game, played.deal, LUCK).integers(2**62)),
    )


def keep(folder: Path, about: About, luck: Luck) -> None:
    (folder / "luck").mkdir(exist_ok=True)
    write_atomically(folder / "luck" / f"{about.stem}.json", written(asdict(luck)))


def read(folder: Path, about: About) -> Luck | None:
    """What is kept of a cell; None where nothing is, or it is damaged."""
    path = folder / "luck" / f"{about.stem}.json"
    try:
        kept = convert(parsed(path.read_bytes()), Luck)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        WARNINGS.warning("%s is damaged; the same sweep again finds it anew", path)
        return None
    base = about.baseline
    if math.isnan(kept.rate) and base and base.policy == kept.reference:
        return replace(kept, rate=base.rate, error=base.error)  # of when they were always one
    return kept


def attach(folder: Path, results: Sequence[CellResults]) -> list[CellResults]:
    """The results with what is kept of their luck."""
    return [replace(result, adjusted=adjusted(folder, result)) for result in results]


def adjusted(folder: Path, result: CellResults) -> Adjusted | None:
    """None where nothing is adjusted, or a match is not judged yet."""
    kept = read(folder, result.about)
    if kept is None or kept.reason or not result.outcomes:
        return None
    known = [kept.advantages.get(outcome.match, math.nan) for outcome in result.outcomes]
    deals, where = np.unique(result.outcomes.column("deal"), return_inverse=True)
    means = kept.rate + np.bincount(where, np.array(known, float)) / np.bincount(where)
    if np.isnan(means).any():
        return None
    return Adjusted(deals, means, kept.reference, kept.rate, kept.error)
