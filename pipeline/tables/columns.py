"""The columns of an export, in one place: what is written, its type, and what the page says of it.

`parquet.py` writes them, the data card and docs/export.md list them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.json import encode

from gauntlet.games.capabilities import with_score
from gauntlet.models.exchanges import Exchange, ScoreExchange, TextExchange
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord


@dataclass(frozen=True)
class OfMatch:
    """A match of a cell."""

    result: CellResults
    record: MatchRecord

    @property
    def figures(self) -> Mapping[str, Sequence[float]]:
        """Every measure, a figure a seat."""
        return with_score(self.record.measures, self.record.returns)

    def measured(self, name: str) -> float:
        """The mean of a measure over the measured seats."""
        seats = self.record.measured
        return sum(self.figures[name][seat] for seat in seats) / len(seats)

    @property
    def began(self) -> float | None:
        return None if self.record.clock is None else self.record.clock.began


@dataclass(frozen=True)
class OfDecision(OfMatch):
    """A decision of a match."""

    turn: int
    decision: DecisionRecord

    @property
    def prompts(self) -> Iterator[str]:
        """All that were sent, whole."""
        for asked in self.decision.asked:
            for branch in asked.branches if isinstance(asked, ScoreExchange) else ("",):
                yield asked.prompt(self.record.statics, branch).text

    @property
    def replies(self) -> Iterator[str]:
        """Texts that were written, and of a scored prompt its words with their logarithms."""
        for asked in self.decision.asked:
            yield from _replies(asked)


def _replies(asked: Exchange) -> Iterator[str]:
    if isinstance(asked, TextExchange):
        yield from (asked.text, *asked.others)
        return
    for row in asked.logprobs:
        yield encode(dict(zip(asked.choices, row, strict=True))).decode()


Row = TypeVar("Row", bound=OfMatch)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its name, its type in Arrow's words, what it is, and how a row has it."""

    name: str
    type: str
    what: str
    of: Callable[[Row], Any]


def _label(name: str, what: str) -> Column[OfMatch]:
    return Column(name, "string", what, lambda row: row.result.about.labels[name])


PLACE: tuple[Column[OfMatch], ...] = (
    Column("match", "string", "its id, 16 hex digits", lambda row: row.record.match),
    Column("cell", "string", "its cell's name", lambda row: row.result.about.name),
    Column("key", "string", "its cell's key", lambda row: row.record.cell),
    Column("experiment", "string", "as in the config", lambda row: row.result.about.experiment),
    _label("game", "the game, with settings that were swept"),
    _label("agent", "what plays in the subject's seat"),
    _label("model", "its model, `none` without one"),
    _label("prompt", "its way of asking, `none` without one"),
    _label("seats", "who sits where"),
    Column("deal", "int64", "the deal's number, from 0", lambda row: row.record.deal),
    Column(
        *("rotation", "int64", "which of the deal's matches: seatings, then further samples"),
        lambda row: row.record.rotation,
    ),
    Column(
        *("counted", "bool", "whether the tables count it: its deal and all before are complete"),
        lambda row: row.record.deal < row.result.complete_deals,
    ),
)
MATCHES: tuple[Column[OfMatch], ...] = (
    *PLACE,
    Column("subjects", "list<int64>", "seats under study", lambda row: row.record.subjects),
    Column("measured", "list<int64>", "seats whose results count", lambda row: row.record.measured),
    Column("returns", "list<double>", "a figure a seat", lambda row: row.record.returns),
    Column(
        *("win", "double", "the measured seats' wins, their mean, 0 to 1"),
        lambda row: row.measured("win"),
    ),
    Column(
        *("measure", "string", "what the cell is judged by"),
        lambda row: row.result.about.measure.name,
    ),
    Column(
        *("result", "double", "of that measure, the measured seats' mean"),
        lambda row: row.measured(row.result.about.measure.name),
    ),
    Column(
        *("measures", "string", "JSON: every measure by name, a figure a seat"),
        lambda row: encode(row.figures).decode(),
    ),
    Column("plies", "int64", "moves", lambda row: row.record.plies),
    Column(
        *("fallbacks", "int64", "random moves in place of the subjects' unusable replies"),
        lambda row: sum(
            one.fallback for one in row.record.decisions if one.seat in row.record.subjects
        ),
    ),
    Column(
        *("tokens", "int64", "read and written for all seats; what prompts share counts for each"),
        lambda row: sum(one.tokens for one in row.record.decisions),
    ),
    Column("seconds", "double", "of play and of waiting", lambda row: row.record.seconds),
    Column(
        *("device_seconds", "double", "of devices at work on it"),
        lambda row: row.record.device_seconds,
    ),
    Column(
        *("began", "double", "seconds since 1970; null where no model was asked"),
        lambda row: row.began,
    ),
)
DECISIONS: tuple[Column[Any], ...] = (
    *PLACE,
    Column("turn", "int64", "the decision's number in its match, from 0", lambda row: row.turn),
    Column("seat", "int64", "who decided", lambda row: row.decision.seat),
    Column(
        *("subject", "bool", "whether that seat is under study"),
        lambda row: row.decision.seat in row.record.subjects,
    ),
    Column(
        *("options", "list<string>", "what could be done, in the game's order"),
        lambda row: row.decision.options,
    ),
    Column(
        *("scores", "list<double>", "one an option, null for minus infinity; empty without scores"),
        lambda row: row.decision.scores,
    ),
    Column(
        *("margin", "double", "how far the best score lies above the second"),
        lambda row: row.decision.margin,
    ),
    Column("chosen", "int64", "the place of the option taken", lambda row: row.decision.chosen),
    Column("move", "string", "that option", lambda row: row.decision.move),
    Column("text", "string", "words that came with it", lambda row: row.decision.text),
    Column("forced", "bool", "there was nothing to choose", lambda row: row.decision.forced),
    Column(
        *("status", "string", "`ok`, or what was wrong with the reply"),
        lambda row: row.decision.status,
    ),
    Column(
        *("fallback", "bool", "a random legal move took its place"),
        lambda row: row.decision.fallback,
    ),
    Column("attempts", "int64", "how often it was asked", lambda row: row.decision.attempts),
    Column("tokens", "int64", "read and written", lambda row: row.decision.tokens),
    Column(
        *("prompts", "list<string>", "all that was sent, each prompt whole"),
        lambda row: list(row.prompts),
    ),
    Column(
        *(
            "replies",
            "list<string>",
            "texts; of a scored prompt JSON: its words' log-probabilities",
        ),
        lambda row: list(row.replies),
    ),
    Column(
        *("notes", "string", "JSON: what the method tells of itself"),
        lambda row: encode(row.decision.notes).decode(),
    ),
)


def listed(columns: Sequence[Column[Any]]) -> str:
    """The columns as a table in Markdown."""
    rows = (f"| `{one.name}` | {one.type} | {one.what} |" for one in columns)
    return "\n".join(["| column | type | what it is |", "|---|---|---|", *rows])
