"""How a person did at a table, next to others on the same cards.

Others are the cells of any run under the directory that have the same deals, measure and other
players, and someone else in the person's seat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.pipeline.library import Library
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord

MOST = 3
"""Maximum number of others to compare with."""


def scores(folder: Folder, record: MatchRecord) -> list[str]:
    """The person's score next to each other's, on the deals of both: "You 6 of 10, rule 7 of 10 on
    the same cards". Only others that have played this match's deal. Raises UserError."""
    about = next(one for one in folder.sweep_cells() if one.key == record.cell)
    own = _by_deal(folder, about)
    found = [(name, values) for name, values in _others(folder, about) if record.deal in values]
    found.sort(key=lambda entry: -len(own.keys() & entry[1].keys()))
    lines = []
    for name, values in found[:MOST]:
        shared = sorted(own.keys() & values.keys())
        you, they = (_score(about, [each[at] for at in shared]) for each in (own, values))
        lines.append(f"You {you}, {name} {they} on the same cards")
    return lines


def _others(folder: Folder, about: CellInfo) -> Iterator[tuple[str, dict[int, float]]]:
    """The names and results of the others, those of the person's own run first."""
    paths = dict.fromkeys((folder.path, *Library(folder.path.parent).folders().values()))
    for there in map(Folder, paths):
        try:
            if there.seed != folder.seed:
                continue
            for cell in there.sweep_cells():
                if cell.key != about.key and _same_but_person(folder, about, there, cell):
                    yield cell.players[cell.subjects[0][0]], _by_deal(there, cell)
        except UserError:
            continue  # a damaged run is shown on its own page


def _same_but_person(folder: Folder, about: CellInfo, there: Folder, cell: CellInfo) -> bool:
    places = (about.seats, about.subjects) == (cell.seats, cell.subjects)
    return (
        places and about.paired_by == cell.paired_by and _rest(folder, about) == _rest(there, cell)
    )


def _rest(folder: Folder, about: CellInfo) -> list[Any]:
    players = folder.description(about)["identity"]["players"]
    return [player for seat, player in enumerate(players) if seat not in about.subjects[0]]


def _by_deal(folder: Folder, about: CellInfo) -> dict[int, float]:
    outcomes = folder.outcomes({about.key: about.measure.name}).get(about.key)
    if outcomes is None:
        return {}
    columns = (outcomes.column(name).tolist() for name in ("deal", "figure"))
    return dict(zip(*columns, strict=True))


def _score(about: CellInfo, values: list[float]) -> str:
    if (about.measure.low, about.measure.high) == (0.0, 1.0):
        return f"{sum(values):g} of {len(values)}"
    return f"{np.mean(values):.3g} {about.measure.name} a deal over {len(values)}"
