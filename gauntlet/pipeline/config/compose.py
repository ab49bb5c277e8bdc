"""Compose a sweep from a command line, with Hydra's compose API."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, Override, Quote, QuotedString
from omegaconf import OmegaConf

from gauntlet.common.conf_folders import conf_folders
from gauntlet.common.errors import UserError, raised, raised_at, suggest
from gauntlet.common.process import INTERRUPTED, invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.config import read, resolved, secrets
from gauntlet.pipeline.config.jobs import ABLATE, Configs, mapping_at, plain_data, user_errors
from gauntlet.pipeline.config.output_dir import check_folder, default_folder, listed_values
from gauntlet.pipeline.config.read import (
    GROUPS,
    KINDS,
    CellConfig,
    Node,
    SweepConfig,
    missing_choice,
)
from gauntlet.pipeline.config.values import takes_list
from gauntlet.pipeline.config.yaml_files import SWEEP, existing, first_sentence, reading

HELP = Path(__file__).parent / "help.txt"
HELP_WIDTH = 80
LISTED = ("game", "prompt", "model")
"""Groups whose choices the help lists."""
PLAYERS = "players"
OF_AN_EXPERIMENT = ("experiment", "name", "output_dir", "allow_env", ABLATE)
"""Overrides that determine what an experiment is on its own."""
OF_HYDRA = re.compile(r"(.*@)?hydra([./:]|$)")
LONGEST = 1500
"""Longest error message, in characters."""

Act = Callable[[Sequence[CellConfig], SweepConfig], int]


def compose(
    arguments: Sequence[str] | None,
    then: Act,
    interrupted: str = "running the same command again continues",
) -> int:
    """Compose the command line, or `arguments`, and pass the sweep to `then`.

    interrupted: what a person reads after Ctrl-C. Returns the exit status: that of `then`, 2 (user
    error) or 130 (interrupted).
    """
    packages: list[str] = []
    try:
        options = _parse(sys.argv[1:] if arguments is None else arguments)
        if shown := _information(options):
            print(shown)
            return 0
        cells, sweep = _composed(options)
        packages += (name for cell in cells for name in cell.packages)
        return then(cells, sweep)
    except KeyboardInterrupt:
        print(f"\ninterrupted; {interrupted}", file=sys.stderr)
        return INTERRUPTED
    except BaseException as error:  # user modules may raise anything
        message = _refusal(error, packages)
        if not message:
            raise
    line = secrets.cut(" ".join(message.split()))
    print(f"gauntlet: {line if len(line) < LONGEST else line[:LONGEST] + ' ...'}", file=sys.stderr)
    return 2


def composed(words: Sequence[str]) -> tuple[Sequence[CellConfig], SweepConfig]:
    """The sweep for these command-line words. Raises UserError."""
    return _composed(_parse(words))


def _composed(options: argparse.Namespace) -> tuple[Sequence[CellConfig], SweepConfig]:
    with reading(options.config_dir) as loader:
        configs = Configs(loader)
        typed = _typed(options.words, configs)
        for one in typed:
            _refuse_bare_list(one)
        simple = [one for one in typed if not one.is_sweep_override()]
        experiment, choices = configs.compose(
            tuple(str(one.input_line) for one in simple if one.key_or_group in OF_AN_EXPERIMENT)
        )
        grids, ablate = configs.grids(experiment), mapping_at(experiment, ABLATE)
        jobs = [
            job
            for grid in _grid_overrides(grids, typed, configs)
            for job in configs.jobs(grid, ablate)
        ]
        allowed = [str(one.input_line) for one in typed if one.key_or_group == "allow_env"]

        @cache
        def find(group: str, choice: str) -> Node:
            return configs.node(group, choice, allowed)

        cells = [cell for job in jobs for cell in read.read_cells(job, find)]
        sweep = read.read_sweep([job.config for job in jobs])
        folder = default_folder(sweep.output_dir, typed, experiment, choices, [*chain(*grids)])
        check_folder(folder)
    config = {**resolved.document(jobs), "output_dir": str(folder)}
    return cells, replace(sweep, output_dir=folder, config=config)


def _grid_overrides(
    grids: Sequence[Sequence[Override]], typed: Sequence[Override], configs: Configs
) -> Iterator[list[Override]]:
    """Yield the overrides of each grid. Of the choices typed for several grids, each takes those
    that it lists; if none lists any, the typed ones replace those of the first."""
    if len(grids) == 1:
        yield [*grids[0], *typed]
        return
    chosen = {one.key_or_group: one for one in typed if _group(one) in (*GROUPS, PLAYERS)}
    asked = False
    for grid in grids:
        lists = {one.key_or_group: one for one in grid if one.key_or_group in chosen}
        both = {key: _shared(chosen[key], one) for key, one in lists.items()}
        if all(both.values()):
            asked = True
            rest = (one for one in (*grid, *typed) if one.key_or_group not in both)
            yield [*rest, *configs.parsed(f"{key}={value}" for key, value in both.items())]
    if not asked:
        yield [*(one for one in grids[0] if _group(one) not in chosen), *typed]


def _group(override: Override) -> str:
    return override.key_or_group.partition(".")[0]


def _shared(typed: Override, listed: Override) -> str:
    """What both list, as typed; "" for nothing, or for fewer than two players."""
    names, known = typed.value(), listed.value()
    if isinstance(names, list) and isinstance(known, list):
        bare = {str(name).removesuffix("?") for name in known}
        both = [name for name in names if str(name).removesuffix("?") in bare]
        return f"[{','.join(both)}]" if len(both) > 1 else ""
    return ",".join(sorted(listed_values(typed) & listed_values(listed)))


def _refusal(error: BaseException, packages: Sequence[str]) -> str:
    """A one-line message for errors that a user can fix, also in a module of these packages; "" for
    our own bugs."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory is used up: {error or 'an allocation failed'}"
    if at := raised_at(error, packages):
        return f"{at}: {raised(error)}"
    if isinstance(error, OSError):
        named = error.filename2 or error.filename or "the system"
        return f"{named}: {error.strerror or error}"
    return ""


# --- the command line


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, and the other words as Hydra expects them. Raises UserError."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-h", "--help", nargs="?", const="")
    parser.add_argument("-m", "-r", "--multirun", "--run", action="store_true")  # all are sweeps
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], type=Path)
    try:
        options, words = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise UserError(str(error)) from error
    option_names = [name for action in parser._actions for name in action.option_strings]
    for word, after in pairwise([*words, "VALUE"]):
        if word.startswith("-"):
            raise UserError(f"{word} is not an option{_as_setting(word, after, option_names)}")
        _refuse_word(word)
    options.config_dir = existing(options.config_dir)
    # `++`: a seat's file need not list all keys that may be set, nor `ablate` any
    free = ("seats.", f"{ABLATE}=")
    options.words = [f"++{word}" if word.startswith(free) else word for word in words]
    return options


def _as_setting(word: str, after: str, option_names: Sequence[str]) -> str:
    """What would work instead of an option: a setting of that name, or another option."""
    key, equals, value = word.lstrip("-").partition("=")
    key = key.replace("-", "_")
    if key.partition(".")[0] not in (*read.KEYS, *GROUPS):
        return suggest(word, option_names)
    return f"; a setting has no dashes: {key}={value if equals else after}"


def _refuse_word(word: str) -> None:
    key, _, value = word.lstrip("+~").partition("=")
    if OF_HYDRA.match(key):
        raise UserError(
            f"{word}: Hydra's own settings are not for a run; output_dir=DIR says where it writes, "
            "launch=NAME where it plays, --config-dir DIR where more configs lie"
        )
    if key.partition(".")[0] == SWEEP:
        raise UserError(f"{word}: {SWEEP} is for experiments; here list values, as in seed=1,2")
    if key == ABLATE and not value.startswith("{"):
        raise UserError(f"{word}: it must be a mapping, as in {ABLATE}={{prompt.moves:0}}")
    if value == "null" and key in (*GROUPS, *KINDS):
        raise missing_choice(key, None)


def _refuse_bare_list(override: Override) -> None:
    """Raises UserError for `players=random,first`, which sweeps over two settings of `players`."""
    key, sweep = override.key_or_group, override.value()
    if not isinstance(sweep, ChoiceSweep) or not takes_list(read.KEYS.get(key)):
        return
    if not all(isinstance(value, list) for value in sweep.list):
        values = ",".join(override.sweep_string_iterator())
        raise UserError(f"{override.input_line}: {key} is a list: {key}=[{values}]")


def _typed(words: Sequence[str], configs: Configs) -> list[Override]:
    """The parsed words, with the output folder's name as the run's name if none was typed."""
    typed = configs.parsed(words)
    by_key = {one.key_or_group: one for one in typed}
    if "name" not in by_key and "experiment" in by_key and by_key["experiment"].value() is None:
        raise UserError("~experiment: a run needs a name: ~experiment +name=NAME")
    if "output_dir" in by_key and "name" not in by_key:
        with user_errors():
            folder = by_key["output_dir"].value()
        if isinstance(folder, str) and folder.strip() and "${" not in folder:
            name = QuotedString(visible(Path(folder).resolve().name), Quote.double)
            return [*typed, *configs.parsed([f"++name={name.with_quotes()}"])]
    return typed


def _choices(groups: Mapping[str, Sequence[str]]) -> str:
    """What can be chosen, by group; of the groups used most every choice."""
    listed = (f"{name}={', '.join(groups[name])}" for name in LISTED)
    others = ", ".join(f"{name} ({len(groups[name])})" for name in groups if name not in LISTED)
    paragraphs = [*listed, f"and {others}"]
    indent: Any = {"initial_indent": "  ", "subsequent_indent": "    "}
    return "\n".join(fill(one, HELP_WIDTH, **indent) for one in paragraphs)


def _group_help(word: str, groups: Mapping[str, Sequence[str]], folders: Sequence[Path]) -> str:
    """A line for each choice of a group, from the first sentence of its file. Raises UserError."""
    group = word if word in groups else word.removesuffix("s")
    if group not in groups:
        raise UserError(f"--help {word}: no such group{suggest(word, [*groups])}")
    width = max(map(len, groups[group])) + 2
    lines = (f"{name:<{width}}{first_sentence(group, name, folders)}" for name in groups[group])
    return "\n".join(fill(one, HELP_WIDTH, subsequent_indent=" " * width) for one in lines)


def _information(options: argparse.Namespace) -> str:
    """The help, or the config of a single cell; "" if a run was requested."""
    if options.help is None and not options.cfg:
        return ""
    with reading(options.config_dir) as loader:
        if options.help is not None:
            names = [name for name in loader.list_groups("") if name != "hydra"]
            groups = {name: loader.get_group_options(name) for name in names}
            if options.help and "=" not in options.help:
                return _group_help(options.help, groups, [*conf_folders(), *options.config_dir])
            text = HELP.read_text(encoding="utf-8").replace("$GROUPS", _choices(groups))
            return re.sub(r"python -m (pipeline\.\w+)", lambda name: invocation(name[1]), text)
        configs = Configs(loader)
        typed = _typed(options.words, configs)
        for one in typed:
            if one.is_sweep_override():
                raise UserError(f"{one.input_line}: only one cell can be shown; give one value")
        config, _ = configs.compose(tuple(str(one.input_line) for one in typed))
        secrets.refuse(OmegaConf.to_container(config, resolve=False))
        return OmegaConf.to_yaml(plain_data(config) if options.resolve else config)
