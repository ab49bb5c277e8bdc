"""Publish runs as a static site: `python -m pipeline.publish outputs/quickstart --out SITE`.

The site needs no server: any web server can offer the folder, and its pages open from disk too. It
loads nothing from other hosts (docs/howto/publish.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    from gauntlet.pipeline.log.progress import Waiting
    from gauntlet.pipeline.publish.site import publish

    out = console()
    try:
        with Waiting(out, "publish", "matches", done="written") as waiting:
            written = publish(options.folders, options.out, options.parquet, waiting.reach)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or options.out}: {error.strerror}", file=sys.stderr)
        return 2
    for why, count in written.lost.items():
        out.print(f"{counted(count, 'match', 'es')} left out: {why}", markup=False)
    out.print(
        f"{counted(written.runs, 'run')}, {written.players:,} players, "
        f"{counted(written.matches, 'match', 'es')}, "
        f"{written.size / 1e6:,.1f} MB"
    )
    out.print(f"site     {options.out / 'index.html'}", soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.publish"),
        description="One or more runs as a static site, with a leaderboard and every match.",
    )
    add = parser.add_argument
    add("folders", type=Path, nargs="+", metavar="DIR", help="the output_dir of a sweep")
    add("--out", type=Path, required=True, metavar="SITE",
        help="folder to write: a new one, or an earlier site, which is replaced")  # fmt: skip
    add("--parquet", action="store_true",
        help="offer matches and decisions as Parquet too, which can double the size")  # fmt: skip
    return parser


if __name__ == "__main__":
    as_process(main)
