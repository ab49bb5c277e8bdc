"""Every model call of the sampled matches as MLflow traces, rebuilt from the log.

`tracking.traces=sample|all|none`, or `python -m pipeline.track DIR --traces all`. MLflow writes
single spans into sqlite at about 15 per second, so spans are written in bulk, which also creates
their traces. See `spans.py` for what a trace is.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from json import dumps
from typing import TYPE_CHECKING, Any

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tracking.spans import DecisionTrace, traces_of
from gauntlet.pipeline.tracking.store import MANY, TAG

if TYPE_CHECKING:
    from mlflow.entities import Run, Span
    from mlflow.tracking import MlflowClient

SPANS = 500
"""Approximate number of spans per store call."""
LINKS, PAGE = 100, 500
"""MLflow's limits on traces linked to a run, and found, per call."""
WHY_TAG = "gauntlet.why"


@dataclass(frozen=True)
class CellRun:
    """The MLflow run of a cell. start_ms: when it was first played, in milliseconds since 1970."""

    experiment: str
    run: str
    start_ms: int


def log_traces(
    client: MlflowClient,
    place: Folder,
    results: Sequence[CellResults],
    runs: Mapping[str, CellRun],
    traces: str,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Log the calls of a sweep to its cells' runs, given by key. Returns the number of spans.

    traces: "sample" or "all".
    on_progress: called with the number of matches done and an upper bound on their total.
    """
    chosen = sampled(place, results, traces)
    total = sum(len(result.outcomes) for result in results)
    if traces != "all":
        few = list(chosen)
        chosen, total = iter(few), len(few)

    def tagged(matches: Iterable[tuple[int, Sampled]], start_ms: int) -> Iterator[Tagged]:
        for done, match in matches:
            on_progress(done, total)
            why = {WHY_TAG: ", ".join(match.reasons)} if match.reasons else {}
            for trace in traces_of(match.record, place.id, start_ms):
                yield trace, {TAG: place.id, **why}

    logged = 0
    for cell, matches in groupby(enumerate(chosen), lambda item: item[1].result.about.key):
        for batch in _batches(tagged(matches, runs[cell].start_ms)):
            log_batch(client, runs[cell], batch)
            logged += sum(trace.spans for trace, _ in batch)
    on_progress(total, total)
    return logged


Tagged = tuple[DecisionTrace, Mapping[str, str]]
"""A trace and its tags. They are few, because MLflow checks each for existence separately: ten tags
take five times as long as two. Everything else is an attribute of the decision's span."""


def log_batch(client: MlflowClient, run: CellRun, batch: Sequence[Tagged]) -> None:
    """Write whole traces in one call, and link them to their cell's run."""
    from mlflow.tracing.client import TracingClient

    spans = [span for trace, tags in batch for span in spans_of(trace, tags)]
    TracingClient(client.tracking_uri).log_spans(run.experiment, spans)
    ids = [trace_id(trace) for trace, _ in batch]
    for start in range(0, len(ids), LINKS):
        client.link_traces_to_run(ids[start : start + LINKS], run.run)


def forget_traces(client: MlflowClient, run: Run) -> None:
    place = run.info.experiment_id
    while traces := client.search_traces(
        locations=[place], run_id=run.info.run_id, max_results=PAGE, include_spans=False
    ):
        client.delete_traces(place, trace_ids=[one.info.trace_id for one in traces])


def trace_id(trace: DecisionTrace) -> str:
    return f"tr-{trace.number:032x}"


def spans_of(trace: DecisionTrace, tags: Mapping[str, str]) -> list[Span]:
    """MLflow's spans of a trace: the decision, and below it its calls."""
    attributes = {
        "session.id": trace.match,
        "mlflow.traceTag.mlflow.traceName": trace.name,
        **{f"mlflow.traceTag.{name}": value for name, value in tags.items()},
        **{f"gauntlet.{name}": value for name, value in trace.notes.items()},
    }
    decision = _span(trace, 0, trace.name, "AGENT", trace, attributes, trace.fault)
    calls = [
        _span(trace, number, call.name, "CHAT_MODEL", call, {"mlflow.chat.tokenUsage": call.usage})
        for number, call in enumerate(trace.calls, start=1)
    ]
    return [decision, *calls]


def _span(
    trace: DecisionTrace,
    number: int,
    name: str,
    kind: str,
    content: Any,
    attributes: Mapping[str, Any],
    fault: str = "",
) -> Span:
    """The span of this number in its trace, with the content's inputs, outputs and times."""
    from mlflow.entities import Span
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, Status, StatusCode

    first = trace.number % 2**63 + 1
    written = {
        "mlflow.traceRequestId": trace_id(trace),
        "mlflow.spanType": kind,
        "mlflow.spanInputs": content.inputs,
        "mlflow.spanOutputs": content.outputs,
        **attributes,
    }
    status = Status(StatusCode.ERROR, fault) if fault else Status(StatusCode.OK)
    return Span(
        ReadableSpan(
            name=name,
            context=SpanContext(trace.number, first + number, is_remote=False),
            parent=SpanContext(trace.number, first, is_remote=False) if number else None,
            resource=Resource({}),
            attributes={name: dumps(value, default=str) for name, value in written.items()},
            status=status,
            start_time=content.times[0],
            end_time=content.times[1],
        )
    )


def _batches(traces: Iterable[Tagged]) -> Iterator[list[Tagged]]:
    """Batches of whole traces with about SPANS spans."""
    batch: list[Tagged] = []
    for trace, tags in traces:
        batch.append((trace, tags))
        if sum(each.spans for each, _ in batch) >= SPANS:
            yield batch
            batch = []
    if batch:
        yield batch


# --- which matches are traced

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
        records = (
            record
            for record in place.matches(result.about.stem)
            if record.deal < result.complete_deals
            and any(decision.asked for decision in record.decisions)
        )
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
    by_place: dict[tuple[int, int], tuple[MatchRecord, tuple[str, ...]]] = {}
    for reason, best in best_by_reason.items():
        for _, place, record in best:
            _, reasons = by_place.get(place, (record, ()))
            by_place[place] = record, (*reasons, reason)
    yield from (by_place[place] for place in sorted(by_place))


def _ranks(record: MatchRecord) -> Iterator[tuple[str, float]]:
    """The reasons for which the match may be chosen; the smallest rank comes first."""
    yield FIRST, 0.0
    decisions = [one for one in record.decisions if one.seat in record.subjects and one.asked]
    if fallbacks := sum(one.fallback for one in decisions):
        yield FALLBACK, -fallbacks
    if margins := [one.margin for one in decisions if one.margin is not None]:
        yield CLOSE, min(margins)
