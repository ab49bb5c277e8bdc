"""Cache of judged matches, one line per match in <output_dir>/judged, so that an interrupted
judging run can resume.

It is derived from the log: without it, all matches are judged again. A line is valid for the record
it was computed from and for the same playouts, players, seed and game code; torn or foreign lines
are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gauntlet.pipeline.judging.judge import Judged, JudgeSettings, TracePoint
from gauntlet.pipeline.judging.recorded_cells import RecordedCell
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import digest
from gauntlet.pipeline.plan.fingerprint import code_of_game

Found = tuple[list[Judged], list[TracePoint]]


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

    def read(self, records: Iterable[MatchRecord]) -> dict[str, Found]:
        """The cached judgements of these records, by match id."""
        by_match = {record.match: record for record in records}
        judgements = {}
        for line in self._lines():
            record = by_match.get(line.match)
            if record and line.record == _hash(record) and line.traced >= self._traced(record):
                trace = line.trace if self._traced(record) else []
                judgements[line.match] = ([_from_json(one) for one in line.judged], trace)
        return judgements

    def _lines(self) -> Iterator[Line]:
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            for line in lines:
                with suppress(msgspec.MsgspecError):
                    yield DECODER.decode(line)

    def add(self, record: MatchRecord, judgement: Found) -> None:
        """Append one line in a single write."""
        judged, trace = judgement
        told = [_to_json(one) for one in judged]
        line = Line(record.match, _hash(record), self._traced(record), told, trace)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(b"\n" * self._torn() + msgspec.json.encode(line) + b"\n")

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
    made = [(one.seat, one.chosen, one.options, one.text, one.fallback) for one in record.decisions]
    text = msgspec.json.encode((record.deal, record.rotation, made, record.returns))
    return hashlib.sha256(text).hexdigest()[:16]


def _to_json(judged: Judged) -> dict[str, Any]:
    return {**vars(judged), "true": judged.true.tolist(), "seen": judged.seen.tolist()}


def _from_json(plain: dict[str, Any]) -> Judged:
    tables = {name: np.array(plain[name], np.int64) for name in ("true", "seen")}
    return Judged(**{**plain, "options": tuple(plain["options"]), **tables})


def most_deals(costs: Sequence[tuple[int, int]], playouts: int, budget: int) -> int:
    """How many leading deals, at least one, can be judged with `playouts` per option within
    `budget` plies. costs: deal and plies per playout of every match."""
    spent, deals = 0, 0
    by_deal: dict[int, int] = {}
    for deal, plies in costs:
        by_deal[deal] = by_deal.get(deal, 0) + plies
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
