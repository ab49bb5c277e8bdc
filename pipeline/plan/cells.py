"""One frozen plan: cells with their players built, and the matches to play.

A cell's key is a hash of all that can change its matches, and of nothing that cannot. A match's
id adds the seed, the deal and the rotation. Neither seeds anything: see `rng.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from operator import attrgetter
from typing import Any, Literal

from gauntlet.agents.base import Agent, Goal
from gauntlet.games.base import Game
from gauntlet.games.capabilities import points_of, seatings_of
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.config.read import TWO_SIDED, Declared, Seed

Role = Literal["sweep", "control", "noise"]
"""Why a cell is played: the sweep asks for it; or it belongs to such a cell, with a player that
looks at nothing in place of the subject, or with the subject in prompts that differ in nothing that
matters."""

CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
SCHEMA = 2
"""Version of the record format and of what a match id covers."""


@dataclass(frozen=True)
class Player:
    """Who takes part, wherever seated: an agent, the model it asks (if any), and its goal."""

    name: str
    agent: Agent
    model: ModelSource | None
    helps: int | None


@dataclass(frozen=True)
class Cell:
    """One row of the table: a game, its players, and those whose results are counted.

    Player i sits in seat i, or in rotation r of a rotated cell where the game's r-th seating puts
    it.

    subjects: the players under study, whose decisions are counted and whom a baseline replaces.
    measured: the players whose results are counted; of several the mean. helps and subjects are
    players' numbers, as all else that a config numbers. measure: the name of the result.
    samples: how often each deal is played, with all chance but the deal's drawn anew.
    test: what the result is put to; like the baseline and the role, it changes no match.
    """

    experiment: str
    labels: Mapping[str, str]
    game: Game[Any]
    players: tuple[Player, ...]
    subjects: tuple[int, ...]
    measured: tuple[int, ...]
    measure: str
    rotate: bool
    ask_forced: bool
    baseline: str | None
    identity: Mapping[str, Any]
    samples: int = 1
    test: Declared = TWO_SIDED
    role: Role = "sweep"

    @cached_property
    def key(self) -> str:
        return digest(self.identity)

    @cached_property
    def name(self) -> str:
        """What distinguishes the cell to a person, fit for a file name."""
        labels = self.labels
        parts = [labels["game"], labels["seats"], self.players[self.subjects[0]].name]
        return "-".join("".join(c if c.isalnum() or c in "._" else "_" for c in p) for p in parts)

    @property
    def stem(self) -> str:
        return stem(self.name, self.key)

    @property
    def rotations(self) -> range:
        """The numbers of a deal's matches. With R seatings in the game, number r + k R is the k-th
        sample of rotation r."""
        every = len(seatings_of(self.game))
        return range(0, every * self.samples, 1 if self.rotate else every)

    @cached_property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        """For each rotation that is played, the player of every seat."""
        every = seatings_of(self.game)
        return every if self.rotate else every[:1]

    def seating(self, rotation: int) -> tuple[int, ...]:
        """The player of every seat in the match of this number."""
        every = seatings_of(self.game)
        return every[rotation % len(every)]

    def sample(self, rotation: int) -> int:
        """Which sample of its rotation the match of this number is, from 0."""
        return rotation // len(seatings_of(self.game))

    def seats_of(self, players: Sequence[int], rotation: int) -> tuple[int, ...]:
        """The seats of these players in a rotation."""
        return tuple(self.seating(rotation).index(player) for player in players)

    def goal(self, player: int, rotation: int) -> Goal:
        """What a player plays for in a rotation: the seat of whom it helps, or its own win; in a
        game that is judged by a score, the points of either."""
        helps = self.players[player].helps
        seat = None if helps is None else self.seating(rotation).index(helps)
        return Goal(seat, points_of(self.game))


@dataclass(frozen=True)
class Task:
    """One match to play: a deal of a cell, and which of the deal's matches (`Cell.rotations`)."""

    cell: str
    deal: int
    rotation: int
    match: str


@dataclass(frozen=True)
class Plan:
    """The cells of a sweep and how many deals each is to play, over all seeds; the same ones for
    all."""

    cells: tuple[Cell, ...]
    deals: int
    seed: Seed

    def tasks(self) -> Iterator[Task]:
        """Every match in deal order, so that all cells share the deals played so far."""
        return merge(*map(self.tasks_of, self.cells), key=attrgetter("deal"))

    def tasks_of(self, cell: Cell) -> Iterator[Task]:
        """Every match of the cell, in deal order."""
        for deal in range(self.deals):
            for rotation in cell.rotations:
                yield Task(cell.key, deal, rotation, match_id(cell.key, self.seed, deal, rotation))

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """Every model that the plan needs, once."""
        players = (player for cell in self.cells for player in cell.players)
        return tuple(dict.fromkeys(player.model for player in players if player.model is not None))


def stem(name: str, key: str) -> str:
    """What a cell's files are called, without their ending."""
    return f"{name[:100]}-{key}"


def seeded(seed: Seed, deal: int) -> tuple[int, int]:
    """The seed that a deal of a sweep is dealt by, and its number among that seed's deals."""
    seeds = seed if isinstance(seed, tuple) else (seed,)
    return seeds[deal % len(seeds)], deal // len(seeds)


def match_id(cell: str, seed: Seed, deal: int, rotation: int) -> str:
    """What the match of this number is called, of a deal of the cell with this key."""
    return digest([cell, *seeded(seed, deal), rotation])


def digest(data: Any) -> str:
    """16 hex digits of the SHA-256 of `data` as canonical JSON."""
    return hashlib.sha256(CANONICAL.encode(data).encode()).hexdigest()[:16]
