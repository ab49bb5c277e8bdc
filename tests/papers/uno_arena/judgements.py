"""Shared by tests of UNO Arena's tables: cells as described by a folder, and rows by id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gauntlet.papers.published import Row
from gauntlet.pipeline.log.metadata_files import to_bytes


def by_id(rows: Iterator[Row]) -> dict[str, Row]:
    return {row.id.removeprefix("uno_arena."): row for row in rows}


def describe(folder: Path, cell: str, key: str, age: int) -> None:
    """Write a cell's description; the higher its age, the newer."""
    about = {"key": key, "name": cell, "experiment": "e", "rotations": 2}
    about["labels"] = dict.fromkeys(("game", "seats", "agent", "model", "prompt"), "-")
    about |= {"baseline": None, "deal_key": "", "helping": False}
    about |= {"described": age, "identity": {}, "players": ()}
    path = folder / "cells" / f"{cell}-{key}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(to_bytes(about))
    os.utime(path, (age, age))
