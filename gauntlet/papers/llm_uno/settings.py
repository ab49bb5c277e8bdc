"""LLM-UNO's settings: as played against as printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.papers.published import Row, exact_row, not_run
from gauntlet.pipeline.log.folder import Folder


def recent_moves(folder: Path) -> dict[str, int]:
    """Return the number of recent moves in the prompt, by name of cell; of cells with the same
    name, the newest's. Read from the identity of the cells as played."""
    place = Folder(folder)
    moves = {}
    for about in place.sweep_cells():
        for player in place.description(about)["identity"]["players"]:
            method = player["agent"].get("method", {})
            if "moves" in method:
                moves[about.name] = method["moves"]
    return moves


def setting_rows(reported: dict[str, Any], cells: pd.DataFrame, alpha: float) -> list[Row]:
    """Compare the paper's settings with those of the cells played: if there are several, the one
    furthest off. not_run where no cell was played, and for the models if none of the paper's was.

    cells: with columns model, matches and moves. alpha: the level of their p-values.
    """
    played_cells = cells[cells["matches"] > 0]
    theirs = {cell["model"] for cell in reported["cells"]}.intersection(played_cells["model"])
    ours = {
        "games_default": list(played_cells["matches"]),
        "alpha": [alpha] if len(played_cells) else [],
        "recent_moves_in_prompt": list(played_cells["moves"].dropna()),
        "models": [len(theirs)] if theirs else [],
    }
    return [
        _row({**entry, "kind": "setting"}, ours[entry["id"].rpartition(".")[2]])
        for entry in reported["settings"]
    ]


def _row(entry: dict[str, Any], ours: Sequence[float]) -> Row:
    if not ours:
        return not_run(entry)
    return exact_row(entry, max(ours, key=lambda value: abs(value - entry["value"])))
