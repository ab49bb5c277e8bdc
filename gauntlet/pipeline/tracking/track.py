"""MLflow as a view of the log: a parent run per sweep and game, a child run per cell.

    python -m pipeline.track outputs/quickstart

rebuilds the runs from the records, replacing those of an earlier call for the same folder.

An experiment in MLflow is one of ours and one game: `quickstart / uno`. MLflow draws all runs of an
experiment in the same charts and nests children only under a parent in the same experiment. A sweep
of several games therefore has one parent per game: runs shown together are comparable, and win
rates of different games are never plotted together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from gauntlet.common.process import invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import heading, p_value, row_scales
from gauntlet.pipeline.tables.registry import Results, short_names, tables, truncation_note
from gauntlet.pipeline.tables.sweep.findings import answers, cell_sentence
from gauntlet.pipeline.tables.sweep.verdict import verdict
from gauntlet.pipeline.tracking import params
from gauntlet.pipeline.tracking.params import Params, Span, Values
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

NOTE_ROWS, SENTENCES = 20, 8
"""Rows of the note's table, and sentences per question; the report has all."""
LONGEST = 8000
"""MLflow's limit on the characters of a tag."""
MARKS = re.compile(r"([\\`*_\[\]<>|#~])")
"""Characters with a meaning in Markdown."""

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
        return params.of_cells(self.made)

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
    logged = {result.about.key for result in sweep.results}
    other_keys = {key_of(file.stem) for file in sweep.place.cells_folder.glob("*.json")} - logged
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
        lines = self.sweep.runs
        run_params = [params.cell_params(place, result, row, lines) for result, row in rows]
        times = params.spans(place, [result.about for result, _ in rows], lines)
        figures = [self.sweep.numbers[result.about.name] for result, _ in rows]
        span = params.total_span(times)
        parent = self._parent(rows, params.shared(run_params), figures, span)
        moved = [run for run in other_runs if run.info.experiment_id == self.experiment]
        for kept in moved:
            self.client.set_tag(kept.info.run_id, PARENT_TAG, parent)
        for earlier in {kept.data.tags[PARENT_TAG] for kept in moved}:
            self.client.delete_run(earlier)
        runs: dict[str, CellRun] = {}
        for (result, row), own, when, numbers in zip(rows, run_params, times, figures, strict=True):
            run = self._cell(parent, result, row, own, numbers, when)
            runs[result.about.key] = CellRun(self.experiment, run, when[0])
        self.client.set_terminated(parent, _status([result for result, _ in rows]), span[1])
        return runs

    def _parent(
        self, rows: Sequence[Row], common: Params, figures: Sequence[Values], span: Span
    ) -> str:
        """Create the sweep's run, which stays open."""
        folder, command = self.sweep.place.path, self.sweep.command
        table = self.sweep.summary.loc[[row.name for _, row in rows]]
        note = sweep_note(self.sweep.made, table, command)
        tags = {TAG: self.sweep.place.id, NOTE_TAG: note}
        if sweep_tags := self.sweep.place.note["tags"]:
            tags[TAGS_TAG] = ", ".join(sweep_tags)
        called = params.parent_name([result.about.labels for result, _ in rows], folder)
        run = self._begin(called, tags, common, span)
        run_params = {**common, "cells": str(len(rows)), "output_dir": str(folder)}
        points = [(name, 0, value) for name, value in params.total(figures).items()]
        points += params.each_cells([result for result, _ in rows], short_names(table))
        log_points(self.client, run, points, run_params, span[1])
        files = [*FILES, *(one.file for one in tables().values() if not one.elsewhere)]
        for name in filter(lambda name: (folder / name).exists(), files):
            self.client.log_artifact(run, str(folder / name))
        if command:
            self.client.log_text(run, f"{command}\n", "command.txt")
        self.client.log_artifacts(run, str(folder / "figures"), "figures")
        self.client.log_table(run, table.astype(object).where(table.notna(), None), "summary.json")
        return run

    def _cell(
        self,
        parent: str,
        result: CellResults,
        row: pd.Series[Any],
        parameters: Params,
        figures: Values,
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
            NOTE_TAG: cell_note(self.sweep.made, row, about.helping),
        }
        run = self._begin(about.name, tags, parameters, span)
        self.client.set_terminated(run, _status([result]), span[1])
        described = place.cell_file(about.stem).read_text(encoding="utf-8")
        # one name, so that MLflow can compare them
        self.client.log_text(run, described, "cell.json")
        log = place.records_file(about.stem)
        if log.exists():
            self.client.log_artifact(run, str(log), "records")
        if cells <= MANY:
            self.client.log_artifacts(run, str(place.path / "figures"), "figures")
            self.client.log_table(
                run, {"metric": [*figures], "value": [*figures.values()]}, "metrics.json"
            )
        points = [(name, 0, figures[name]) for name in params.HEADLINES if name in figures]
        points += params.curves(result, cells)
        log_points(self.client, run, points, parameters, span[1])
        return run

    def _begin(self, name: str, tags: dict[str, str], parameters: Params, span: Span) -> str:
        if "commit" in parameters:
            tags = {**tags, **SOURCE, COMMIT_TAG: parameters["commit"]}
        tags = {tag: visible(text) for tag, text in tags.items()}
        run = self.client.create_run(self.experiment, span[0], tags, visible(name))
        return str(run.info.run_id)


def _status(results: Sequence[CellResults]) -> str:
    """FAILED if every match failed."""
    failed = any(r.failed for r in results) and not any(len(r.outcomes) for r in results)
    return "FAILED" if failed else "FINISHED"


# --- a Markdown note at the top of a run's page


def sweep_note(results: Results, summary: pd.DataFrame, command: str | None) -> str:
    """The note of a sweep: its verdict, cells, findings, command, and where the report is."""
    folder = results.folder
    line = Folder(folder).note_line
    parts = [f"*{escape_markdown(line)}*"] if line else []
    parts += [*map(escape_markdown, results.cached(verdict)), "\n".join(_table(summary))]
    for answer in results.cached(answers):
        lines = [f"**{escape_markdown(answer.question)}**\n"]
        lines += [f"- {escape_markdown(one)}" for one in answer.sentences[:SENTENCES]]
        if (rest := len(answer.sentences) - SENTENCES) > 0:
            lines.append(f"- and {rest:,} more in the report")
        parts.append("\n".join(lines))
    if command:
        parts.append(f"Command:\n\n```\n{command}\n```")
    parts.append(
        f"Report: `{folder / 'report.html'}`, or `report.html` under Artifacts. "
        f"`{invocation('pipeline.report', folder)}` makes it again, "
        f"`{invocation('pipeline.replay')} MATCH` shows a match."
    )
    return _joined(parts)


def cell_note(results: Results, row: pd.Series[Any], helping: bool) -> str:
    """The note of a cell: its result in a sentence, and its warnings."""
    paragraphs = [escape_markdown(cell_sentence(results, row, helping))]
    if row["warning"]:
        paragraphs.append(f"**Warning:** {escape_markdown(row['warning'])}.")
    return _joined(paragraphs)


def escape_markdown(text: str) -> str:
    """The text with Markdown characters escaped."""
    return MARKS.sub(r"\\\1", text)


def _joined(parts: Sequence[str]) -> str:
    """Join the parts, skipping those that exceed MLflow's limit."""
    included: list[str] = []
    for part in parts:
        if len("\n\n".join([*included, part])) <= LONGEST:
            included.append(part)
    return "\n\n".join(included)


def _table(summary: pd.DataFrame) -> Iterator[str]:
    scales, best = row_scales(summary), bool((summary["estimator"] == "adjusted").any())
    titles = ["cell", "deals", heading(scales), *(["luck-adjusted"] if best else [])]
    titles += ["baseline", "p Holm"]
    lines = [titles]
    rows = zip(short_names(summary), scales, summary.iterrows(), strict=True)
    for name, scale, (_, row) in list(rows)[:NOTE_ROWS]:
        raw = f"{scale.mean(row['raw'])} ({scale.span(row['raw_low'], row['raw_high'])})"
        lines.append([escape_markdown(name), f"{row['deals']:,}", raw])
        if best and row["estimator"] == "adjusted":
            span = scale.span(row["ci_low"], row["ci_high"])
            lines[-1].append(f"{scale.mean(row['estimate'])} ({span})")
        elif best:
            lines[-1].append("- (-)")
        lines[-1] += [scale.mean(row["baseline"]), p_value(row["p_holm"])]
    # MLflow leaves no space between columns
    head, *body = (f"| {' | &emsp;'.join(line)} |" for line in lines)
    yield from (head, f"|{'---|' * len(titles)}", *body)
    yield f"\n95% intervals in brackets. {truncation_note(NOTE_ROWS, len(summary), 'summary.csv')}"
