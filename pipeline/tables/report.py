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
    metric_figures,
    paper_export,
    parser,
    plot_style,
    provenance,
    run_metadata,
    table,
)
from gauntlet.pipeline.tables.page import rendered
from gauntlet.pipeline.tables.scale import heading, scales_of
from gauntlet.pipeline.tables.views import Views
from gauntlet.pipeline.viewer import html

TEMPLATE = Path(__file__).parent / "report.html.j2"
PAGE_ROWS, PAGE_CELLS = 100, 20
"""Rows of a table that the page shows, and cells whose choices and replies it does; files have all.
"""


def write_report(views: Views, draw: bool = True, paper: bool = False) -> None:
    """Writes figures/ and report.html of what was found. draw: figures at all; they take longest.
    paper: DIR/paper as well."""
    folder = views.folder
    found = figure_registry.Found(
        *(views.results, views.summary, views.pairs, views.diagnosis, views.study),
        metric_figures.read(folder),
    )
    drawn = figure_registry.drawings(found) if draw else {}
    if draw:
        figure_registry.save_png(drawn, folder / "figures")
    drawings = {name: figure.html(name) for name, figure in drawn.items()}
    write_atomically(folder / "report.html", _page(views, drawings))
    if paper:
        paper_export.write(folder / "paper", found, drawn)


def _replay(folder: Path, match: str) -> str:
    """The command that shows a match whole."""
    return f"python -m pipeline.replay {match} --prompts --in {quote(str(folder))}"


def _page(views: Views, drawings: Mapping[str, str]) -> str:
    folder, diagnosis = views.folder, views.diagnosis
    summary, pairs = views.summary, views.pairs
    names, scales = table.short_names(summary), scales_of(summary)
    few = table.clearest(pairs, PAGE_ROWS) if len(pairs) > PAGE_ROWS else pairs
    return rendered(
        TEMPLATE,
        title=folder.name,
        replay=partial(_replay, folder),
        facts=run_metadata.facts(folder, views.results, names),
        rows=list(zip(names, scales, summary.head(PAGE_ROWS).to_dict("records"), strict=False)),
        heading=heading(scales),
        best=summary["adjusted"].notna().any(),
        best_pairs=pairs["adj_difference"].notna().any(),
        pairs=list(zip(scales_of(few), few.to_dict("records"), strict=True)),
        names=dict(zip(summary["cell"], names, strict=True)),
        drawings=drawings,
        sheets=[one.first(PAGE_ROWS) for one in views.sheets],
        cells=diagnostics.page_cells(diagnosis, summary, PAGE_CELLS),
        misread=parser.parts(
            diagnosis.audit, dict(zip(summary["cell"], names, strict=True)), PAGE_CELLS
        ),
        opening=parser.opening,
        match_style=html.style(),
        drawing_style=plot_style.PAGE_STYLE,
        answers=views.said,
        foot=[
            table.left_out(PAGE_ROWS, len(summary), "summary.csv"),
            *table.foot(summary).splitlines(),
            views.read,
        ],
        pairs_notes=[
            table.left_out(PAGE_ROWS, len(pairs), "pairs.csv", "clearest"),
            views.note,
            table.within_note(few),
        ],
        within=table.within_noise,
        mark=table.WITHIN,
        warnings=[*provenance.notes(folder), *table.some_warnings(summary, PAGE_ROWS)],
        replies=table.left_out(PAGE_CELLS, len(summary), "samples.txt and choices.csv"),
        runs=Folder(folder).lines("runs"),
    )
