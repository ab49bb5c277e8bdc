"""The output folder of a run that names none: its experiment's, and that of another game's, other
seats' or the quirks' cells beside it, so that they do not become one family of tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

APART = ("game", "seats", "quirks", "pairing", "players")
"""Keys that make other cells than the experiment's, not further ones."""

LONGEST = 60
"""Characters that a folder's name may have beyond the experiment's."""

Compose = Callable[[Sequence[str]], DictConfig]


def own_folder(folder: Path, master: DictConfig, compose: Compose) -> Path:
    """The folder, or one beside it where a key of APART was typed and differs from what the
    experiment has. A typed output_dir is what it is.

    master: the config of the whole sweep, which knows what was typed. compose: gives the config of
    some overrides.
    """
    typed = OverridesParser.create().parse_overrides(list(master.hydra.overrides.task))
    named = [one for one in typed if one.key_or_group in ("experiment", "output_dir", "name")]
    apart = [one for one in typed if _root(one) in APART]
    if not apart or any(one.key_or_group == "output_dir" for one in named):
        return folder
    own = compose([str(one.input_line) for one in named])
    grid = master.hydra.sweeper.get("params") or {}
    changed = [one for one in apart if not _values(one) <= _owns(one, own, grid)]
    told = [_told(one) for one in sorted(changed, key=_order)]
    return folder.with_name("-".join([folder.name, short(told)])) if told else folder


def _order(override: Override) -> tuple[int, str]:
    """However the words were typed."""
    return APART.index(_root(override)), override.key_or_group


def _root(override: Override) -> str:
    return re.split(r"[.@]", override.key_or_group)[0]


def _owns(override: Override, own: DictConfig, grid: Mapping[str, Any]) -> set[str]:
    """The values that the experiment itself has for the key."""
    key = override.key_or_group
    if key in grid:
        (swept,) = OverridesParser.create().parse_overrides([f"{key}={grid[key]}"])
        return _values(swept)
    choices = own.hydra.runtime.choices
    found = choices[key] if key in choices else OmegaConf.select(own, key)
    return {str(found).lower()}


def _values(override: Override) -> set[str]:
    if override.is_choice_sweep():
        return {str(value).lower() for value in override.sweep_string_iterator()}
    return {override.get_value_element_as_str().lower()}


def _told(override: Override) -> str:
    """The value of a choice; of a setting its last name too."""
    key = override.key_or_group
    value = str(override.input_line).partition("=")[2]
    return value if key in ("game", "seats") else f"{key.removeprefix('game.')}_{value}"


def short(told: Sequence[str]) -> str:
    """Fit for a file's name, and never the same for two."""
    whole = "-".join(told)
    short = re.sub(r"[^\w.-]+", "_", whole).strip("_")
    if re.fullmatch(r"[\w.,-]+", whole) and len(short) <= LONGEST:
        return short
    return f"{short[:LONGEST]}-{hashlib.sha256(whole.encode()).hexdigest()[:6]}"
