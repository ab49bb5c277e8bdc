"""Which code a folder's matches were played with, and what has changed since.

A cell's description has the fingerprint of its code. code.jsonl lists, once for each fingerprint,
the files that made it and their hashes. accepted.jsonl has the changes that a user accepted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.fingerprint import Change, Code, code_of, differences, named


@dataclass(frozen=True)
class Changed:
    """Files that are no longer as they were when `matches` matches of `cells` were played.

    unknown: how many matches are there of which nobody noted the code.
    """

    changes: frozenset[Change] = frozenset()
    cells: tuple[str, ...] = ()
    matches: int = 0
    unknown: int = 0


def compare(folder: Path, cells: Sequence[Cell], accept: bool = False) -> Changed:
    """What has changed since the folder's matches were played, and was not accepted before: of
    these cells all their code, of the folder's others what they share with these. Reads only.
    Raises UserError where there is any and `accept` is false."""
    place = Folder(folder)
    now = {cell.key: code_of(cell) for cell in cells}
    distinct = {code.fingerprint: code for code in now.values()}
    kept, known = _readable_codes(place), _accepted(place)

    @cache
    def new(then: Code, code: Code, shared: bool) -> frozenset[Change]:
        return frozenset(differences(then, code, shared) - known)

    changes: set[Change] = set()
    touched: list[str] = []
    unknown = 0
    for stem, noted in _noted(place):
        key, then = key_of(stem), kept.get(noted)
        if then is None:
            unknown += _count(place, stem) if key in now else 0
            continue
        others = [now[key]] if key in now else distinct.values()
        found = [new(then, code, key not in now) for code in others]
        if any(found):
            changes.update(*found)
            touched.append(stem)
    matches = sum(_count(place, stem) for stem in touched)
    if changes and not accept:
        raise UserError(
            f"{named(changes)} changed since {matches:,} match(es) in {folder} were played: choose "
            "another output_dir, or allow_code_change=true to go on with both, which is noted"
        )
    keys = tuple(map(key_of, touched))
    return Changed(frozenset(changes), keys, matches, unknown)


def changed_since(place: Folder, cell: Cell) -> str:
    """Which of the code that settles the cell's matches is another one than when they were played;
    "" where none is known to be. That of a model that is not asked is left out."""
    then = _readable_codes(place).get(str(place.cell(cell.key).get("code", "")))
    return named(differences(then, code_of(cell), shared=True)) if then else ""


def describe(log: Log, cells: Sequence[Cell], abouts: Sequence[CellInfo], changed: Changed) -> None:
    """Writes what the cells are, with their code, and before that what was accepted. Raises
    UserError."""
    _keep(log, cells, changed)
    for cell, about in zip(cells, abouts, strict=True):
        log.describe_cell(cell, {**about.data(), "code": code_of(cell).fingerprint})


def _keep(log: Log, cells: Sequence[Cell], changed: Changed) -> None:
    known = {str(line["code"]) for line in Folder(log.folder).lines("code")}
    now = {code.fingerprint: code for code in map(code_of, cells)}
    for fingerprint, code in now.items():
        if fingerprint not in known:
            log.append_line("code", {"code": fingerprint, "files": code.files})
    if changed.changes:
        listed = [list(change) for change in sorted(changed.changes)]
        told = {"matches": changed.matches, "cells": changed.cells, "changed": listed}
        log.append_line("accepted", {"when": time.strftime("%Y-%m-%d %H:%M:%S"), **told})


def notes(folder: Path, changed: Changed) -> list[str]:
    """What a run should say of it before it plays."""
    found = []
    if changed.unknown:
        found.append(
            f"{folder}: {changed.unknown:,} match(es) are of older code that did not note itself; "
            "the code of now is noted, and any later change is told"
        )
    if changed.changes:
        found.append(f"allow_code_change=true: {named(changed.changes)} changed, which is noted")
    return found


def accepted(folder: Path) -> list[str]:
    """What was taken along although it had changed: a line each time."""
    return [
        f"code changed after {line['matches']:,} match(es) and was accepted on {line['when']}: "
        f"{named(_changes(line))}"
        for line in Folder(folder).lines("accepted")
    ]


def _noted(place: Folder) -> Iterator[tuple[str, str]]:
    """The stem of each cell that has matches, and the fingerprint in its description: "" where
    there is none."""
    for file in place.record_files():
        try:
            told = json.loads(place.cell_file(file.stem).read_bytes())
        except (OSError, ValueError, RecursionError):
            told = None
        yield file.stem, str(told.get("code", "")) if isinstance(told, dict) else ""


def _count(place: Folder, stem: str) -> int:
    with place.records_file(stem).open("rb") as lines:
        return sum(1 for _ in lines)


def _readable_codes(place: Folder) -> dict[str, Code]:
    """The code of each fingerprint, where all that it was made of can still be read."""
    codes = {str(line["code"]): Code(line["files"]) for line in place.lines("code")}
    return {noted: code for noted, code in codes.items() if code.fingerprint == noted}


def _accepted(place: Folder) -> set[Change]:
    return {change for line in place.lines("accepted") for change in _changes(line)}


def _changes(line: Mapping[str, Any]) -> list[Change]:
    return [(file, old, new) for file, old, new in line["changed"]]
