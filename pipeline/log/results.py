"""A cell as its folder describes it, and its matches on the gap-free prefix of its deals.

Only that prefix counts: short games finish first, so a table over whatever has finished would
favour whoever wins short games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pipeline.log.outcomes import Outcomes
from pipeline.plan.baseline import Baseline
from pipeline.plan.cells import Cell, stem


@dataclass(frozen=True)
class About:
    """What the tables need to know of a cell; kept beside its records.

    cards: what the deals hang on besides the seed; cells of equal `cards` meet equal deals.
    helping: whether the subject plays for another seat's win.
    """

    key: str
    name: str
    experiment: str
    labels: Mapping[str, str]
    rotations: int
    baseline: Baseline | None
    cards: str
    helping: bool

    @classmethod
    def of(cls, cell: Cell, baseline: Baseline | None) -> About:
        labels = dict(cell.labels)
        rotations, helping = len(cell.rotations), cell.players[cell.subjects[0]].helps is not None
        cards = f"{cell.identity['game']['class']}, {len(cell.players)} seats"
        return cls(
            cell.key, cell.name, cell.experiment, labels, rotations, baseline, cards, helping
        )

    @classmethod
    def told(cls, data: Mapping[str, Any]) -> About:
        """What the description of a cell tells of it."""
        fields = {field: data[field] for field in cls.__dataclass_fields__ if field in data}
        baseline = fields["baseline"]
        fields["baseline"] = Baseline(**baseline) if baseline else None
        return cls(**fields)

    @property
    def stem(self) -> str:
        return stem(self.name, self.key)

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class CellResults:
    """A cell's outcomes on the gap-free prefix of its deals, by deal and then rotation."""

    about: About
    outcomes: Outcomes
    complete_deals: int
    set_aside: int

    def win_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """The deals that have a match, in order, and the share of each one's matches that is
        won."""
        deals, places = np.unique(self.outcomes.column("deal"), return_inverse=True)
        return deals, np.bincount(places, self.outcomes.won) / np.bincount(places)


def collect(
    abouts: Sequence[About],
    outcomes: Mapping[str, Outcomes],
    set_aside: Iterable[Mapping[str, Any]],
    deals: int | None,
) -> list[CellResults]:
    """Cuts each cell's outcomes, found by its key, to the gap-free prefix of at most `deals` deals.

    A match that was set aside fills its place in the prefix but has no outcome.
    """
    aside: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for entry in set_aside:
        aside[entry["cell"]].add((entry["deal"], entry["rotation"]))
    return [
        _prefix(about, outcomes.get(about.key, Outcomes(about.key)), aside[about.key], deals)
        for about in abouts
    ]


def _prefix(
    about: About, played: Outcomes, aside: set[tuple[int, int]], deals: int | None
) -> CellResults:
    empty = {place for place in aside if not played.has(*place)}
    complete = played.complete_deals(about.rotations, empty)
    if deals is not None:
        complete = min(complete, deals)
    return CellResults(
        about, played.first(complete), complete, sum(deal < complete for deal, _ in empty)
    )
