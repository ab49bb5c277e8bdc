"""Show a match of a log move by move: `python -m pipeline.replay MATCH`.

The cards are dealt again from the sweep's seed and the recorded moves are replayed by the game's
rules, which restores all hands and piles. Prompts and scores come from the record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import console
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.page import Entry, render
from gauntlet.pipeline.viewer import html
from gauntlet.pipeline.viewer.match import MatchView, match_view
from gauntlet.pipeline.viewer.terminal import show

TEMPLATE = Path(__file__).parent / "replay.html.j2"


def replay(match: str, folders: Sequence[Path]) -> MatchView:
    """The match with this id from the first folder that holds it. Raises UserError if there is
    none, or if the game no longer plays as recorded."""
    for folder in folders:
        for record in Folder(folder).matches():
            if record.match == match:
                return match_view(Folder(folder), record)
    examples = [one.match for folder in folders for one in islice(Folder(folder).matches(), 2)]
    raise UserError(
        f"no match {match} in {', '.join(map(str, folders)) or 'outputs/'}; "
        f"there is, for instance, {' or '.join(examples[:2]) or 'none at all'}; damaged lines are "
        "left out, `python -m pipeline.verify DIR` names them"
    )


def page(match: MatchView) -> str:
    facts = [Entry(term, values) for term, values in match.facts]
    return render(
        TEMPLATE, match=match, facts=facts, style=html.style(match), plies=html.plies(match)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.replay", description="A match of a log, move by move."
    )
    parser.add_argument("match", help="the match id, as the records give it")
    parser.add_argument(
        "--in", dest="folders", type=Path, nargs="+", metavar="DIR", help="where to look"
    )
    parser.add_argument("--prompts", action="store_true", help="print every prompt and reply whole")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page (HTML) too")
    options = parser.parse_args(arguments)
    here = (path for path in sorted(Path("outputs").glob("*")) if Folder(path).has_sweep)
    folders = options.folders or list(here)
    try:
        match = replay(options.match, folders)
        show(match, console(markup=True), options.prompts)
        if options.page:
            write_atomically(options.page, page(match))
            print(visible(f"\npage: {options.page}"))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {options.page} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
