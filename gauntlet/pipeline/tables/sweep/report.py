"""The report of a folder: one self-contained page, and its figures as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from gauntlet.common.disk import write_atomically
from gauntlet.common.markup import tag
from gauntlet.common.process import invocation
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.media import latex, plot_style, run_metadata
from gauntlet.pipeline.tables.media.latex import PaperConfig
from gauntlet.pipeline.tables.media.page import render, write_linked
from gauntlet.pipeline.tables.media.plot_style import COLUMN, WIDE, Drawing
from gauntlet.pipeline.tables.registry import PAGE, ROWS, Results, figures, sheets, truncation_note
from gauntlet.pipeline.tables.sweep import choices, parser
from gauntlet.pipeline.tables.sweep.diagnostics import PAGE_CELLS, record_stats, write_samples
from gauntlet.pipeline.tables.sweep.findings import answers
from gauntlet.pipeline.tables.sweep.terminal import first_warnings
from gauntlet.pipeline.tables.sweep.verdict import verdict
from gauntlet.pipeline.viewer import html

TEMPLATE = Path(__file__).parent / "report.html.j2"
ALIKE = 6
"""Figures of a kind on the page, as one for each game; each takes 100 kB."""


def write_report(results: Results, draw: bool = True, paper: PaperConfig | None = None) -> None:
    """Writes samples.txt, report.html and, with `draw`, figures/. paper: how to write DIR/paper as
    well. Raises UserError if that does not fit the tables."""
    folder = results.folder
    write_samples(results)
    pictures = drawings(results) if draw else {}
    shown = [cell.shown for cell in results.cached(record_stats).values()]
    records = (record for turn in zip_longest(*shown) for record in turn if record)
    pages = write_linked(folder, records)
    if draw:
        plot_style.save_png({name: one.wide for name, one in pictures.items()}, folder / "figures")
        for old in (folder / "figures").glob("*.png"):
            if old.stem not in pictures:
                old.unlink()
    write_atomically(folder / "report.html", _page(results, pictures, pages))
    if paper is not None:
        latex.write_paper(folder / "paper", results, pictures, paper)


def drawings(results: Results) -> dict[str, Drawing]:
    """Every figure in both widths, in display order."""
    wide: dict[str, Figure] = {}
    column: dict[str, Figure] = {}
    kinds: dict[str, str] = {}
    for medium, plots in ((WIDE, wide), (COLUMN, column)):
        with plot_style.drawing_for(medium):
            for kind, draw in figures().items():
                drawn = draw(results)
                named = {kind: drawn} if isinstance(drawn, Figure) else drawn or {}
                plots |= named
                kinds |= dict.fromkeys(named, kind)
    return {name: Drawing(figure, column[name], kinds[name]) for name, figure in wide.items()}


def _on_page(figures: Mapping[str, Drawing]) -> list[tuple[str, Drawing]]:
    """The first figures of each kind, with their names."""
    kinds, shown = Counter[str](), []
    for name, drawing in figures.items():
        kinds[drawing.kind] += 1
        if kinds[drawing.kind] <= ALIKE:
            shown.append((name, drawing))
    return shown


def _page(results: Results, figures: Mapping[str, Drawing], pages: Mapping[str, str]) -> str:
    """pages: the addresses of matches' pages."""
    folder, summary = results.folder, results["summary"]
    cells, *other_sheets = (sheet for _, sheet in sheets(results, PAGE))
    drawn = _on_page(figures)

    def replay(match: str) -> str:
        return invocation("pipeline.replay", match, "--prompts", "--in", folder)

    def link(match: str) -> Markup:
        """To the match's page; else the command that shows it."""
        if match in pages:
            return tag("a", f"match {match}, move by move", href=pages[match])
        return tag("code", replay(match))

    return render(
        TEMPLATE,
        title=run_metadata.title([cell.about.labels for cell in results.cells]),
        folder=folder.name,
        verdict=results.cached(verdict),
        replay=replay,
        link=link,
        facts=run_metadata.facts(folder, results.cells, [*results.names.values()]),
        table=cells,
        line=parser.summary_line(results),
        drawings=drawn,
        undrawn=truncation_note(len(drawn), len(figures), "the folder's figures/"),
        sheets=other_sheets,
        cells=choices.page_cells(results, PAGE_CELLS),
        misread=parser.page_examples(results, PAGE_CELLS),
        opening=parser.opening,
        match_style=html.style(),
        drawing_style=plot_style.PAGE_STYLE,
        answers=results.cached(answers),
        warnings=[*run_metadata.notes(folder), *first_warnings(summary, ROWS[PAGE])],
        replies=truncation_note(PAGE_CELLS, len(summary), "samples.txt and choices.csv"),
        runs=Folder(folder).lines("runs"),
    )
