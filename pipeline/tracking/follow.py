"""A run's metrics in MLflow while it plays; `pipeline/track.py` replaces them later."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Literal

from gauntlet.pipeline.config.read import Node
from gauntlet.pipeline.log.events import event
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.live import RunStatus
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.tracking.params import parent_name
from gauntlet.pipeline.tracking.played import started_at
from gauntlet.pipeline.tracking.store import (
    CELL_TAG,
    LIVE_TAG,
    MANY,
    PARENT_TAG,
    TAG,
    experiment_in,
    experiment_name,
    forget_live,
    log_values,
    open_store,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

OFFER_SECONDS, CLOSE_SECONDS, HASTY_SECONDS = 5.0, 10.0, 0.2
"""Minimum time between offers, and before the first, so short runs make none; time limits for
logging the last metrics, at the end and on interruption."""
WHOLE = ""
"""The key of the whole sweep, among the keys of cells."""
Figures = Mapping[str, tuple[int, Mapping[str, float]]]
Ended = Literal["FINISHED", "KILLED"]


@contextmanager
def live_tracking(tracking: Node, folder: Path, cells: Sequence[Cell]) -> Iterator[Follower]:
    """A follower to which a run offers its metrics; `track` replaces what it logged."""
    store = str(tracking["store"]) if tracking["kind"] == "mlflow" else None
    follower = Follower(store, folder, tuple(cells))
    try:
        yield follower
    except BaseException:
        follower.close("KILLED", HASTY_SECONDS)
        raise
    follower.close("FINISHED", CLOSE_SECONDS)


@dataclass
class Follower:
    """Logs a run's metrics live, in a thread.

    A slow, broken or absent store delays and breaks nothing.
    """

    store: str | None
    folder: Path
    cells: tuple[Cell, ...]
    _offered: float = field(default_factory=time.monotonic)
    _updates: Queue[Figures | Ended] = field(default_factory=Queue)
    _thread: Thread | None = None
    _client: MlflowClient | None = None
    _runs: list[tuple[str, str]] = field(default_factory=list)
    """The key of a cell, or WHOLE, and the id of its open run."""

    def offer(self, live: RunStatus) -> None:
        """Log the metrics if there is a store, the previous ones are logged, and it is time."""
        if self.store is None or time.monotonic() - self._offered < OFFER_SECONDS:
            return
        if self._thread is None:
            self._thread = Thread(target=self._serve, daemon=True, name="mlflow")
            self._thread.start()
        self._offered = time.monotonic()
        if self._updates.empty():
            self._updates.put(figures(live))

    def close(self, status: Ended, seconds: float) -> None:
        """End the runs and the thread; a thread that takes longer is abandoned."""
        self._updates.put(status)
        if self._thread is not None:
            self._thread.join(seconds)

    def _serve(self) -> None:
        item: Figures | Ended = {}
        while not isinstance(item, str):
            item = self._updates.get()
            try:
                self._end(item) if isinstance(item, str) else self._log(item)
            except Exception as error:  # MLflow is only a view: play continues whatever it raises
                why = str(error).strip().splitlines() or [type(error).__name__]
                event("MLflow not written", logging.WARNING, store=self.store, error=why[0])

    def _log(self, figures: Figures) -> None:
        client = self._client or self._begin()
        for key, run in self._runs:
            step, metrics = figures[key]
            log_values(client, run, metrics, step)

    def _end(self, status: Ended) -> None:
        """Mark the runs as ended now, for viewers before the final runs exist."""
        now = int(1000 * time.time())
        for _, run in self._runs:
            if self._client is not None:
                self._client.set_terminated(run, status, now)

    def _begin(self) -> MlflowClient:
        """Create a parent run per experiment and, for few cells, child runs; delete a killed
        run's."""
        client, place = open_store(str(self.store)), Folder(self.folder)
        forget_live(client, place.id)
        runs = place.lines("runs")
        starts = {cell.key: started_at(runs, cell.key) or time.time() for cell in self.cells}
        parents: dict[str, tuple[str, str]] = {}
        made_runs: list[tuple[str, str]] = []
        tags = {TAG: place.id, LIVE_TAG: "yes"}
        names = [experiment_name(cell.experiment, cell.labels) for cell in self.cells]
        for cell, name in zip(self.cells, names, strict=True):
            since = int(1000 * starts[cell.key])
            if name not in parents:
                experiment = experiment_in(client, str(self.store), name)
                pairs = zip(self.cells, names, strict=True)
                labels = [other.labels for other, its in pairs if its == name]
                called = f"{parent_name(labels, self.folder)} (live)"
                run = client.create_run(experiment, since, tags, called)
                parents[name] = experiment, run.info.run_id
                made_runs.append((WHOLE, run.info.run_id))
            if len(self.cells) <= MANY:
                experiment, parent = parents[name]
                own = {**tags, PARENT_TAG: parent, CELL_TAG: cell.key}
                run = client.create_run(experiment, since, own, f"{cell.name} (live)")
                made_runs.append((cell.key, run.info.run_id))
        self._client, self._runs = client, made_runs
        return client


def figures(live: RunStatus) -> Figures:
    """The metrics to log now for each cell and the sweep: a step and values."""
    by_key: dict[str, tuple[int, dict[str, float]]] = {}
    for key, cell in live.cells.items():
        metrics = {
            "matches": float(cell.matches),
            "deals": float(cell.judged),
            "fallback_rate": cell.fallbacks / max(cell.decisions, 1),
            "all_tokens": float(cell.tokens),
            "device_seconds": cell.device_seconds,
        }
        if cell.mean is not None and cell.win_rate is not None:
            metrics |= {"running_mean": cell.mean, "running_win_rate": cell.win_rate}
        by_key[key] = (cell.judged, metrics)
    matches = sum(cell.matches for cell in live.cells.values())
    by_key[WHOLE] = (matches, {"matches": float(matches), "matches_per_s": live.rate or 0.0})
    return by_key
