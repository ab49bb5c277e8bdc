"""A match of a log, move by move: `python -m pipeline.replay MATCH`.

The cards are dealt again from the sweep's seed and the recorded moves are played by the game's
own rules, so hands and pile are shown as they were. Prompts and scores come from the record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.markup import escape as no_markup
from rich.table import Table

from gauntlet.agents.prompting.wording import on_a_line
from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.common.sanitize import one_line, visible
from gauntlet.common.terminal import WIDTH, console
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.replayed import ReplayedMatch, ReplayedTurn, replayed
from gauntlet.pipeline.log.trace import Trace, TracedPrompt
from gauntlet.pipeline.tables.page import Entry, rendered, rows

TEMPLATE = Path(__file__).parent / "replay.html.j2"


def replay(match: str, folders: Sequence[Path]) -> ReplayedMatch:
    """The match of that id from the first of the folders that holds it.

    Raises UserError where none does, or where the game no longer plays as it was recorded.
    """
    for folder in folders:
        for record in Folder(folder).matches():
            if record.match == match:
                return replayed(Folder(folder), record)
    some = [one.match for folder in folders for one in islice(Folder(folder).matches(), 2)]
    raise UserError(
        f"no match {match} in {', '.join(map(str, folders)) or 'outputs/'}; "
        f"there is, for instance, {' or '.join(some[:2]) or 'none at all'}; damaged lines are left "
        "out, `python -m pipeline.verify DIR` names them"
    )


def show(match: ReplayedMatch, out: Console, prompts: bool) -> None:
    """Prints the match; with its prompts in full if asked for."""
    where = f"deal {match.deal}, rotation {match.rotation}, {escape(match.cell)}"
    out.print(f"match {escape(match.match)}: {where}")
    for seat, player in enumerate(match.players):
        measured = ", measured" if seat in match.measured else ""
        out.print(f"player {seat}: {escape(player)}{measured}")
    for ply in match.plies:
        out.print(f"\n[bold]--- ply {ply.number}[/bold]\n{escape(ply.shown)}")
        for turn in ply.turns:
            _show_turn(turn, out, prompts)
    out.print(f"\n[bold]--- over[/bold]\n{escape(match.last)}\n{match.outcome}")


def escape(text: str) -> str:
    """Text from a record, for a terminal: no markup, no control characters."""
    return no_markup(visible(text))


def _show_turn(turn: ReplayedTurn, out: Console, prompts: bool) -> None:
    why = "forced" if turn.forced else turn.status if turn.status != "ok" else ""
    why += ", fallback" if turn.fallback else ""
    note = f" ({why})" if why else ""
    out.print(f"[bold]player {turn.seat} plays {escape(turn.move)}[/bold]{note}")
    _show_asked(turn.trace.asked, out, prompts)
    if any(asked.answers for asked in turn.trace.asked):
        out.print(answers(turn.trace))
    elif turn.trace.asked or not turn.forced:
        out.print(f"options:{escape(on_a_line(turn.trace.options))}")


def _show_asked(every: Sequence[TracedPrompt], out: Console, prompts: bool) -> None:
    """What was written, a line a reply; with the prompts all of both."""
    before: TracedPrompt | None = None
    for number, asked in enumerate(every):
        if prompts:
            out.print(f"prompt {number}:", style="dim")
            out.print(visible(_news(asked, before)), style="dim", markup=False)
        if asked.text is not None:
            taken = f" -> {escape(one_line(asked.taken))}" if asked.taken else ""
            out.print(f"reply {number}{taken}", style="dim" if prompts else None)
            out.print(visible(asked.text) if prompts else one_line(asked.text, WIDTH), markup=False)
        before = asked


def _news(asked: TracedPrompt, before: TracedPrompt | None) -> str:
    """The prompt, without the conversation that stands above it."""
    if before is None or before.text is None:
        return asked.prompt
    if asked.prompt == before.prompt:
        return "(the same)"
    said = before.prompt + before.text
    told = asked.prompt.removeprefix(said)
    return told if told == asked.prompt else f"(all of the above){told}"


def answers(found: Trace) -> Table:
    """A row an option, a column a prompt: the chances that the prompt's answers gave it.

    Where an answer stands for no option (good, bad), a prompt's answers stand in its own row.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("option")
    table.add_column("score", justify="right")
    lettered = any(answer.option is not None for asked in found.asked for answer in asked.answers)
    table.add_column("by prompt" if lettered else "answers")
    for number, option in enumerate(found.options):
        score = found.scores[number]
        table.add_row(
            f"{'> ' if number == found.chosen else '  '}{escape(option)}",
            "-" if score is None else f"{score:+.4f}",
            "  ".join(_given(found, number, lettered)),
            style="bold" if number == found.chosen else None,
        )
    return table


def _given(found: Trace, option: int, lettered: bool) -> Iterator[str]:
    if lettered:
        for asked in found.asked:
            for answer in asked.answers:
                if answer.option == option:
                    yield f"{escape(answer.word)} {answer.probability:.4f}"
    elif len(found.asked) == len(found.options):
        asked = found.asked[option]
        for answer in asked.answers:
            yield f"{escape(answer.word)} {answer.probability:.4f}"


def page(match: ReplayedMatch) -> str:
    """The match as one self-contained page."""
    players = [
        f"{seat} {player}{' (measured)' if seat in match.measured else ''}"
        for seat, player in enumerate(match.players)
    ]
    facts = [
        Entry("cell", [match.cell]),
        Entry("deal", [f"{match.deal}, rotation {match.rotation}"]),
        Entry("players", players),
        Entry("outcome", [match.outcome]),
    ]
    return rendered(TEMPLATE, match=match, facts=facts, rows=rows)


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
    given = parser.parse_args(arguments)
    here = (path for path in sorted(Path("outputs").glob("*")) if Folder(path).played)
    folders = given.folders or list(here)
    try:
        match = replay(given.match, folders)
        show(match, console(markup=True), given.prompts)
        if given.page:
            write_atomically(given.page, page(match))
            print(visible(f"\npage: {given.page}"))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gauntlet: {given.page} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
