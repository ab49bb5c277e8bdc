"""Everything that shows a folder's results: tables as CSV, figures, one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote

import pandas as pd

from common.disk import write_atomically
from pipeline.judging import luck, stopping
from pipeline.log.folder import Folder
from pipeline.log.results import CellResults, collect, measures
from pipeline.tables import (
    adjusted,
    apart,
    costs,
    diagnostics,
    ended,
    gallery,
    ink,
    labels,
    metric_figures,
    noise,
    obfuscation,
    origin,
    parser,
    printed,
    robustness,
    setting,
    standings,
    stops,
    table,
    watched,
)
from pipeline.tables.answers import Answer, answers
from pipeline.tables.conditions import conditions
from pipeline.tables.page import rendered
from pipeline.tables.pairing import paired_off
from pipeline.tables.scale import Scale, heading, scales_of
from pipeline.tables.summary import pairs_table, summary_table
from pipeline.tables.table import Sheet

TEMPLATE = Path(__file__).parent / "report.html.j2"
PAGE_ROWS, PAGE_CELLS = 100, 20
"""Rows of a table that the page shows, and cells whose choices and replies it does; files have all.
"""


@dataclass(frozen=True)
class Views:
    """What was written: summary.csv and pairs.csv, further sheets, the report's sentences, what
    there is to say of which cells are paired, and that all replies were plainly read."""

    summary: pd.DataFrame
    pairs: pd.DataFrame
    sheets: Sequence[Sheet]
    said: Sequence[Answer]
    note: str
    read: str = ""

    def show(self) -> None:
        """Prints the tables."""
        table.show(self.summary, self.pairs, self.sheets, self.note, self.read)


def write_views(
    folder: Path, results: Sequence[CellResults], draw: bool = True, paper: bool = False
) -> Views:
    """Writes summary.csv, pairs.csv, figures/ and report.html, what `diagnostics` finds, and
    where a cell studies letters labels.csv and debiasing.csv. draw: figures too; they take longest.
    paper: DIR/paper as well."""
    matter = conditions(results)
    pairing = paired_off(results, Folder(folder).pairs)
    summary, pairs = summary_table(results, matter), pairs_table(results, pairing.chosen)
    summary, diagnosis = diagnostics.diagnose(folder, results, summary)
    seen = watched.watched_table(Folder(folder), results)
    summary = watched.warned(summary, seen)
    diagnosis.write(folder)
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    scales = dict(zip(summary["cell"], scales_of(summary), strict=True))
    floors = noise.table(folder, results)
    pairs = noise.marked(pairs, floors)
    if not floors.empty:
        write_atomically(folder / noise.FILE, floors.to_csv(index=False))
    write_atomically(folder / "summary.csv", summary.to_csv(index=False))
    write_atomically(folder / "pairs.csv", pairs.to_csv(index=False))
    study, judged = labels.study(folder, results), metric_figures.read(folder)
    found = gallery.Found(results, summary, pairs, diagnosis, study, judged)
    drawn = gallery.drawings(found) if draw else {}
    if draw:
        gallery.save_png(drawn, folder / "figures")
    stopped = stops.sheets(folder, table.short_names(summary), results)
    spent = costs.cost_sheets(summary)
    varied = [*_watched(folder, seen, summary), *_varied(folder, results, summary)]
    told = diagnostics.sheets(diagnosis, summary)
    first = [*parser.sheets(diagnosis.audit, names), *noise.sheets(floors, names, scales), *stopped]
    first += adjusted.sheets(folder, summary, results)
    sheets = [*first, *varied, *_study(folder, study, summary), *told, *spent]
    drawings = {name: figure.html(name) for name, figure in drawn.items()}
    said = answers(results, summary, pairs, matter, stops.verdicts(folder, results))
    if more := tuple(noise.sentences(floors, pairs, names, scales)):
        said.append(Answer("Is it more than noise?", more))
    views = Views(summary, pairs, sheets, said, pairing.foot, diagnosis.audit.line)
    write_atomically(folder / "report.html", _page(folder, results, views, drawings, diagnosis))
    if paper:
        printed.write(folder / "paper", found, drawn)
    return views


def _varied(folder: Path, results: Sequence[CellResults], summary: pd.DataFrame) -> list[Sheet]:
    """Writes how matches ended, and what several seats, seeds, samples, wordings and cells have to
    tell; returns the sheets."""
    seats, seeds = apart.seats_table(results), apart.seeds_table(results, Folder(folder).seed)
    parts, pooled = robustness.components_table(results), robustness.pooled_table(results)
    ends, robins = ended.outcomes_table(results), standings.robins_of(results)
    players, shared = standings.standings_table(robins), standings.shared_table(robins)
    tables = {"seats": seats, "seeds": seeds, "components": parts, "pooled": pooled}
    tables |= {"outcomes": ends, "standings": players, "shared_opponents": shared}
    tables["obfuscation"] = renamed = obfuscation.obfuscation_table(Folder(folder), results)
    for name, found in tables.items():
        if not found.empty:
            write_atomically(folder / f"{name}.csv", found.to_csv(index=False))
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    scales = {result.about.measure.name: Scale.of(result.about.measure) for result in results}
    told = [*obfuscation.sheets(renamed), *ended.sheets(ends, summary, names)]
    told += standings.sheets(players, shared, scales)
    told += apart.sheets(seats, seeds, scales, names)
    return [*told, *robustness.sheets(parts, pooled, scales, names)]


def _watched(folder: Path, found: pd.DataFrame, summary: pd.DataFrame) -> list[Sheet]:
    """Writes what observers came to, where there are some."""
    if found.empty:
        return []
    write_atomically(folder / watched.FILE, found.to_csv(index=False))
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    return [watched.sheet(found, names)]


def _study(folder: Path, found: labels.Study | None, summary: pd.DataFrame) -> list[Sheet]:
    if found is None:
        return []
    found.write(folder)
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    return list(labels.sheets(found, names))


def results_of(folder: Path) -> list[CellResults]:
    """Every cell of an output_dir with the outcomes of its gap-free deals,
    up to where it was stopped. Raises UserError."""
    place = Folder(folder)
    abouts = place.abouts()
    results = collect(abouts, place.outcomes(measures(abouts)), place.set_aside, deals=None)
    return luck.attach(folder, stopping.cut(folder, results))


def _replay(folder: Path, match: str) -> str:
    """The command that shows a match whole."""
    return f"python -m pipeline.replay {match} --prompts --in {quote(str(folder))}"


def _page(
    folder: Path,
    results: Sequence[CellResults],
    views: Views,
    drawings: dict[str, str],
    diagnosis: diagnostics.Diagnosis,
) -> str:
    summary, pairs = views.summary, views.pairs
    names, scales = table.short_names(summary), scales_of(summary)
    few = table.clearest(pairs, PAGE_ROWS) if len(pairs) > PAGE_ROWS else pairs
    return rendered(
        TEMPLATE,
        title=folder.name,
        replay=partial(_replay, folder),
        facts=setting.facts(folder, results, names),
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
        drawing_style=ink.PAGE_STYLE,
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
        warnings=[*origin.notes(folder), *table.some_warnings(summary, PAGE_ROWS)],
        replies=table.left_out(PAGE_CELLS, len(summary), "samples.txt and choices.csv"),
        runs=Folder(folder).lines("runs"),
    )
