"""Comparing logs: what must be equal however a sweep was run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.log.records import read_records


def matches(folder: Path) -> dict[str, dict[str, Any]]:
    """Every record by match id, without times and preparation; fails where one is there twice."""
    found: dict[str, dict[str, Any]] = {}
    for record in read_records(folder):
        assert record["match"] not in found, f"match {record['match']} is in the log twice"
        used = {asked["static"] for decision in record["decisions"] for asked in decision["asked"]}
        statics = {name: record["statics"][name] for name in used}
        varies = {"seconds": None, "device_seconds": None}
        found[record["match"]] = {**record, "statics": statics, **varies}
        found[record["match"]].pop("preparation", None)
    return found


def finished(folder: Path) -> int:
    """How many whole lines, and so matches, the log holds now."""
    return sum(path.read_bytes().count(b"\n") for path in (folder / "records").glob("*.jsonl"))


def preparations(folder: Path) -> dict[str, Any]:
    """What each cell's players asked before its first match. Fails where that is there twice."""
    found: dict[str, Any] = {}
    for record in read_records(folder):
        if "preparation" in record:
            assert record["cell"] not in found, (
                f"cell {record['cell']} is prepared twice in the log"
            )
            found[record["cell"]] = record["preparation"]
    return found
