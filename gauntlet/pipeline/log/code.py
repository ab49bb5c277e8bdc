"""The code that a folder's matches were played with, and what has changed since.

A cell's description holds its code fingerprint. code.jsonl lists the files of each fingerprint and
their hashes, once. accepted.jsonl lists the changes that a user accepted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.common.errors import UserError, counted
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.fingerprint import Change, Code, code_of, differences, file_list


@dataclass(frozen=True)
class CodeChange:
    """Files that have changed since `matches` matches of `cells` were played.

    unknown: how many matches have no known fingerprint.
    """

    changes: frozenset[Change] = frozenset()
    cells: tuple[str, ...] = ()
    matches: int = 0
    unknown: int = 0


def compare(folder: Path, cells: Sequence[Cell], accept: bool = False) -> CodeChange:
    """Find the code changes since the folder's matches were played that were not accepted before:
    for `cells` in all their code, for other cells of the folder in the code shared with these.
    Reads only. Raises UserError if there are changes and `accept` is false."""
    place = Folder(folder)
    now = {cell.key: code_of(cell) for cell in cells}
    stored_codes = _readable_codes(place)
    accepted = {tuple(change) for line in place.lines("accepted") for change in line["changed"]}
    changes, touched, unknown = set[Change](), dict[str, int](), 0
    for file in place.record_files():
        key, then = key_of(file.stem), stored_codes.get(_noted(place.cell_file(file.stem)))
        if then is None:
            unknown += _count(file) if key in now else 0
            continue
        codes = [now[key]] if key in now else {*now.values()}
        new_changes = {
            one for code in codes for one in differences(then, code, key not in now)
        } - accepted
        if new_changes:
            changes |= new_changes
            touched[key] = _count(file)
    matches = sum(touched.values())
    if changes and not accept:
        raise UserError(
            f"{file_list(changes)} changed since {counted(matches, 'match', 'es')} in {folder} "
            "were "
            "played: choose another output_dir, or allow_code_change=true to go on with both, "
            "which is noted"
        )
    return CodeChange(frozenset(changes), tuple(touched), matches, unknown)


def changed_since(place: Folder, cell: Cell) -> str:
    """Name the files of the cell's code that have changed since its matches were played; "" if none
    are known to. Models that are not asked are left out."""
    then = _readable_codes(place).get(str(place.cell(cell.key).get("code", "")))
    return file_list(differences(then, code_of(cell), shared=True)) if then else ""


def describe(
    log: Log, cells: Sequence[Cell], abouts: Sequence[CellInfo], changed: CodeChange
) -> None:
    """Write the accepted changes, and the cells' descriptions with their code. Raises UserError."""
    known = {str(line["code"]) for line in Folder(log.folder).lines("code")}
    for fingerprint, code in {code.fingerprint: code for code in map(code_of, cells)}.items():
        if fingerprint not in known:
            log.append_line("code", {"code": fingerprint, "files": code.files})
    if changed.changes:
        listed = [list(change) for change in sorted(changed.changes)]
        line = {"matches": changed.matches, "cells": changed.cells, "changed": listed}
        log.append_line("accepted", {"when": time.strftime("%Y-%m-%d %H:%M:%S"), **line})
    for cell, about in zip(cells, abouts, strict=True):
        log.describe_cell(cell, {**about.data(), "code": code_of(cell).fingerprint})


def notes(folder: Path, changed: CodeChange) -> list[str]:
    """Notes to print before a run."""
    matches = counted(changed.unknown, "match", "es")
    unknown = f"{folder}: no record of the code that played {matches}"
    accepted = f"allow_code_change=true: {file_list(changed.changes)} changed, which is noted"
    return [unknown] * bool(changed.unknown) + [accepted] * bool(changed.changes)


def accepted_changes(folder: Path) -> list[str]:
    """One line for each time that a user accepted changed code."""
    return [
        f"code changed after {counted(line['matches'], 'match', 'es')} and was accepted on "
        f"{line['when']}: "
        f"{file_list(line['changed'])}"
        for line in Folder(folder).lines("accepted")
    ]


def _noted(file: Path) -> str:
    """The fingerprint in a cell's description, or ""."""
    try:
        return str(json.loads(file.read_bytes())["code"])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return ""


def _count(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


def _readable_codes(place: Folder) -> dict[str, Code]:
    """The code of each fingerprint whose line in code.jsonl is intact."""
    codes = {str(line["code"]): Code(line["files"]) for line in place.lines("code")}
    return {noted: code for noted, code in codes.items() if code.fingerprint == noted}
