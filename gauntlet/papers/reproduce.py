"""Reproduce a paper's numbers next to ours: `make reproduce PAPER=llm_uno MODELS=pocket`.

Plays what is missing of the paper's experiments with the given models, and compares every published
number with the result. Rows of a model whose weights are missing stay empty: not_run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from gauntlet.common.conf_folders import packages
from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process, invocation
from gauntlet.common.terminal import console
from gauntlet.papers.reproductions import Reproduction, Settings, available, source_of
from gauntlet.papers.verdicts import headline
from gauntlet.pipeline.launch.placement import check_installed

MODELS, DEALS = "pocket", 2000
"""Models and deals per cell of a paper that names none: minutes with a small model on a laptop, an
interval of +-2.2 points."""

PLAYOUTS = 1000
"""Default playouts per option, for papers that judge decisions."""


def papers() -> dict[str, str]:
    """The module of each paper, by its name: `reproduction`, of installed packages that have one.

    It has `reproduce(settings) -> Reproduction`, and may have MODELS, DEALS and `lacks(settings) ->
    str`: what is missing for some of its rows. Raises UserError for two of one name.
    """
    modules: dict[str, str] = {}
    for package, folder in packages().items():
        if (folder / "reproduction.py").is_file():
            name, module = package.rpartition(".")[2], f"{package}.reproduction"
            if name in modules:
                raise UserError(
                    f"two installed papers are called {name}: {modules[name]}, {module}"
                )
            modules[name] = module
    return modules


def main(arguments: Sequence[str] | None = None) -> int:
    out = console()
    try:
        options = _parser().parse_intermixed_args(arguments)
        paper = import_module(papers()[options.paper])
        chosen = options.models or getattr(paper, "MODELS", MODELS)
        models = tuple(dict.fromkeys(filter(None, chosen.split(","))))
        deals = getattr(paper, "DEALS", DEALS) if options.deals is None else options.deals
        words = tuple(options.overrides)
        check_installed([source_of(model) for model in models])
        settings = Settings(models, deals, options.playouts, options.out, words, options.matches)
        if options.complete:
            require_inputs(paper, options.paper, settings)
        options.out.mkdir(parents=True, exist_ok=True)
        reproduction: Reproduction = paper.reproduce(settings)
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


def require_inputs(paper: ModuleType, name: str, settings: Settings) -> None:
    """Raises UserError where a model or a file is missing, whose rows would stay empty."""
    if absent := set(settings.models) - set(available(settings.models)):
        raise UserError(f"{name}: no weights here of {', '.join(sorted(absent))}")
    if hasattr(paper, "lacks") and (said := paper.lacks(settings)):
        raise UserError(f"{name}: {said}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("papers.reproduce"),
        description="Compare a paper's numbers with ours.",
    )
    add = parser.add_argument
    names = papers()
    add("paper", choices=names, metavar="PAPER", help=f"one of {', '.join(names)}")
    add(
        "--models",
        default="",
        help="names from conf/model, with commas (default: the paper's, else pocket)",
    )
    add("--deals", type=int,
        help="deals a cell, in most papers at most the printed number")  # fmt: skip
    add("--playouts", type=int, default=PLAYOUTS,
        help="an option, where decisions are judged (default %(default)s)")  # fmt: skip
    add("--matches", type=Path, metavar="FILE",
        help="the matches that a paper publishes, where it reads them")  # fmt: skip
    add("--complete", action="store_true",
        help="end with an error where a model or a file is absent")  # fmt: skip
    add("--out", type=Path, default=Path("outputs/reproduce"), metavar="DIR")
    add("overrides", nargs="*", help="further words for each run, as launch=inline")
    return parser


if __name__ == "__main__":
    as_process(main)
