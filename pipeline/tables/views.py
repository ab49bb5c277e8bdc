"""Everything that shows a folder's results: tables as CSV, figures, one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import jinja2
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
    figures,
    labels,
    numbers,
    origin,
    robustness,
    standings,
    stops,
    table,
)
from pipeline.tables.answers import Answer, answers
from pipeline.tables.conditions import conditions
from pipeline.tables.pairing import paired_off
from pipeline.tables.scale import Scale, heading, scales_of
from pipeline.tables.summary import pairs_table, summary_table
from pipeline.tables.table import Sheet

PAGE_ROWS, PAGE_CELLS = 100, 20
"""Rows of a table that the page shows, and cells whose choices and replies it does; files have all.
"""


def write_views(
    folder: Path, results: Sequence[CellResults], draw: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame, list[Sheet], str]:
    """Writes summary.csv, pairs.csv, figures/ and report.html, what `diagnostics` finds, and
    where a cell studies letters labels.csv and debiasing.csv; returns the two tables, further
    sheets, and what there is to say of which cells are paired. draw: figures too; they take
    longest."""
    matter = conditions(results)
    pairing = paired_off(results, Folder(folder).pairs)
    summary, pairs = summary_table(results, matter), pairs_table(results, pairing.chosen)
    summary, diagnosis = diagnostics.diagnose(folder, results, summary)
    diagnosis.write(folder)
    write_atomically(folder / "summary.csv", summary.to_csv(index=False))
    write_atomically(folder / "pairs.csv", pairs.to_csv(index=False))
    drawn = figures.all_figures(summary, pairs, results) if draw else {}
    figures.save_png(drawn, folder / "figures")
    stopped = stops.sheets(folder, table.short_names(summary), results)
    wrong, spent = costs.reply_sheets(summary), costs.cost_sheets(summary)
    varied = _varied(folder, results, summary)
    told = diagnostics.sheets(diagnosis, summary)
    first = [*stopped, *adjusted.sheets(folder, summary, results)]
    sheets = [*first, *varied, *_study(folder, results, summary), *told, *wrong, *spent]
    drawings = {name: figures.svg(figure) for name, figure in drawn.items()}
    said = answers(results, summary, pairs, matter, stops.verdicts(folder, results))
    page = _page(folder, summary, pairs, drawings, sheets, said, diagnosis, pairing.foot)
    write_atomically(folder / "report.html", page)
    return summary, pairs, sheets, pairing.foot


def _varied(folder: Path, results: Sequence[CellResults], summary: pd.DataFrame) -> list[Sheet]:
    """Writes how matches ended, and what several seats, seeds, samples, wordings and cells have to
    tell; returns the sheets."""
    seats, seeds = apart.seats_table(results), apart.seeds_table(results, Folder(folder).seed)
    parts, pooled = robustness.components_table(results), robustness.pooled_table(results)
    ends, players = ended.outcomes_table(results), standings.standings_table(results)
    tables = {"seats": seats, "seeds": seeds, "components": parts, "pooled": pooled}
    tables |= {"outcomes": ends, "standings": players}
    for name, found in tables.items():
        if not found.empty:
            write_atomically(folder / f"{name}.csv", found.to_csv(index=False))
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    scales = {result.about.measure.name: Scale.of(result.about.measure) for result in results}
    told = [*ended.sheets(ends, summary, names), *standings.sheets(players, scales)]
    told += apart.sheets(seats, seeds, scales, names)
    return [*told, *robustness.sheets(parts, pooled, scales, names)]


def _study(folder: Path, results: Sequence[CellResults], summary: pd.DataFrame) -> list[Sheet]:
    found = labels.study(folder, results)
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


def _page(
    folder: Path,
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    drawings: dict[str, str],
    sheets: Sequence[Sheet],
    said: Sequence[Answer],
    diagnosis: diagnostics.Diagnosis,
    note: str,
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for view in (numbers.number, numbers.p_value):
        environment.filters[view.__name__] = view
    names, scales = table.short_names(summary), scales_of(summary)
    few = table.clearest(pairs, PAGE_ROWS) if len(pairs) > PAGE_ROWS else pairs
    return environment.get_template("report.html.j2").render(
        title=folder.name,
        rows=list(zip(names, scales, summary.head(PAGE_ROWS).to_dict("records"), strict=False)),
        heading=heading(scales),
        best=summary["adjusted"].notna().any(),
        best_pairs=pairs["adj_difference"].notna().any(),
        pairs=list(zip(scales_of(few), few.to_dict("records"), strict=True)),
        names=dict(zip(summary["cell"], names, strict=True)),
        drawings=drawings,
        sheets=[
            one.first(PAGE_ROWS)
            for one in (*sheets, *diagnostics.page_sheets(diagnosis, summary, PAGE_CELLS))
        ],
        samples=dict(islice(diagnosis.samples.items(), PAGE_CELLS)),
        answers=said,
        foot=[
            table.left_out(PAGE_ROWS, len(summary), "summary.csv"),
            *table.foot(summary).splitlines(),
        ],
        pairs_notes=[table.left_out(PAGE_ROWS, len(pairs), "pairs.csv", "clearest"), note],
        warnings=[*table.some_warnings(summary, PAGE_ROWS), *origin.notes(folder)],
        replies=table.left_out(PAGE_CELLS, len(summary), "samples.txt and choices.csv"),
        runs=Folder(folder).lines("runs"),
    )
