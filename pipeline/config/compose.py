"""From a command line to the sweep that it asks for, composed through Hydra's compose API."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from gauntlet.common.errors import UserError, raised, raised_at
from gauntlet.pipeline.config import command, interpolation, read, resolved, secrets
from gauntlet.pipeline.config.jobs import Configs, plain
from gauntlet.pipeline.config.output_dir import own_folder
from gauntlet.pipeline.config.read import CellConfig, Node, SweepConfig
from gauntlet.pipeline.config.yaml_files import CONF as CONF
from gauntlet.pipeline.config.yaml_files import reading

HELP = Path(__file__).parent / "help.txt"
OF_AN_EXPERIMENT = ("experiment", "name", "output_dir", "allow_env")
"""What is typed that settles what an experiment is by itself."""
LONGEST = 1500
"""Characters of a refusal."""

Act = Callable[[Sequence[CellConfig], SweepConfig], int]


def compose(arguments: Sequence[str] | None, then: Act) -> int:
    """Composes the command line, or `arguments`, and does `then` with it.

    Returns the exit status: what `then` does, 2 (user's mistake) or 130 (interrupted).
    """
    packages: set[str] = set()
    try:
        asked = command.read(sys.argv[1:] if arguments is None else arguments)
        if shown := _shown(asked):
            print(shown)
            return 0
        cells, sweep = _composed(asked)
        packages.update(name for cell in cells for name in cell.packages)
        return then(cells, sweep)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command again goes on", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as error:
        message = _refusal(error, packages)
        if not message:
            raise
    line = secrets.cut(" ".join(message.split()))
    print(f"gauntlet: {line if len(line) < LONGEST else line[:LONGEST] + ' ...'}", file=sys.stderr)
    return 2


def composed(given: Sequence[str]) -> tuple[Sequence[CellConfig], SweepConfig]:
    """The sweep that these words ask for. Raises UserError."""
    return _composed(command.read(given))


def _composed(asked: command.Asked) -> tuple[Sequence[CellConfig], SweepConfig]:
    interpolation.use()
    with reading(asked.folders) as loader:
        configs = Configs(loader)
        typed = configs.parsed(asked.words)
        own_words = [
            one
            for one in typed
            if one.key_or_group in OF_AN_EXPERIMENT and not one.is_sweep_override()
        ]
        own, choices = configs.compose(tuple(str(one.input_line) for one in own_words))
        lists = _lists(OmegaConf.to_container(own, resolve=False))
        jobs = configs.jobs(asked.words, lists)
        allowed = [str(one.input_line) for one in typed if one.key_or_group == "allow_env"]

        @cache
        def find(group: str, choice: str) -> Node:
            return configs.node(group, choice, allowed)

        cells = [
            cell
            for job in jobs
            for cell in read.read_cells(job.config, job.choices, job.overrides, find)
        ]
        sweep = read.read_sweep([job.config for job in jobs])
        swept = {key: configs.parsed([f"{key}={value}"]) for key, value in lists.items()}
        folder = own_folder(sweep.output_dir, typed, own, choices, swept)
    config = {**resolved.document(jobs), "output_dir": str(folder)}
    return cells, replace(sweep, output_dir=folder, config=config)


def _refusal(error: BaseException, packages: Collection[str]) -> str:
    """One line for what a user can mend, also in a module of these packages; "" for a bug of
    ours."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory is used up: {error or 'an allocation failed'}"
    if at := raised_at(error, packages):
        return f"{at}: {raised(error)}"
    if isinstance(error, OSError):
        named = error.filename2 or error.filename or "the system"
        return f"{named}: {error.strerror or error}; what was played is safe"
    return ""


def _lists(own: Any) -> Mapping[str, Any]:
    lists = own.get(command.LISTS)
    if not isinstance(lists, Mapping):
        raise UserError(f"{command.LISTS} is {lists!r}; it must be a mapping, KEY: VALUES")
    secrets.refuse({command.LISTS: lists})
    return lists


def _shown(asked: command.Asked) -> str:
    """The help, or the config of what would be the only cell; "" where a run was asked for."""
    if not asked.show:
        return ""
    interpolation.use()
    with reading(asked.folders) as loader:
        if asked.show == "help":
            groups = (name for name in loader.list_groups("") if name != "hydra")
            lines = (f"{name}: {', '.join(loader.get_group_options(name))}" for name in groups)
            return HELP.read_text(encoding="utf-8").replace("$GROUPS", "\n".join(lines))
        configs = Configs(loader)
        for one in configs.parsed(asked.words):
            if one.is_sweep_override():
                raise UserError(f"{one.input_line}: only one cell can be shown; give one value")
        config, _ = configs.compose(asked.words)
        secrets.refuse(OmegaConf.to_container(config, resolve=False))
        return OmegaConf.to_yaml(plain(config) if asked.resolve else config)
