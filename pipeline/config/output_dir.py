"""The output folder of a run that names none: its experiment's, and that of another game's, other
seats' or the quirks' cells beside it, so that they do not become one family of tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

APART = ("game", "seats", "quirks", "pairing", "players")
"""Keys that make other cells than the experiment's, not further ones."""

LONGEST = 60
"""Characters that a folder's name may have beyond the experiment's."""


def own_folder(
    folder: Path,
    typed: Sequence[Override],
    own: DictConfig,
    choices: Mapping[str, str],
    lists: Mapping[str, Sequence[Override]],
) -> Path:
    """The folder, or one beside it where a key of APART was typed and differs from what the
    experiment has. A typed output_dir is what it is.

    own: the experiment's own config, with what it chose of every group. lists: what it sweeps.
    """
    if any(one.key_or_group == "output_dir" for one in typed):
        return folder
    names = []
    for one in sorted((one for one in typed if _root(one) in APART), key=_order):
        key = one.key_or_group
        listed: Sequence[Any] = lists.get(key) or [choices.get(key) or OmegaConf.select(own, key)]
        if not _values(one) <= {value for item in listed for value in _values(item)}:
            names.append(_name(one))
    return folder.with_name("-".join([folder.name, short(names)])) if names else folder


def _order(override: Override) -> tuple[int, str]:
    """However the words were typed."""
    return APART.index(_root(override)), override.key_or_group


def _root(override: Override) -> str:
    return re.split(r"[.@]", override.key_or_group)[0]


def _values(item: Any) -> set[str]:
    if not isinstance(item, Override):
        return {str(item).lower()}
    if item.is_sweep_override():
        return {str(value).lower() for value in item.sweep_string_iterator()}
    return {item.get_value_element_as_str().lower()}


def _name(override: Override) -> str:
    """The value of a choice; of a setting its last name too."""
    key = override.key_or_group
    value = str(override.input_line).partition("=")[2]
    return value if key in ("game", "seats") else f"{key.removeprefix('game.')}_{value}"


def short(names: Sequence[str]) -> str:
    """Fit for a file's name, and never the same for two."""
    whole = "-".join(names)
    short = re.sub(r"[^\w.-]+", "_", whole).strip("_")
    if re.fullmatch(r"[\w.,-]+", whole) and len(short) <= LONGEST:
        return short
    return f"{short[:LONGEST]}-{hashlib.sha256(whole.encode()).hexdigest()[:6]}"
