"""One self-contained page of a folder, and its figures beside it as files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shlex import quote

from gauntlet.common.disk import write_atomically
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables import (
    diagnostics,
    figure_registry,
    paper_export,
    parser,
    plot_style,
    provenance,
    run_metadata,
)
from gauntlet.pipeline.tables.findings import answers
from gauntlet.pipeline.tables.page import rendered
from gauntlet.pipeline.tables.registry import PAGE, ROWS, Results, left_out, sheets
from gauntlet.pipeline.tables.scale import heading
from gauntlet.pipeline.tables.terminal import some_warnings
from gauntlet.pipeline.viewer import html

TEMPLATE = Path(__file__).parent / "report.html.j2"
PAGE_CELLS = 20
"""Cells whose choices and replies the page shows; files have all."""


def write_report(results: Results, draw: bool = True, paper: bool = False) -> None:
    """Writes figures/, samples.txt and report.html. draw: figures at all; they take longest.
    paper: DIR/paper as well."""
    folder = results.folder
    diagnostics.write_samples(results)
    drawn = figure_registry.drawings(results) if draw else {}
    if draw:
        figure_registry.save_png(drawn, folder / "figures")
    drawings = {name: figure.html(name) for name, figure in drawn.items()}
    write_atomically(folder / "report.html", _page(results, drawings))
    if paper:
        paper_export.write(folder / "paper", results, drawn)


def _replay(folder: Path, match: str) -> str:
    """The command that shows a match whole."""
    return f"python -m pipeline.replay {match} --prompts --in {quote(str(folder))}"


def _page(results: Results, drawings: Mapping[str, str]) -> str:
    folder, summary = results.folder, results["summary"]
    cells, *others = (sheet for _, sheet in sheets(results, PAGE))
    return rendered(
        TEMPLATE,
        title=folder.name,
        replay=partial(_replay, folder),
        facts=run_metadata.facts(folder, results.cells, [*results.names.values()]),
        heading=heading([*results.scales.values()]),
        table=cells,
        line=parser.line(results),
        drawings=drawings,
        sheets=others,
        cells=diagnostics.page_cells(results, PAGE_CELLS),
        misread=parser.misread(results, PAGE_CELLS),
        opening=parser.opening,
        match_style=html.style(),
        drawing_style=plot_style.PAGE_STYLE,
        answers=results.once(answers),
        warnings=[*provenance.notes(folder), *some_warnings(summary, ROWS[PAGE])],
        replies=left_out(PAGE_CELLS, len(summary), "samples.txt and choices.csv"),
        runs=Folder(folder).lines("runs"),
    )
