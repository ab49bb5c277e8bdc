"""Turns of a game to learn from before the first match, from deals that no sweep plays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gauntlet.agents.base import Goal, Turn
from gauntlet.games.base import Game, default_text_move
from gauntlet.games.contract import seats_to_move

SEED = 20_240_607
"""These deals are seeded by two numbers, those of a sweep by more, so the two never coincide."""


def sampled_turns(game: Game[Any], seat: int, goal: Goal, plies: int) -> Iterator[Turn]:
    """Every turn with a choice for `seat` in `plies` plies of random play; always the same turns.
    New deals start as games end."""
    state, deals = None, 0
    for _ in range(plies):
        if state is None or not seats_to_move(game, state):
            rng = np.random.default_rng([SEED, deals])
            state, deals = game.deal(rng), deals + 1
        moves = []
        for mover in seats_to_move(game, state):
            turn = Turn.at(game, state, mover, goal)
            options = turn.options
            if mover == seat and len(options) > 1:
                yield turn
            moves.append(default_text_move(options[rng.integers(len(options))], rng))
        if moves:
            state = game.play(state, moves)
