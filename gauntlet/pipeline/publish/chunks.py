"""The matches of a run, in files of some dozens.

A file holds whole deals, so a match and its twins, the other cells' matches of its deal, are always
in one; their plies are in further files where it would be large. Files are scripts, because pages
opened from disk may load nothing else.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlencode

from msgspec.msgpack import decode, encode
from msgspec.structs import replace

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import raise_gc_threshold
from gauntlet.pipeline.library import MatchEntry, Shelf
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.viewer.data import Pack, Twin, divergence
from gauntlet.pipeline.viewer.judged import Judged
from gauntlet.pipeline.viewer.match import MatchView, match_view

MATCHES, BYTES = 40, 4_000_000
"""A file takes no more deals once it holds this many matches, or bytes of the log."""
ALONE = 2 * MATCHES
"""As few matches are written by this process alone."""
AHEAD = 2
"""Files in progress for each worker."""

Deal = list[MatchEntry]


@dataclass(frozen=True)
class Chunk:
    """A file to write. deals: their records, as bytes, which travel five times as fast."""

    folder: Path
    run: str
    number: int
    out: Path
    deals: bytes
    judged: Judged


def deals_of(shelf: Shelf) -> list[Deal]:
    """The matches that were read, by deal, in order."""
    keys = {about.key: about.deal_key for about in shelf.folder.sweep_cells()}
    deals: defaultdict[tuple[int, str], Deal] = defaultdict(list)
    for entry in shelf.entries.values():
        deals[entry.outcome.deal, keys[entry.outcome.cell]].append(entry)
    return [deals[key] for key in sorted(deals)]


def cut(deals: Sequence[Deal]) -> Iterator[list[Deal]]:
    """The deals in groups of the size of a file."""
    group: list[Deal] = []
    matches = size = 0
    for deal in deals:
        group.append(deal)
        matches += len(deal)
        size += sum(entry.place.size for entry in deal)
        if matches >= MATCHES or size >= BYTES:
            yield group
            group, matches, size = [], 0, 0
    if group:
        yield group


def write_chunks(
    shelf: Shelf, groups: Sequence[Sequence[Deal]], run: str, out: Path, judged: Judged
) -> Iterator[tuple[int, list[str]]]:
    """Write each group as the file NUMBER.js. Yields how many matches it holds, and for each that
    is left out, why it cannot be played again."""
    jobs = (_chunk(shelf, group, run, at, out, judged) for at, group in enumerate(groups))
    workers = os.cpu_count() or 1
    if workers == 1 or sum(len(deal) for group in groups for deal in group) <= ALONE:
        yield from map(write_chunk, jobs)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), raise_gc_threshold) as pool:
        started = (pool.submit(write_chunk, job) for job in jobs)
        under_way = deque(islice(started, AHEAD * workers))
        while under_way:
            yield under_way.popleft().result()
            under_way.extend(islice(started, 1))


def _chunk(
    shelf: Shelf, deals: Sequence[Deal], run: str, number: int, out: Path, judged: Judged
) -> Chunk:
    names = [[entry.outcome.match for entry in deal] for deal in deals]
    known = {name: judged.matches.get(name, {}) for deal in names for name in deal}
    records = encode([[_alone(shelf.record(name)) for name in deal] for deal in names])
    return Chunk(shelf.folder.path, run, number, out, records, Judged(judged.playouts, known))


def _alone(record: MatchRecord) -> MatchRecord:
    """The record with no other texts than its own."""
    return replace(record, statics={name: record.statics[name] for name in record.named})


def write_chunk(chunk: Chunk) -> tuple[int, list[str]]:
    """Write a file; returns what `write_chunks` yields of it."""
    pack, folder, lost = Pack(), Folder(chunk.folder), list[str]()
    for records in decode(chunk.deals, type=list[list[MatchRecord]]):
        views = []
        for record in records:
            try:
                views.append(match_view(folder, record))
            except UserError as error:
                lost.append(str(error))
        _add(pack, chunk, views)
    for name, text in pack.files(f"{chunk.number}").items():
        write_script(chunk.out / f"{name}.js", text)
    return len(pack.matches), lost


def _add(pack: Pack, chunk: Chunk, deal: Sequence[MatchView]) -> None:
    def link(match: str, twin: str = "") -> str:
        return link_to(chunk.run, chunk.number, match, twin)

    for one in deal:
        twins = [
            Twin(
                *(other.match, other.cell, link(one.match, other.match)),
                divergence(one.moves, other.moves),
            )
            for other in deal
            if other.match != one.match and other.rotation == one.rotation
        ]
        pack.add(one, chunk.judged, twins, link(one.match))


def link_to(run: str, chunk: int, match: str, twin: str = "") -> str:
    """The address of a match, seen from the site's top folder."""
    beside = {"twin": twin} if twin else {}
    return f"match.html?{urlencode({'run': run, 'part': chunk, 'id': match, **beside})}"


def write_script(file: Path, text: str) -> None:
    """text: packed data."""
    write_atomically(file, f'gauntlet.take("{text}")\n')


def numbers(groups: Sequence[Sequence[Deal]]) -> Mapping[str, int]:
    """The file of each match."""
    return {
        entry.outcome.match: at
        for at, group in enumerate(groups)
        for deal in group
        for entry in deal
    }
