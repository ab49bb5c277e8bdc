"""MLflow as a view of the log: a parent run a sweep, a child run a cell.

    python -m pipeline.track outputs/quickstart

rebuilds the runs from the records, replacing what an earlier call made of the same folder.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.config import Leaf
from pipeline.errors import UserError
from pipeline.events import event
from pipeline.figures import running
from pipeline.live import Live
from pipeline.plan import Cell
from pipeline.report import results_of, write_views
from pipeline.summary import CellResults

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

STORE = Path("outputs/mlflow")
TAG = "gauntlet.sweep"
LIVE_TAG = "gauntlet.live"
BATCH = 1000
"""The most metrics that MLflow takes in one call."""
OFFER_SECONDS, CLOSE_SECONDS = 5.0, 10.0
PARENT = ""
"""Stands for the parent run among the keys of cells."""
Figures = Mapping[str, tuple[int, Mapping[str, float]]]

PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
"""A server that is gone is given up in seconds, where the user's environment asks nothing else."""


def track(folder: Path, store: str, results: Sequence[CellResults], summary: pd.DataFrame) -> str:
    """Logs a sweep that has its views written; returns the parent run's id.

    store: a folder for a sqlite store, or the http(s) address of a server.
    Raises UserError where the store cannot be opened or written.
    """
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        client, experiment = _open(store, str(summary["experiment"].iloc[0]))
        sweep = json.loads((folder / "sweep.json").read_text())
        _forget(client, experiment, sweep["id"])
        parent = client.create_run(
            experiment, run_name=folder.name, tags={TAG: sweep["id"], "mlflow.note.content": ""}
        )
        _log_sweep(client, parent.info.run_id, folder, sweep, summary)
        for result, (_, row) in zip(results, summary.iterrows(), strict=True):
            _log_cell(client, experiment, parent.info.run_id, sweep, folder, result, row)
        client.set_terminated(parent.info.run_id)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"the MLflow store {store} cannot be used: {reason}; the records are safe, "
            f"`python -m pipeline.track {folder}` tries again"
        ) from error
    run_id: str = parent.info.run_id
    return run_id


def _open(store: str, name: str) -> tuple[MlflowClient, str]:
    for setting, value in PATIENCE.items():
        os.environ.setdefault(setting, value)
    from mlflow.tracking import MlflowClient

    for chatty in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    artifacts = None
    if not _address(store):
        Path(store).mkdir(parents=True, exist_ok=True)
        artifacts = (Path(store) / "artifacts").resolve().as_uri()
    client = MlflowClient(tracking_uri(store))
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return client, experiment.experiment_id
    return client, client.create_experiment(name, artifact_location=artifacts)


def tracking_uri(store: str | Path) -> str:
    """What MLflow calls the store."""
    if _address(store):
        return str(store)
    return f"sqlite:///{(Path(store) / 'mlflow.db').resolve()}"


def _address(store: str | Path) -> bool:
    return str(store).startswith(("http://", "https://"))


def _forget(client: MlflowClient, experiment: str, sweep: str, live: bool = False) -> None:
    """Deletes what was logged of this sweep before; with `live` only what a run left that went."""
    wanted = f"tags.`{TAG}` = '{sweep}'" + (f" and tags.`{LIVE_TAG}` = 'yes'" if live else "")
    for run in client.search_runs([experiment], wanted, max_results=5000):
        client.delete_run(run.info.run_id)


def _log_sweep(
    client: MlflowClient, run: str, folder: Path, sweep: dict[str, Any], summary: pd.DataFrame
) -> None:
    client.log_param(run, "seed", sweep["seed"])
    client.log_param(run, "cells", len(summary))
    client.log_param(run, "output_dir", str(folder))
    client.log_metric(run, "matches", int(summary["matches"].sum()))
    for name in ("summary.csv", "pairs.csv", "report.html"):
        client.log_artifact(run, str(folder / name))
    client.log_artifacts(run, str(folder / "figures"), "figures")
    client.log_table(run, summary.astype(object).where(summary.notna(), None), "summary.json")


METRICS = (
    *("win_rate", "ci_low", "ci_high", "baseline", "z", "p_value", "p_holm", "z_two_sample"),
    *("p_two_sample", "matches", "wins", "decisions", "forced", "fallbacks", "decisions_per_s"),
    *("complete_deals", "set_aside", "draws", "tokens", "all_tokens", "device_seconds"),
)
PARAMS = ("experiment", "game", "agent", "model", "prompt", "seats", "baseline_n")


def _log_cell(
    client: MlflowClient,
    experiment: str,
    parent: str,
    sweep: dict[str, Any],
    folder: Path,
    result: CellResults,
    row: pd.Series[Any],
) -> None:
    from mlflow.entities import Metric, Param

    about = result.about
    tags = {TAG: sweep["id"], "mlflow.parentRunId": parent, "gauntlet.cell": about.key}
    run = client.create_run(experiment, run_name=about.name, tags=tags).info.run_id
    now = int(pd.Timestamp.now().timestamp() * 1000)
    final = [Metric(n, float(row[n]), now, 0) for n in METRICS if not np.isnan(row[n])]
    curve = [
        Metric("running_win_rate", float(rate), now, int(deals))
        for deals, rate in zip(*running(result), strict=True)
    ]
    params = [Param(name, str(row[name])) for name in PARAMS]
    client.log_batch(run, params=[*params, Param("seed", str(sweep["seed"]))])
    metrics = final + curve
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run, metrics=metrics[start : start + BATCH])
    log = folder / "records" / f"{about.stem}.jsonl"
    if log.exists():
        client.log_artifact(run, str(log), "records")
    client.log_artifacts(run, str(folder / "figures"), "figures")
    client.set_terminated(run)


@contextmanager
def following(tracking: Leaf, folder: Path, cells: Sequence[Cell]) -> Iterator[Follower]:
    """Someone to whom a run offers its figures; `track` replaces what it logged."""
    follower = Follower(str(tracking["store"]) if tracking["kind"] == "mlflow" else None, folder)
    follower.names.update({cell.key: cell.name for cell in cells})
    follower.experiment = cells[0].experiment
    try:
        yield follower
    finally:
        follower.close()


@dataclass
class Follower:
    """Logs a run's figures while it goes, in a thread of its own: a store that is slow, broken or
    gone holds nothing up and ends nothing."""

    store: str | None
    folder: Path
    experiment: str = ""
    names: dict[str, str] = field(default_factory=dict)
    _offered: float = -np.inf
    _figures: Queue[Figures | None] = field(default_factory=Queue)
    _thread: Thread | None = None
    _client: MlflowClient | None = None
    _runs: dict[str, str] = field(default_factory=dict)

    def offer(self, live: Live) -> None:
        """Takes the figures if there is a store, the last ones are taken, and it is time."""
        if self.store is None or time.monotonic() - self._offered < OFFER_SECONDS:
            return
        if self._thread is None:
            self._thread = Thread(target=self._serve, daemon=True, name="mlflow")
            self._thread.start()
        self._offered = time.monotonic()
        if self._figures.empty():
            self._figures.put(figures(live))

    def close(self) -> None:
        """Ends the thread; one that hangs is left behind."""
        self._figures.put(None)
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _serve(self) -> None:
        while (found := self._figures.get()) is not None:
            try:
                self._log(found)
            except Exception as error:  # whatever MLflow raises: it is a view, and play goes on
                why = str(error).strip().splitlines() or [type(error).__name__]
                event("MLflow not written", logging.WARNING, store=self.store, error=why[0])

    def _log(self, found: Figures) -> None:
        from mlflow.entities import Metric

        client = self._client or self._begin()
        now = int(time.time() * 1000)
        for key, (step, metrics) in found.items():
            batch = [Metric(name, value, now, step) for name, value in metrics.items()]
            client.log_batch(self._runs[key], metrics=batch)

    def _begin(self) -> MlflowClient:
        """A parent run and a child run a cell, in place of those that a killed run left."""
        client, experiment = _open(str(self.store), self.experiment)
        sweep = json.loads((self.folder / "sweep.json").read_text())["id"]
        _forget(client, experiment, sweep, live=True)
        tags = {TAG: sweep, LIVE_TAG: "yes"}
        name = f"{self.folder.name} (live)"
        parent = client.create_run(experiment, run_name=name, tags=tags).info.run_id
        self._runs[PARENT] = parent
        for key, name in self.names.items():
            own = {**tags, "mlflow.parentRunId": parent, "gauntlet.cell": key}
            run = client.create_run(experiment, run_name=f"{name} (live)", tags=own)
            self._runs[key] = run.info.run_id
        self._client = client
        return client


def figures(live: Live) -> Figures:
    """What to log now of each cell and of the sweep: a step and metrics."""
    found: dict[str, tuple[int, dict[str, float]]] = {}
    for key, cell in live.cells.items():
        metrics = {
            "matches": float(cell.matches),
            "complete_deals": float(cell.deals),
            "fallback_rate": cell.fallbacks / max(cell.decisions, 1),
            "all_tokens": float(cell.tokens),
            "device_seconds": cell.device_seconds,
        }
        if cell.win_rate is not None:
            metrics["running_win_rate"] = cell.win_rate
        found[key] = (cell.deals, metrics)
    matches = sum(cell.matches for cell in live.cells.values())
    found[PARENT] = (matches, {"matches": float(matches), "matches_per_s": live.rate or 0.0})
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.track", description="MLflow runs from the records of a sweep."
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    parser.add_argument(
        "--store", default=str(STORE), help="folder of the MLflow store, or a server's address"
    )
    options = parser.parse_args(arguments)
    try:
        results = results_of(options.output_dir)
        summary, *_ = write_views(options.output_dir, results)
        track(options.output_dir, options.store, results, summary)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    print(f"MLflow: {tracking_uri(options.store)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
