"""A cell as its folder describes it, and its matches on the gap-free prefix of its deals.

Only that prefix counts: short games finish first, so a table over whatever has finished would
favour whoever wins short games.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import convert

from gauntlet.games.capabilities import WIN, Measure, judgeable_by
from gauntlet.pipeline.config.read import TWO_SIDED, Declared
from gauntlet.pipeline.log.outcomes import Measures, Outcomes
from gauntlet.pipeline.log.schema import ROTATIONS, SEATS
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.plan.cells import Cell, Role, stem
from gauntlet.pipeline.plan.rng import deal_key


@dataclass(frozen=True)
class CellInfo:
    """What the tables need to know of a cell; kept beside its records.

    deal_key: what the deals hang on besides the seed; cells of equal ones meet equal deals.
    helping: whether the subject plays for another seat.
    measure: what the cell is judged by. measured: by the results of how many players.
    rotations: how many matches a deal has, all samples together; samples: see `Cell`. step: how far
    apart the numbers of a deal's matches lie. seats: the measured seats of each of a deal's
    matches, in order. test: what the result is put to. players: the names of all, by number.
    in_turn: whether one seat alone makes the first move. subjects: the seats under study, as
    `seats`. role: see `Cell`. controls: the keys of its controls and its noise cell, by name.
    """

    key: str
    name: str
    experiment: str
    labels: Mapping[str, str]
    rotations: int
    baseline: Baseline | None
    deal_key: str
    helping: bool
    measure: Measure = WIN
    measured: int = 1
    samples: int = 1
    step: int = 1
    seats: tuple[tuple[int, ...], ...] = ()
    test: Declared = TWO_SIDED
    players: tuple[str, ...] = ()
    in_turn: bool = False
    subjects: tuple[tuple[int, ...], ...] = ()
    role: Role = "sweep"
    controls: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_cell(
        cls, cell: Cell, baseline: Baseline | None, controls: Mapping[str, Cell] | None = None
    ) -> CellInfo:
        return cls(
            key=cell.key,
            name=cell.name,
            experiment=cell.experiment,
            labels=dict(cell.labels),
            rotations=len(cell.rotations),
            baseline=baseline,
            deal_key=_words(*deal_key(cell.game)),
            helping=cell.players[cell.subjects[0]].helps is not None,
            measure={one.name: one for one in judgeable_by(cell.game)}[cell.measure],
            measured=len(cell.measured),
            samples=cell.samples,
            step=cell.rotations.step,
            seats=tuple(cell.seats_of(cell.measured, rotation) for rotation in cell.rotations),
            test=cell.test,
            players=tuple(player.name for player in cell.players),
            in_turn=len(cell.game.to_move(cell.game.deal(np.random.default_rng(0)))) == 1,
            subjects=tuple(cell.seats_of(cell.subjects, rotation) for rotation in cell.rotations),
            role=cell.role,
            controls={name: control.key for name, control in (controls or {}).items()},
        )

    @property
    def stem(self) -> str:
        return stem(self.name, self.key)

    @property
    def wins(self) -> bool:
        """Whether the cell is judged by its wins."""
        return self.measure == WIN

    @property
    def span(self) -> float:
        """The width of the measure's range; 1 where it has none."""
        width = self.measure.high - self.measure.low
        return width if math.isfinite(width) else 1.0

    @property
    def clustered(self) -> bool:
        """Whether a deal holds more than one result: the deal is then what is counted."""
        return self.rotations > 1 or self.measured > 1

    @property
    def even(self) -> bool:
        """Whether as many seats are measured as others are not: two players, or two teams."""
        return 2 * self.measured == len(self.players)

    def comparable(self, other: CellInfo) -> bool:
        """Whether the two can be paired: equal deals mean equal cards, and equal figures the
        same."""
        return (self.deal_key, self.measure) == (other.deal_key, other.measure)

    def data(self) -> dict[str, Any]:
        """As plain JSON has it: a bound that is not there is null."""
        measure = asdict(self.measure)
        bounds = {side: measure[side] for side in ("low", "high")}
        finite = {side: x if math.isfinite(x) else None for side, x in bounds.items()}
        return {**asdict(self), "measure": {**measure, **finite}}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> CellInfo:
        """From what `data` gave. Raises ValueError where it is something else."""
        known = {**data}
        if isinstance(measure := data.get("measure"), dict):
            known["measure"] = {side: x for side, x in measure.items() if x is not None}
        about = convert(known, cls)
        if min(about.rotations, about.step, about.measured) < 1:
            raise ValueError("a cell without matches")
        if max(about.rotations, about.step) >= ROTATIONS or about.measured >= SEATS:
            raise ValueError("more matches or seats than a deal has")
        return about


@dataclass(frozen=True)
class SameName(CellInfo):
    """One of several cells of a folder that are called alike: its key is part of its name, though
    not of its files'."""

    @property
    def stem(self) -> str:
        return stem(self.name.removesuffix(f" {self.key}"), self.key)


def told_apart(results: Sequence[CellResults]) -> list[CellResults]:
    """The cells under names of which no two are alike."""
    times = Counter(result.about.name for result in results)
    return [
        replace(one, about=SameName(**{**vars(one.about), "name": f"{name} {one.about.key}"}))
        if times[name := one.about.name] > 1
        else one
        for one in results
    ]


def _words(module: str | int, name: str | int, seats: str | int, *parts: str | int) -> str:
    """A deal's key as a person reads it."""
    return ", ".join([f"{module}.{name}", f"{seats} seats", *map(str, parts)])


def measures(abouts: Iterable[CellInfo]) -> Measures:
    """What each cell is judged by, as whoever reads records wants to know."""
    return {about.key: about.measure.name for about in abouts}


@dataclass(frozen=True)
class Adjusted:
    """A cell's deals in order, and of each the mean of its results with the luck taken out: those
    of the policy `reference`, whose mean is `rate` with the standard error `error`, and what the
    subject's decisions were worth more. See `pipeline/judging/luck.py`."""

    deals: np.ndarray
    values: np.ndarray
    reference: str
    rate: float
    error: float


@dataclass(frozen=True)
class CellResults:
    """A cell's outcomes on the gap-free prefix of its deals, by deal and then rotation.

    adjusted: the same with the luck taken out, where that can be had. stopped: whether a rule said
    how many deals there are to be.
    """

    about: CellInfo
    outcomes: Outcomes
    complete_deals: int
    failed: int
    adjusted: Adjusted | None = None
    stopped: bool = False

    def by_deal(self) -> tuple[np.ndarray, np.ndarray]:
        """The deals that have a match, in order, and each one's mean of the cell's measure."""
        return self._by_deal(self.outcomes.column("figure"))

    def win_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """As `by_deal`, of wins, whatever the cell is judged by."""
        return self._by_deal(self.outcomes.won)

    def _by_deal(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        deals, places = np.unique(self.outcomes.column("deal"), return_inverse=True)
        return deals, np.bincount(places, values) / np.bincount(places)


def collect(
    abouts: Sequence[CellInfo],
    outcomes: Mapping[str, Outcomes],
    failed_matches: Iterable[Mapping[str, Any]],
) -> list[CellResults]:
    """Cuts each cell's outcomes, found by its key, to the gap-free prefix of its deals.

    A match that failed fills its place in the prefix but has no outcome.
    """
    aside: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for entry in failed_matches:
        aside[entry["cell"]].add((entry["deal"], entry["rotation"]))
    return [
        _prefix(about, outcomes.get(about.key, Outcomes(about.key)), aside[about.key])
        for about in abouts
    ]


def _prefix(about: CellInfo, played: Outcomes, aside: set[tuple[int, int]]) -> CellResults:
    empty = {place for place in aside if not played.has(*place)}
    complete = played.complete_deals(about.rotations, empty, about.step)
    return CellResults(
        about, played.first(complete), complete, sum(deal < complete for deal, _ in empty)
    )
