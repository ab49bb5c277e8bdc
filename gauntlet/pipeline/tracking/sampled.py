"""Selects the matches of a sweep to trace.

These are all that count, or for each cell the first ones, those with the most fallbacks, and those
with the closest choice.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tracking.store import MANY

FIRST, FALLBACK, CLOSE = "first", "fallback", "close choice"
"""Reasons for a match to be in the sample."""
EACH = 2
"""Maximum matches of a cell per reason; fewer with many cells."""

Ranked = tuple[float, tuple[int, int], MatchRecord]


@dataclass(frozen=True)
class Sampled:
    """A match to trace, its cell, and why it is in the sample; () if all are traced."""

    result: CellResults
    record: MatchRecord
    reasons: tuple[str, ...]


def sampled(place: Folder, results: Sequence[CellResults], traces: str) -> Iterator[Sampled]:
    """The matches on the gap-free prefix in which a model was used, cell by cell.

    With "all" every one, with "sample" at most 3 EACH per cell for at most MANY cells; fewer EACH
    with more than 20 cells.
    """
    for result in results if traces == "all" else results[:MANY]:
        records = _records_with_calls(place, result)
        if traces == "all":
            yield from (Sampled(result, record, ()) for record in records)
        else:
            each = max(1, min(EACH, MANY // len(results)))
            yield from (Sampled(result, record, why) for record, why in striking(records, each))


def striking(
    records: Iterable[MatchRecord], each: int
) -> Iterator[tuple[MatchRecord, tuple[str, ...]]]:
    """Up to `each` matches per reason; every match once with all its reasons, by deal."""
    best_by_reason: dict[str, list[Ranked]] = {}
    for record in records:
        for reason, rank in _ranks(record):
            best = best_by_reason.setdefault(reason, [])
            insort(best, (rank, (record.deal, record.rotation), record))
            del best[each:]
    by_place: dict[tuple[int, int], MatchRecord] = {}
    whys: dict[tuple[int, int], list[str]] = {}
    for reason, best in best_by_reason.items():
        for _, place, record in best:
            by_place[place] = record
            whys.setdefault(place, []).append(reason)
    for place in sorted(by_place):
        yield by_place[place], tuple(whys[place])


def _ranks(record: MatchRecord) -> Iterator[tuple[str, float]]:
    """The reasons for which the match may be chosen; the smallest rank comes first."""
    yield FIRST, 0.0
    decisions = [one for one in record.decisions if one.seat in record.subjects and one.asked]
    if fallbacks := sum(one.fallback for one in decisions):
        yield FALLBACK, -fallbacks
    if margins := [one.margin for one in decisions if one.margin is not None]:
        yield CLOSE, min(margins)


def _records_with_calls(place: Folder, result: CellResults) -> Iterator[MatchRecord]:
    for record in place.matches(result.about.stem):
        counts = record.deal < result.complete_deals
        if counts and any(decision.asked for decision in record.decisions):
            yield record
