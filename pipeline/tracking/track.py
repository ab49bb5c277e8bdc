"""MLflow as a view of the log: a parent run a sweep, a child run a cell.

    python -m pipeline.track outputs/quickstart

rebuilds the runs from the records, replacing what an earlier call made of the same folder.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from common.errors import UserError
from pipeline.judging.metric_rows import by_cell
from pipeline.log.folder import Folder
from pipeline.log.results import CellResults
from pipeline.tables.diagnostics import WRITTEN
from pipeline.tables.figures import running
from pipeline.tables.many import POINTS

if TYPE_CHECKING:
    from mlflow.entities import Param, Run
    from mlflow.tracking import MlflowClient

STORE = Path("outputs/mlflow")
TAG = "gauntlet.sweep"
CELL_TAG = "gauntlet.cell"
LIVE_TAG = "gauntlet.live"
WARNING_TAG = "gauntlet.warning"
"""What a reader of a cell's result should know first; empty where there is nothing."""
BATCH = 1000
"""The most metrics and params that MLflow takes in one call."""
MANY = 40
"""Cells beyond which their runs bring no figures of the whole sweep, and none go along live."""

LEAST = 10
"""Points of a running curve at the least, however many cells share MANY times POINTS."""

PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
"""A server that is gone is given up in seconds, where the user's environment asks nothing else."""


def track(folder: Path, store: str, results: Sequence[CellResults], summary: pd.DataFrame) -> str:
    """Logs a sweep that has its views written; returns the parent run's id.

    store: a folder for a sqlite store, or the http(s) address of a server.
    Raises UserError where the store cannot be opened or written.
    """
    with usable(store, folder):
        client, experiment = open_store(store, str(summary["experiment"].iloc[0]))
        sweep = Folder(folder)
        forget(client, sweep.id)
        parent = client.create_run(
            experiment, run_name=folder.name, tags={TAG: sweep.id, "mlflow.note.content": ""}
        )
        _log_sweep(client, parent.info.run_id, sweep, summary)
        for result, (_, row) in zip(results, summary.iterrows(), strict=True):
            _log_cell(client, experiment, parent.info.run_id, sweep, result, row, len(results))
        client.set_terminated(parent.info.run_id, _status(results))
    run_id: str = parent.info.run_id
    return run_id


@contextmanager
def usable(store: str, folder: Path) -> Iterator[None]:
    """Says what a store that fails means for the user."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"the MLflow store {store} cannot be used: {reason}; the records are safe, "
            f"`python -m pipeline.track {folder}` tries again"
        ) from error


def _client(store: str) -> MlflowClient:
    for setting, value in PATIENCE.items():
        os.environ.setdefault(setting, value)
    from mlflow.tracking import MlflowClient

    for chatty in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    return MlflowClient(tracking_uri(store))


def open_store(store: str, name: str) -> tuple[MlflowClient, str]:
    """A client of the store and the id of the experiment with this name, which is made if need
    be."""
    artifacts = None
    if not _address(store):
        Path(store).mkdir(parents=True, exist_ok=True)
        artifacts = (Path(store) / "artifacts").resolve().as_uri()
        _ahead(Path(store) / "mlflow.db")
    client = _client(store)
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return client, experiment.experiment_id
    return client, client.create_experiment(name, artifact_location=artifacts)


def _ahead(database: Path) -> None:
    """Has sqlite log ahead of writing, with fewer syncs a commit: a sweep of a thousand cells has
    thousands. What is in the way of that is MLflow's to tell."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as open_now:
        open_now.execute("PRAGMA journal_mode=WAL")


def tracking_uri(store: str | Path) -> str:
    """What MLflow calls the store."""
    if _address(store):
        return str(store)
    return f"sqlite:///{(Path(store) / 'mlflow.db').resolve()}"


def _address(store: str | Path) -> bool:
    return str(store).startswith(("http://", "https://"))


def forget(client: MlflowClient, sweep: str, live: bool = False) -> None:
    """Deletes what was logged of this sweep before; with `live` only what a run left that went."""
    for run in runs_of(client, sweep):
        if LIVE_TAG in run.data.tags or not live:
            client.delete_run(run.info.run_id)


def runs_of(client: MlflowClient, sweep: str) -> list[Run]:
    """A sweep's runs: its folder may have been played under the name of another experiment."""
    places = [found.experiment_id for found in client.search_experiments()]
    return list(client.search_runs(places, f"tags.`{TAG}` = '{sweep}'", max_results=5000))


def _log_sweep(client: MlflowClient, run: str, sweep: Folder, summary: pd.DataFrame) -> None:
    folder = sweep.path
    client.log_param(run, "seed", sweep.seed)
    client.log_param(run, "cells", len(summary))
    client.log_param(run, "output_dir", str(folder))
    client.log_metric(run, "matches", int(summary["matches"].sum()))
    for name in ("summary.csv", "pairs.csv", "report.html", *WRITTEN):
        client.log_artifact(run, str(folder / name))
    client.log_artifacts(run, str(folder / "figures"), "figures")
    client.log_table(run, summary.astype(object).where(summary.notna(), None), "summary.json")


METRICS = (
    *("win_rate", "ci_low", "ci_high", "baseline", "z", "p_value", "p_holm", "z_two_sample"),
    *("p_two_sample", "matches", "wins", "decisions", "forced", "fallbacks", "decisions_per_s"),
    *("complete_deals", "set_aside", "draws", "tokens", "all_tokens", "device_seconds"),
    *("replies", "malformed_rate", "illegal_rate", "unreported"),
    *("mean", "mean_low", "mean_high", "baseline_mean", "p_mean"),
    *("adjusted", "adj_low", "adj_high", "p_adjusted"),
    *("change", "change_low", "change_high", "p_test", "p_test_holm"),
    *("score", "score_low", "score_high", "losses", "shared_wins", "p_sign"),
    *("held_against", "p_permutation", "permutation_error"),
)
PARAMS = (
    "experiment",
    "game",
    "agent",
    "model",
    "prompt",
    "seats",
    "baseline_n",
    "measure",
    "test",
)


def _log_cell(
    client: MlflowClient,
    experiment: str,
    parent: str,
    sweep: Folder,
    result: CellResults,
    row: pd.Series[Any],
    cells: int,
) -> None:
    """A child run. cells: how many there are; of many each has fewer points, and no figures."""
    from mlflow.entities import Param

    about = result.about
    tags = {TAG: sweep.id, "mlflow.parentRunId": parent, CELL_TAG: about.key}
    tags[WARNING_TAG] = row["warning"]
    run = client.create_run(experiment, run_name=about.name, tags=tags).info.run_id
    params = [Param(name, str(row[name])) for name in PARAMS]
    points = [(name, 0, row[name]) for name in METRICS]
    most = max(POINTS * MANY // max(cells, MANY), LEAST)
    for name, (_, by_deal) in (
        ("running_win_rate", result.win_rates()),
        ("running_mean", result.by_deal()),
    ):
        points += [(name, *point) for point in zip(*running(by_deal, most), strict=True)]
    log_points(client, run, points, [*params, Param("seed", str(sweep.seed))])
    log = sweep.records_file(about.stem)
    if log.exists():
        client.log_artifact(run, str(log), "records")
    if cells <= MANY:
        client.log_artifacts(run, str(sweep.path / "figures"), "figures")
    client.set_terminated(run, _status([result]))


def _status(results: Sequence[CellResults]) -> str:
    """A run of which every match was set aside has failed."""
    failed = any(r.set_aside for r in results) and not any(len(r.outcomes) for r in results)
    return "FAILED" if failed else "FINISHED"


def log_values(client: MlflowClient, run: str, values: Mapping[str, float], step: int = 0) -> None:
    """Logs figures of one step under their names; those that are nan are left out."""
    log_points(client, run, [(name, step, value) for name, value in values.items()])


def log_points(
    client: MlflowClient,
    run: str,
    points: Sequence[tuple[str, int, float]],
    params: Sequence[Param] = (),
) -> None:
    """Logs (name, step, value) and params in as few calls as MLflow takes; without those that are
    nan."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    known = [(name, step, value) for name, step, value in points if not np.isnan(value)]
    metrics = [Metric(name, float(value), now, int(step)) for name, step, value in known]
    room = BATCH - len(params)
    for start in range(0, max(len(metrics), 1), room):
        own = params if start == 0 else ()
        client.log_batch(run, metrics=metrics[start : start + room], params=own)


def add_metrics(folder: Path, store: str) -> bool:
    """Logs DIR/metrics with the runs of a sweep, over what an earlier call logged. Returns False
    where the store does not know the sweep. Raises UserError where it cannot be used."""
    if not (_address(store) or (Path(store) / "mlflow.db").exists()):
        return False
    with usable(store, folder):
        client = _client(store)
        sweep = Folder(folder).id
        final = [run for run in runs_of(client, sweep) if LIVE_TAG not in run.data.tags]
        _log_judged(client, {run.data.tags.get(CELL_TAG): run.info.run_id for run in final}, folder)
    return bool(final)


def _log_judged(client: MlflowClient, runs: Mapping[str | None, str], folder: Path) -> None:
    """DIR/metrics: the tables and figures with the sweep's run, figures of players with the
    cells'; `runs` by the cell's key, the sweep's under None."""
    judged = folder / "metrics"
    if not (judged / "metrics.csv").exists():
        return
    try:
        cells = by_cell(pd.read_csv(judged / "metrics.csv", dtype={"key": str}))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{judged / 'metrics.csv'} is damaged: `python -m pipeline.metrics {folder}` again "
            "writes it anew"
        ) from error
    if None in runs:
        for path in sorted([*judged.glob("*.csv"), *judged.glob("*.png")]):
            client.log_artifact(runs[None], str(path), judged.name)
    for key, values in cells.items():
        if key in runs:
            log_values(client, runs[key], values)
