"""What the subject is compared with: a scripted player in its place, measured by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agents.base import Agent
from agents.random import Random
from agents.rule import Rule
from common.errors import UserError, nearest
from games.base import Game
from games.capabilities import Aiming, Scripted
from pipeline.plan.cells import Cell

GAMES = 1_000_000
"""How many games measure a baseline: seconds in a compiled game, an error of .0005."""


@dataclass(frozen=True)
class Baseline:
    """The measured seat's wins with `policy` in the subject's place."""

    policy: str
    wins: int
    games: int

    @property
    def rate(self) -> float:
        return self.wins / self.games

    @property
    def error(self) -> float:
        """Standard error of the rate."""
        return math.sqrt(self.rate * (1 - self.rate) / self.games)


def measure(cell: Cell, seed: int) -> Baseline | None:
    """The cell's baseline, or None where the game or another player cannot be simulated.

    In a rotated cell the baseline is the mean over the rotations, as the cell's own win rate is.
    Raises UserError for a policy that the game does not have.
    """
    if cell.baseline is None or not isinstance(cell.game, Scripted):
        return None
    if cell.baseline not in cell.game.policies:
        known = nearest(cell.baseline, cell.game.policies)
        raise UserError(f"baseline={cell.baseline} is not a scripted player of this game{known}")
    policies = with_reference(cell)
    if any(policy is None for policy in policies):
        return None
    games = GAMES // len(cell.rotations)
    wins = 0
    for rotation, seating in enumerate(cell.seatings):
        seated = tuple(str(policies[player]) for player in seating)
        counts = _simulated(cell.game, seated, games, seed)
        wins += sum(counts[seat] for seat in cell.seats_of(cell.measured, rotation))
    return Baseline(cell.baseline, wins, games * len(cell.rotations) * len(cell.measured))


def scripted(cell: Cell) -> list[str | None]:
    """For each of a cell's players the scripted policy that plays as it does, or None."""
    return [_policy(player.agent) for player in cell.players]


def with_reference(cell: Cell) -> list[str | None]:
    """As `scripted`, with the baseline in every subject's place, which plays for the same seat."""
    policies = scripted(cell)
    for subject in cell.subjects:
        policies[subject] = cell.baseline
        if cell.baseline is not None and isinstance(cell.game, Aiming):
            try:
                at = cell.players[subject].helps
                policies[subject] = cell.game.aimed(cell.baseline, subject, at)
            except ValueError as error:
                raise UserError(f"baseline={cell.baseline}: {error}") from error
    return policies


@lru_cache
def _simulated(game: Game[Any], policies: Sequence[str], games: int, seed: int) -> tuple[int, ...]:
    assert isinstance(game, Scripted)
    return tuple(int(count) for count in game.simulate(policies, games, seed))


def _policy(agent: Agent) -> str | None:
    """The scripted policy that plays as the agent does, if there is one."""
    if isinstance(agent, Random):
        return "random"
    return agent.policy if isinstance(agent, Rule) else None
