"""The MLflow store: opening, searching, batched writing, and one-line errors."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import yaml

from gauntlet.common.errors import UserError, require
from gauntlet.common.process import invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.folder import Folder

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

STORE = Path("outputs/mlflow")
TAG = "gauntlet.sweep"
CELL_TAG = "gauntlet.cell"
WARNING_TAG = "gauntlet.warning"
"""What a reader of a cell's result should know first; empty if there is nothing."""
TAGS_TAG = "gauntlet.tags"
"""A person's tags on a sweep, with commas."""
PARENT_TAG, NOTE_TAG = "mlflow.parentRunId", "mlflow.note.content"
BATCH = 1000
"""MLflow's limit on metrics and params per call."""
LONGEST = 6000
"""MLflow's limit on the characters of a param."""
FOUND = 50_000
"""MLflow's limit on runs found per call."""
MANY = 40
"""With more cells, their runs get no figures of the whole sweep."""

SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""Defaults for the environment: an unreachable server is given up within seconds, and MLflow
does not print two lines per run."""


@contextmanager
def usable(store: str, folder: Path) -> Iterator[None]:
    """Turn failures of the store, or one too old for traces, into a UserError; it is one, too, if
    MLflow is not installed."""
    try:
        require("mlflow", "tracking")
    except UserError as error:
        later = invocation("pipeline.track", folder)
        raise UserError(f"{error}, and `{later}` logs its runs") from error
    from alembic.util.exc import CommandError
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    failures = (MlflowException, SQLAlchemyError, CommandError, OSError, NotImplementedError)
    try:
        yield
    except failures as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"the MLflow store {store} cannot be used: {reason}; the records are safe, "
            f"`{invocation('pipeline.track', folder)}` tries again"
        ) from error


def open_store(store: str) -> MlflowClient:
    """A client of the store, which is created if missing, by one process at a time: two that
    migrate a new database break it for good."""
    if _address(store):
        return client_of(store)
    Path(store).mkdir(parents=True, exist_ok=True)
    with (Path(store) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _ahead(Path(store) / "mlflow.db")
        client = client_of(store)
        client.search_experiments(max_results=1)  # creates what is missing
    return client


def client_of(store: str) -> MlflowClient:
    """A client of an existing store."""
    for setting, value in SETTINGS.items():
        os.environ.setdefault(setting, value)
    from mlflow.tracking import MlflowClient

    for chatty in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    for loud in ("mlflow.store", "sqlalchemy.pool"):  # tracebacks of errors that they also raise
        logging.getLogger(loud).setLevel(logging.CRITICAL)
    return MlflowClient(tracking_uri(store))


def experiment_in(client: MlflowClient, store: str, name: str) -> str:
    """The id of the experiment with this name, which is created if missing."""
    known = client.get_experiment_by_name(name)
    if known is not None:
        return str(known.experiment_id)
    artifacts = None if _address(store) else (Path(store) / "artifacts").resolve().as_uri()
    return str(client.create_experiment(name, artifact_location=artifacts))


def experiment_name(experiment: str, labels: Mapping[str, str]) -> str:
    """The name of a cell's experiment in MLflow: `quickstart / uno`. Settings of a game are params,
    so that its sizes and variants can be compared."""
    return f"{experiment} / {labels['game'].partition('[')[0]}"


def _ahead(database: Path) -> None:
    """Use write-ahead logging: a large sweep has thousands of commits. MLflow reports errors."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as open_now:
        open_now.execute("PRAGMA journal_mode=WAL")


def tracking_uri(store: str | Path) -> str:
    if _address(store):
        return str(store)
    return f"sqlite:///{quote(str((Path(store) / 'mlflow.db').resolve()))}"


def store_of(folder: Path) -> str:
    """The store that the latest run in this folder used; the default one if it used none."""
    with suppress(OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        config = yaml.safe_load(Folder(folder).config_file.read_text(encoding="utf-8"))
        if store := config["tracking"]["store"]:
            return str(store)
    return str(STORE)


def store_exists(store: str) -> bool:
    return _address(store) or (Path(store) / "mlflow.db").exists()


def _address(store: str | Path) -> bool:
    return str(store).startswith(("http://", "https://"))


def runs_of(client: MlflowClient, sweep: str) -> list[Run]:
    """A sweep's runs in all experiments: its folder may have been played under another name."""
    places = [found.experiment_id for found in client.search_experiments()]
    return list(client.search_runs(places, f"tags.`{TAG}` = '{sweep}'", max_results=FOUND))


def log_points(
    client: MlflowClient,
    run: str,
    points: Sequence[tuple[str, int, float]],
    params: Mapping[str, str] | None = None,
    timestamp: int | None = None,
) -> None:
    """Log (name, step, value) and params in as few calls as possible; NaNs are skipped.

    timestamp: in milliseconds since 1970, by default now.
    """
    from mlflow.entities import Metric, Param

    at = int(time.time() * 1000) if timestamp is None else timestamp
    known = [(name, step, value) for name, step, value in points if not np.isnan(value)]
    metrics = [Metric(name, float(value), at, int(step)) for name, step, value in known]
    entries = [Param(name, visible(value)[:LONGEST]) for name, value in (params or {}).items()]
    room = BATCH - len(entries)
    for start in range(0, max(len(metrics), 1), room):
        first = entries if start == 0 else ()
        client.log_batch(run, metrics=metrics[start : start + room], params=first)
