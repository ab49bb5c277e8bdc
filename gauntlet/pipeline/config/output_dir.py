"""The default output folder of a run: its experiment's, or a sibling if the run has another game,
other seats or the paper bugs, so that these cells do not join the experiment's family of tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from gauntlet.common.errors import UserError

APART = ("game", "seats", "paper_bugs", "pairing", "players")
"""Keys that make different cells rather than more of the experiment's."""
LONGEST = 60
"""Most characters that a folder name may add to the experiment's."""


def default_folder(
    folder: Path,
    typed: Sequence[Override],
    config: DictConfig,
    choices: Mapping[str, str],
    listed: Sequence[Override],
) -> Path:
    """The folder, or a sibling if a typed key of APART differs from the experiment's. A typed
    output_dir is used as it is.

    config: the experiment's own. choices: its choice in every group. listed: what it sweeps.
    """
    changes: dict[str, str] = {}
    lists: dict[str, set[str]] = {}
    for one in listed:
        lists.setdefault(one.key_or_group, set()).update(listed_values(one))
    for override in typed:
        key, value = override.key_or_group, str(override.input_line).partition("=")[2]
        if key == "output_dir":
            return folder
        has = lists.get(key) or {str(choices.get(key) or OmegaConf.select(config, key)).lower()}
        if re.split(r"[.@]", key)[0] in APART and not listed_values(override) <= has:
            word = value if key in ("game", "seats") else f"{key.removeprefix('game.')}_{value}"
            changes[key] = word
    order = sorted(changes, key=lambda key: (APART.index(re.split(r"[.@]", key)[0]), key))
    names = [changes[key] for key in order]
    return folder.with_name("-".join([folder.name, short_name(names)])) if names else folder


def check_folder(folder: Path) -> None:
    """Raises UserError if a file stands where the folder, or a folder above it, has to be."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise UserError(f"output_dir={folder}: {there} is a file, and should be a folder")


def listed_values(override: Override) -> set[str]:
    """The values of an override, one or a list to sweep, in small letters."""
    swept = override.is_sweep_override()
    values = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
    return {value.lower() for value in values}


def short_name(names: Sequence[str]) -> str:
    """A name that is safe for files and unique."""
    joined = "-".join(names)
    short = re.sub(r"[^\w.-]+", "_", joined).strip("_")
    if re.fullmatch(r"[\w.,-]+", joined) and len(short) <= LONGEST:
        return short
    return f"{short[:LONGEST]}-{hashlib.sha256(joined.encode()).hexdigest()[:6]}"
