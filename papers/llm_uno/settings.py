"""LLM-UNO's settings, as they were played against as they were printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.papers.published import Row, exact, not_run
from gauntlet.pipeline.log.folder import Folder


def recent_moves(folder: Path) -> dict[str, int]:
    """How many of the latest moves the model was told, by the name of the cell; of cells of one
    name in the newest. From the cells' identity, as they were played."""
    place = Folder(folder)
    found = {}
    for about in place.abouts():
        for player in place.description(about)["identity"]["players"]:
            method = player["agent"].get("method", {})
            if "moves" in method:
                found[about.name] = method["moves"]
    return found


def setting_rows(reported: dict[str, Any], cells: pd.DataFrame, alpha: float) -> list[Row]:
    """The settings that the paper gives, against those of the cells that were played: of several,
    the one furthest off. Where no cell was, and of the models where none of the paper's, not_run.

    cells: with columns model, matches and moves. alpha: the level that their p-values are held to.
    """
    played = cells[cells["matches"] > 0]
    theirs = {cell["model"] for cell in reported["cells"]}.intersection(played["model"])
    ours = {
        "games_default": list(played["matches"]),
        "alpha": [alpha] if len(played) else [],
        "recent_moves_in_prompt": list(played["moves"].dropna()),
        "models": [len(theirs)] if theirs else [],
    }
    return [
        _row({**entry, "kind": "setting"}, ours[entry["id"].rpartition(".")[2]])
        for entry in reported["settings"]
    ]


def _row(entry: dict[str, Any], ours: Sequence[float]) -> Row:
    if not ours:
        return not_run(entry)
    return exact(entry, max(ours, key=lambda value: abs(value - entry["value"])))
