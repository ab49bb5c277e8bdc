"""Reading an MLflow store as a person's tools would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gauntlet.pipeline.tracking.store import tracking_uri


def client_of(store: Path | str) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri(store))


def runs(store: Path | str) -> list[Any]:
    client = client_of(store)
    return list(client.search_runs([one.experiment_id for one in client.search_experiments()]))


def table_of(client: Any, run: Any) -> dict[str, float]:
    """All metrics of a cell: the table in its run."""
    file = client.download_artifacts(run.info.run_id, "metrics.json")
    return dict(json.loads(Path(file).read_text(encoding="utf-8"))["data"])
