"""Export matches and decisions as Parquet: `python -m pipeline.export outputs/quickstart`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.tables.media.parquet_export import export
from gauntlet.pipeline.tables.registry import load_cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.export"),
        description="A folder's matches and decisions as Parquet, with a data card.",
        epilog="docs/export.md lists the columns.",
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    parser.add_argument(
        "--to", type=Path, metavar="PATH", help="a folder to write into; default: DIR/export"
    )
    options = parser.parse_args(arguments)
    folder = options.to or options.output_dir / "export"
    out = console()
    try:
        results = load_cells(options.output_dir)
        with Waiting(out, "export", "matches", done="written") as waiting:
            written = export(options.output_dir, results, folder, waiting.reach)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or folder}: {error.strerror or error}", file=sys.stderr)
        return 2
    out.print(f"{written.matches:,} matches, {written.decisions:,} decisions:")
    for file in written.files:
        out.print(f"  {file}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    as_process(main)
