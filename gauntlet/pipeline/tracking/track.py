"""MLflow as a view of the log: a parent run per sweep and game, a child run per cell.

    python -m pipeline.track outputs/quickstart

rebuilds the runs from the records, replacing those of an earlier call for the same folder.

An experiment in MLflow is one of ours and one game: `quickstart / uno`. MLflow draws all runs of an
experiment in the same charts and nests children only under a parent in the same experiment. A sweep
of several games therefore has one parent per game: runs shown together are comparable, and win
rates of different games are never plotted together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.registry import Results, short_names, tables
from gauntlet.pipeline.tracking import notes, values
from gauntlet.pipeline.tracking.params import (
    Params,
    Span,
    params,
    parent_name,
    shared,
    spans,
    total_span,
)
from gauntlet.pipeline.tracking.store import (
    CELL_TAG,
    MANY,
    NOTE_TAG,
    PARENT_TAG,
    TAG,
    TAGS_TAG,
    WARNING_TAG,
    client_of,
    experiment_in,
    experiment_name,
    log_points,
    open_store,
    runs_of,
    usable,
)
from gauntlet.pipeline.tracking.traces import CellRun, forget_traces, log_traces

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

SOURCE = {"mlflow.source.name": "pipeline.run", "mlflow.source.type": "LOCAL"}
COMMIT_TAG = "mlflow.source.git.commit"
"""The run's source as shown by MLflow."""
FILES = ("config.yaml", "report.html", "samples.txt")
"""A sweep's artifacts besides its tables and figures."""

Row = tuple[CellResults, "pd.Series[Any]"]


@dataclass(frozen=True)
class Sweep:
    """A folder with its tables and report written, as the source for MLflow."""

    made: Results

    @cached_property
    def place(self) -> Folder:
        return Folder(self.made.folder)

    @property
    def results(self) -> Sequence[CellResults]:
        return self.made.cells

    @property
    def summary(self) -> pd.DataFrame:
        return self.made["summary"]

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        return self.place.lines("runs")

    @property
    def command(self) -> str | None:
        """The command of the latest run, if one was typed."""
        return self.runs[-1].get("command") if self.runs else None

    @cached_property
    def numbers(self) -> dict[str, dict[str, float]]:
        """The metrics of each cell by its name."""
        return values.of_cells(self.made)

    def by_experiment(self) -> dict[str, list[Row]]:
        """The cells of each MLflow experiment, with their rows of summary.csv."""
        by_name: dict[str, list[Row]] = {}
        for result, (_, row) in zip(self.results, self.summary.iterrows(), strict=True):
            name = experiment_name(result.about.experiment, result.about.labels)
            by_name.setdefault(name, []).append((result, row))
        return by_name


def track(
    store: str,
    results: Results,
    traces: str = "none",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Log a sweep that has its tables and report written. Returns the number of trace spans.

    store: a folder for a sqlite store, or the http(s) address of a server.
    traces: "sample", "all" or "none".
    on_progress: called with the number of matches traced and their total.

    Raises UserError if the store cannot be opened or written.
    """
    sweep = Sweep(results)
    with usable(store, results.folder):
        client = open_store(store)
        kept_runs = _forget(client, sweep)
        runs: dict[str, CellRun] = {}
        for name, rows in sweep.by_experiment().items():
            runs |= _Logged(client, experiment_in(client, store, name), sweep).log(rows, kept_runs)
        if traces == "none":
            return 0
        return log_traces(client, sweep.place, sweep.results, runs, traces, on_progress)


def is_tracked(store: str, folder: Folder) -> bool:
    """Whether the store has runs of this folder. Raises UserError if it cannot be used."""
    with usable(store, folder.path):
        return bool(runs_of(client_of(store), folder.id))


def forget(store: str, folder: Folder) -> None:
    """Delete the folder's runs and their traces. Raises UserError if the store cannot be used."""
    with usable(store, folder.path):
        client = client_of(store)
        for run in runs_of(client, folder.id):
            _delete(client, run)


def _forget(client: MlflowClient, sweep: Sweep) -> list[Run]:
    """Delete what was logged of these cells; returns the runs of the folder's other cells."""
    own = {result.about.key for result in sweep.results}
    other_keys = {key_of(file.stem) for file in sweep.place.cells_folder.glob("*.json")} - own
    runs = runs_of(client, sweep.place.id)
    kept_runs = [run for run in runs if run.data.tags.get(CELL_TAG) in other_keys]
    stay = {run.info.run_id for run in kept_runs} | {run.data.tags[PARENT_TAG] for run in kept_runs}
    for run in runs:
        if run.info.run_id not in stay:
            _delete(client, run)
    return kept_runs


def _delete(client: MlflowClient, run: Run) -> None:
    """Delete a run and its traces."""
    forget_traces(client, run)
    client.delete_run(run.info.run_id)


@dataclass(frozen=True)
class _Logged:
    """One experiment's part of a sweep, being logged to MLflow."""

    client: MlflowClient
    experiment: str
    sweep: Sweep

    def log(self, rows: Sequence[Row], other_runs: Sequence[Run]) -> Mapping[str, CellRun]:
        """Log the cells; returns their runs by key.

        other_runs: runs of the folder's other cells; those in this experiment move to the new
            parent.
        """
        place = self.sweep.place
        run_params = [params(place, result, row, self.sweep.runs) for result, row in rows]
        times = spans(place, [result.about for result, _ in rows], self.sweep.runs)
        figures = [self.sweep.numbers[result.about.name] for result, _ in rows]
        span = total_span(times)
        parent = self._parent(rows, shared(run_params), figures, span)
        self._adopt(
            [run for run in other_runs if run.info.experiment_id == self.experiment], parent
        )
        runs: dict[str, CellRun] = {}
        for (result, row), own, when, numbers in zip(rows, run_params, times, figures, strict=True):
            run = self._cell(parent, result, row, own, numbers, when)
            runs[result.about.key] = CellRun(self.experiment, run, when[0])
        self.client.set_terminated(parent, _status([result for result, _ in rows]), span[1])
        return runs

    def _adopt(self, other_runs: Sequence[Run], parent: str) -> None:
        for run in other_runs:
            self.client.set_tag(run.info.run_id, PARENT_TAG, parent)
        for earlier in {run.data.tags[PARENT_TAG] for run in other_runs}:
            self.client.delete_run(earlier)

    def _parent(
        self,
        rows: Sequence[Row],
        common: Params,
        figures: Sequence[values.Values],
        span: Span,
    ) -> str:
        """Create the sweep's run, which stays open."""
        folder, command = self.sweep.place.path, self.sweep.command
        table = self.sweep.summary.loc[[row.name for _, row in rows]]
        note = notes.of_sweep(self.sweep.made, table, command)
        tags = {TAG: self.sweep.place.id, NOTE_TAG: note}
        if own := self.sweep.place.note["tags"]:
            tags[TAGS_TAG] = ", ".join(own)
        called = parent_name([result.about.labels for result, _ in rows], folder)
        run = self._begin(called, tags, common, span)
        run_params = {**common, "cells": str(len(rows)), "output_dir": str(folder)}
        points = [(name, 0, value) for name, value in values.total(figures).items()]
        points += values.each_cells([result for result, _ in rows], short_names(table))
        log_points(self.client, run, points, run_params, span[1])
        files = [*FILES, *(one.file for one in tables().values() if not one.elsewhere)]
        for name in filter(lambda name: (folder / name).exists(), files):
            self.client.log_artifact(run, str(folder / name))
        if command:
            self.client.log_text(run, f"{command}\n", "command.txt")
        self._figures(run)
        self.client.log_table(run, table.astype(object).where(table.notna(), None), "summary.json")
        return run

    def _cell(
        self,
        parent: str,
        result: CellResults,
        row: pd.Series[Any],
        parameters: Params,
        figures: values.Values,
        span: Span,
    ) -> str:
        """Create a child run; with many cells each has fewer points, and no figures.

        Its metrics come last: MLflow rereads everything in a run when it is ended, or given its
        first artifact.
        """
        about, place, cells = result.about, self.sweep.place, len(self.sweep.results)
        tags = {
            TAG: place.id,
            PARENT_TAG: parent,
            CELL_TAG: about.key,
            WARNING_TAG: row["warning"],
            NOTE_TAG: notes.of_a_cell(self.sweep.made, row, about.helping),
        }
        run = self._begin(about.name, tags, parameters, span)
        self.client.set_terminated(run, _status([result]), span[1])
        described = place.cell_file(about.stem).read_text(encoding="utf-8")
        self.client.log_text(
            run, described, "cell.json"
        )  # one name, so that MLflow can compare them
        log = place.records_file(about.stem)
        if log.exists():
            self.client.log_artifact(run, str(log), "records")
        if cells <= MANY:
            self._figures(run)
            self.client.log_table(run, values.table_of(figures), "metrics.json")
        points = [*values.headlines(figures), *values.curves(result, cells)]
        log_points(self.client, run, points, parameters, span[1])
        return run

    def _begin(self, name: str, tags: dict[str, str], parameters: Params, span: Span) -> str:
        if "commit" in parameters:
            tags = {**tags, **SOURCE, COMMIT_TAG: parameters["commit"]}
        tags = {tag: visible(text) for tag, text in tags.items()}
        made = self.client.create_run(self.experiment, span[0], tags, visible(name))
        return str(made.info.run_id)

    def _figures(self, run: str) -> None:
        self.client.log_artifacts(run, str(self.sweep.place.path / "figures"), "figures")


def _status(results: Sequence[CellResults]) -> str:
    """FAILED if every match failed."""
    failed = any(r.failed for r in results) and not any(len(r.outcomes) for r in results)
    return "FAILED" if failed else "FINISHED"
