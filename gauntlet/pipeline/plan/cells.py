"""A frozen plan: cells with their players built, and the matches to play.

A cell's key hashes everything that can change its matches and nothing that cannot. A match id adds
the seed, the deal and the rotation. Neither seeds any random stream: see `rng.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import merge
from operator import attrgetter
from typing import Any, Literal

from gauntlet.agents.base import Agent, Goal
from gauntlet.games.base import Game
from gauntlet.games.capabilities import points_of, seatings_of
from gauntlet.models.base import ModelSource
from gauntlet.pipeline.config.read import TWO_SIDED, DeclaredTest, Seed

Role = Literal["sweep", "control", "noise"]
"""Why a cell is played: it is in the sweep, or belongs to such a cell as its control (a player that
ignores the position replaces the subject) or noise cell (the subject gets equivalent prompts)."""

CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
SCHEMA = 2
"""Version of the record format and of what a match id covers."""


@dataclass(frozen=True)
class Player:
    """A player, wherever seated: its agent, the model it asks (if any), the player it helps, and
    how many parameters the model has, if its config says."""

    name: str
    agent: Agent
    model: ModelSource | None
    helps: int | None
    parameters: float | None = None


@dataclass(frozen=True)
class Cell:
    """One row of the sweep's table: a game, its players, and those whose results count.

    Player i sits in seat i; in rotation r of a rotated cell, where the game's r-th seating puts it.

    subjects: the numbers of the players under study, whose decisions are counted and whom a
    baseline replaces.
    measured: the players whose results count; the mean if several. helps, subjects and measured are
    player numbers, as in configs.
    measure: the name of the result.
    samples: how often each deal is played, with all randomness except the deal redrawn.
    test: the test applied to the result; like the baseline and the role, it changes no match.
    keep_thoughts: whether records keep the models' thoughts.
    without: the part that an ablation leaves out of another cell, as KEY=VALUE; "" for none.
    opening: plies that are drawn at random at the start of a match, the same ones in all matches of
        a deal.
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
    test: DeclaredTest = TWO_SIDED
    role: Role = "sweep"
    keep_thoughts: bool = True
    without: str = ""
    opening: int = 0

    @cached_property
    def key(self) -> str:
        return digest(self.identity)

    @cached_property
    def name(self) -> str:
        """A readable name of the cell, safe for file names."""
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
        """The player of every seat, for each rotation that is played."""
        every = seatings_of(self.game)
        return every if self.rotate else every[:1]

    def seating(self, rotation: int) -> tuple[int, ...]:
        """The player of every seat in the match with this number."""
        every = seatings_of(self.game)
        return every[rotation % len(every)]

    def sample(self, rotation: int) -> int:
        """Which sample of its rotation the match with this number is, from 0."""
        return rotation // len(seatings_of(self.game))

    def seats_of(self, players: Sequence[int], rotation: int) -> tuple[int, ...]:
        """The seats of these players in a rotation."""
        return tuple(self.seating(rotation).index(player) for player in players)

    def goal(self, player: int, rotation: int) -> Goal:
        """A player's goal in a rotation: the seat it helps, or its own win; in a game judged by a
        score, the points."""
        helps = self.players[player].helps
        seat = None if helps is None else self.seating(rotation).index(helps)
        return Goal(seat, points_of(self.game))


@dataclass(frozen=True)
class Task:
    """One match to play: a cell's deal, and which of the deal's matches (`Cell.rotations`)."""

    cell: str
    deal: int
    rotation: int
    match: str


@dataclass(frozen=True)
class Round:
    """Deals that some cells of an adaptive sweep play. cells: their keys, and why each plays."""

    deals: range
    cells: Mapping[str, str]


def deals_in(rounds: Iterable[Round], cell: str) -> list[int]:
    """The deals that some rounds give to the cell with this key, in order."""
    return [deal for each in rounds if cell in each.cells for deal in each.deals]


@dataclass(frozen=True)
class Plan:
    """The cells of a sweep, and the number of deals that each plays over all seeds.

    rounds: of an adaptive sweep so far, which give each cell some of the deals; None: all do all.
    """

    cells: tuple[Cell, ...]
    deals: int
    seed: Seed
    rounds: tuple[Round, ...] | None = field(default=None, kw_only=True)

    def deals_of(self, cell: str) -> Sequence[int]:
        """The deals that the cell with this key plays, in order."""
        return range(self.deals) if self.rounds is None else deals_in(self.rounds, cell)

    def matches_of(self, cell: Cell) -> int:
        """How many matches the cell plays."""
        return len(self.deals_of(cell.key)) * len(cell.rotations)

    def tasks(self) -> Iterator[Task]:
        """All matches in deal order, so that all cells share the deals played so far."""
        return merge(*map(self.tasks_of, self.cells), key=attrgetter("deal"))

    def tasks_of(self, cell: Cell) -> Iterator[Task]:
        """The cell's matches in deal order."""
        for deal in self.deals_of(cell.key):
            for rotation in cell.rotations:
                yield Task(cell.key, deal, rotation, match_id(cell.key, self.seed, deal, rotation))

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """The models that the plan needs, without duplicates."""
        players = (player for cell in self.cells for player in cell.players)
        return tuple(dict.fromkeys(player.model for player in players if player.model is not None))


def stem(name: str, key: str) -> str:
    """A cell's file name without suffix."""
    return f"{name[:100]}-{key}"


def seed_of_deal(seed: Seed, deal: int) -> tuple[int, int]:
    """The seed of a deal, and the deal's number among that seed's deals."""
    seeds = seed if isinstance(seed, tuple) else (seed,)
    return seeds[deal % len(seeds)], deal // len(seeds)


def match_id(cell: str, seed: Seed, deal: int, rotation: int) -> str:
    """The id of a match, from its cell's key and its place."""
    return digest([cell, *seed_of_deal(seed, deal), rotation])


def digest(data: Any) -> str:
    """16 hex digits of the SHA-256 of `data` as canonical JSON."""
    return hashlib.sha256(CANONICAL.encode(data).encode()).hexdigest()[:16]
