"""What is watched: whole games of scripted players, step by step.

A step is a moment in which seats of the watched game move: one seat, or several at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from common.errors import UserError
from games.base import Action, Game, Observation
from games.playouts import LONGEST, chances, scripted_move
from games.watchable import Together

Moves = tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Acted:
    """What one seat did in a step: what it knew, and the index of the option that it took."""

    seat: int
    observation: Observation
    taken: int


@dataclass(frozen=True)
class Step:
    """One step: who acted, and the moves as the game takes them."""

    moves: Moves
    acted: tuple[Acted, ...]

    def chances(self, game: Game[Any], policies: tuple[str, ...]) -> np.ndarray:
        """How likely each policy makes what was done, float64 of shape (seats, policies): 1 where
        a seat did not act. Reckoned once a step: what is watched has one catalogue."""
        kept: np.ndarray | None = self.__dict__.get("_chances")
        if kept is None:
            kept = np.ones((game.num_seats, len(policies)))
            for one in self.acted:
                kept[one.seat] = chances(game, policies, one.observation)[:, one.taken]
            self.__dict__["_chances"] = kept
        return kept

    def __reduce__(self) -> tuple[type[Step], tuple[Moves, tuple[Acted, ...]]]:
        return Step, (self.moves, self.acted)


@dataclass(frozen=True)
class Transcript:
    """Games of one set of players, from first states that hold all chance.

    players: the policy of each watched seat. starts: the first state of each game. moves: of each
    game, step by step.
    """

    game: Game[Any]
    players: tuple[str, ...]
    starts: tuple[Any, ...]
    moves: tuple[tuple[Moves, ...], ...]

    def __len__(self) -> int:
        """How many steps there are."""
        return sum(map(len, self.moves))

    @cached_property
    def opening(self) -> Observation:
        """What the first seat to move knows before the first move."""
        start = self.starts[0]
        return self.game.observe(start, self.game.to_move(start)[0])

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps, games one after the other."""
        found = []
        for state, played in zip(self.starts, self.moves, strict=True):
            for moves in played:
                found.append(_step(self.game, state, moves))
                state = self.game.play(state, moves)
        return tuple(found)

    def __reduce__(self) -> tuple[type[Transcript], tuple[Any, ...]]:
        return Transcript, (self.game, self.players, self.starts, self.moves)


def watched(
    game: Game[Any], players: Sequence[str], games: int, rng: np.random.Generator
) -> Transcript:
    """Plays that many games between these policies, one a seat."""
    names = game.together(players) if isinstance(game, Together) else tuple(players)
    starts, moves = [], []
    for _ in range(games):
        start = game.deal(rng)
        starts.append(start)
        moves.append(_played(game, start, names, rng))
    return Transcript(game, tuple(players), tuple(starts), tuple(moves))


def _played(
    game: Game[Any], state: Any, policies: Sequence[str], rng: np.random.Generator
) -> tuple[Moves, ...]:
    """The moves of one game to its end. Raises UserError where there is no end."""
    found: list[Moves] = []
    while seats := game.to_move(state):
        if len(found) == LONGEST:
            raise UserError(f"{type(game).__name__} is not over after {LONGEST:,} steps")
        found.append(tuple(scripted_move(game, state, seat, policies[seat], rng) for seat in seats))
        state = game.play(state, found[-1])
    return tuple(found)


def _step(game: Game[Any], state: Any, moves: Moves) -> Step:
    acted = []
    for seat, move in zip(game.to_move(state), moves, strict=True):
        numbers = [int(option) for option in game.legal(state, seat)]
        acted.append(Acted(seat, game.observe(state, seat), numbers.index(int(move))))
    return Step(moves, tuple(acted))
