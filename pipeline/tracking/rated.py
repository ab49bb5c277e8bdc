"""Ratings in MLflow: adds the output of `pipeline/ratings.py` to the runs of its sweeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.ratings import rating_span
from gauntlet.pipeline.tracking.store import (
    CELL_TAG,
    LIVE_TAG,
    client_of,
    log_values,
    runs_of,
    store_exists,
    usable,
)

FIGURES = ("rating", "low", "high")


def add_ratings(folders: Sequence[Path], store: str, written: Path, ratings: pd.DataFrame) -> int:
    """Log ratings to the parent runs of these output_dirs, overwriting earlier ones.

    Logs the files of `written` and, for each player, its rating, the available limits, and the
    interval as a tag. Returns how many of the folders the store has. Raises UserError if it cannot
    be used.
    """
    if not store_exists(store):
        return 0
    players = [(f"rating/{_safe_name(row['player'])}", row) for row in ratings.to_dict("records")]
    values = {
        f"{where}/{name}": float(row[name])
        for where, row in players
        for name in FIGURES
        if np.isfinite(row[name])  # MLflow would store the largest float instead
    }
    logged = 0
    for folder in folders:
        with usable(store, folder):
            client = client_of(store)
            runs = [
                run
                for run in runs_of(client, Folder(folder).id)
                if not {CELL_TAG, LIVE_TAG} & run.data.tags.keys()
            ]
            for run in runs:
                log_values(client, run.info.run_id, values)
                for where, row in players:
                    client.set_tag(
                        run.info.run_id, f"{where}/interval", rating_span(row["low"], row["high"])
                    )
                client.log_artifacts(run.info.run_id, str(written), "ratings")
            logged += bool(runs)
    return logged


def _safe_name(name: str) -> str:
    return re.sub(r"[^\w. -]", "_", name)
