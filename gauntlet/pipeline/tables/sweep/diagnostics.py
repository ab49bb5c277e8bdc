"""Does a player read its prompts, and how much of its result was not its own choice? One pass over
each cell's records collects its choices, replies and samples.

Two kinds of decisions were hardly the player's: a fallback chose, or the best option's lead was
within rounding error. For each, bounds show the result if all such matches had come out worst, and
best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from gauntlet.common.disk import write_atomically
from gauntlet.common.markup import join_markup, tag
from gauntlet.common.sanitize import visible
from gauntlet.games.capabilities import Measure
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.log import failed_matches
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.outcomes import Outcomes
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.control_cells import NOISE
from gauntlet.pipeline.tables.formatting import Scale, percent
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.page import clip
from gauntlet.pipeline.tables.media.sheets import Column, Format, Row, View
from gauntlet.pipeline.tables.registry import Results, columns, table
from gauntlet.pipeline.tables.sweep.observers import indistinguishable
from gauntlet.pipeline.tables.sweep.reply_audit import Audit
from gauntlet.pipeline.tables.sweep.tallies import LEAST, Choices, Replies
from gauntlet.pipeline.viewer import html, terminal
from gauntlet.pipeline.viewer.match import LETTERED, DecisionView, decision_view

# --- samples

SAMPLES = 5
"""Sampled decisions of a cell."""
ENOUGH = 6
"""Options beyond which a decision is not more interesting."""
PAGE_CELLS = 20
"""Cells whose choices and replies the report shows; files have all."""
PROMPTS = 8
"""The most prompts shown of one decision."""


@dataclass(frozen=True)
class Sample:
    """A decision that a model was asked for. situation: the prompt up to its options."""

    match: str
    deal: int
    rotation: int
    situation: str
    decision: DecisionView

    @property
    def interest(self) -> tuple[bool, int]:
        """Higher if a model decided, and between more options."""
        return not self.decision.fallback, min(len(self.decision.options), ENOUGH)

    @property
    def text(self) -> str:
        """For samples.txt."""
        return f"match {self.match}, deal {self.deal}\n{terminal.excerpt(self.decision)}"

    def folded(self, command: str, link: Markup) -> Markup:
        """In a line that unfolds. command: shows the match in full, as `link` does."""
        shorten = partial(clip, command=command)
        return html.excerpt(self.decision, f"deal {self.deal}", link, shorten)

    def in_full(self, command: str, link: Markup) -> Markup:
        """With its situation, its options, and the first prompt of every request."""
        shorten = partial(clip, command=command)
        where = f"Deal {self.deal}, rotation {self.rotation}. All of it: "
        above = join_markup(
            tag("p", where, link, class_="note"),
            tag("pre", shorten(self.situation)),
        )
        return html.decision(self.decision, above, PROMPTS, shorten)


def sample(record: MatchRecord, decision: DecisionRecord) -> Sample:
    return Sample(
        match=record.match,
        deal=record.deal,
        rotation=record.rotation,
        situation=situation(decision.asked[0], decision.options),
        decision=decision_view(decision, record.statics),
    )


def sample_matches(outcomes: Outcomes) -> dict[str, float]:
    """SAMPLES matches spread evenly over the deals, each with a random position in its decisions;
    the same for the same matches."""
    rng = np.random.default_rng(0)
    matches = outcomes.column("match")[outcomes.column("decisions") > 0]
    stretches = np.array_split(matches, min(SAMPLES, len(matches)) or 1)
    return {rng.choice(each).decode(): float(rng.random()) for each in stretches if len(each)}


def decision_at(decisions: Sequence[DecisionRecord], share: float) -> DecisionRecord | None:
    """The decision at this share of those that asked a model; None if none did."""
    asked = [decision for decision in decisions if decision.asked]
    return asked[int(share * len(asked))] if asked else None


def situation(exchange: Exchange, options: Sequence[str]) -> str:
    """A prompt up to its list of options."""
    branches = exchange.branches if isinstance(exchange, ScoreExchange) else ("",)
    lines = f"{exchange.shared}{branches[0]}".splitlines()
    for number, line in enumerate(lines):
        match = LETTERED.fullmatch(line)
        if match and match[2] in options:
            above = number - 1 if number and lines[number - 1].endswith(":") else number
            return "\n".join(lines[:above])
    end = exchange.shared.rfind("\n") + 1 if len(branches) > 1 else None
    return exchange.shared[:end]


# --- decisions by fallbacks and by rounding

ROUNDING = {"float32": 2.0**-19, "float16": 2.0**-6, "bfloat16": 2.0**-3}
"""How far rounding may move a log-probability, by a network's dtype: a unit in the last place of a
logit of 16 to 32 (IEEE 754; bfloat16 has 8 significant bits)."""


def by_rounding(decision: DecisionRecord, rounding: float) -> bool:
    """Whether rounding may have decided; a tie is decided by the order of the options.

    rounding: the error of each log-probability, so a factor of a probability. If this is False, no
    such error changes the choice of a score that sums an option's probabilities (`cloze`), divides
    one by a constant (`calibrated`, `pride`) or subtracts two of one prompt (`counterfactual`).
    """
    margin = decision.margin
    if margin is None or math.isnan(margin) or decision.fallback or not decision.asked:
        return False
    best = max(abs(score) for score in decision.scores if score is not None)
    masses = (
        math.fsum(math.exp(x) for x in row if x is not None)
        for exchange in decision.asked
        if isinstance(exchange, ScoreExchange)
        for row in exchange.logprobs
    )
    return margin <= 2 * math.expm1(rounding) * max(best, *masses, 0.0)


def _models(log: Folder, result: CellResults) -> list[Mapping[str, Any]]:
    """The identities of the cell's models."""
    players = log.description(result.about)["identity"]["players"]
    return [player["model"] for player in players if "model" in player]


def sensitivity(
    values: np.ndarray, fallbacks: np.ndarray, close: np.ndarray, decisions: int, measure: Measure
) -> dict[str, Any]:
    """Columns of diagnostics.csv.

    values: of each match. fallbacks, close: whether it has such a decision. decisions: how many are
    close.
    """
    rest = values[~fallbacks]
    row = {
        "fallback_matches": int(fallbacks.sum()),
        "without_fallbacks": float(rest.mean()) if len(rest) else math.nan,
        "close_decisions": decisions,
        "close_matches": int(close.sum()),
    }
    for name, unsure in (("fallback", fallbacks), ("close", close)):
        for limit, end in (("low", measure.low), ("high", measure.high)):
            bound = np.where(unsure, end, values)
            row[f"{name}_{limit}"] = float(bound.mean()) if len(bound) else math.nan
    return row


# --- one pass over the records


@dataclass
class RecordStats:
    """What one cell's records show. closeup: the sample that the page shows in full. shown: the
    records of the matches that the report shows decisions or replies of, closeup's first; none for
    cells that it may leave out. close: the match of every decision that rounding may have settled.
    scored: whether a model gave probabilities."""

    choices: Choices = field(default_factory=Choices)
    replies: Replies = field(default_factory=Replies)
    audit: Audit = field(default_factory=Audit)
    samples: list[Sample] = field(default_factory=list)
    closeup: Sample | None = None
    shown: list[MatchRecord] = field(default_factory=list)
    close: list[bytes] = field(default_factory=list)
    scored: bool = False


def record_stats(results: Results) -> dict[str, RecordStats]:
    """By cell."""
    log = Folder(results.folder)
    return {
        cell.about.name: _record_stats(log, cell, at < PAGE_CELLS)
        for at, cell in enumerate(results.cells)
    }


def _record_stats(log: Folder, result: CellResults, keep: bool) -> RecordStats:
    """keep: its `shown` records."""
    stats, sampled, rounding = RecordStats(), sample_matches(result.outcomes), None
    pending = set(result.outcomes.column("match").tolist())
    samples: list[tuple[MatchRecord, DecisionRecord]] = []
    kept: dict[str, MatchRecord] = {}
    for record in log.matches(result.about.stem):
        match = record.match.encode()
        if match not in pending:
            continue
        pending.remove(match)
        if rounding is None:  # 0 if a model's is unknown, so that only ties count
            dtypes = (str(model.get("dtype")) for model in _models(log, result))
            rounding = max((ROUNDING.get(dtype, 0.0) for dtype in dtypes), default=0.0)
        stats.audit.add(record)
        if keep and record.match in stats.audit.matches:
            kept[record.match] = record
        decisions = [
            one for one in record.decisions if one.seat in record.subjects and len(one.options) > 1
        ]
        for at, decision in enumerate(decisions):
            stats.choices.add(decision)
            stats.replies.add(decision, record.deal, record.rotation, at)
            stats.scored |= any(isinstance(one, ScoreExchange) for one in decision.asked)
            if by_rounding(decision, rounding):
                stats.close.append(match)
        if record.match in sampled and (one := decision_at(decisions, sampled[record.match])):
            samples.append((record, one))
    samples.sort(key=lambda pair: (pair[0].deal, pair[0].rotation))
    stats.samples = [sample(*pair) for pair in samples]
    stats.closeup = max(stats.samples, key=lambda sample: sample.interest, default=None)
    if keep:
        kept |= {record.match: record for record, _ in samples}
        first = [stats.closeup] if stats.closeup else []
        wanted = [*(sample.match for sample in (*first, *stats.samples)), *stats.audit.matches]
        stats.shown = [kept[match] for match in dict.fromkeys(wanted)]
    return stats


def write_samples(results: Results) -> None:
    """Writes samples.txt: a few prompts of each cell as sent, with the replies."""
    stats = results.cached(record_stats).items()
    texts = (f"== {cell}\n\n{sample.text}" for cell, each in stats for sample in each.samples)
    write_atomically(results.folder / "samples.txt", "\n".join(texts))


# --- the table

SAME, HABIT, UNUSABLE, CLOSE = 0.9, 0.95, 0.1, 0.1
"""Shares above which there is a warning: of one reply to different questions; of one place in the
list; of unusable replies or decisions; of decisions that rounding may have settled."""
COLUMNS = {
    **columns("cell"),
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
    "scores": "how the options' probabilities were found: logprobs, or a model's setting `scores`",
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


def _with_random(column: str, random: str) -> Format:
    """A share, with a random player's in brackets."""

    def text(row: Row) -> str:
        known = not math.isnan(row[random])
        share = percent(row[column])
        return f"{share} ({100 * row[random]:.1f})" if known else share

    return text


CHOICES_VIEW = View(
    "How it chose",
    (
        Column("cell", sheets.cell_name),
        Column("decisions", sheets.count("decisions")),
        Column("options", sheets.decimal("options", ".1f")),
        Column("first", _with_random("first", "end_random")),
        Column("last", _with_random("last", "end_random")),
        Column("most taken", lambda row: visible(row["option"])[:20]),
        Column("", _with_random("option_share", "option_random")),
        Column("same reply", _with_random("reply_share", "reply_random")),
    ),
    "Decisions with a choice; in brackets: a uniformly random player. first, last: option of the "
    "game's list. most taken: the most frequent move. same reply: the share of the most frequent "
    "reply to different questions. More: choices.csv.",
    lambda rows: rows[rows["decisions"] > 0],
)


def _result(row: Row) -> str:
    raw = row.results["summary"].set_index("cell")["raw"]
    return row.scale.mean(raw[row["cell"]])


SENSITIVITY_VIEW = View(
    "What the result depends on",
    (
        Column("cell", sheets.cell_name),
        Column("result", _result),
        Column("fallback in", sheets.count("fallback_matches")),
        Column("without", sheets.mean("without_fallbacks")),
        Column("lost to won", sheets.span("fallback_low", "fallback_high")),
        Column("close", sheets.count("close_decisions")),
        Column("in", sheets.count("close_matches")),
        Column("lost to won", sheets.span("close_low", "close_high")),
    ),
    "fallback in: matches with a move by a fallback; without: the result without them; lost to "
    "won: the result if all of them were lost or won. close: decisions that ties or rounding may "
    "have settled; in: matches with one.",
    lambda rows: rows[(rows["fallback_matches"] > 0) | (rows["close_decisions"] > 0)],
)
UNBEATEN = "not shown to do better than always taking"
"""How a warning of an unbeaten control begins."""
NO_ANSWER = {
    "truncated": "were cut by the token limit before their answer (see prompt.max_tokens and "
    "model.thinking_room)",
    "refused": "were refused by the model or withheld by its server",
    "broken": "ended before their answer",
}
"""Counts of `pipeline.log.outcomes`, and what the warning says."""
METRICS = (
    *("first", "last", "end_random", "place_bits", "place_bits_random", "option_share"),
    *("reply_share", "without_fallbacks", "close_decisions"),
)


@table("diagnostics", COLUMNS, [CHOICES_VIEW, SENSITIVITY_VIEW], metrics=METRICS, place=70)
def diagnostics(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell: its choices, and warnings."""
    failures = Folder(results.folder).failed_matches
    controls = dict(iter(results["controls"].groupby("cell")))
    for result in results.cells:
        name, stats = result.about.name, results.cached(record_stats)[result.about.name]
        row: dict[str, Any] = {}
        if stats.choices.decisions:
            outcomes = result.outcomes
            close = np.isin(outcomes.column("match"), stats.close or [b""])
            values, fallbacks = outcomes.column("figure"), outcomes.column("fallbacks") > 0
            row |= stats.choices.diagnostics() | stats.replies.diagnostics()
            measure = result.about.measure
            row |= sensitivity(values, fallbacks, close, len(stats.close), measure)
        if stats.scored:
            models = _models(Folder(results.folder), result)
            ways = dict.fromkeys(str(model.get("scores", "logprobs")) for model in models)
            row["scores"] = ", ".join(ways)
        warnings = [
            result.unrepeatable,
            *failed_matches.warnings(result, failures),
            *_warnings(row, stats, result, controls.get(name, results["controls"].head(0))),
            results.cached(indistinguishable).get(name, ""),
        ]
        yield {"cell": name, **row, "warning": "; ".join(filter(None, warnings))}


def _warnings(
    row: Mapping[str, Any], stats: RecordStats, result: CellResults, controls: pd.DataFrame
) -> Iterator[str]:
    """What a reader of the cell's result should know first."""
    if not stats.choices.decisions:
        return
    if result.about.labels["model"] != "-" and not result.outcomes.column("calls").any():
        yield f"never asked its model, {result.about.labels['model']}"
    decisions, scale = stats.choices.decisions, Scale.from_measure(result.about.measure)
    if row["questions"] >= LEAST and row["reply_share"] > SAME:
        reply, times = repr(visible(row["reply"][:30])), percent(row["reply_share"])
        yield f"replied {reply} to {times} of {row['questions']:,} different questions"
    place, share, offered = stats.choices.habit
    if offered >= LEAST and share > HABIT:
        yield f"took the {place} option in {percent(share)} of {offered:,} decisions"
    yield from _unusable(result, stats.audit.counts)
    if row["close_decisions"] > CLOSE * decisions:
        settled = percent(row["close_decisions"] / decisions)
        yield f"ties or rounding may have settled {settled} of its decisions"
    for _, control in controls.iterrows():
        if not control["ci_low"] > 0:
            size = scale.difference(control["difference"])
            reach = scale.reach(control["ci_low"], control["ci_high"])
            yield f"{UNBEATEN} the {control['control']} ({size}, 95% interval {reach})"
    for name in sorted(result.about.controls.keys() - {NOISE, *controls["control"]}):
        yield f"the control {name!r} has no matches that count, so p Holm leaves it out"


def _unusable(result: CellResults, counts: Mapping[str, int]) -> Iterator[str]:
    """Many fallbacks, or else wrong replies; replies without an answer, and ambiguous ones."""
    outcomes = result.outcomes
    names = ("fallbacks", "decisions", "malformed", "illegal", "replies")
    sums = (outcomes.column(name).sum().item() for name in names)
    fallbacks, decisions, malformed, illegal, replies = sums
    fallback_share = fallbacks / decisions if decisions else 0.0
    bad_share = (malformed + illegal) / replies if replies else 0.0
    if fallback_share > UNUSABLE:
        yield f"a fallback took {percent(fallback_share)} of its decisions"
    elif bad_share > UNUSABLE:
        yield f"{percent(bad_share)} of its replies were malformed or illegal"
    for name, why in NO_ANSWER.items():
        times = outcomes.column(name).sum().item()
        if times > UNUSABLE * replies:
            yield f"{percent(times / replies)} of its replies {why}"
    if counts["ambiguous"] > UNUSABLE * counts["replies"]:
        share = percent(counts["ambiguous"] / counts["replies"])
        yield f"{share} of its replies name several options as their answer"
