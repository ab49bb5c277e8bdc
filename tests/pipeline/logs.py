"""Compare logs: what must be equal however a sweep was run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord, Preparation


def matches(folder: Path) -> dict[str, MatchRecord]:
    """The records of the sweep's own cells, see `_matches`."""
    return _matches(folder, lambda about: about.role == "sweep")


def control_matches(folder: Path) -> dict[str, MatchRecord]:
    """The records of controls and noise cells, see `_matches`."""
    return _matches(folder, lambda about: about.role != "sweep")


def _matches(folder: Path, wanted: Callable[[CellInfo], bool]) -> dict[str, MatchRecord]:
    """Records by match id, without times and preparation; fails on duplicates."""
    found: dict[str, MatchRecord] = {}
    stems = [about.stem for about in Folder(folder).all_cells() if wanted(about)]
    for record in (one for stem in stems for one in Folder(folder).matches(stem)):
        assert record.match not in found, f"match {record.match} is in the log twice"
        asked = (one for decision in record.decisions for one in decision.asked)
        statics = {name: record.statics[name] for one in asked for name in one.named}
        found[record.match] = replace(untimed(record), statics=statics, preparation=())
    return found


def edited(path: Path, edit: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Rewrite a records file with `edit` applied to each of its records, with valid checksums; None
    removes one."""
    told = [json.loads(one) for one in path.read_bytes().splitlines()]
    for one in told:
        del one["crc32"]
    path.write_bytes(b"".join(line(new) for one in told if (new := edit(one)) is not None))


def raw_lines(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of the log as they stand there, by match, in the order of the deals."""
    files = (folder / "records").glob("*.jsonl")
    read = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    return {one["match"]: one for one in sorted(read, key=lambda one: one["deal"])}


def untimed(record: MatchRecord) -> MatchRecord:
    return replace(record, seconds=0.0, device_seconds=0.0, clock=None)


def finished(folder: Path) -> int:
    """Count the whole lines, and so matches, in the log."""
    return sum(path.read_bytes().count(b"\n") for path in Folder(folder).record_files())


def preparations(folder: Path) -> dict[str, tuple[Preparation, ...]]:
    """Return the requests of each cell's players before its first match. Fails on duplicates."""
    found: dict[str, tuple[Preparation, ...]] = {}
    for record in Folder(folder).matches():
        if record.preparation:
            assert record.cell not in found, f"cell {record.cell} is prepared twice in the log"
            found[record.cell] = record.preparation
    return found
