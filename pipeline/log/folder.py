"""An output folder, for whoever reads it: what lies where, and what it says.

    sweep.json              seed (or seeds), schema and id; a folder belongs to one of each
    cells/<cell>.json       what the cell is: labels, identity, baseline
    records/<cell>.jsonl    its finished matches, see `schema.py`
    set_aside.jsonl         matches that failed three times, with their errors
    runs.jsonl              who wrote when, with which versions, on which machine
    stop.json               where a stopping rule stopped each cell
    status.json             how the latest run goes, or went
    run.log                 notable events
    controls/               one of the players of a fixed option, see `sweep/controls.py`
    controls.json           which of them belongs to which cell
    tables.json             which cells the tables pair

All else is a view of these. Only `records.Log` writes records, cells and sweep.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from common.errors import UserError
from pipeline.config.read import Seed
from pipeline.log.lines import LINES, Lines
from pipeline.log.outcomes import Measures, Outcomes, outcome
from pipeline.log.results import About
from pipeline.log.schema import MatchRecord, Record


@dataclass(frozen=True)
class Folder:
    """An output folder; what its methods read is what lies there at that moment."""

    path: Path
    kinds: Lines = LINES

    @property
    def claim(self) -> Path:
        return self.path / "sweep.json"

    @property
    def records_folder(self) -> Path:
        return self.path / "records"

    @property
    def cells_folder(self) -> Path:
        return self.path / "cells"

    @property
    def stop_file(self) -> Path:
        return self.path / "stop.json"

    @property
    def status_file(self) -> Path:
        return self.path / "status.json"

    @property
    def events_file(self) -> Path:
        return self.path / "run.log"

    def records_file(self, stem: str) -> Path:
        return self.records_folder / f"{stem}.jsonl"

    def cell_file(self, stem: str) -> Path:
        return self.cells_folder / f"{stem}.json"

    @property
    def tables_file(self) -> Path:
        return self.path / "tables.json"

    def lines_file(self, name: str) -> Path:
        return self.path / f"{name}.jsonl"

    @property
    def played(self) -> bool:
        """Whether a sweep was begun here."""
        return self.claim.exists()

    @property
    def seed(self) -> Seed:
        """The sweep's seed, or the several ones that take turns. Raises UserError."""
        seed = self._claimed["seed"]
        return tuple(map(int, seed)) if isinstance(seed, list) else int(seed)

    @property
    def id(self) -> str:
        return str(self._claimed["id"])

    @cached_property
    def _claimed(self) -> dict[str, Any]:
        """What sweep.json says; it never changes. Raises UserError."""
        found = _object(self.claim)
        if found is None or not found.keys() >= {"seed", "id"}:
            raise UserError(f"{self.claim} is missing or damaged: {self.path} holds no sweep")
        return found

    def abouts(self) -> list[About]:
        """Every cell that the folder holds, oldest first. Raises UserError where there is none."""
        found = [
            (data.get("described", file.stat().st_mtime_ns), file.name, data)
            for file in self.cells_folder.glob("*.json")
            for data in [_description(file)]
        ]
        if not found:
            raise UserError(f"{self.path} holds no finished or begun sweep")
        return [About.read(data) for _, _, data in sorted(found, key=lambda one: one[:2])]

    def cell(self, key: str) -> dict[str, Any]:
        """The description of the cell with this key. Raises UserError."""
        for file in self.cells_folder.glob(f"*{key}.json"):
            return _description(file)
        raise UserError(f"{self.cells_folder} has lost the description of cell {key}")

    def record_files(self, stem: str = "*") -> list[Path]:
        return sorted(self.records_folder.glob(f"{stem}.jsonl"))

    def records(self, stem: str = "*") -> Iterator[Record]:
        """Every whole record, or those of one cell's file; each file's statics are put back into
        its records."""
        for path in self.record_files(stem):
            with path.open("rb") as lines:
                yield from self.kinds.records(lines)

    def matches(self, stem: str = "*") -> Iterator[MatchRecord]:
        """The finished matches among the records."""
        return (one for one in self.records(stem) if isinstance(one, MatchRecord))

    def outcomes(self, measures: Measures) -> dict[str, Outcomes]:
        """What tables need of every match, by the cell's key. Raises UserError."""
        found: dict[str, Outcomes] = {}
        for record in self.matches():
            found.setdefault(record.cell, Outcomes(record.cell)).add(outcome(record, measures))
        return found

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of one of the small logs; none where there is no such log."""
        return _objects(self.lines_file(name))

    @property
    def set_aside(self) -> list[dict[str, Any]]:
        return self.lines("set_aside")

    @property
    def stop(self) -> dict[str, Any]:
        """Where a stopping rule stopped each cell; empty where all deals were played as planned.
        Raises UserError where the file is damaged."""
        if not self.stop_file.exists():
            return {}
        found = _object(self.stop_file)
        if found is None:
            raise UserError(f"{self.stop_file} is damaged; the same sweep again writes it anew")
        return found

    @property
    def pairs(self) -> str:
        """The rule by which the latest run paired cells; "auto" where none said."""
        return str((_object(self.tables_file) or {}).get("pairs", "auto"))

    @property
    def status(self) -> dict[str, Any] | None:
        """What the latest run told; None where no run did, or the file is damaged."""
        return _object(self.status_file)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What run.log tells, oldest first."""
        return _objects(self.events_file)


def _description(file: Path) -> dict[str, Any]:
    found = _object(file)
    if found is None:
        raise UserError(f"{file} is damaged: it should hold the description of a cell")
    return found


def _objects(file: Path) -> list[dict[str, Any]]:
    """The lines of a file; a torn or damaged one is left out."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [data for line in lines if (data := _parsed(line)) is not None]


def _object(file: Path) -> dict[str, Any] | None:
    try:
        return _parsed(file.read_bytes())
    except OSError:
        return None


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
