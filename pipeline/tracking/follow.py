"""A run's figures in MLflow while it goes; `pipeline/track.py` replaces them in the end."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from pipeline.config.read import Node
from pipeline.log.events import event
from pipeline.log.folder import Folder
from pipeline.log.live import Live
from pipeline.plan.cells import Cell
from pipeline.tracking.track import CELL_TAG, LIVE_TAG, MANY, TAG, forget, log_values, open_store

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

OFFER_SECONDS, CLOSE_SECONDS, HASTY_SECONDS = 5.0, 10.0, 0.2
"""Between two offers; for the last figures to be taken; for that where the run is broken off."""
PARENT = ""
"""Stands for the parent run among the keys of cells."""
Figures = Mapping[str, tuple[int, Mapping[str, float]]]


@contextmanager
def live_tracking(tracking: Node, folder: Path, cells: Sequence[Cell]) -> Iterator[Follower]:
    """Someone to whom a run offers its figures; `track` replaces what it logged."""
    follower = Follower(str(tracking["store"]) if tracking["kind"] == "mlflow" else None, folder)
    if len(cells) <= MANY:
        follower.names.update({cell.key: cell.name for cell in cells})
    follower.experiment = cells[0].experiment
    try:
        yield follower
    except BaseException:
        follower.close(HASTY_SECONDS)
        raise
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

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Ends the thread; one that takes longer is left behind."""
        self._figures.put(None)
        if self._thread is not None:
            self._thread.join(seconds)

    def _serve(self) -> None:
        while (found := self._figures.get()) is not None:
            try:
                self._log(found)
            except Exception as error:  # whatever MLflow raises: it is a view, and play goes on
                why = str(error).strip().splitlines() or [type(error).__name__]
                event("MLflow not written", logging.WARNING, store=self.store, error=why[0])

    def _log(self, found: Figures) -> None:
        client = self._client or self._begin()
        for key, run in self._runs.items():
            step, metrics = found[key]
            log_values(client, run, metrics, step)

    def _begin(self) -> MlflowClient:
        """A parent run and, of few cells, a child run each, in place of those that a killed run
        left."""
        client, experiment = open_store(str(self.store), self.experiment)
        sweep = Folder(self.folder).id
        forget(client, sweep, live=True)
        tags = {TAG: sweep, LIVE_TAG: "yes"}
        name = f"{self.folder.name} (live)"
        parent = client.create_run(experiment, run_name=name, tags=tags).info.run_id
        self._runs[PARENT] = parent
        for key, name in self.names.items():
            own = {**tags, "mlflow.parentRunId": parent, CELL_TAG: key}
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
        if cell.mean is not None and cell.win_rate is not None:
            metrics |= {"running_mean": cell.mean, "running_win_rate": cell.win_rate}
        found[key] = (cell.deals, metrics)
    matches = sum(cell.matches for cell in live.cells.values())
    found[PARENT] = (matches, {"matches": float(matches), "matches_per_s": live.rate or 0.0})
    return found
