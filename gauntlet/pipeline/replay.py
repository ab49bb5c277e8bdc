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
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import file_name, visible
from gauntlet.common.terminal import console
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.media.page import match_page
from gauntlet.pipeline.viewer.judged import read_judged
from gauntlet.pipeline.viewer.match import MatchView, match_view
from gauntlet.pipeline.viewer.terminal import show


def replay(match: str, folders: Sequence[Path]) -> MatchView:
    """The match with this id from the first folder that holds it. Raises UserError if there is
    none, or if the game no longer plays as recorded."""
    return match_view(*_find(match, folders))


def _find(match: str, folders: Sequence[Path]) -> tuple[Folder, MatchRecord]:
    for folder in folders:
        for record in Folder(folder).matches():
            if record.match == match:
                return Folder(folder), record
    examples = [one.match for folder in folders for one in islice(Folder(folder).matches(), 2)]
    raise UserError(
        f"no match {match} in {', '.join(map(str, folders)) or 'outputs/'}; "
        f"there is, for instance, {' or '.join(examples[:2]) or 'none at all'}; damaged lines are "
        f"left out, `{invocation('pipeline.verify')} DIR` names them"
    )


def _twin(match: MatchView, name: str, folders: Sequence[Path]) -> MatchView:
    twin = replay(name, folders)
    if (twin.deal, twin.rotation, twin.deal_text) != (match.deal, match.rotation, match.deal_text):
        raise UserError(f"match {name} is not of the deal of match {match.match}")
    return twin


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.replay"), description="A match of a log, move by move."
    )
    parser.add_argument("match", help="the match id, as the records give it")
    parser.add_argument(
        "--in", dest="folders", type=Path, nargs="+", metavar="DIR", help="where to look"
    )
    parser.add_argument("--prompts", action="store_true", help="print every prompt and reply whole")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE",
        help="write a page (HTML) too; default: MATCH.html here",
    )
    parser.add_argument(
        "--twin", metavar="OTHER", help="on the page, another match of the same deal beside it"
    )
    options = parser.parse_args(arguments)
    if options.twin and not options.page:
        parser.error("--twin goes with --page")
    here = (path for path in sorted(Path("outputs").glob("*")) if Folder(path).has_sweep)
    folders = options.folders or list(here)
    file = options.page
    if file == Path():
        file = Path(f"{file_name(options.match)}.html")
    try:
        folder, record = _find(options.match, folders)
        match = match_view(folder, record)
        show(match, console(markup=True), options.prompts)
        if file:
            twin = _twin(match, options.twin, folders) if options.twin else None
            write_atomically(file, match_page(match, read_judged(folder.path), twin))
            print(visible(f"\npage: {file}"))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {error.filename or file}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
