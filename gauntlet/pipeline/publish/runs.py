"""The pages of runs, their matches and downloads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from gauntlet.common.errors import UserError, counted
from gauntlet.common.markup import tag
from gauntlet.common.process import invocation
from gauntlet.common.sanitize import file_name
from gauntlet.common.terminal import short
from gauntlet.pipeline.library import Shelf
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults, disambiguate_names
from gauntlet.pipeline.publish.chunks import cut, deals_of, numbers, write_chunks, write_script
from gauntlet.pipeline.tables.formatting import Scale, p_value
from gauntlet.pipeline.tables.media.page import BESIDE
from gauntlet.pipeline.tables.media.parquet_export import export
from gauntlet.pipeline.tables.media.run_metadata import title
from gauntlet.pipeline.tables.registry import Sheet, read_table, truncation_note
from gauntlet.pipeline.tables.sweep.verdict import saved_verdict
from gauntlet.pipeline.viewer.data import packed
from gauntlet.pipeline.viewer.judged import read_judged

MOST = 500
"""Rows of a table; more would make a page slow to load."""
TABLES = ("summary", "costs", "pairs")
CELLS = (
    "cell",
    "measure",
    "estimate",
    "95% interval",
    "baseline",
    "deals",
    "matches",
    "tokens/match",
)


@dataclass(frozen=True)
class Run:
    """A run to publish. name: unique in the site."""

    name: str
    shelf: Shelf

    @classmethod
    def read(cls, path: Path, name: str) -> Run:
        """Read a run's log. Raises UserError if there is none, or no tables of all its cells."""
        if not (path / "summary.csv").exists():
            raise UserError(
                f"{path} holds no tables of a run; `{invocation('pipeline.report', path)}` "
                "writes them"
            )
        shelf = Shelf(Folder(path))
        shelf.refresh()
        if shelf.fault:
            raise UserError(shelf.fault)
        run = cls(name, shelf)
        if lacking := {cell.about.name for cell in run.cells} - {*run.tables["summary"]["cell"]}:
            raise UserError(
                f"the tables in {path} lack {counted(len(lacking), 'cell')}, as the last run "
                f"played others; `{invocation('pipeline.report', path)}` writes those of all"
            )
        return run

    @property
    def path(self) -> Path:
        return self.shelf.folder.path

    @property
    def slug(self) -> str:
        return file_name(self.name)

    @property
    def href(self) -> str:
        """The address of its page, seen from the site's top folder."""
        return f"run/{self.slug}.html"

    @cached_property
    def cells(self) -> list[CellResults]:
        """Its cells, with the names that the tables use."""
        return disambiguate_names(self.shelf.results())

    @property
    def commands(self) -> list[str]:
        """The commands that made it, without repetitions."""
        runs = self.shelf.folder.lines("runs")
        return list(dict.fromkeys(run["command"] for run in runs if run.get("command")))

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of TABLES that its folder has. Raises UserError if one is damaged."""
        files = {name: self.path / f"{name}.csv" for name in TABLES}
        try:
            return {name: read_table(file) for name, file in files.items() if file.exists()}
        except ValueError as error:
            raise UserError(
                f"a table in {self.path} is damaged ({error}); "
                f"`{invocation('pipeline.report', self.path)}` writes it again"
            ) from error

    @property
    def verdict(self) -> tuple[str, ...]:
        """What was found. Raises UserError if its file is damaged."""
        return saved_verdict(self.path)

    @property
    def played(self) -> str:
        """What was played, in words."""
        return title([cell.about.labels for cell in self.cells])

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A row of CELLS for each cell."""
        costs = self.tables.get("costs", pd.DataFrame(columns=["cell", "all_tokens", "matches"]))
        tokens = dict(zip(costs["cell"], costs["all_tokens"] / costs["matches"], strict=True))
        for row in self.tables["summary"].to_dict("records"):
            scale = Scale.from_row(row)
            yield (
                str(row["cell"]),
                scale.title,
                scale.mean(row["estimate"]),
                scale.span(row["ci_low"], row["ci_high"]),
                scale.mean(row["baseline"]),
                f"{row['deals']:,}",
                f"{row['matches']:,}",
                short(tokens[row["cell"]]) if tokens.get(row["cell"]) else "-",
            )

    @cached_property
    def pairs(self) -> list[dict[str, Any]]:
        """The clearest rows of its pairs whose cells are both known."""
        table, known = self.tables.get("pairs"), {cell.about.name for cell in self.cells}
        rows = [] if table is None else table.sort_values("p_holm").to_dict("records")
        known_rows = (row for row in rows if {row["cell_a"], row["cell_b"]} <= known)
        return [{str(key): value for key, value in row.items()} for row in islice(known_rows, MOST)]

    def pair_sheet(self) -> Sheet:
        """Its pairs; each leads to its deals, listed by the page's script."""
        scales = {cell.about.name: Scale.from_measure(cell.about.measure) for cell in self.cells}
        rows = []
        for at, row in enumerate(self.pairs):
            scale = scales[row["cell_a"]]
            rows.append(
                (
                    tag("a", f"{row['cell_a']} - {row['cell_b']}", href=f"#pair={at}"),
                    *(f"{row[name]:,}" for name in ("deals", "a_only", "b_only")),
                    scale.change(row["difference"]),
                    scale.reach(row["ci_low"], row["ci_high"]),
                    p_value(row["p_holm"]),
                )
            )
        headings = ("A - B", "deals", "A ahead", "B ahead", "A - B", "95% interval", "p Holm")
        note = truncation_note(len(rows), len(self.tables["pairs"]), "pairs.csv", "clearest")
        foot = f"{note}\nEach row leads to its deals, the decisive first.".strip()
        return Sheet("Twins", headings, rows, foot)


def write_matches(run: Run, site: Path) -> Iterator[tuple[int, list[str]]]:
    """Write a run's matches and their list. Yields as `write_chunks` does."""
    out = site / "data" / run.slug
    out.mkdir(parents=True)
    groups = list(cut(deals_of(run.shelf)))
    yield from write_chunks(run.shelf, groups, run.slug, out, read_judged(run.path))
    write_script(out / "list.js", packed(_listed(run, numbers(groups))))


def _listed(run: Run, files: Mapping[str, int]) -> dict[str, Any]:
    """The matches for the lists in pages: file, id, cell, deal, rotation, result, figure, plies."""
    places = {cell.about.key: at for at, cell in enumerate(run.cells)}
    names = [cell.about.name for cell in run.cells]
    entries = (run.shelf.entries[match] for match in files)
    return {
        "run": run.slug,
        "name": run.name,
        "cells": names,
        "pairs": [[names.index(row[cell]) for cell in ("cell_a", "cell_b")] for row in run.pairs],
        "matches": [
            [
                *(files[one.outcome.match], one.outcome.match, places[one.outcome.cell]),
                *(one.outcome.deal, one.outcome.rotation, one.result),
                *(float(f"{one.outcome.figure:.4g}"), one.outcome.plies),
            ]
            for one in entries
        ],
    }


def write_downloads(run: Run, site: Path, parquet: bool) -> list[str]:
    """Copy a run's tables and report, with the matches that it links to. parquet: write its matches
    and decisions too. Returns the addresses of all files but those matches, seen from the site's
    top folder. Raises UserError without pyarrow."""
    out = site / "files" / run.slug
    out.mkdir(parents=True)
    for file in [run.path / "report.html", *sorted(run.path.glob("*.csv"))]:
        if file.exists():
            shutil.copyfile(file, out / file.name)
    pages = run.path / BESIDE
    if pages.exists():
        shutil.copytree(pages, out / BESIDE)
    if parquet:
        export(run.path, run.cells, out)
    return [f"files/{run.slug}/{file.name}" for file in sorted(out.iterdir()) if file.is_file()]


def cell_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """The cells of several runs, each with a link to its run."""
    return [(link(run.href, run.name), *row) for run in runs for row in run.rows()]


def link(href: str, text: str) -> Markup:
    return tag("a", text, href=href)
