"""Recreate the MLflow runs of a folder from its records: `python -m pipeline.track OUTPUT_DIR`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.pipeline.config.read import TRACES
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.tables.registry import Results, write_tables
from gauntlet.pipeline.tables.sweep.report import write_report
from gauntlet.pipeline.tracking.judged import add_metrics
from gauntlet.pipeline.tracking.store import store_of, tracking_uri
from gauntlet.pipeline.tracking.track import track


def tabulate(folder: Path) -> Results:
    """The results of an output_dir, with its tables and report written. Raises UserError."""
    results = Results.load(folder)
    write_tables(results)
    write_report(results)
    return results


def log_runs(results: Results, store: str, traces: str = "sample") -> None:
    """Write the MLflow runs of a folder anew. Raises UserError if the store cannot be used."""
    with Waiting(console(), "traces", "matches", done="traced") as waiting:
        track(store, results, traces, waiting.reach)
    add_metrics(results.folder, store)
    print(f"MLflow: {tracking_uri(store)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.track"), description="MLflow runs from the records of a sweep."
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    parser.add_argument(
        "--store", help="folder of the MLflow store, or a server's address (default: the run's own)"
    )
    parser.add_argument(
        "--traces",
        choices=TRACES,
        default="sample",
        help="the model calls of a sample of each cell's matches, of all, or none; default: sample",
    )
    options = parser.parse_args(arguments)
    try:
        require("mlflow", "tracking")
        folder = options.output_dir
        log_runs(tabulate(folder), options.store or store_of(folder), options.traces)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
