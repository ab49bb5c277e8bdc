"""Does a player read what it is shown, and how far does its result depend on what it did not
choose? One pass over each cell's records on its gap-free deals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables import failed_matches, sensitivity
from gauntlet.pipeline.tables.choices import LEAST, Choices
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.registry import Results, Sheet, table
from gauntlet.pipeline.tables.replies import Replies
from gauntlet.pipeline.tables.reply_classification import Audit
from gauntlet.pipeline.tables.samples import Sample, asked_at, picked, sample
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.sheets import (
    Column,
    Format,
    Row,
    View,
    cell_name,
    count,
    decimal,
    mean,
    span,
)
from gauntlet.pipeline.tables.watched import blind

SAME, HABIT, UNUSABLE, ROUNDED = 0.9, 0.95, 0.1, 0.1
"""Shares above which a cell is warned of: one reply to different questions; one place of the list;
replies or decisions that were unusable; decisions that rounding may have settled."""
SHOWN = 12
"""The most values of a kind that the page lists; choices.csv has all."""

CHOICES = {
    "cell": "the cell's name",
    "kind": "`place` in the game's list; `option`, the text of the move; `letter`, the likeliest "
    "where a prompt lists options under letters; `word` and `text`, other likeliest and written "
    "replies",
    "value": "the place (from 1, and the last), the option, or the reply",
    "count": "how often it was taken",
    "share": "of the decisions with a choice; of replies, of the different questions of the kind",
    "random": "that share for a player that takes every option alike; empty where there is none",
}
DIAGNOSTICS = {
    "cell": "the cell's name",
    "decisions": "decisions of the subjects with a choice",
    "options": "how many options they had, the mean",
    "first": "share that took the first option of the game's list",
    "last": "share that took the last option",
    "end_random": "either share for a random player",
    "place_bits": "entropy of the place taken",
    "place_bits_random": "that of a random player",
    "option": "the most frequent move",
    "option_share": "its share",
    "option_random": "a random player's share of it",
    "option_bits": "entropy of the moves taken",
    "option_bits_random": "that of a random player",
    "questions": "different questions whose replies name options",
    "reply": "the most frequent reply to them",
    "reply_share": "its share",
    "reply_random": "a random player's share of it, where it is a letter",
    "fallback_matches": "matches in which a fallback took a move",
    "without_fallbacks": "the cell's mean without them",
    "fallback_low": "the mean with all of them counted as the worst result",
    "fallback_high": "the mean with all of them counted as the best",
    "close_decisions": "decisions that ties or rounding may have settled",
    "close_matches": "matches with such a decision",
    "close_low": "the mean with all of these counted as the worst result",
    "close_high": "the mean with all of them counted as the best",
    "warning": "what a reader of the cell's result should know first",
}


@dataclass
class Seen:
    """What one cell's records tell."""

    choices: Choices = field(default_factory=Choices)
    replies: Replies = field(default_factory=Replies)
    audit: Audit = field(default_factory=Audit)
    samples: list[Sample] = field(default_factory=list)
    looked: Sample | None = None
    close: list[bytes] = field(default_factory=list)
    """The match of every decision that rounding may have settled."""


def seen(results: Results) -> dict[str, Seen]:
    """By cell."""
    place = Folder(results.folder)
    return {cell.about.name: _seen(place, cell) for cell in results.cells}


@table("choices", CHOICES)
def choices(results: Results) -> Iterator[dict[str, Any]]:
    """How choices and replies were distributed."""
    for name, own in results.once(seen).items():
        if own.choices.decisions:
            for row in (*own.choices.rows(), *own.replies.rows()):
                yield {"cell": name, **row}


def _beside(taken: str, chance: str) -> Format:
    """A share, in brackets that of a random player."""

    def told(row: Row) -> str:
        known = not math.isnan(row[chance])
        return f"{percent(row[taken])} ({100 * row[chance]:.1f})" if known else percent(row[taken])

    return told


CHOSE = View(
    "How it chose",
    (
        Column("cell", cell_name),
        Column("decisions", count("decisions")),
        Column("options", decimal("options", ".1f")),
        Column("first", _beside("first", "end_random")),
        Column("last", _beside("last", "end_random")),
        Column("most taken", lambda row: visible(row["option"])[:20]),
        Column("", _beside("option_share", "option_random")),
        Column("same reply", _beside("reply_share", "reply_random")),
    ),
    "Where there was a choice; in brackets a player that takes every option alike. first, "
    "last: in the\ngame's list. same reply: the most frequent one's share of different "
    "questions. More: choices.csv.",
    lambda rows: rows[rows["decisions"] > 0],
)


def _result(row: Row) -> str:
    raw = row.results["summary"].set_index("cell")["raw"]
    return row.scale.mean(raw[row["cell"]])


DEPENDS = View(
    "What the result hangs on",
    (
        Column("cell", cell_name),
        Column("result", _result),
        Column("fallback in", count("fallback_matches")),
        Column("without", mean("without_fallbacks")),
        Column("lost to won", span("fallback_low", "fallback_high")),
        Column("close", count("close_decisions")),
        Column("in", count("close_matches")),
        Column("lost to won", span("close_low", "close_high")),
    ),
    "fallback in: matches with a move that a fallback took; without them; if all were lost or "
    "won.\nclose: decisions that ties or rounding may have settled, in so many matches; if all "
    "of these were\nlost or won.",
    lambda rows: rows[(rows["fallback_matches"] > 0) | (rows["close_decisions"] > 0)],
)
METRICS = (
    *("first", "last", "end_random", "place_bits", "place_bits_random", "option_share"),
    *("reply_share", "without_fallbacks", "close_decisions"),
)


@table("diagnostics", DIAGNOSTICS, [CHOSE, DEPENDS], metrics=METRICS, place=70)
def diagnostics(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell: what its choices add up to, and what there is to be warned of."""
    failures = Folder(results.folder).failed_matches
    controls = dict(iter(results["controls"].groupby("cell")))
    for result in results.cells:
        name, own = result.about.name, results.once(seen)[result.about.name]
        told = _figures(result, own) if own.choices.decisions else {}
        warnings = [
            *failed_matches.warnings(result, failures),
            *_warnings(told, own, result, controls.get(name, results["controls"].head(0))),
            results.once(blind).get(name, ""),
        ]
        yield {"cell": name, **told, "warning": "; ".join(filter(None, warnings))}


def _seen(place: Folder, result: CellResults) -> Seen:
    seen, wanted, rounding = Seen(), picked(result.outcomes), None
    taken: list[tuple[MatchRecord, DecisionRecord]] = []
    kept = set(result.outcomes.column("match").tolist())
    for record in place.matches(result.about.stem):
        match = record.match.encode()
        if match not in kept:
            continue
        kept.remove(match)
        rounding = _rounding(place, result) if rounding is None else rounding
        seen.audit.add(record)
        own = list(_with_choice(record))
        for decision in own:
            seen.choices.add(decision)
            seen.replies.add(decision)
            if sensitivity.by_rounding(decision, rounding):
                seen.close.append(match)
        if record.match in wanted and (one := asked_at(own, wanted[record.match])):
            taken.append((record, one))
    taken.sort(key=lambda both: both[0].deal)
    seen.samples = [sample(*both) for both in taken]
    seen.looked = max(seen.samples, key=lambda one: one.interest, default=None)
    return seen


def _with_choice(record: MatchRecord) -> Iterator[DecisionRecord]:
    """The subjects' decisions between two options or more."""
    for decision in record.decisions:
        if decision.seat in record.subjects and len(decision.options) > 1:
            yield decision


def _rounding(place: Folder, result: CellResults) -> float:
    """How far the log-probabilities of the cell's models may be off by their dtypes; 0 where none
    tells it, so that ties alone count."""
    players = place.description(result.about)["identity"]["players"]
    told = [str(player.get("model", {}).get("dtype")) for player in players]
    return max(sensitivity.ROUNDING.get(dtype, 0.0) for dtype in told)


def _figures(result: CellResults, seen: Seen) -> dict[str, Any]:
    outcomes = result.outcomes
    close = np.isin(outcomes.column("match"), seen.close or [b""])
    hung = sensitivity.figures(
        outcomes.column("figure"),
        outcomes.column("fallbacks") > 0,
        close,
        len(seen.close),
        result.about.measure,
    )
    return {**seen.choices.figures(), **seen.replies.figures(), **hung}


def _warnings(
    told: Mapping[str, Any], seen: Seen, result: CellResults, controls: pd.DataFrame
) -> Iterator[str]:
    """What a reader of the cell's result should know first. told: its row of diagnostics.csv."""
    if not seen.choices.decisions:
        return
    decisions, scale = seen.choices.decisions, Scale.of(result.about.measure)
    if told["questions"] >= LEAST and told["reply_share"] > SAME:
        reply = repr(visible(told["reply"][:30]))
        share, asked = percent(told["reply_share"]), told["questions"]
        yield f"replied {reply} to {share} of {asked:,} different questions"
    place, taken, there = seen.choices.habit
    if there >= LEAST and taken > HABIT:
        yield f"took the {place} option in {percent(taken)} of {there:,} decisions"
    yield from _unusable(result, seen.audit.counts)
    if told["close_decisions"] > ROUNDED * decisions:
        settled = percent(told["close_decisions"] / decisions)
        yield f"ties or rounding may have settled {settled} of its decisions"
    for _, control in controls.iterrows():
        if not control["ci_low"] > 0:
            reach = scale.reach(control["ci_low"], control["ci_high"])
            yield f"not shown to do better than always the {control['control']} ({reach})"


def _unusable(result: CellResults, counts: Mapping[str, int]) -> Iterator[str]:
    """Decisions that no reply settled, or else replies that another one had to make good; and
    replies that were cut off, or read although they name several options."""
    names = ("fallbacks", "decisions", "malformed", "illegal", "replies")
    columns = (result.outcomes.column(name).sum().item() for name in names)
    fallbacks, decisions, malformed, illegal, replies = columns
    taken = fallbacks / decisions if decisions else 0.0
    wrong = (malformed + illegal) / replies if replies else 0.0
    if taken > UNUSABLE:
        yield f"a fallback took {percent(taken)} of its decisions"
    elif wrong > UNUSABLE:
        yield f"{percent(wrong)} of its replies were malformed or illegal"
    for kind, why in (
        ("truncated", "were cut off at max_tokens"),
        ("ambiguous", "name several options as their answer"),
    ):
        if counts[kind] > UNUSABLE * counts["replies"]:
            yield f"{percent(counts[kind] / counts['replies'])} of its replies {why}"


def write_samples(results: Results) -> None:
    """Writes samples.txt: a few questions of each cell as they were sent, with the replies."""
    found = results.once(seen).items()
    told = (f"== {cell}\n\n{one.text}" for cell, own in found for one in own.samples)
    write_atomically(results.folder / "samples.txt", "\n".join(told))


@dataclass(frozen=True)
class CellPart:
    """What the page alone shows of a cell: one decision closely, samples, how choices were
    distributed."""

    title: str
    looked: Sample | None
    samples: Sequence[Sample]
    chose: Sheet


def page_cells(results: Results, cells: int) -> list[CellPart]:
    """The first cells with anything to show."""
    found = results.once(seen)
    headings = ("kind", "value", "count", "share", "at random")
    foot = f"At most {SHOWN} values of a kind; all: choices.csv."
    shown = []
    for name, rows in islice(results["choices"].groupby("cell", sort=False), cells):
        own = found[str(name)]
        sheet = Sheet("What it chose", headings, _most_frequent(rows), foot)
        shown.append(CellPart(results.names[str(name)], own.looked, own.samples, sheet))
    return shown


def _most_frequent(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    return [
        (
            str(kind),
            visible(row["value"])[:60],
            f"{row['count']:,}",
            percent(row["share"]),
            percent(row["random"]),
        )
        for kind, some in rows.groupby("kind", sort=False)
        for _, row in some.head(SHOWN).iterrows()
    ]
