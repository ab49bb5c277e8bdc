"""Does a player read what it is shown, and how far does its result hang on what it did not choose?

One pass over each cell's records on its gap-free deals. Written are

    choices.csv       how choices were distributed, see CHOICE_COLUMNS
    diagnostics.csv   a row a cell: what that adds up to, and what there is to be warned of
    controls.csv      what players of a fixed place won on the same deals, see `controls.py`
    parser.csv        how replies were read, with examples, see `parser.py`
    samples.txt       a few questions of each cell as they were sent, with the replies
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables import controls, failed_matches, parser, sensitivity
from gauntlet.pipeline.tables.choices import LEAST, Choices
from gauntlet.pipeline.tables.numbers import number, percent
from gauntlet.pipeline.tables.replies import Replies
from gauntlet.pipeline.tables.samples import Sample, asked_at, picked, sample
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet, short_names

SAME, HABIT, UNUSABLE, ROUNDED = 0.9, 0.95, 0.1, 0.1
"""Shares above which a cell is warned of: one reply to different questions; one place of the list;
replies or decisions that were unusable; decisions that rounding may have settled."""

WRITTEN = (
    *("choices.csv", "diagnostics.csv", "controls.csv", parser.FILE, parser.EXAMPLES_FILE),
    "samples.txt",
)

SHOWN = 12
"""The most values of a kind that the page lists; choices.csv has all."""

CHOICE_COLUMNS = ["cell", "kind", "value", "count", "share", "random"]
"""choices.csv. kind: `place`, in the game's own list, from 1, and the last; `option`, the text of
the move; `letter`, the likeliest one where a prompt lists options under letters, as they stood
before the model; `word` and `text`, other likeliest and written replies. share: of the decisions
with a choice; of replies, of the different questions of the kind. random: of a player that takes
every option alike; empty where there is no such thing."""

DIAGNOSTIC_COLUMNS = [
    *("cell", "decisions", "options", "first", "last", "end_random"),
    *("place_bits", "place_bits_random"),
    *("option", "option_share", "option_random", "option_bits", "option_bits_random"),
    *("questions", "reply", "reply_share", "reply_random"),
    *("fallback_matches", "without_fallbacks", "fallback_low", "fallback_high"),
    *("close_decisions", "close_matches", "close_low", "close_high", "warning"),
]
"""diagnostics.csv. decisions: of the subjects, with a choice between `options` in the mean. first,
last: shares of the first and the last option of the game's list; `end_random` is a random player's
of either. option: the most frequent move. *_bits: entropies, of the cell's choices and of a random
player's. reply: the most frequent among those to `questions` different ones, where replies name
options; `reply_random` is a random player's share of it where it is a letter. without_fallbacks:
the cell's mean without the matches in which a fallback took a move; fallback_low, fallback_high:
with those counted as the worst and the best result. close_*: the same of decisions that ties or
rounding may have settled."""


@dataclass
class Seen:
    """What one cell's records tell."""

    choices: Choices = field(default_factory=Choices)
    replies: Replies = field(default_factory=Replies)
    audit: parser.Audit = field(default_factory=parser.Audit)
    samples: list[Sample] = field(default_factory=list)
    looked: Sample | None = None
    close: list[bytes] = field(default_factory=list)
    """The match of every decision that rounding may have settled."""


@dataclass(frozen=True)
class Diagnosis:
    """The tables of a folder, each a row a cell or more; by cell the samples, and the one of
    them that is looked at closely."""

    choices: pd.DataFrame
    cells: pd.DataFrame
    controls: pd.DataFrame
    audit: parser.Audited
    samples: Mapping[str, Sequence[Sample]]
    looked: Mapping[str, Sample]

    def write(self, folder: Path) -> None:
        """Writes WRITTEN."""
        told = (f"== {cell}\n\n{one.text}" for cell, some in self.samples.items() for one in some)
        tables = (self.choices, self.cells, self.controls, self.audit.table, self.audit.listed)
        texts = [*(table.to_csv(index=False) for table in tables), "\n".join(told)]
        for name, text in zip(WRITTEN, texts, strict=True):
            write_atomically(folder / name, text)


def diagnose(
    folder: Path, results: Sequence[CellResults], summary: pd.DataFrame, rivals: pd.DataFrame
) -> tuple[pd.DataFrame, Diagnosis]:
    """The summary with its column `warning`, and what is behind it. rivals: controls.csv."""
    place = Folder(folder)
    entries = place.set_aside
    beside = dict(iter(rivals.groupby("cell")))
    choices, cells, samples, looked, audits = [], [], {}, {}, {}
    for result, (_, row) in zip(results, summary.iterrows(), strict=True):
        name, seen = result.about.name, _seen(place, result)
        own = beside.get(name, rivals[:0])
        told: dict[str, Any] = {"cell": name}
        if seen.choices.decisions:
            told |= _figures(result, seen)
            each = (*seen.choices.rows(), *seen.replies.rows())
            choices += [{"cell": name, **one} for one in each]
        warned = (*failed_matches.warnings(result, entries), *_warnings(told, seen, row, own))
        told["warning"] = "; ".join(warned)
        cells.append(told)
        samples[name], audits[name] = seen.samples, seen.audit
        if seen.looked:
            looked[name] = seen.looked
    tables = (
        pd.DataFrame(choices, columns=CHOICE_COLUMNS),
        pd.DataFrame(cells, columns=DIAGNOSTIC_COLUMNS),
    )
    lines = [told["warning"] for told in cells]
    audit = parser.Audited.of(audits)
    return summary.assign(warning=lines), Diagnosis(*tables, rivals, audit, samples, looked)


def _seen(place: Folder, result: CellResults) -> Seen:
    seen, wanted = Seen(), picked(result.outcomes)
    taken: list[tuple[MatchRecord, DecisionRecord]] = []
    kept = set(result.outcomes.column("match").tolist())
    rounding = _rounding(place, result)
    for record in place.matches(result.about.stem):
        match = record.match.encode()
        if match not in kept:
            continue
        kept.remove(match)
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
    told: Mapping[str, Any], seen: Seen, row: pd.Series[Any], rivals: pd.DataFrame
) -> Iterator[str]:
    """What a reader of the cell's result should know first."""
    if not seen.choices.decisions:
        return
    decisions = seen.choices.decisions
    if told["questions"] >= LEAST and told["reply_share"] > SAME:
        reply = repr(visible(told["reply"][:30]))
        share, asked = percent(told["reply_share"]), told["questions"]
        yield f"replied {reply} to {share} of {asked:,} different questions"
    place, taken, there = seen.choices.habit
    if there >= LEAST and taken > HABIT:
        yield f"took the {place} option in {percent(taken)} of {there:,} decisions"
    yield from _unusable(row, seen.audit.counts)
    if told["close_decisions"] > ROUNDED * decisions:
        settled = percent(told["close_decisions"] / decisions)
        yield f"ties or rounding may have settled {settled} of its decisions"
    for _, rival in rivals.iterrows():
        if not rival["ci_low"] > 0:
            reach = Scale.row(row).reach(rival["ci_low"], rival["ci_high"])
            yield f"not shown to do better than always the {rival['control']} ({reach})"


def _unusable(row: pd.Series[Any], counts: Mapping[str, int]) -> Iterator[str]:
    """Decisions that no reply settled, or else replies that another one had to make good; and
    replies that were cut off, or read although they name several options."""
    taken = row["fallbacks"] / row["decisions"] if row["decisions"] else 0.0
    wrong = np.nan_to_num([row["malformed_rate"], row["illegal_rate"]]).sum()
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


def sheets(found: Diagnosis, summary: pd.DataFrame) -> list[Sheet]:
    """What is shown in the terminal and on the page."""
    names = dict(zip(summary["cell"], short_names(summary), strict=True))
    scales = {row["cell"]: Scale.row(row) for _, row in summary.iterrows()}
    means = dict(zip(summary["cell"], summary["mean"], strict=True))
    cells = found.cells[found.cells["decisions"] > 0]
    return [
        *_choice_sheet(cells, names),
        *controls.sheets(found.controls, names, scales),
        *_sensitivity_sheet(cells, names, scales, means),
    ]


def _choice_sheet(cells: pd.DataFrame, names: Mapping[str, str]) -> Iterator[Sheet]:
    if cells.empty:
        return
    rows = [
        (
            names[row["cell"]],
            f"{row['decisions']:,.0f}",
            number(row["options"], ".1f"),
            _beside(row["first"], row["end_random"]),
            _beside(row["last"], row["end_random"]),
            visible(row["option"])[:20],
            _beside(row["option_share"], row["option_random"]),
            _beside(row["reply_share"], row["reply_random"]),
        )
        for _, row in cells.iterrows()
    ]
    foot = (
        "Where there was a choice; in brackets a player that takes every option alike. first, "
        "last: in the\ngame's list. same reply: the most frequent one's share of different "
        "questions. More: choices.csv."
    )
    headings = ("cell", "decisions", "options", "first", "last", "most taken", "", "same reply")
    yield Sheet("How it chose", headings, rows, foot, "diagnostics.csv")


def _beside(share: float, chance: float) -> str:
    return percent(share) if math.isnan(chance) else f"{percent(share)} ({100 * chance:.1f})"


def _sensitivity_sheet(
    cells: pd.DataFrame,
    names: Mapping[str, str],
    scales: Mapping[str, Scale],
    means: Mapping[str, float],
) -> Iterator[Sheet]:
    """None where no result hangs on anything."""
    unsure = cells[(cells["fallback_matches"] > 0) | (cells["close_decisions"] > 0)]
    if unsure.empty:
        return
    rows = []
    for _, row in unsure.iterrows():
        scale = scales[row["cell"]]
        rows.append(
            (
                names[row["cell"]],
                scale.mean(means[row["cell"]]),
                f"{row['fallback_matches']:,.0f}",
                scale.mean(row["without_fallbacks"]),
                _span(scale, row["fallback_low"], row["fallback_high"]),
                f"{row['close_decisions']:,.0f}",
                f"{row['close_matches']:,.0f}",
                _span(scale, row["close_low"], row["close_high"]),
            )
        )
    foot = (
        "fallback in: matches with a move that a fallback took; without them; if all were lost or "
        "won.\nclose: decisions that ties or rounding may have settled, in so many matches; if all "
        "of these were\nlost or won."
    )
    headings = (
        *("cell", "result", "fallback in", "without", "lost to won"),
        *("close", "in", "lost to won"),
    )
    yield Sheet("What the result hangs on", headings, rows, foot, "diagnostics.csv")


def _span(scale: Scale, low: float, high: float) -> str:
    return scale.span(low, high) if math.isfinite(low + high) else "-"


@dataclass(frozen=True)
class CellPart:
    """What the page alone shows of a cell: one decision closely, samples, how choices were
    distributed."""

    title: str
    looked: Sample | None
    samples: Sequence[Sample]
    chose: Sheet


def page_cells(found: Diagnosis, summary: pd.DataFrame, cells: int) -> list[CellPart]:
    """The first cells with anything to show, so many."""
    names = zip(summary["cell"], short_names(summary), strict=True)
    headings = ("kind", "value", "count", "share", "at random")
    foot = f"At most {SHOWN} values of a kind; all: choices.csv."
    chose = dict(iter(found.choices.groupby("cell", sort=False)))
    shown = []
    for cell, name in islice((one for one in names if one[0] in chose), cells):
        rows = _most_frequent(chose[cell])
        sheet = Sheet("What it chose", headings, rows, foot)
        shown.append(CellPart(name, found.looked.get(cell), found.samples[cell], sheet))
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
