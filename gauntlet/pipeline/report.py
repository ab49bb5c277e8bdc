"""Write the tables and report of a folder again: `python -m pipeline.report outputs/quickstart`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import console
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.media import run_metadata
from gauntlet.pipeline.tables.media.latex import PaperConfig
from gauntlet.pipeline.tables.registry import Results, write_tables
from gauntlet.pipeline.tables.sweep.report import write_report
from gauntlet.pipeline.tables.sweep.terminal import show, show_all


def _paper(file: Path | None) -> PaperConfig | None:
    """How to write DIR/paper: by this file, or if none is named by default. Raises UserError."""
    if file is None:
        return None
    return PaperConfig() if file == Path() else PaperConfig.read(file)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.report"),
        description="Tables and report of all that a folder holds.",
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    parser.add_argument(
        "--paper",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="LaTeX tables and PDF figures too, in DIR/paper; FILE: their columns, rows and names",
    )
    parser.add_argument("--full", action="store_true", help="print every table")
    options = parser.parse_args(arguments)
    folder = options.output_dir
    try:
        paper = _paper(options.paper)
        results = Results.load(folder)
        show(results)
        if options.full:
            show_all(results)
        write_tables(results)
        write_report(results, paper=paper)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or folder}: {error.strerror}", file=sys.stderr)
        return 2
    if note := Folder(folder).import_note:
        console().print(f"\n{visible(note)}", soft_wrap=True)
    for line in run_metadata.notes(folder):
        console().print(f"\n{line}")
    print(visible(f"\nreport: {folder / 'report.html'}"))
    if paper is not None:
        print(visible(f"paper:  {folder / 'paper' / 'main.tex'}"))
    return 0


if __name__ == "__main__":
    as_process(main)
