"""A small game with free text, for tests: one seat hints at a colour in its own words, or says
nothing, and its partner guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import (
    Action,
    Fact,
    Observation,
    TextAction,
    TextMove,
    TextSpec,
    move_fault,
)

COLOURS = ("red", "green", "blue")
HINT = TextSpec("one word", ("tomato", "grass", "sky"), r"\w+", 10, COLOURS)

State = tuple[int, tuple[Action, ...]]
"""The colour to guess, and the moves."""


@dataclass(frozen=True)
class Hints:
    """Two seats of one team. `forced` leaves the hint as the only option of the first seat."""

    num_seats: int = 2
    forced: bool = False

    perfect_information: ClassVar[bool] = False

    def deal(self, rng: np.random.Generator) -> State:
        return int(rng.integers(len(COLOURS))), ()

    def to_move(self, state: State) -> tuple[int, ...]:
        return (len(state[1]),) if len(state[1]) < 2 else ()

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if self.to_move(state) != (seat,):
            return ()
        if seat == 1:
            return tuple(range(len(COLOURS)))
        return (TextAction(7, HINT),) if self.forced else (0, TextAction(7, HINT))

    def play(self, state: State, moves: Sequence[Action]) -> State:
        (move,) = moves
        if fault := move_fault(move, self.legal(state, len(state[1]))):
            raise IllegalAction(f"{move} {fault} in {self.show(state)}")
        return state[0], (*state[1], move)

    def observe(self, state: State, seat: int) -> Observation:
        colour = COLOURS[state[0]] if seat == 0 else "hidden"
        hint = ("say nothing", "give a hint")[self.forced :]
        return Observation(
            game="Hints",
            seat=seat,
            rules="Player 0 hints at a colour, player 1 guesses. Both win if the guess is right.",
            facts=(Fact("Colours", "\n".join(COLOURS)), Fact("The colour", colour, own=True)),
            history=tuple(_clause(move) for move in state[1]),
            options=hint if seat == 0 else COLOURS,
            view=state[1] if seat else state,
            role=("the teller", "the guesser")[seat],
            team=(0, 1),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        return (1.0, 1.0) if state[1][1] == state[0] else (-1.0, -1.0)

    def show(self, state: State) -> str:
        return f"{COLOURS[state[0]]}, moves {list(state[1])}"

    def sample(self, observation: Observation, rng: np.random.Generator) -> State:
        if observation.seat == 0:
            known: State = observation.view
            return known
        return int(rng.integers(len(COLOURS))), observation.view


def _clause(move: Action) -> str:
    return f"player 0 hinted {move.text}" if isinstance(move, TextMove) else "player 0 said nothing"
