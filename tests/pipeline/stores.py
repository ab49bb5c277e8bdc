"""Reading an MLflow store as a person's tools would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gauntlet.pipeline.tracking.store import tracking_uri


def client_of(store: Path | str) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri(store))


def runs(store: Path | str) -> list[Any]:
    client = client_of(store)
    return list(client.search_runs([one.experiment_id for one in client.search_experiments()]))
