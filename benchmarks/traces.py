"""Speed of logging model calls to MLflow as traces: in bulk, as a sweep does, and one by one.

    python -m benchmarks.traces --json traces.json

Plays a few matches of UNO with the fake model, and logs the same calls twice to a fresh sqlite
store: all of them in bulk, including reading the log, and those of the first matches through
MLflow's own spans, begun and ended one by one with the same times. The result is read back.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.run import main as run
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.pipeline.tracking.sampled import sampled
from gauntlet.pipeline.tracking.spans import DecisionTrace, traces_of
from gauntlet.pipeline.tracking.store import experiment_in, open_store
from gauntlet.pipeline.tracking.traces import PAGE, CellRun, log_traces

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

ALONE = 12
"""Number of traces logged one by one."""


def played(folder: Path, deals: int) -> Sequence[CellResults]:
    words = ("model=fake", "prompt=cloze", "launch=inline", "tracking=none", "controls=[]")
    if run([*words, f"deals={deals}", f"output_dir={folder}"]):
        raise SystemExit("the matches were not played")
    return load_cells(folder)


def in_bulk(store: str, folder: Path, results: Sequence[CellResults]) -> tuple[int, float, float]:
    """Return spans, seconds, and CPU seconds."""
    client = open_store(store)
    experiment = experiment_in(client, store, "bulk")
    runs = {
        one.about.key: CellRun(experiment, client.create_run(experiment).info.run_id, 0)
        for one in results
    }
    started, busy = time.perf_counter(), time.process_time()
    spans = log_traces(client, Folder(folder), results, runs, "all")
    took = time.perf_counter() - started, time.process_time() - busy
    if written(client, experiment) != spans:
        raise SystemExit("the store does not hold what was written")
    return spans, *took


def written(client: MlflowClient, experiment: str) -> int:
    """Count the spans in the store."""
    spans, token, last = 0, None, False
    while not last:
        page = client.search_traces(locations=[experiment], max_results=PAGE, page_token=token)
        spans += sum(len(one.data.spans) for one in page)
        token, last = page.token, not page.token
    return spans


def one_by_one(store: str, traces: Sequence[DecisionTrace]) -> tuple[int, float, float]:
    """Like `in_bulk`, with MLflow's own calls."""
    import mlflow

    client = open_store(store)
    mlflow.set_tracking_uri(client.tracking_uri)
    experiment = experiment_in(client, store, "one by one")
    started, busy = time.perf_counter(), time.process_time()
    for trace in traces:
        root = mlflow.start_span_no_context(
            trace.name,
            inputs=trace.inputs,
            experiment_id=experiment,
            start_time_ns=trace.times[0],
            metadata={"mlflow.trace.session": trace.match},
        )
        for call in trace.calls:
            start, end = call.times
            span = mlflow.start_span_no_context(
                call.name, parent_span=root, inputs=call.inputs, start_time_ns=start
            )
            span.set_attribute("mlflow.chat.tokenUsage", call.usage)
            span.end(outputs=call.outputs, end_time_ns=end)
        root.end(outputs=trace.outputs, end_time_ns=trace.times[1])
    mlflow.flush_trace_async_logging()
    took = time.perf_counter() - started, time.process_time() - busy
    spans = sum(trace.spans for trace in traces)
    if written(client, experiment) != spans:
        raise SystemExit("the store does not hold what was written one by one")
    return spans, *took


def measure(deals: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place) / "out", str(Path(place) / "store")
        results = played(folder, deals)
        spans, seconds, busy = in_bulk(store, folder, results)
        chosen = sampled(Folder(folder), results, "all")
        traces = islice(
            (trace for one in chosen for trace in traces_of(one.record, "alone", 0)), ALONE
        )
        few, alone, alone_busy = one_by_one(store, list(traces))
    return {
        "spans": spans,
        "spans_per_s": spans / seconds,
        "spans_per_processor_s": spans / busy,
        "one_by_one_spans": few,
        "one_by_one_spans_per_s": few / alone,
        "one_by_one_spans_per_processor_s": few / alone_busy,
        "ratio": spans / seconds / (few / alone),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.traces", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--deals", type=int, default=60, help="matches; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    figures = measure(given.deals)
    print()
    for name, value in figures.items():
        print(f"{name:<34}{value:>12,.1f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
