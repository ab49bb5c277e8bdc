"""The matches of any logs as pairs of sides, from which ratings are computed.

A match is read seat by seat. Seats of one player, of one team, or that help each other are one
side; a side's value is the mean over its seats, a helper's that of the seat it helps. Of two sides
with values y and z the first scores

    rank      1 if y > z, 1/2 if y = z, else 0; y is the return
    measure   (1 + (y - z) / range) / 2; y is the cell's measure

Where the game has a `match_score` of its own, which shares a match out, `rank` is by that:
(1 + y - z) / 2.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from gauntlet.common.errors import UserError, counted
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.judging import stopping
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import ORDER_MATTERS, CellInfo, collect
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.tables.sweep.spending import Cost, spending
from gauntlet.stats.chains import parts
from gauntlet.stats.front import Spent
from gauntlet.stats.matches import Matches, Ties

Scoring = Literal["rank", "measure"]
Place = tuple[str, str, int]
"""A deal: the seeds, the deal key, the number."""
Side = tuple[str, ...]
"""The names of its players, one per seat, sorted."""
ONE_SIDE = "all seats are on one side, or an older version did not log who sat where"
"""Why a cell is left out, besides ORDER_MATTERS."""
Meetings = dict[tuple[int, int], Fraction]
"""How often two sides met in each two seats, the alphabetically first side first; a match counts
once, however many seats they have."""


class Seen(NamedTuple):
    """What is kept of a match: the value of every seat, the range of such values, 0 where only
    their order counts, and what every seat spent."""

    rotation: int
    values: tuple[float, ...]
    range: float
    spent: tuple[float, ...] = ()


class PairRow(NamedTuple):
    """Two sides of a match and the first one's score. place: of the deal. seats: of both sides."""

    first: Side
    second: Side
    game: str
    place: Place
    match: str
    score: float
    seats: tuple[tuple[int, ...], tuple[int, ...]]


class Bill(NamedTuple):
    """What one seat of a match spent."""

    player: str
    game: str
    place: Place
    amount: float


@dataclass(frozen=True)
class Contest:
    """Matches with the names of their players and games, by the numbers in `matches`.

    A player is identified by its settings in any cell, game or folder: its agent, method and model
    with the hash of its weights. Players of one name with different settings have a number.
    places: of the deals. omitted: how many cells are left out, by the reason in words. unrotated:
    pairs of sides left out of a game, as they did not take its seats equally often. swapped:
    whether all pairs met in any two seats as often as in these seats swapped. spent: what every
    player spent in each match, of `cost`, if asked for.
    """

    players: Sequence[str]
    games: Sequence[str]
    matches: Matches
    omitted: Mapping[str, int] = field(default_factory=dict)
    places: Sequence[Place] = ()
    unrotated: int = 0
    swapped: bool = True
    spent: Spent | None = None
    cost: Cost | None = None

    @classmethod
    def from_rows(
        cls, rows: Sequence[PairRow], omitted: Mapping[str, int] = MappingProxyType({})
    ) -> Contest:
        """The matches of pairs who took every seat of a game equally often."""
        sides = sorted({side for row in rows for side in (row.first, row.second)})
        players = sorted({name for side in sides for name in side})
        number = {side: at for at, side in enumerate(sides)}
        seats = _seats_by_pair(rows)
        even = {pair: _marginal(seen) == _marginal(_swapped(seen)) for pair, seen in seats.items()}
        frame = pd.DataFrame(
            [row for row in rows if even[_pair(row)]], columns=list(PairRow._fields)
        )
        first, second = (
            np.array([number[side] for side in frame[name]], np.int64)
            for name in ("first", "second")
        )
        game, games = pd.factorize(frame["game"])
        deal, places = pd.factorize(frame["place"])
        match, _ = pd.factorize(frame["match"])
        scores, teams = frame["score"].to_numpy(float), None
        if not all(len(side) == 1 for side in sides):  # the part of each player in each side
            teams = np.array([[side.count(name) / len(side) for name in players] for side in sides])
        matches = Matches(len(players), first, second, scores, game, deal, match, teams)
        return cls(
            players,
            list(games),
            matches,
            omitted,
            list(places),
            unrotated=[*even.values()].count(False),
            swapped=all(seen == _swapped(seen) for pair, seen in seats.items() if even[pair]),
        )

    def game_matches(self, number: int) -> Matches:
        return self.matches.where(self.matches.games == number)

    @property
    def left_out(self) -> list[str]:
        """What does not count, and why, in words."""
        notes = []
        if self.unrotated:
            notes.append(
                f"{counted(self.unrotated, 'pair')} of players left out: they kept their seats, "
                "and a seat can be worth as much as a player; play with rotate=true"
            )
        for reason, count in self.omitted.items():
            notes.append(f"{counted(count, 'cell')} left out: {reason}")
        return notes

    def check(self, ties: Ties) -> None:
        """Raises UserError if there are fewer than two players with a match that counts, or if the
        matches do not determine how all of them differ."""
        part_of = parts(self.matches.wins(ties), self.matches.teams)
        rated = np.flatnonzero(part_of >= 0)
        if len(rated) < 2:
            count = f"{self.matches.count:,} matches of {counted(len(self.players), 'player')}"
            raise UserError(
                "ratings need two players who met in a match that counts, got "
                f"{'; '.join((count, *self.left_out))}"
            )
        if part_of.max() > 0:
            groups = "; ".join(
                ", ".join(self.players[int(at)] for at in rated if part_of[at] == part)
                for part in range(part_of.max() + 1)
            )
            raise UserError(
                "no chain of matches joins these players, so they cannot be rated together: "
                f"{groups}"
            )


def load_contest(
    folders: Sequence[Path],
    names: PlayerNames | None = None,
    scoring: Scoring = "rank",
    cost: Cost | None = None,
) -> Contest:
    """The matches of the gap-free deals of all cells of some output_dirs, each once. names: takes
    those of the players. cost: what to sum up per player and match. Raises UserError if a folder
    holds no sweep, for a measure without a range, and for an unknown price."""
    rows: dict[str, list[PairRow]] = {}
    bills: dict[str, list[Bill]] = {}
    names, omitted = names or PlayerNames(), Counter[str]()
    for log in map(Folder, dict.fromkeys(path.resolve() for path in folders)):
        unrepeatable = log.unrepeatable
        for about, seen in seen_matches(log, scoring, cost):
            description = log.description(about)
            called = [names.name(description, at) for at in range(len(about.players))]
            seats = SeatedSides.from_cell(about, description, called)
            if seats is None or about.key in unrepeatable:
                omitted[ONE_SIDE if seats is None else ORDER_MATTERS] += 1
                continue
            for match, (deal, one) in seen.items():
                place = (json.dumps(log.seed), about.deal_key, deal)
                of, game = seats.sides[one.rotation // seats.step], about.labels["game"]
                pairs = [
                    PairRow(a, b, game, place, match, score, (tuple(of[a]), tuple(of[b])))
                    for a, b, score in seats.pairs(one)
                ]
                rows.setdefault(match, pairs)
                if one.spent:
                    seating = about.seatings[one.rotation // about.step]
                    match_bills = [
                        Bill(called[player], game, place, amount)
                        for player, amount in zip(seating, one.spent, strict=True)
                    ]
                    bills.setdefault(match, match_bills)
    contest = Contest.from_rows([*chain(*rows.values())], omitted)
    return replace(contest, spent=_spent([*chain(*bills.values())], contest), cost=cost)


def seen_matches(
    log: Folder, scoring: Scoring, cost: Cost | None
) -> Iterator[tuple[CellInfo, dict[str, tuple[int, Seen]]]]:
    """The cells of an output_dir with their matches on gap-free deals: deal and values, by id."""
    abouts, seen = {about.key: about for about in log.sweep_cells()}, dict[str, Seen]()
    spend = {
        key: spending(cost, log.description(about))
        for key, about in abouts.items()
        if cost and about.seatings
    }

    def see(record: MatchRecord) -> None:
        if (about := abouts.get(record.cell)) is None:
            return
        values = values_of(record, about, scoring)
        if record.cell in spend:
            seating = about.seatings[record.rotation // about.step]
            values = values._replace(spent=tuple(spend[record.cell](record, seating)))
        seen.setdefault(record.match, values)

    outcomes = log.outcomes(dict.fromkeys(abouts, MATCH_SCORE.name), see)
    results = collect([*abouts.values()], outcomes, log.failed_matches, log.rounds)
    for result in stopping.cut_at_stop(log.path, results):
        columns = (result.outcomes.column(name) for name in ("match", "deal"))
        kept = ((match.decode(), int(deal)) for match, deal in zip(*columns, strict=True))
        yield result.about, {match: (deal, seen[match]) for match, deal in kept}


def values_of(record: MatchRecord, about: CellInfo, scoring: Scoring = "rank") -> Seen:
    """What is kept of a match. Raises UserError for a measure without a range."""
    if scoring == "measure" and about.measure.name in record.measures:
        width = about.measure.high - about.measure.low
        if not math.isfinite(width):
            raise UserError(
                f"{about.labels['game']}: {about.measure.name} has no range, so it cannot be "
                "shared out; --score rank counts who has more"
            )
        return Seen(record.rotation, record.measures[about.measure.name], width)
    if (scores := record.measures.get(MATCH_SCORE.name)) is not None:
        return Seen(record.rotation, scores, MATCH_SCORE.high - MATCH_SCORE.low)
    return Seen(record.rotation, record.returns, 0.0)


@dataclass(frozen=True)
class SeatedSides:
    """The sides of each of a deal's matches: for each its name, and the seats whose values are its
    own."""

    step: int
    sides: Sequence[Mapping[Side, Sequence[int]]]

    @classmethod
    def from_cell(
        cls, about: CellInfo, description: Mapping[str, Any], names: Sequence[str]
    ) -> SeatedSides | None:
        """The sides of a cell whose players have these names; None if they are unknown, or there is
        a single one."""
        seatings = about.seatings or _two_sides(about)
        helps = [one["helps"] for one in description["identity"]["players"]]
        sides = [seated_sides(seating, about.team, names, helps) for seating in seatings]
        if not sides or min(map(len, sides)) < 2:
            return None
        return cls(about.step, sides)

    def pairs(self, seen: Seen) -> Iterator[tuple[Side, Side, float]]:
        """Every two sides of a match, with the first one's score."""
        sides = self.sides[seen.rotation // self.step]
        values = {
            side: float(np.mean([seen.values[seat] for seat in seats]))
            for side, seats in sides.items()
        }
        for first, second in combinations(values, 2):
            if seen.range:
                apart = (values[first] - values[second]) / seen.range
                yield first, second, (1.0 + apart) / 2.0
            else:  # the mean over pairs of their seats
                y, z = (
                    np.array([seen.values[seat] for seat in sides[side]])
                    for side in (first, second)
                )
                yield first, second, float((1.0 + np.sign(y[:, None] - z)).mean() / 2.0)


def seated_sides(
    seating: Sequence[int], team: Sequence[int], names: Sequence[str], helps: Sequence[int | None]
) -> dict[Side, list[int]]:
    """The sides of a match, with the seats whose results are theirs. seating: the player of every
    seat. team: the seats of one of two teams. helps: whom each player helps."""
    seats: dict[Any, list[int]] = {}
    for seat, player in enumerate(seating):
        helped = helps[player]
        alone = player not in helps and helped is None
        root = player if helped is None else helped
        key = seat in team if team else names[player] if alone else root
        seats.setdefault(key, []).append(seat)
    sides: dict[Side, list[int]] = {}
    for members in seats.values():
        side = tuple(sorted(names[seating[seat]] for seat in members))
        valued = [seat for seat in members if team or helps[seating[seat]] is None]
        sides.setdefault(side if len({*side}) > 1 else side[:1], []).extend(valued)
    return sides


def _two_sides(about: CellInfo) -> tuple[tuple[int, ...], ...]:
    """The seatings of an older log, which has the measured seats only: known if each side is one
    player in all its seats."""
    every = range(len(about.players))
    mine = about.seats[0] if about.seats else ()
    rest = [seat for seat in every if seat not in mine]
    if not mine or {len({about.players[at] for at in side}) for side in (mine, rest)} != {1}:
        return ()
    return tuple(
        tuple(mine[0] if seat in seats else rest[0] for seat in every) for seats in about.seats
    )


class PlayerNames:
    """A name for each player's settings, with a number if several share it."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._times: Counter[str] = Counter()

    def name(self, description: Mapping[str, Any], number: int) -> str:
        name = description["players"][number]
        settings = json.dumps(description["identity"]["players"][number], sort_keys=True)
        if (name, settings) not in self._names:
            self._times[name] += 1
            count = self._times[name]
            self._names[name, settings] = name if count == 1 else f"{name} ({count})"
        return self._names[name, settings]


def _pair(row: PairRow) -> tuple[str, frozenset[Side]]:
    return row.game, frozenset((row.first, row.second))


def _seats_by_pair(rows: Iterable[PairRow]) -> dict[tuple[str, frozenset[Side]], Meetings]:
    meetings: dict[tuple[str, frozenset[Side]], Meetings] = {}
    times = Counter((_pair(row), row.first < row.second, row.seats) for row in rows)
    for (pair, in_order, (ours, theirs)), count in times.items():
        seats = meetings.setdefault(pair, defaultdict(Fraction))
        for a, b in product(ours, theirs):
            seats[(a, b) if in_order else (b, a)] += Fraction(count, len(ours) * len(theirs))
    return meetings


def _swapped(seats: Meetings) -> Meetings:
    return {(b, a): count for (a, b), count in seats.items()}


def _marginal(seats: Meetings) -> dict[int, Fraction]:
    """How often the first side took each seat."""
    times = defaultdict[int, Fraction](Fraction)
    for (seat, _), count in seats.items():
        times[seat] += count
    return times


def _spent(bills: Sequence[Bill], contest: Contest) -> Spent | None:
    if not bills:
        return None
    frame = pd.DataFrame(bills, columns=list(Bill._fields))
    known = {"player": contest.players, "game": contest.games, "place": contest.places}
    numbers = {name: {one: at for at, one in enumerate(each)} for name, each in known.items()}
    codes = (frame[name].map(numbers[name]).to_numpy(int) for name in known)
    player, game, deal = (code.astype(np.int64) for code in codes)
    return Spent(player, game, deal, frame["amount"].to_numpy(float))
