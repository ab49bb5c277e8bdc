"""The folders of YAML files that every command reads: conf/, and those of installed packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

CONF = Path(__file__).parent.parent / "conf"
GROUP = "gauntlet.packages"
"""The group of entry points by which an installed package says that it extends Gauntlet."""


@cache
def packages() -> dict[str, Path]:
    """The installed packages that extend Gauntlet: each one's dotted name, and its folder. One that
    cannot be found is left out."""
    found = {}
    for entry in sorted(entry_points(group=GROUP)):
        try:
            spec = find_spec(entry.value)
        except ModuleNotFoundError:
            continue
        if spec and spec.submodule_search_locations:
            found[entry.value] = Path(spec.submodule_search_locations[0])
    return found


def conf_folders() -> list[Path]:
    """conf/, and the folder `conf` of each package that has one."""
    folders = (folder / "conf" for folder in packages().values())
    return [CONF, *filter(Path.is_dir, folders)]
