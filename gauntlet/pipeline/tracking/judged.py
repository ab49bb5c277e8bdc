"""DIR/metrics in MLflow: adds the output of `pipeline/metrics.py` to a tracked sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from gauntlet.common.errors import UserError
from gauntlet.common.process import invocation
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import read_table
from gauntlet.pipeline.tracking.store import (
    CELL_TAG,
    client_of,
    runs_of,
    store_exists,
    usable,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def add_metrics(folder: Path, store: str) -> bool:
    """Log DIR/metrics to the runs of a sweep, overwriting what an earlier call logged.

    Tables and figures go to the parents, a cell's rows of metrics.csv to its run. Returns False if
    the store does not have the sweep. Raises UserError if the store cannot be used, or metrics.csv
    is damaged.
    """
    if not store_exists(store):
        return False
    with usable(store, folder):
        client = client_of(store)
        runs = runs_of(client, Folder(folder).id)
        table = read_metrics(folder)
        if table is None:
            return bool(runs)
        for run in runs:
            key = run.data.tags.get(CELL_TAG)
            if key is None:
                _log_files(client, run.info.run_id, folder)
            elif len(rows := table[table["key"] == key]):
                client.log_text(run.info.run_id, rows.to_csv(index=False), "metrics/metrics.csv")
    return bool(runs)


def read_metrics(folder: Path) -> pd.DataFrame | None:
    """metrics.csv; None if nothing was judged. Raises UserError."""
    table = folder / "metrics" / "metrics.csv"
    if not table.exists():
        return None
    try:
        return read_table(table).astype({"key": str})
    except (ValueError, KeyError) as error:
        raise UserError(
            f"{table} is damaged: `{invocation('pipeline.metrics', folder)}` again writes it anew"
        ) from error


def _log_files(client: MlflowClient, run: str, folder: Path) -> None:
    judged = folder / "metrics"
    for path in sorted([*judged.glob("*.csv"), *judged.glob("*.png")]):
        client.log_artifact(run, str(path), judged.name)
