"""A folder as Parquet: all its matches, all its decisions, and a data card for Hugging Face.

`counted` marks the matches that the tables count. The columns are declared here; the card and
docs/export.md list them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.json import encode

from gauntlet.common.disk import replacing, write_atomically
from gauntlet.common.errors import extra
from gauntlet.games.capabilities import add_match_score
from gauntlet.models.exchanges import Exchange, ScoreExchange, TextExchange
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.media.run_metadata import facts
from gauntlet.pipeline.tables.registry import columns

ROWS = 2000
"""Rows of a row group, which are held in memory."""
FILES = ("matches.parquet", "decisions.parquet")

LABELS = ("game", "agent", "model", "prompt", "seats")

Columns = Mapping[str, tuple[str, str]]
"""By name the Arrow type and the meaning."""
Row = Mapping[str, Any]

MATCH: Columns = {
    "match": ("string", "its id, 16 hex digits"),
    "cell": ("string", "its cell's name"),
    "key": ("string", "its cell's key"),
    **{name: ("string", meaning) for name, meaning in columns("experiment", *LABELS).items()},
    "deal": ("int64", "the deal's number, from 0"),
    "rotation": ("int64", "which of the deal's matches: seatings, then further samples"),
    "counted": ("bool", "whether the tables count it: its deal and all before are complete"),
}
MATCHES: Columns = {
    **MATCH,
    "subjects": ("list<int64>", "seats of the subjects, the players under study"),
    "measured": ("list<int64>", "seats whose results count"),
    "returns": ("list<double>", "a figure a seat"),
    "win": ("double", "the measured seats' wins, their mean, 0 to 1"),
    "measure": ("string", "what the cell is judged by"),
    "result": ("double", "of that measure, the measured seats' mean"),
    "measures": ("string", "JSON: every measure by name, a figure a seat"),
    "plies": ("int64", "moves"),
    "fallbacks": ("int64", "random moves in place of the subjects' unusable replies"),
    "tokens": ("int64", "read and written for all seats; what prompts share counts for each"),
    "seconds": ("double", "of play and of waiting"),
    "device_seconds": ("double", "of devices at work on it"),
    "began": ("double", "seconds since 1970; null where no model was asked"),
}
DECISIONS: Columns = {
    **MATCH,
    "turn": ("int64", "the decision's number in its match, from 0"),
    "seat": ("int64", "who decided"),
    "subject": ("bool", "whether that seat is a subject's"),
    "options": ("list<string>", "what could be done, in the game's order"),
    "scores": ("list<double>", "one an option, null for minus infinity; empty without scores"),
    "margin": ("double", "how far the best score lies above the second"),
    "chosen": ("int64", "the place of the option taken"),
    "move": ("string", "that option"),
    "text": ("string", "words that came with it"),
    "forced": ("bool", "there was nothing to choose"),
    "status": ("string", "`ok`, or what was wrong with the reply"),
    "fallback": ("bool", "a random legal move took its place"),
    "attempts": ("int64", "how often it was asked"),
    "tokens": ("int64", "read and written"),
    "prompts": ("list<string>", "all that was sent, each prompt whole"),
    "replies": ("list<string>", "texts; of a scored prompt JSON: its words' log-probabilities"),
    "finishes": ("list<string>", "why each text ended: stop, length, refused, ..."),
    "thoughts": ("list<string>", "what the model thought before each text, as far as known"),
    "notes": ("string", "JSON: what the method tells of itself"),
}


def _match(result: CellResults, record: MatchRecord) -> Row:
    """The columns MATCH."""
    about = result.about
    return {
        **_fields(record, MATCH),
        "cell": about.name,
        "key": record.cell,
        "experiment": about.experiment,
        **about.labels,
        "counted": record.deal < result.complete_deals,
    }


def _fields(record: object, columns: Columns) -> Row:
    """The columns that have a record's own names."""
    return {name: getattr(record, name) for name in columns if hasattr(record, name)}


def match_row(result: CellResults, record: MatchRecord) -> Row:
    """A row of matches.parquet."""
    measures = add_match_score(record.measures, record.returns)
    measure = result.about.measure.name
    win, value = (
        sum(measures[name][seat] for seat in record.measured) / len(record.measured)
        for name in ("win", measure)
    )
    decisions = [one for one in record.decisions if one.seat in record.subjects]
    return {
        **_fields(record, MATCHES),
        **_match(result, record),
        "win": win,
        "measure": measure,
        "result": value,
        "measures": encode(measures).decode(),
        "fallbacks": sum(one.fallback for one in decisions),
        "tokens": sum(one.tokens for one in record.decisions),
        "began": None if record.clock is None else record.clock.began,
    }


def decision_row(match: Row, record: MatchRecord, turn: int, decision: DecisionRecord) -> Row:
    """A row of decisions.parquet."""
    texts = [
        (one, place)
        for one in decision.asked
        if isinstance(one, TextExchange)
        for place in range(len(one.texts))
    ]
    return {
        **_fields(decision, DECISIONS),
        **match,
        "turn": turn,
        "subject": decision.seat in record.subjects,
        "prompts": [
            asked.prompt(record.statics, branch).text
            for asked in decision.asked
            for branch in (asked.branches if isinstance(asked, ScoreExchange) else ("",))
        ],
        "replies": [reply for asked in decision.asked for reply in _replies(asked)],
        "finishes": [one.detail(place).finish for one, place in texts],
        "thoughts": [one.detail(place).thoughts for one, place in texts],
        "notes": encode(decision.notes).decode(),
    }


def _replies(exchange: Exchange) -> Sequence[str]:
    """The texts; of a scored prompt its words with their log-probabilities."""
    if isinstance(exchange, TextExchange):
        return exchange.texts
    return [
        encode(dict(zip(exchange.choices, row, strict=True))).decode() for row in exchange.logprobs
    ]


@dataclass(frozen=True)
class Exported:
    """The written files, and their numbers of rows."""

    files: tuple[Path, ...]
    matches: int
    decisions: int


def export(
    folder: Path,
    results: Sequence[CellResults],
    target: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Writes the files into a folder, which is made if need be; each is complete or as before.
    progress: called with the matches written, and about how many there are. Raises UserError
    without pyarrow, OSError if the files cannot be written."""
    log, total = Folder(folder), sum(len(result.outcomes) for result in results)
    target.mkdir(parents=True, exist_ok=True)
    paths = tuple(target / name for name in FILES)
    with ExitStack() as stack:
        partial = [stack.enter_context(replacing(path)) for path in paths]
        matches = stack.enter_context(ParquetFile(partial[0], MATCHES))
        decisions = stack.enter_context(ParquetFile(partial[1], DECISIONS))
        for result in results:
            for record in log.matches(result.about.stem):
                matches.add(match_row(result, record))
                match = _match(result, record)
                for turn, decision in enumerate(record.decisions):
                    decisions.add(decision_row(match, record, turn, decision))
                progress(matches.rows, max(total, matches.rows))
        text = card(folder, results, matches.rows, decisions.rows)
    readme = target / "README.md"
    write_atomically(readme, text)
    return Exported((*paths, readme), matches.rows, decisions.rows)


@dataclass
class ParquetFile:
    """A Parquet file, written row group by row group."""

    path: Path
    columns: Columns
    rows: int = 0
    _buffer: list[Row] = field(default_factory=list)

    def __enter__(self) -> ParquetFile:
        self._arrow, parquet = extra("pyarrow", "export"), extra("pyarrow.parquet", "export")
        types = {name: _type(self._arrow, kind) for name, (kind, _) in self.columns.items()}
        self._schema = self._arrow.schema(list(types.items()))
        self._file = self.path.open("wb")  # by its path, `s3:` or `%` in it would have a meaning
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self._write()
        self._writer.close()
        self._file.close()

    def add(self, row: Row) -> None:
        self._buffer.append(row)
        self.rows += 1
        if len(self._buffer) >= ROWS:
            self._write()

    def _write(self) -> None:
        arrays = [
            self._arrow.array([row[one.name] for row in self._buffer], type=one.type)
            for one in self._schema
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._buffer.clear()


def _type(arrow: Any, name: str) -> Any:
    """Arrow's type of this name."""
    if name.startswith("list<"):
        return arrow.list_(_type(arrow, name[5:-1]))
    types = {"bool": arrow.bool_, "double": arrow.float64, "int64": arrow.int64}
    return types.get(name, arrow.string)()


# --- the data card

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Hugging Face's names for numbers of rows up to these; above them LARGE."""
LARGE = "1M<n<10M"
CARD = """\
---
pretty_name: {title}
license: other
license_name: none-given
language: [en]
task_categories: [text-generation]
tags: [games, language-models, gauntlet]
size_categories: [{size}]
configs:
- config_name: matches
  data_files: matches.parquet
  default: true
- config_name: decisions
  data_files: decisions.parquet
---

# {name}

{matches:,} matches and {decisions:,} decisions, as Gauntlet's log of the sweep holds them: all that
was played, also beyond the deals that the tables count (`counted`). A row of `decisions` has every
prompt that was sent, whole, and every reply.

Licence: none is given yet. Whoever publishes this chooses one here and in the lines above, after a
look at the terms of the models that wrote the replies.

## How it was played

{facts}

## Cells

{cells}

## Loading

```python
import pandas as pd

matches = pd.read_parquet("matches.parquet")
matches[matches["counted"]].groupby("cell")["result"].mean()
```

`datasets.load_dataset("parquet", data_files="decisions.parquet")` reads it without this card.

## matches.parquet, a row a match

{match_columns}

## decisions.parquet, a row a decision, of all seats

{decision_columns}
"""


def card(folder: Path, results: Sequence[CellResults], matches: int, decisions: int) -> str:
    """The data card of an export with these numbers of rows."""
    name = folder.resolve().name
    entries = facts(folder, results, [result.about.name for result in results])
    visible = (entry for entry in entries if entry.term != "last played")  # it names the machine
    return CARD.format(
        title=json.dumps(name),
        size=next((words for limit, words in SIZES if decisions < limit), LARGE),
        name=name,
        matches=matches,
        decisions=decisions,
        facts="\n".join(f"- {entry.term}: {'; '.join(entry.values)}" for entry in visible),
        cells=_cells(results),
        match_columns=column_list(MATCHES),
        decision_columns=column_list(DECISIONS),
    )


def _cells(results: Sequence[CellResults]) -> str:
    """The cells with their counted matches and mean, in Markdown."""
    lines = [("cell", "game", "model", "prompt", "matches that count", "measure", "mean")]
    for result in results:
        about, values = result.about, result.outcomes.column("figure")
        game, model, prompt = (about.labels[name] for name in ("game", "model", "prompt"))
        mean = f"{values.mean():.4f}" if len(values) else "-"
        counted = f"{len(values):,}"
        lines.append((about.name, game, model, prompt, counted, about.measure.name, mean))
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|---" * 7 + "|", *body])


def column_list(columns: Columns) -> str:
    """The columns as a table in Markdown."""
    rows = (f"| `{name}` | {kind} | {what} |" for name, (kind, what) in columns.items())
    return "\n".join(["| column | type | what it is |", "|---|---|---|", *rows])
