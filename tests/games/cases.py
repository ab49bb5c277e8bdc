"""The games under test: what conf/game names, with several numbers of seats and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from games.base import Action, Game
from tests.nodes import build, nodes

SEATS = (2, 3, 10)

VARIANTS: dict[str, Sequence[dict[str, Any]]] = {
    "rock_paper_scissors": ({"rounds": 1}, {"rounds": 4}),
    "tic_tac_toe": ({"size": 2, "win_length": 2}, {"size": 4}, {"size": 5, "win_length": 4}),
    "uno": ({"quirks": True}, {"quirks": True, "num_seats": 4}),
}


def named_games() -> dict[str, Game[Any]]:
    """Every game of conf/game as it stands there, by name."""
    return {name: build(node) for name, node in nodes("game").items()}


def all_cases() -> dict[str, Game[Any]]:
    """The named games, with every number of SEATS that they take and every variant."""
    cases = {}
    for name, node in nodes("game").items():
        for seats in SEATS:
            try:
                cases[f"{name}-{seats}"] = build(node, num_seats=seats)
            except ValueError:
                continue
        for variant in VARIANTS.get(name, ()):
            words = "-".join(f"{key}={value}" for key, value in variant.items())
            cases[f"{name}-{words}"] = build(node, **variant)
    return cases


NAMED = named_games()
CASES = all_cases()

seeds = st.integers(0, 2**32 - 1)

Ply = tuple[Any, tuple[int, ...], tuple[Action, ...]]
"""A state, the seats that move in it and the moves they make; none in the last state."""


def walk(game: Game[Any], seed: int) -> Iterator[Ply]:
    """A game played with uniform random moves: every ply, then the final state."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    while seats := game.to_move(state):
        moves = tuple(int(rng.choice(game.legal(state, seat))) for seat in seats)
        yield state, seats, moves
        state = game.play(state, moves)
    yield state, (), ()


def final(game: Game[Any], seed: int) -> Any:
    """The last state of `walk`."""
    *_, (state, _, _) = walk(game, seed)
    return state
