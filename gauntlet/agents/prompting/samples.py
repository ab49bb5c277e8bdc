"""Turns of a game to learn from before the first match, from deals that no sweep plays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gauntlet.agents.base import Goal, Turn
from gauntlet.games.base import Game, default_text_move

SEED = 20_240_607
"""These deals are seeded by two numbers, those of a sweep by more, so the two never coincide."""


def sampled_turns(game: Game[Any], seat: int, goal: Goal, plies: int) -> Iterator[Turn]:
    """Every turn with a choice for `seat` in `plies` plies of random play; always the same turns.
    New deals start as games end."""
    state, deals = None, 0
    for _ in range(plies):
        if state is None or not game.to_move(state):
            rng = np.random.default_rng([SEED, deals])
            state, deals = game.deal(rng), deals + 1
        moves = []
        for mover in game.to_move(state):
            options = game.legal(state, mover)
            if mover == seat and len(options) > 1:
                yield Turn(game, options, goal, partial(game.observe, state, seat))
            moves.append(default_text_move(options[rng.integers(len(options))], rng))
        if moves:
            state = game.play(state, moves)
