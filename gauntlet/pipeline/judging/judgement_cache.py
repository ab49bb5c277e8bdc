"""The cells of a log with their matches, for judging decisions; and a cache of judged matches, one
line per match in <output_dir>/judged, so that an interrupted judging run can resume.

The cache is derived from the log: without it, all matches are judged again. A line is valid for the
record it was computed from and for the same playouts, players, seed and game code; torn or foreign
lines are ignored.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from gauntlet.common.errors import UserError
from gauntlet.games.base import Game
from gauntlet.games.capabilities import seatings_of
from gauntlet.games.playouts import no_playouts_reason
from gauntlet.pipeline.judging.judge import Judged, JudgeSettings, TracePoint
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import digest
from gauntlet.pipeline.plan.fingerprint import code_of_game

Judgement = tuple[list[Judged], list[TracePoint]]


@dataclass(frozen=True)
class RecordedCell:
    """A cell's matches on its gap-free deals, by deal and rotation, without prompts and replies.

    players: their names, by number.
    """

    about: CellInfo
    game: Game[Any]
    players: tuple[str, ...]
    records: tuple[MatchRecord, ...]

    def judges(self, everybody: bool) -> frozenset[int]:
        """The numbers of the players whose decisions are judged: the subjects, or all."""
        if everybody:
            return frozenset(range(self.game.num_seats))
        seatings = seatings_of(self.game)
        return frozenset(
            seatings[record.rotation % len(seatings)][seat]
            for record in self.records
            for seat in record.subjects
        )

    def first(self, deals: int | None) -> list[MatchRecord]:
        """The matches of the first `deals` deals; all for None."""
        return [one for one in self.records if deals is None or one.deal < deals]


def cell_of(folder: Path, result: CellResults) -> RecordedCell:
    """A cell with the matches that count. Raises UserError if its game cannot be played out from
    what a seat knows."""
    about = result.about
    description = Folder(folder).description(about)
    game = recorded_game(description["identity"]["game"])
    if reason := no_playouts_reason(game):
        raise UserError(f"{about.name}: {reason}")
    pending, records = {outcome.match for outcome in result.outcomes}, []
    for record in Folder(folder).matches(about.stem):
        if record.match in pending:
            pending.remove(record.match)
            decisions = tuple(structs.replace(one, asked=(), notes={}) for one in record.decisions)
            bare: dict[str, Any] = {
                "statics": {},
                "preparation": (),
                "decisions": decisions,
                "clock": None,
            }
            records.append(structs.replace(record, **bare))
    records.sort(key=lambda record: (record.deal, record.rotation))
    return RecordedCell(about, game, tuple(description["players"]), tuple(records))


# --- the cache


class Line(msgspec.Struct):
    """A judged match. record: a hash of what was judged. traced: whether a trace was requested."""

    match: str
    record: str
    traced: bool
    judged: list[dict[str, Any]]
    trace: list[TracePoint]


DECODER = msgspec.json.Decoder(Line)


@dataclass(frozen=True)
class JudgementCache:
    """The cache file of one cell and one way of judging."""

    path: Path
    traces: int

    @classmethod
    def from_cell(cls, folder: Path, cell: RecordedCell, work: JudgeSettings) -> JudgementCache:
        code = code_of_game(cell.game).fingerprint
        way = digest([work.playouts, sorted(work.players), work.seed, code])
        return cls(folder / "judged" / f"{cell.about.stem}-{way}.jsonl", work.traces)

    def read(self, records: Iterable[MatchRecord]) -> dict[str, Judgement]:
        """The cached judgements of these records, by match id."""
        by_match = {record.match: record for record in records}
        judgements = {}
        for line in self._lines():
            record = by_match.get(line.match)
            if record and line.record == _hash(record) and line.traced >= self._traced(record):
                trace = line.trace if self._traced(record) else []
                judgements[line.match] = [_from_json(one) for one in line.judged], trace
        return judgements

    def _lines(self) -> Iterator[Line]:
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            for line in lines:
                with suppress(msgspec.MsgspecError):
                    yield DECODER.decode(line)

    def add(self, record: MatchRecord, judgement: Judgement) -> None:
        """Append one line in a single write."""
        judged, trace = judgement
        plain = [
            {**vars(one), "true": one.true.tolist(), "seen": one.seen.tolist()} for one in judged
        ]
        line = Line(record.match, _hash(record), self._traced(record), plain, trace)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            start = b"\n" if self._torn() else b""
            file.write(start + msgspec.json.encode(line) + b"\n")

    def _torn(self) -> bool:
        """Whether the last line is unterminated because its writer was killed."""
        with self.path.open("rb") as file:
            if not file.seek(0, 2):
                return False
            file.seek(-1, 2)
            return file.read(1) != b"\n"

    def _traced(self, record: MatchRecord) -> bool:
        return record.deal < self.traces


def _hash(record: MatchRecord) -> str:
    """A hash of everything that judging reads."""
    decisions = [
        (one.seat, one.chosen, one.options, one.text, one.fallback) for one in record.decisions
    ]
    text = msgspec.json.encode((record.deal, record.rotation, decisions, record.returns))
    return hashlib.sha256(text).hexdigest()[:16]


def _from_json(plain: dict[str, Any]) -> Judged:
    tables = {name: np.array(plain[name], np.int64) for name in ("true", "seen")}
    return Judged(**{**plain, "options": tuple(plain["options"]), **tables})


def most_deals(costs: Sequence[tuple[int, int]], playouts: int, budget: int) -> int:
    """How many leading deals, at least one, can be judged with `playouts` per option within
    `budget` plies. costs: deal and plies per playout of every match."""
    by_deal: Counter[int] = Counter()
    for deal, plies in costs:
        by_deal[deal] += plies
    spent, deals = 0, 0
    for deal in sorted(by_deal):
        spent += by_deal[deal] * playouts
        if deals and spent > budget:
            break
        deals = deal + 1
    return deals


def plies(record: MatchRecord, everybody: bool) -> int:
    """Approximate plies per playout to judge a match, for the subjects' or everybody's decisions:
    every option is played to the end, from the true cards and from redealt hidden cards."""
    length = len(record.decisions)
    return 2 * sum(
        len(set(one.options)) * (length - at)
        for at, one in enumerate(record.decisions)
        if (everybody or one.seat in record.subjects) and len(set(one.options)) > 1
    )
