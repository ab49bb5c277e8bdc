"""A folder's results as tables: CSV files, and what a terminal and the page show of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.pipeline.judging import luck, stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, collect, measures
from gauntlet.pipeline.tables import (
    adjusted,
    breakdowns,
    controls,
    costs,
    diagnostics,
    labels,
    noise,
    obfuscation,
    observer_table,
    outcomes,
    parser,
    robustness,
    standings,
    stops,
    table,
)
from gauntlet.pipeline.tables.comparisons import paired_off
from gauntlet.pipeline.tables.conditions import claimed, conditions, family
from gauntlet.pipeline.tables.findings import Answer, answers
from gauntlet.pipeline.tables.scale import Scale, scales_of
from gauntlet.pipeline.tables.summary import pairs_table, summary_table
from gauntlet.pipeline.tables.table import Sheet


@dataclass(frozen=True)
class Views:
    """What there is to show of a folder: summary.csv and pairs.csv, further sheets, the report's
    sentences, what there is to say of which cells are paired, and what the figures are drawn of."""

    folder: Path
    results: Sequence[CellResults]
    summary: pd.DataFrame
    pairs: pd.DataFrame
    sheets: Sequence[Sheet]
    said: Sequence[Answer]
    note: str
    diagnosis: diagnostics.Diagnosis
    study: labels.Study | None

    @property
    def read(self) -> str:
        """That all replies were plainly read, or how many were not."""
        return self.diagnosis.audit.line

    def show(self) -> None:
        """Prints the tables."""
        table.show(self.summary, self.pairs, self.sheets, self.note, self.read)


def write_tables(folder: Path, results: Sequence[CellResults]) -> Views:
    """Writes summary.csv and pairs.csv, what `diagnostics` finds, further tables where there is
    something to tell, and where a cell studies letters labels.csv and debiasing.csv. The page and
    the figures are `report.write_report`'s: they take longest."""
    matter = conditions(results)
    pairing = paired_off(results, Folder(folder).comparisons)
    rivals = controls.table(folder, results)
    summary = summary_table(results, matter, rivals)
    pairs = pairs_table(results, pairing.chosen, claimed(family(summary, matter)[1]))
    summary, diagnosis = diagnostics.diagnose(folder, results, summary, rivals)
    seen = observer_table.watched_table(Folder(folder), results)
    summary = observer_table.warned(summary, seen)
    diagnosis.write(folder)
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    scales = dict(zip(summary["cell"], scales_of(summary), strict=True))
    floors = noise.table(folder, results)
    pairs = noise.marked(pairs, floors)
    if not floors.empty:
        write_atomically(folder / noise.FILE, floors.to_csv(index=False))
    write_atomically(folder / "summary.csv", summary.to_csv(index=False))
    write_atomically(folder / "pairs.csv", pairs.to_csv(index=False))
    study = labels.study(folder, results)
    stopped = stops.sheets(folder, summary, results)
    spent = costs.cost_sheets(summary)
    varied = [*_watched(folder, seen, summary), *_varied(folder, results, summary, pairs)]
    told = diagnostics.sheets(diagnosis, summary)
    first = [*parser.sheets(diagnosis.audit, names), *noise.sheets(floors, names, scales), *stopped]
    first += adjusted.sheets(folder, summary, results)
    sheets = [*first, *varied, *_study(folder, study, summary), *told, *spent]
    said = answers(results, summary, pairs, matter, stops.verdicts(folder, results))
    if more := tuple(noise.sentences(floors, pairs, names, scales)):
        said.append(Answer("Is it more than noise?", more))
    return Views(folder, results, summary, pairs, sheets, said, pairing.foot, diagnosis, study)


def _varied(
    folder: Path, results: Sequence[CellResults], summary: pd.DataFrame, pairs: pd.DataFrame
) -> list[Sheet]:
    """Writes how matches ended, and what several seats, seeds, samples, wordings and cells have to
    tell; returns the sheets."""
    seats, seeds = (
        breakdowns.seats_table(results),
        breakdowns.seeds_table(results, Folder(folder).seed),
    )
    parts, pooled = robustness.components_table(results), robustness.pooled_table(results)
    ends, robins = outcomes.outcomes_table(results), standings.robins_of(results)
    players, shared = standings.standings_table(robins), standings.shared_table(robins)
    tables = {"seats": seats, "seeds": seeds, "components": parts, "pooled": pooled}
    tables |= {"outcomes": ends, "standings": players, "shared_opponents": shared}
    tables["obfuscation"] = renamed = obfuscation.obfuscation_table(Folder(folder), results, pairs)
    for name, found in tables.items():
        if not found.empty:
            write_atomically(folder / f"{name}.csv", found.to_csv(index=False))
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    scales = {result.about.measure.name: Scale.of(result.about.measure) for result in results}
    told = [*obfuscation.sheets(renamed), *outcomes.sheets(ends, summary, names)]
    told += standings.sheets(players, shared, scales)
    told += breakdowns.sheets(seats, seeds, scales, names)
    return [*told, *robustness.sheets(parts, pooled, scales, names)]


def _watched(folder: Path, found: pd.DataFrame, summary: pd.DataFrame) -> list[Sheet]:
    """Writes what observers came to, where there are some."""
    if found.empty:
        return []
    write_atomically(folder / observer_table.FILE, found.to_csv(index=False))
    names = dict(zip(summary["cell"], table.short_names(summary), strict=True))
    return [observer_table.sheet(found, names)]


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
    results = collect(abouts, place.outcomes(measures(abouts)), place.set_aside)
    return luck.attach(folder, stopping.cut(folder, results))
