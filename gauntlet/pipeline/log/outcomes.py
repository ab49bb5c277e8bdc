"""The outcome of a match, and the outcomes of a cell in columns.

A sweep keeps the outcome of every match in memory. In columns one takes 116 bytes, so a million
take 116 MB, and tables are computed with arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import WIN, add_match_score
from gauntlet.models.exchanges import Exchange, ScoreExchange, TextExchange
from gauntlet.pipeline.log.replies import verdicts
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord

BROKEN = ("context", "loop", "tool", "paused", "failed", "unknown")
"""Statuses of replies that ended before their answer, and were neither cut nor refused."""

Measures = Mapping[str, str]
"""The measure of each cell, by its key; a cell that is missing is judged by wins."""

WINS: Measures = MappingProxyType({})
"""Every cell is judged by wins."""

ROW = np.dtype(
    [
        ("match", "S16"),
        ("value", "f8"),
        ("figure", "f8"),
        ("winners", "u1"),
        *((name, "u4") for name in ("plies", "decisions", "forced", "fallbacks", "tokens")),
        ("seconds", "f8"),
        ("all_tokens", "u4"),
        ("device_seconds", "f8"),
        *((name, "u4") for name in ("replies", "malformed", "illegal", "unreported")),
        ("measured", "u1"),
        ("others_won", "u1"),
        ("others_figure", "f8"),
        ("opened", "?"),
        ("calls", "u4"),
        *((name, "u4") for name in ("truncated", "refused", "broken")),
    ]
)
"""An outcome without its position: the fields after `match` are Outcome's after `rotation`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What tables need of a match. `decisions`, `forced`, `fallbacks` and `tokens` count the turns
    of all subjects; `all_tokens` and `device_seconds` count every player's.

    value: mean return of the measured seats. figure: mean of the cell's measure over them. winners:
    how many of the `measured` seats won.
    replies: model replies to the subjects, of which some were `malformed` or `illegal`; a
    conversation has several per decision. truncated, refused, broken: replies without an answer, as
    the token limit cut them, the model or its server refused, or they ended otherwise. unreported:
    the subjects' choices for which the model gave no probability.
    others_won, others_figure: as `winners` and `figure`, for all other seats; 0 if there are none.
    opened: whether a measured seat made the first move of the match.
    calls: the subjects' model calls, one for each scored prompt and each generated sample.
    """

    match: str
    cell: str
    deal: int
    rotation: int
    value: float
    figure: float
    winners: int
    plies: int
    decisions: int
    forced: int
    fallbacks: int
    tokens: int
    seconds: float
    all_tokens: int = 0
    device_seconds: float = 0.0
    replies: int = 0
    malformed: int = 0
    illegal: int = 0
    unreported: int = 0
    measured: int = 1
    others_won: int = 0
    others_figure: float = 0.0
    opened: bool = False
    calls: int = 0
    truncated: int = 0
    refused: int = 0
    broken: int = 0

    @property
    def won(self) -> float:
        """The share of the measured seats that won, 0 to 1."""
        return self.winners / self.measured


def outcome(record: MatchRecord, measures: Measures = WINS) -> Outcome:
    """The outcome of a record. Raises UserError if the record lacks its cell's measure."""
    seats = record.measured
    others = [seat for seat in range(len(record.returns)) if seat not in seats]
    gave = add_match_score(record.measures, record.returns)
    asked = measures.get(record.cell, WIN.name)
    if asked not in gave:
        raise UserError(
            f"match {record.match} was logged without a {asked!r}: it has {', '.join(gave)}; "
            "choose one of these as the measure, or another output_dir"
        )
    own = [decision for decision in record.decisions if decision.seat in record.subjects]
    forced = sum(decision.forced for decision in own)
    answers = [answer for decision in own for answer in _answers(decision)]
    return Outcome(
        match=record.match,
        cell=record.cell,
        deal=record.deal,
        rotation=record.rotation,
        value=_mean([record.returns[seat] for seat in seats]),
        figure=_mean([gave[asked][seat] for seat in seats]),
        winners=sum(gave[WIN.name][seat] > 0 for seat in seats),
        plies=record.plies,
        decisions=len(own) - forced,
        forced=forced,
        fallbacks=sum(decision.fallback for decision in own),
        tokens=sum(decision.tokens for decision in own),
        seconds=record.seconds,
        all_tokens=sum(decision.tokens for decision in record.decisions),
        device_seconds=record.device_seconds,
        replies=len(answers),
        malformed=answers.count("malformed"),
        illegal=answers.count("illegal"),
        unreported=sum(
            one.unreported
            for decision in own
            for one in decision.asked
            if isinstance(one, ScoreExchange)
        ),
        truncated=answers.count("truncated"),
        refused=answers.count("refused") + answers.count("filtered"),
        broken=sum(map(answers.count, BROKEN)),
        measured=len(seats),
        others_won=sum(gave[WIN.name][seat] > 0 for seat in others),
        others_figure=_mean([gave[asked][seat] for seat in others]) if others else 0.0,
        opened=record.decisions[0].seat in seats if record.decisions else False,
        calls=sum(calls(one) for decision in own for one in decision.asked),
    )


def calls(exchange: Exchange) -> int:
    """The number of model calls: one for each scored prompt and each generated sample."""
    return len(exchange.branches) if isinstance(exchange, ScoreExchange) else exchange.n


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)


def _answers(decision: DecisionRecord) -> Sequence[Any]:
    """The status of each model reply, as the method noted it, otherwise one per decision."""
    if any(isinstance(one, TextExchange) and one.details for one in decision.asked):
        return verdicts(decision)
    once = [decision.status] if decision.asked else []
    answers: Sequence[Any] = decision.notes.get("answers", once)
    return answers


class Outcomes:
    """A cell's outcomes by deal, then rotation, each at its position in a table.

    rows: (deals, rotations) of ROW; a position without a match has an empty `match`.
    """

    def __init__(self, cell: str, rows: np.ndarray | None = None) -> None:
        self.cell = cell
        self._rows = np.zeros((0, 1), ROW) if rows is None else rows

    @classmethod
    def from_outcomes(cls, cell: str, outcomes: Iterable[Outcome]) -> Outcomes:
        kept = cls(cell)
        for each in outcomes:
            kept.add(each)
        return kept

    def add(self, outcome: Outcome) -> None:
        """Add an outcome, unless its position is taken."""
        assert len(outcome.match) <= ROW["match"].itemsize, outcome.match
        place = outcome.deal, outcome.rotation
        if not self.has(*place):
            self._make_room(*place)
            self._rows[place] = _fields(outcome)

    def has(self, deal: int, rotation: int) -> bool:
        deals, rotations = self._rows.shape
        return deal < deals and rotation < rotations and bool(self._rows[deal, rotation]["match"])

    def first(self, deals: int) -> Outcomes:
        """The outcomes of the first `deals` deals; shares memory."""
        return Outcomes(self.cell, self._rows[:deals])

    def only(self, deals: Sequence[int]) -> Outcomes:
        """The outcomes of these deals."""
        rows = self._rows.copy()
        rows[np.setdiff1d(np.arange(len(rows)), deals)] = np.zeros((), ROW)
        return Outcomes(self.cell, rows)

    def complete_deals(
        self,
        rotations: int,
        failed: Collection[tuple[int, int]] = (),
        step: int = 1,
        unplanned: Sequence[int] = (),
    ) -> int:
        """The number of leading deals that have all their `rotations` matches, numbered in steps of
        `step`. A (deal, rotation) in `failed` and the `unplanned` deals count as played."""
        last = [*(deal for deal, _ in failed), *unplanned[-1:]]
        places = max([len(self._rows), *(deal + 1 for deal in last)])
        ended = np.zeros((places, rotations), bool)
        played = self._played[:, : rotations * step : step]
        ended[: played.shape[0], : played.shape[1]] = played
        ended[list(unplanned)] = True
        for deal, rotation in failed:
            ended[deal, rotation // step] = True
        gaps = np.flatnonzero(~ended.all(axis=1))
        return int(gaps[0]) if len(gaps) else places

    def column(self, name: str) -> np.ndarray:
        """A field of all outcomes, in order; any of Outcome's except `cell`."""
        if name in ("deal", "rotation"):
            return np.nonzero(self._played)[name == "rotation"]
        values: np.ndarray = self._rows[name][self._played]
        return values

    @property
    def won(self) -> np.ndarray:
        """The share of the measured seats that won each match, in order."""
        shares: np.ndarray = self.column("winners") / self.column("measured")
        return shares

    @property
    def draws(self) -> np.ndarray:
        """Whether each match was a draw, in order: no measured seat won, and their mean return is
        0."""
        found: np.ndarray = (self.column("value") == 0) & (self.column("winners") == 0)
        return found

    def __len__(self) -> int:
        return int(np.count_nonzero(self._played))

    def __iter__(self) -> Iterator[Outcome]:
        for deal, rows in enumerate(self._rows):
            for rotation, (match, *fields) in enumerate(rows.tolist()):
                if match:
                    yield Outcome(match.decode(), self.cell, deal, rotation, *fields)

    @property
    def _played(self) -> np.ndarray:
        """(deals, rotations): whether there is a match."""
        played: np.ndarray = self._rows["match"] != b""
        return played

    def _make_room(self, deal: int, rotation: int) -> None:
        deals, rotations = self._rows.shape
        if deal >= deals or rotation >= rotations:
            more = max(deal + 1, deals + deals // 2) if deal >= deals else deals
            grown = np.zeros((more, max(rotation + 1, rotations)), ROW)
            grown[:deals, :rotations] = self._rows
            self._rows = grown


_fields = attrgetter(*ROW.names or ())
