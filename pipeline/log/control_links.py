"""Which cells were played beside the sweep's own, and for which of these.

DIR/controls/         their log, an output folder of its own
DIR/controls.json     for each cell the controls that were played for it, by name
DIR/noise.json        for each cell its noise cell
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import convert

from gauntlet.common.disk import write_atomically
from gauntlet.pipeline.log.metadata_files import parsed, to_bytes

WARNINGS = logging.getLogger("gauntlet")

Controls = Mapping[str, Mapping[str, str]]
"""By a cell's key, and the control's name, the control's key."""
Noise = Mapping[str, str]
"""By a cell's key that of its noise cell."""

Kind = TypeVar("Kind", bound=Mapping[str, Any])


def place_of(folder: Path) -> Path:
    """The folder of what was played beside a folder's cells."""
    return folder / "controls"


def noise_file(folder: Path) -> Path:
    return folder / "noise.json"


def keep_controls(folder: Path, links: Controls) -> None:
    """Adds which controls the cells have to what is known of others."""
    _write(controls_file(folder), {**controls_in(folder), **links})


def keep_noise(folder: Path, links: Noise) -> None:
    """Adds which noise cells there are to what is known of others."""
    _write(noise_file(folder), {**noise_in(folder), **links})


def controls_in(folder: Path) -> Controls:
    return _read(controls_file(folder), dict[str, dict[str, str]])


def noise_in(folder: Path) -> Noise:
    return _read(noise_file(folder), dict[str, str])


def controls_file(folder: Path) -> Path:
    return folder / "controls.json"


def _write(path: Path, links: Mapping[str, Any]) -> None:
    write_atomically(path, to_bytes(links, indent=1))


def _read(path: Path, kind: type[Kind]) -> Kind:
    """What `_write` wrote, of this kind; none where the file is damaged, as the same sweep again
    writes it anew."""
    try:
        kept: Kind = convert(parsed(path.read_bytes()), kind)
        return kept
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError):
        WARNINGS.warning("%s is damaged; the same sweep again writes it anew", path)
        return kind()
