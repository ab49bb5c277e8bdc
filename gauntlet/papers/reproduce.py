"""Reproduce a paper's numbers next to ours: `make reproduce PAPER=llm_uno MODELS=pocket`.

Plays what is missing of the paper's experiments with the given models, and compares every published
number with the result. Rows of a model whose weights are missing stay empty: not_run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.papers.audit import reproduction as audit_papers
from gauntlet.papers.gamebench import reproduction as gamebench
from gauntlet.papers.gamebench.matches import missing_file_message
from gauntlet.papers.llm_uno import reproduction as llm_uno
from gauntlet.papers.observer import reproduction as observer
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.papers.talaga import reproduction as talaga
from gauntlet.papers.uno_arena import reproduction as uno_arena
from gauntlet.papers.verdicts import headline

MODELS, DEALS = "pocket", 2000
"""Default model, and deals per cell: minutes with a small model on a laptop, an interval of +-2.2
points."""

PLAYOUTS = 1000
"""Default playouts per option, for papers that judge decisions."""

PAPERS: dict[str, Callable[[Settings], Reproduction]] = {
    "llm_uno": llm_uno.reproduce,
    "uno_arena": uno_arena.reproduce,
    "talaga": talaga.reproduce,
    "observer": observer.reproduce,
    "gamebench": gamebench.reproduce,
    "audit": audit_papers.reproduce,
}
DEFAULTS = {
    "talaga": (talaga.MODELS, talaga.DEALS),
    "observer": (observer.MODELS, observer.DEALS),
    "gamebench": (gamebench.MODELS, gamebench.DEALS),
}
"""Models and deals of the papers with their own defaults."""
OF_MATCHES = ("gamebench", "audit")
"""Papers that use the matches published by GameBench's authors."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_intermixed_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    out = console()
    own_models, own_deals = DEFAULTS.get(options.paper, (MODELS, DEALS))
    models = tuple(dict.fromkeys(filter(None, (options.models or own_models).split(","))))
    deals = own_deals if options.deals is None else options.deals
    try:
        words = tuple(options.overrides)
        settings = Settings(models, deals, options.playouts, options.out, words, options.matches)
        if options.complete:
            require_inputs(options.paper, settings)
        reproduction = PAPERS[options.paper](settings)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    file = options.out / f"{options.paper}.csv"
    write_atomically(file, reproduction.table.to_csv(index=False))
    for view in reproduction.shown:
        out.print(view)
        out.print()
    if "kind" in reproduction.table:
        out.print(headline(reproduction.table), soft_wrap=True)
    for path in (*reproduction.folders, file):
        out.print(f"{'table' if path == file else path.name:<8} {path}", soft_wrap=True)
    return 0


def require_inputs(name: str, settings: Settings) -> None:
    """Raises UserError where a model or a file is missing, whose rows would stay empty."""
    models = () if name == "audit" else settings.models
    if absent := set(models) - set(available(models)):
        raise UserError(f"{name}: no weights here of {', '.join(sorted(absent))}")
    if name in OF_MATCHES and (said := missing_file_message(settings.matches)):
        raise UserError(f"{name}: {said}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("papers.reproduce"),
        description="Compare a paper's numbers with ours.",
    )
    add = parser.add_argument
    add("paper", choices=PAPERS, metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    add(
        "--models",
        default="",
        help="names from conf/model, with commas (default pocket, of talaga pocket_duel, of "
        "observer pocket_observer)",
    )
    add("--deals", type=int,
        help="deals a cell (LLM-UNO: 10,000), elsewhere at most the paper's")  # fmt: skip
    add("--playouts", type=int, default=PLAYOUTS,
        help="an option, where decisions are judged (default %(default)s)")  # fmt: skip
    add("--matches", type=Path, metavar="FILE",
        help="the matches that a paper publishes (gamebench, and its part of audit)")  # fmt: skip
    add("--complete", action="store_true",
        help="end with an error where a model or a file is absent")  # fmt: skip
    add("--out", type=Path, default=Path("outputs/reproduce"), metavar="DIR")
    add("overrides", nargs="*", help="further words for each run, as launch=inline")
    return parser


if __name__ == "__main__":
    as_process(main)
