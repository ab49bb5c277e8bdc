"""A cell's description, and its matches on the gap-free prefix of its deals.

Only that prefix counts: short games finish first, so a table of all finished matches would favour
players that win short games.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import convert

from gauntlet.games.capabilities import WIN, Measure, judgeable_measures
from gauntlet.games.contract import legal_actions, observation, seats_to_move
from gauntlet.pipeline.config.read import TWO_SIDED, DeclaredTest
from gauntlet.pipeline.log.outcomes import Measures, Outcomes
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.plan.cells import Cell, Role, Round, deals_in, stem
from gauntlet.pipeline.plan.rng import deal_key


@dataclass(frozen=True)
class CellInfo:
    """What the tables need to know about a cell; stored next to its records.

    deal_key: what determines the deals besides the seed; cells with equal keys get equal deals.
    helping: whether the subject plays for another seat.
    measure: what the cell is judged by. measured: the number of measured players.
    rotations: matches per deal, over all samples; samples: see `Cell`. step: the spacing of a
    deal's rotation numbers.
    seats: the measured seats of each of a deal's matches, in order. subjects: those of the
    subjects, laid out in the same way.
    test: the test applied to the result. players: all names, by number.
    in_turn: whether a single seat makes the first move. role: see `Cell`.
    controls: the keys of its controls and noise cell, by name.
    parameters: of the subject's model, if its config says. without: see `Cell`.
    seatings: the player of every seat, for each of a deal's matches; () in older logs. team: the
    seats of one of two teams; () if there are none.
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
    test: DeclaredTest = TWO_SIDED
    players: tuple[str, ...] = ()
    in_turn: bool = False
    subjects: tuple[tuple[int, ...], ...] = ()
    role: Role = "sweep"
    controls: Mapping[str, str] = field(default_factory=dict)
    parameters: float | None = None
    without: str = ""
    seatings: tuple[tuple[int, ...], ...] = ()
    team: tuple[int, ...] = ()

    @classmethod
    def from_cell(
        cls, cell: Cell, baseline: Baseline | None, controls: Mapping[str, Cell] | None = None
    ) -> CellInfo:
        start = cell.game.deal(np.random.default_rng(0))
        first = seats_to_move(cell.game, start)
        team: tuple[int, ...] = ()
        if first:
            actions = legal_actions(cell.game, start, first[0])
            team = observation(cell.game, start, first[0], actions).team
        return cls(
            key=cell.key,
            name=cell.name,
            experiment=cell.experiment,
            labels=dict(cell.labels),
            rotations=len(cell.rotations),
            baseline=baseline,
            deal_key=_words(*deal_key(cell.game)),
            helping=cell.players[cell.subjects[0]].helps is not None,
            measure={one.name: one for one in judgeable_measures(cell.game)}[cell.measure],
            measured=len(cell.measured),
            samples=cell.samples,
            step=cell.rotations.step,
            seats=tuple(cell.seats_of(cell.measured, rotation) for rotation in cell.rotations),
            test=cell.test,
            players=tuple(player.name for player in cell.players),
            in_turn=len(first) == 1,
            subjects=tuple(cell.seats_of(cell.subjects, rotation) for rotation in cell.rotations),
            role=cell.role,
            controls={name: control.key for name, control in (controls or {}).items()},
            parameters=cell.players[cell.subjects[0]].parameters,
            without=cell.without,
            seatings=tuple(cell.seating(rotation) for rotation in cell.rotations),
            team=team,
        )

    @property
    def stem(self) -> str:
        return stem(self.name, self.key)

    @property
    def wins(self) -> bool:
        """Whether the cell is judged by wins."""
        return self.measure == WIN

    @property
    def span(self) -> float:
        """The width of the measure's range; 1 if unbounded."""
        width = self.measure.high - self.measure.low
        return width if math.isfinite(width) else 1.0

    @property
    def clustered(self) -> bool:
        """Whether a deal holds more than one result, which makes the deal the unit of analysis."""
        return self.rotations > 1 or self.measured > 1

    @property
    def sides(self) -> tuple[str, str] | None:
        """The measured player and its opponent, if either side is one player in all its seats."""
        if not (self.players and self.seats):
            return None
        seats = self.seats[0]  # without rotation player i sits in seat i
        measured = {self.players[seat] for seat in seats if seat < len(self.players)}
        others = {name for seat, name in enumerate(self.players) if seat not in seats}
        if len(measured) != 1 or len(others) != 1 or measured == others:
            return None
        return measured.pop(), others.pop()

    @property
    def seats_taken(self) -> int:
        """In how many seats the subjects meet a deal."""
        return max(1, len({*self.subjects}))

    @property
    def even(self) -> bool:
        """Whether half of the seats are measured: two players, or two teams."""
        return 2 * self.measured == len(self.players)

    def balanced(self, player: int | None = None) -> bool:
        """Whether this player takes every seat equally often in the matches of a deal; None: the
        measured players together. Otherwise what a seat is worth counts for its player."""
        if player is None:
            taken = Counter(seat for match in self.seats for seat in match)
        else:
            taken = Counter(seating.index(player) for seating in self.seatings)
        return len({taken[seat] for seat in range(len(self.players))}) <= 1

    @property
    def paired_by(self) -> Hashable:
        """The same for cells that can be paired: deals, measure, and how many of the measured
        results are from each seat. Otherwise what a seat is worth counts for its player."""
        taken = Counter(seat for match in self.seats for seat in match)
        shares = {(seat, Fraction(count, taken.total())) for seat, count in taken.items()}
        return self.deal_key, self.measure, frozenset(shares)

    def data(self) -> dict[str, Any]:
        """The cell as plain JSON data; infinite bounds become null."""
        measure = asdict(self.measure)
        bounds = {side: measure[side] for side in ("low", "high")}
        finite = {side: x if math.isfinite(x) else None for side, x in bounds.items()}
        return {**asdict(self), "measure": {**measure, **finite}}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> CellInfo:
        """The inverse of `data`. Raises ValueError."""
        values = {**data}
        if isinstance(measure := data.get("measure"), dict):
            values["measure"] = {side: x for side, x in measure.items() if x is not None}
        return convert(values, cls)


@dataclass(frozen=True)
class SameNameCell(CellInfo):
    """One of several cells of a folder with the same name: its key is part of its name, but not of
    its file names."""

    @property
    def stem(self) -> str:
        return stem(self.name.removesuffix(f" {self.key}"), self.key)


def disambiguate_names(results: Sequence[CellResults]) -> list[CellResults]:
    """The results with the key appended to every cell name that occurs more than once."""
    times = Counter(result.about.name for result in results)
    return [
        replace(
            result,
            about=SameNameCell(**{**vars(result.about), "name": f"{name} {result.about.key}"}),
        )
        if times[name := result.about.name] > 1
        else result
        for result in results
    ]


def _words(module: str | int, name: str | int, seats: str | int, *parts: str | int) -> str:
    """A readable deal key."""
    return ", ".join([f"{module}.{name}", f"{seats} seats", *map(str, parts)])


def measures(abouts: Iterable[CellInfo]) -> Measures:
    """The measure of each cell, by its key."""
    return {about.key: about.measure.name for about in abouts}


@dataclass(frozen=True)
class Adjusted:
    """A cell's deals in order and each one's luck-adjusted mean: the results of the policy
    `reference`, which have mean `rate` and standard error `error`, plus the extra value of the
    subject's decisions. See `pipeline/judging/luck.py`. leads: whether they are reported instead of
    the raw results."""

    deals: np.ndarray
    values: np.ndarray
    reference: str
    rate: float
    error: float
    leads: bool = True


ORDER_MATTERS = "results may depend on the order of matches"
"""Why nothing is claimed about cells that are not reproducible."""


@dataclass(frozen=True)
class CellResults:
    """A cell's outcomes on the gap-free prefix of its deals, by deal, then rotation.

    adjusted: the luck-adjusted results, where available. stopped: whether a stopping rule set the
    number of deals. partial: whether deals or controls of its run are missing. waiting: finished
    matches that do not count yet, as an earlier one is missing. unrepeatable: what shows that its
    matches are not reproducible and may depend on their order, or "".
    """

    about: CellInfo
    outcomes: Outcomes
    complete_deals: int
    failed: int
    adjusted: Adjusted | None = None
    stopped: bool = False
    partial: bool = False
    unrepeatable: str = ""
    waiting: int = 0

    @property
    def testable(self) -> bool:
        """Whether its number of deals was fixed beforehand and has been played, and its deals are
        independent, as tests need."""
        return not (self.stopped or self.partial or self.unrepeatable)

    def by_deal(self) -> tuple[np.ndarray, np.ndarray]:
        """The deals that have a match, in order, and each deal's mean measure."""
        return self._by_deal(self.outcomes.column("figure"))

    def win_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """As `by_deal`, for wins, whatever the cell's measure."""
        return self._by_deal(self.outcomes.won)

    def _by_deal(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        deals, places = np.unique(self.outcomes.column("deal"), return_inverse=True)
        return deals, np.bincount(places, values) / np.bincount(places)


def collect(
    abouts: Sequence[CellInfo],
    outcomes: Mapping[str, Outcomes],
    failed_matches: Iterable[Mapping[str, Any]],
    rounds: Sequence[Round] = (),
) -> list[CellResults]:
    """Cut each cell's outcomes, found by key, to the gap-free prefix of its deals.

    A failed match fills its place in the prefix but has no outcome. rounds: of an adaptive sweep;
    the deals that they do not give to a cell have no outcomes, and are no gaps.
    """
    failed: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for entry in failed_matches:
        failed[entry["cell"]].add((entry["deal"], entry["rotation"]))
    return [
        _prefix(about, outcomes.get(about.key, Outcomes(about.key)), failed[about.key], rounds)
        for about in abouts
    ]


def _prefix(
    about: CellInfo,
    outcomes: Outcomes,
    failed: set[tuple[int, int]],
    rounds: Sequence[Round],
) -> CellResults:
    unplanned = list[int]()
    if rounds:
        planned = {*deals_in(rounds, about.key)}
        unplanned = [deal for deal in range(rounds[-1].deals.stop) if deal not in planned]
        outcomes = outcomes.only([*planned])
    empty = {place for place in failed if not outcomes.has(*place)}
    complete = outcomes.complete_deals(about.rotations, empty, about.step, unplanned)
    counting, failures = outcomes.first(complete), sum(deal < complete for deal, _ in empty)
    waiting = len(outcomes) - len(counting)
    return CellResults(about, counting, complete, failures, waiting=waiting)
