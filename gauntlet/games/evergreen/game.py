"""Generated games, so that a model plays what it cannot have read about.

`game=evergreen game.family=mnk game.seed=7` is the first game that is `suitable`, and whose
`signature` no lower seed has, among those drawn from that family and seed. `accepted.csv` lists
these, so that nobody solves the games of all lower seeds; the signatures of higher seeds than it
has differ from all that it lists. Cf. gg-bench (arXiv:2505.07215), whose games a language model
writes.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction, suggest
from gauntlet.games.base import Action, Fact, Observation
from gauntlet.games.capabilities import WIN, Measure
from gauntlet.games.evergreen.mnk import Mnk
from gauntlet.games.evergreen.rules import Bidding, Position, Rules, TakeAway
from gauntlet.games.evergreen.solving import POLICIES, Solution, TooLarge

FAMILIES: Mapping[str, Any] = {"mnk": Mnk, "takeaway": TakeAway, "bidding": Bidding}
TITLES = {"mnk": "Marks", "takeaway": "Heaps", "bidding": "Prizes"}
MOST, LEAST = 10_000, 200
"""Positions of a game that is kept."""
CLEAR, HARD = 0.8, 0.5
"""Perfect play leads random play by at least CLEAR a match, a score of .9; one ply by at most
HARD."""
OPENING = 2
"""The most moves that a deal makes at random."""
DRAWN = 1_000
"""Draws before a seed is given up."""
KEPT = "value_kept"
ACCEPTED = Path(__file__).with_name("accepted.csv")
"""A row for each seed from 0, a column for each family: the number of the draw that is its game,
and the game's digest. `python -m benchmarks.evergreen --write` makes it."""


@dataclass(frozen=True)
class State:
    """opened: the position after the deal. moves: of every ply since, by its movers. position: now,
    not compared: it follows from the others."""

    opened: Position
    moves: tuple[tuple[Action, ...], ...]
    position: Position


@dataclass(frozen=True)
class Evergreen:
    """A game of a family: `mnk` (lines on a board), `takeaway` (heaps of stones) or `bidding`
    (sealed bids for prizes).

    seed: any number from 0 to 2**63 - 1; keep it secret, and the game is new to everybody.

    A deal is a position after up to OPENING random moves. Measured besides wins: `value_kept`, 1
    less the mean value that a seat's decisions gave away, by exact values; 1 is perfect play.
    Raises ValueError for another family, seed or number of seats.
    """

    num_seats: int = 2
    family: str = "mnk"
    seed: int = 0

    draws: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = POLICIES
    told_policies: ClassVar[Mapping[str, str]] = {
        "random": "takes any move",
        "one_ply": "wins at once if it can, avoids to lose at once, else takes any move",
        "perfect": "takes any of the moves that are best by exact values",
    }
    measures: ClassVar[tuple[Measure, ...]] = (WIN, Measure(KEPT, 0.0, 1.0))

    def __post_init__(self) -> None:
        if self.num_seats != 2:
            raise ValueError(f"evergreen seats 2 players, got {self.num_seats}")
        if self.family not in FAMILIES:
            raise ValueError(f"family is {self.family!r}{suggest(self.family, FAMILIES)}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}; it is a number from 0 to 2**63 - 1")

    @property
    def solution(self) -> Solution:
        return solved(self.family, self.seed)

    @property
    def rules(self) -> Rules:
        return self.solution.rules

    @property
    def deal_key(self) -> str:
        own = hashlib.sha256(repr(self.rules).encode()).hexdigest()
        return f"{self.family}-{own[:16]}"

    @property
    def perfect_information(self) -> bool:
        return self.family != "bidding"

    def deal(self, rng: np.random.Generator) -> State:
        position = self.rules.start()
        for _ in range(int(rng.integers(OPENING + 1))):
            movers = self.rules.movers(position)
            options = [self.rules.moves(position, seat) for seat in movers]
            moves = [moves[int(rng.integers(len(moves)))] for moves in options]
            after = self.rules.after(position, moves)
            if not self.rules.movers(after):
                break
            position = after
        return State(position, (), position)

    def to_move(self, state: State) -> tuple[int, ...]:
        return self.rules.movers(state.position)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self.rules.moves(state.position, seat) if seat in self.to_move(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        seats = self.to_move(state)
        fits = len(moves) == len(seats) and all(
            move in self.legal(state, seat) for seat, move in zip(seats, moves, strict=True)
        )
        if not (seats and fits):
            raise IllegalAction(f"moves {list(moves)} for seats {seats} in\n{self.show(state)}")
        made = tuple(int(move) for move in moves)
        return State(state.opened, (*state.moves, made), self.rules.after(state.position, made))

    def observe(self, state: State, seat: int) -> Observation:
        rules = self.rules
        return Observation(
            game=TITLES[self.family],
            seat=seat,
            rules=rules.text(),
            facts=(Fact("You are", f"player {seat}", True), *rules.facts(state.position)),
            history=tuple(self._history(state)),
            options=tuple(map(rules.name, self.legal(state, seat))),
            view=state,
        )

    def _history(self, state: State) -> Iterator[str]:
        for _, seats, moves in self._plies(state):
            named = zip(seats, moves, strict=True)
            yield ", ".join(f"player {seat}: {self.rules.name(move)}" for seat, move in named)

    def _plies(self, state: State) -> Iterator[tuple[Position, Sequence[int], Sequence[Action]]]:
        position = state.opened
        for moves in state.moves:
            yield position, self.rules.movers(position), moves
            position = self.rules.after(position, moves)

    def returns(self, state: State) -> tuple[float, ...]:
        lead = 2 * self.rules.score(state.position) - 1
        return lead, -lead

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        losses: tuple[list[float], list[float]] = ([], [])
        for position, seats, moves in self._plies(state):
            for seat, move in zip(seats, moves, strict=True):
                if len(self.rules.moves(position, seat)) > 1:
                    losses[seat].append(self.solution.loss(position, seat, move))
        kept = [1.0 - float(np.mean(own)) if own else 1.0 for own in losses]
        won = [float(one > 0) for one in self.returns(state)]
        return {WIN.name: won, KEPT: kept}

    def show(self, state: State) -> str:
        facts = [f"{fact.name}:\n{fact.text}" if "\n" in fact.text else f"{fact.name}: {fact.text}"
                 for fact in self.rules.facts(state.position)]  # fmt: skip
        movers = self.to_move(state)
        turn = "over" if not movers else f"to move: {', '.join(f'player {s}' for s in movers)}"
        return "\n".join((*facts, turn))

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        if policy not in POLICIES:
            raise ValueError(f"evergreen has the policies {', '.join(POLICIES)}, not {policy!r}")
        state: State = observation.view
        return tuple(self.solution.chances(policy, state.position, observation.seat))

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        state: State = observation.view
        return state


@lru_cache(maxsize=512)
def solved(family: str, seed: int) -> Solution:
    """The game of a family and seed, with its values. Raises ValueError."""
    known = accepted(family)
    if seed < len(known):
        return Solution(next(islice(drawn(family, seed), known[seed][0], None)), MOST)
    others = {one for _, one in known}
    return next(found for _, found in candidates(family, seed) if digest(found) not in others)


@cache
def accepted(family: str) -> Sequence[tuple[int, str]]:
    """The number of the draw and the digest of each listed seed."""
    with ACCEPTED.open(encoding="utf-8", newline="") as file:
        cells = [row[family].split(":") for row in csv.DictReader(file)]
    return [(int(draw), own) for draw, own in cells]


def drawn(family: str, seed: int) -> Iterator[Rules]:
    rng = np.random.default_rng((seed, sorted(FAMILIES).index(family)))
    while True:
        yield FAMILIES[family].drawn(rng)


def candidates(family: str, seed: int, start: int = 0) -> Iterator[tuple[int, Solution]]:
    """The draws of a seed that are kept, from a number on. Raises ValueError after DRAWN."""
    for draw, rules in enumerate(islice(drawn(family, seed), DRAWN)):
        if draw >= start and suitable(solution := Solution(rules, MOST)):
            yield draw, solution
    raise ValueError(f"no game of {DRAWN:,} drawn with seed {seed} is worth playing; try another")


def suitable(solution: Solution) -> bool:
    """Whether a game is small enough to solve, large enough not to be learnt by heart, and tells
    good play from bad."""
    try:
        solution.value(solution.rules.start())
    except TooLarge:
        return False
    if len(solution.values) < LEAST:
        return False
    clear = solution.margin("perfect", "random") >= CLEAR
    return clear and solution.margin("one_ply", "random") <= HARD


def signature(solution: Solution) -> tuple[float, ...]:
    """Numbers that equal games under other names mostly share: positions, ends, values, margins.
    Not where heaps that may be split stand in another order, or prizes decide alike: then it counts
    other positions (`benchmarks.evergreen.tree` compares games themselves)."""
    start = solution.value(solution.rules.start())
    ends = sum(not solution.rules.movers(one) for one in solution.values)
    margins = (solution.margin(one, "random") for one in ("perfect", "one_ply"))
    rounded = [
        round(float(one), 6) + 0.0 for one in (sum(solution.values.values()), start, *margins)
    ]
    return (len(solution.values), ends, *rounded)


def digest(solution: Solution) -> str:
    """A hash of the signature: if it differs, so do the games."""
    return hashlib.sha256(repr(signature(solution)).encode()).hexdigest()[:6]
