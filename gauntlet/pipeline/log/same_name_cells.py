"""Cells in a folder that share the name of a cell to be played but differ from it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.differences import differences
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.plan.cells import CANONICAL, Cell

SHOWN = 2
"""How many differences a note lists."""


def notes(folder: Folder, cells: Sequence[Cell]) -> Iterator[str]:
    """Notes to print before a run: the weights under a path may have changed, for example."""
    by_name = defaultdict[str, list[Cell]](list)
    for cell in cells:
        by_name[_name(cell.stem)].append(cell)
    for file in folder.record_files():
        for cell in by_name[_name(file.stem)]:
            if file.stem != cell.stem:
                yield _note(folder, key_of(file.stem), cell)


def _name(stem: str) -> str:
    return stem.rpartition("-")[0]


def _note(folder: Folder, key: str, cell: Cell) -> str:
    try:
        then = folder.cell(key)["identity"]
    except UserError:
        then = {}
    now = json.loads(CANONICAL.encode(cell.identity))
    changes = [f"{one.where}, {one.left} and now {one.right}" for one in differences(then, now)]
    return (
        f"{folder.path} has matches of another cell called {cell.name} ({key}), which differs in "
        f"{'; '.join(changes[:SHOWN])}: they stay there as a row of their own; choose another "
        "output_dir to keep the two apart"
    )
