"""The end of a sweep: tables, figures, the report page and MLflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from gauntlet.common.errors import UserError
from gauntlet.common.process import invocation
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.results import CellResults, disambiguate_names
from gauntlet.pipeline.tables.media import run_metadata
from gauntlet.pipeline.tables.registry import Results, load_packages, marked, write_tables
from gauntlet.pipeline.tables.sweep.report import write_report
from gauntlet.pipeline.tables.sweep.terminal import show as show_tables
from gauntlet.pipeline.tracking.store import tracking_uri
from gauntlet.pipeline.tracking.track import track


def show(
    out: Console,
    sweep: SweepConfig,
    results: Sequence[CellResults],
    hurry: bool,
    packages: Iterable[str],
) -> None:
    """Write and print the tables, draw the figures, log to MLflow, and print where everything is.
    hurry: skip figures and MLflow, because the user interrupted the run. packages: the user's, with
    tables of their own."""
    folder = sweep.output_dir
    load_packages(packages)
    tables = Results(folder, disambiguate_names(marked(folder, results)))
    out.print()
    show_tables(tables)
    out.print()
    write_tables(tables)
    write_report(tables, draw=not hurry)
    for line in run_metadata.notes(folder):
        out.print(line)
    if not hurry and sweep.tracking["kind"] == "mlflow":
        store = str(sweep.tracking["store"])
        try:
            with Waiting(out, "traces", "matches", done="traced") as waiting:
                track(store, tables, sweep.tracking["traces"], waiting.reach)
            out.print(
                f"MLflow   {tracking_uri(store)} ({invocation('pipeline.ui')})", soft_wrap=True
            )
        except UserError as error:
            out.print(f"warning: {error}", soft_wrap=True)
    out.print(f"report   {folder / 'report.html'}", soft_wrap=True)
    out.print(f"more     {invocation('pipeline.report', folder)} --full", soft_wrap=True)
