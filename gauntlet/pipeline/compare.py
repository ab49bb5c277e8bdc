"""Compare two sweeps: `python -m pipeline.compare DIR DIR`.

Pairs every cell of the first with every cell of the second on the deals that both have finished;
with many cells, only those that differ in at most one factor (`tables/claims.py`). Two cells
that are in one folder are compared in its pairs.csv and not here, so that no comparison has two
corrected p-values. Only sweeps with the same seed can be paired: the seed makes deal 7 the same
cards in both.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.registry import TERMINAL, Part, Results, cell_names, load_cells
from gauntlet.pipeline.tables.sweep.claims import CELLS, Pairing, choose_pairs
from gauntlet.pipeline.tables.sweep.pairs import VIEW, compare_pairs, pairing
from gauntlet.pipeline.tables.sweep.terminal import sheet_view
from gauntlet.pipeline.tables.sweep.verdict import PARTIAL, unrepeatable


def compare(first: Path, second: Path) -> Results:
    """The cells of both folders, with a table `pairs` across the folders.

    A cell's name is prefixed with its folder's. Raises UserError if the folders hold no sweeps,
    have different seeds, or no two cells can be paired.
    """
    ours, theirs = (load_cells(folder) for folder in (first, second))
    seeds = [Folder(folder).seed for folder in (first, second)]
    if seeds[0] != seeds[1]:
        raise UserError(
            f"{first} has seed {seeds[0]} and {second} seed {seeds[1]}: they met other cards, so "
            "there is nothing to pair; their summary.csv can be read side by side"
        )
    cells = [*(_with_folder(a, first) for a in ours), *(_with_folder(b, second) for b in theirs)]
    first_keys, second_keys = ({cell.about.key for cell in some} for some in (ours, theirs))
    chosen = choose_pairs(cells, "all" if len(cells) <= CELLS else "factor").chosen
    pairs = compare_pairs(
        (cells[a], cells[b])
        for a, b in chosen
        if a < len(ours) <= b
        and cells[a].about.key not in second_keys
        and cells[b].about.key not in first_keys
        and np.intersect1d(cells[a].by_deal()[0], cells[b].by_deal()[0]).size
    )
    if pairs.empty:
        raise UserError(
            f"{first} and {second} have no two different cells of one game, number of seats and "
            "measure, measured in the same seats, with a deal in common, that are not in the "
            "pairs.csv of one of them"
        )
    known = {"pairs": pairs, "noise": pd.DataFrame(columns=["cell", "floor"])}
    names = _short_names(first, cells, [first] * len(ours) + [second] * len(theirs))

    def alike(key: Callable[[CellInfo], Hashable]) -> int:
        """The pairs across the folders whose cells have the same key."""
        here, there = (Counter(key(cell.about) for cell in some) for some in (ours, theirs))
        return sum(count * there[each] for each, count in here.items())

    apart = alike(lambda about: (about.deal_key, about.measure))
    apart -= alike(lambda about: about.paired_by)
    return Results(
        first, cells, {**known, cell_names: names, pairing: Pairing("all", (), 0, apart)}
    )


def notes(results: Results) -> list[str]:
    """Why pairs have no p."""
    partial = any(cell.partial for cell in results.cells)
    return [*unrepeatable(results, results.cells), *[PARTIAL] * partial]


def _short_names(
    first: Path, cells: Sequence[CellResults], folders: Sequence[Path]
) -> dict[str, str]:
    """Each cell's short name, with its folder's unless the experiments' names tell them apart."""
    short = cell_names(Results(first, cells))
    if len(set(short.values())) == len(short):
        return short
    pairs = zip(short.items(), folders, strict=True)
    return {full: f"{folder.name}: {name}" for (full, name), folder in pairs}


def _with_folder(result: CellResults, folder: Path) -> CellResults:
    about = replace(result.about, name=f"{folder.name}: {result.about.name}")
    return replace(result, about=about)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.compare"),
        description="The cells of two sweeps, paired on the deals that both have finished.",
    )
    parser.add_argument("first", type=Path, metavar="DIR", help="the output_dir of a sweep (A)")
    parser.add_argument("second", type=Path, metavar="DIR", help="that of another one (B)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table too")
    options = parser.parse_args(arguments)
    try:
        results = compare(options.first, options.second)
        file = str(options.csv or "--csv FILE")
        for sheet in VIEW(Part(results, results["pairs"], TERMINAL, file)):
            console().print(sheet_view(sheet))
        for line in notes(results):
            console().print(line)
        if options.csv:
            write_atomically(options.csv, results["pairs"].to_csv(index=False))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or options.csv}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
