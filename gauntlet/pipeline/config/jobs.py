"""The jobs of a sweep: every combination of the listed values, composed by Hydra."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import hydra
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, Quote, QuotedString
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.config import secrets
from gauntlet.pipeline.config.players import Node
from gauntlet.pipeline.config.yaml_files import SWEEP

ONE_A_RUN = ("experiment", "name", "deals")
"""Keys that cannot be swept: an experiment has its own sweep, and all cells share deals."""
MOST_JOBS = 10_000
ABLATE = "ablate"
"""The key that says which parts an ablation leaves out."""


@dataclass(frozen=True)
class Composed:
    """One job's config as plain data, its choice in every group, its command-line words, and the
    part that it leaves out of the job before it in an ablation."""

    config: Node
    choices: Mapping[str, str]
    overrides: tuple[str, ...]
    without: str = ""


class Configs:
    """Composes configs from the loader's folders. Raises UserError if Hydra cannot."""

    def __init__(self, loader: ConfigLoader) -> None:
        self._parser = OverridesParser.create(config_loader=loader)
        self._is_group = cache(lambda key: bool(loader.get_group_options(key)))
        self._base = cache(self._compose)

    def parsed(self, words: Iterable[str]) -> list[Override]:
        """The words, parsed by Hydra."""
        with user_errors():
            return self._parser.parse_overrides(list(words))

    def compose(self, words: tuple[str, ...]) -> tuple[DictConfig, Mapping[str, str]]:
        """Compose these words; return the config and its choice in every group.

        Hydra takes tens of milliseconds, so the words that only set a value are set in a copy of a
        config composed once from the other words.
        """
        parsed = self.parsed(words)
        ordered = any(one.is_delete() or isinstance(one.value(), dict) for one in parsed)
        late = [] if ordered else [one for one in parsed if self._sets(one)]
        lines = {one.input_line for one in late}
        base, choices = self._base(tuple(word for word in words if word not in lines))
        config = copy.deepcopy(base)
        with user_errors(choices):
            for one in late:
                key, value = one.key_or_group, one.value()
                OmegaConf.update(config, key, value, force_add=one.is_force_add())
        return config, choices

    @staticmethod
    def _compose(words: tuple[str, ...]) -> tuple[DictConfig, Mapping[str, str]]:
        with user_errors():
            config = hydra.compose("config", list(words), return_hydra_config=True)
            choices = dict(config.hydra.runtime.choices)
        with open_dict(config):
            del config["hydra"]
        return config, choices

    def grids(self, config: DictConfig) -> list[list[Override]]:
        """The sweep lists of an experiment's own config, as if typed on the command line: of each
        of its grids, if it names several."""
        lists = mapping_at(config, SWEEP)
        secrets.refuse({SWEEP: lists})
        named = [grid for grid in lists.values() if isinstance(grid, Mapping)]
        if 0 < len(named) < len(lists):
            raise UserError(
                f"{SWEEP} mixes grids and keys; it must be KEY: VALUES, or such by name"
            )
        return [
            self.parsed(f"{key}={value}" for key, value in grid.items())
            for grid in named or [lists]
        ]

    def node(self, group: str, choice: str, allowed: Sequence[str]) -> Node:
        """The node of one choice of a group. allowed: the typed `allow_env` overrides."""
        new = "+" if group == "player" else ""  # `player` is not in the default config
        quoted = QuotedString(choice, Quote.single).with_quotes()  # 42 is a name too
        config, _ = self.compose((f"{new}{group}={quoted}", *allowed))
        return plain_data(config[group])

    def jobs(self, overrides: Sequence[Override], ablate: Mapping[str, Any]) -> list[Composed]:
        """All jobs; if a key is given several times, the last one counts.

        ablate: after each job comes one for each of these keys, with its value.
        """
        with user_errors():
            parts = [f"{key}={_as_typed(value)}" for key, value in ablate.items()]
            return [
                self._job(_replaced(words, part), part)
                for words in _product(overrides, 1 + len(parts))
                for part in ("", *parts)
            ]

    def _job(self, words: tuple[str, ...], without: str = "") -> Composed:
        config, choices = self.compose(words)
        return Composed(plain_data(config), choices, words, without)

    def _sets(self, override: Override) -> bool:
        """Whether it only sets a key's value, and so does not affect which files are read."""
        changes = override.type in (OverrideType.CHANGE, OverrideType.FORCE_ADD)
        return changes and override.package is None and not self._is_group(override.key_or_group)


def mapping_at(config: DictConfig, key: str) -> Mapping[str, Any]:
    """The mapping that a config has at this key, as written. Raises UserError for anything else."""
    plain: Any = OmegaConf.to_container(config)
    found = plain[key]
    if not isinstance(found, Mapping):
        raise UserError(f"{key} is {found!r}; it must be a mapping, KEY: VALUES")
    return found


def plain_data(config: DictConfig) -> dict[str, Any]:
    """A composed config, or a node of one, as plain data without its sweep lists. Raises UserError
    for what cannot be resolved, and for secrets."""
    with user_errors():
        resolved: Any = OmegaConf.to_container(config, resolve=True)
    plain: dict[str, Any] = resolved
    secrets.refuse(plain)
    plain.pop(SWEEP, None)
    return plain


def _replaced(words: tuple[str, ...], part: str) -> tuple[str, ...]:
    """The words with this one instead of another of its key; as they are without a part."""
    key = part.partition("=")[0]
    kept = tuple(word for word in words if word.lstrip("+").partition("=")[0] != key)
    return (*kept, part) if part else words


def _as_typed(value: Any) -> str:
    """A value of a config as a word of a command line has it."""
    if isinstance(value, str) and not re.fullmatch(r"[\w./-]+", value):
        return str(QuotedString(value, Quote.double).with_quotes())
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _product(overrides: Sequence[Override], times: int) -> Iterator[tuple[str, ...]]:
    """The words of every job. times: how many jobs each becomes. Raises UserError for too many."""
    words: dict[str, list[str]] = {}
    for override in overrides:
        key = override.get_key_element()
        words[key] = [f"{key}={value}" for value in _values(override)]
    if not 0 < times * math.prod(map(len, words.values())) <= MOST_JOBS:
        most = max(words, key=lambda key: len(words[key]), default=ABLATE)
        raise UserError(
            f"{most}: a sweep has 1 to {MOST_JOBS:,} jobs, the values of all its keys multiplied"
        )
    return itertools.product(*words.values())


def _values(override: Override) -> Iterable[str]:
    """The values of one key as typed, at most MOST_JOBS + 1."""
    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    if override.key_or_group in ONE_A_RUN:
        raise UserError(f"{override.input_line}: {override.key_or_group} takes one value a run")
    if not override.is_discrete_sweep():
        raise UserError(f"{override.input_line}: what is swept is listed, as in 1,2,3 or range(3)")
    return itertools.islice(override.sweep_string_iterator(), MOST_JOBS + 1)


@contextmanager
def user_errors(choices: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn any error from Hydra or OmegaConf inside the block into a one-line UserError.

    choices: the job's choices, for errors that concern this job alone.
    """
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and not isinstance(error, HydraException):
            raise
        raise UserError(_explain(error, choices or {})) from error


def _explain(error: BaseException, choices: Mapping[str, str]) -> str:
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    for each in chain:
        match each:
            case UserError():  # ours, raised in a resolver: OmegaConf's error has the key
                key = getattr(error, "full_key", None)
                return f"{key}: {each}" if key else str(each)
            case RecursionError():
                return "a config includes or refers to itself, or is nested too deeply"
            case MissingConfigException(missing_cfg_file=str(file), options=options):
                group, _, choice = file.rpartition("/")
                near = suggest(choice, options) if options else ""
                return f"{group}={choice} does not exist{near}".removeprefix("=")
            case OverrideParseException():
                return (
                    f"{each.override!r} cannot be read; it should be KEY=VALUE, a value with odd "
                    "characters in quotes of its own: 'KEY=\"VALUE\"'"
                )
            case ConfigAttributeError(parent_node=node) | ConfigKeyError(parent_node=node) if (
                node is not None
            ):
                keys = [str(key) for key in node if key != "_target_"]
                key = str(each.full_key or each.key)
                group = key.partition(".")[0]
                owner = f"{group}={choices[group]}" if group in choices else "the config"
                return f"{key} is not a key of {owner}{suggest(str(each.key), keys)}"
    first = str(chain[-1]).strip().partition("\n")[0]
    if isinstance(chain[-1], (HydraException, OmegaConfBaseException, ValueError)) and first:
        key = getattr(error, "full_key", None)
        return f"{key}: {first}" if key else first
    return f"{type(chain[-1]).__name__}: {first}".removesuffix(": ")
