"""Endless turns of Tic-Tac-Toe and hold'em as training data of the second pocket model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.games.holdem import Holdem
from gauntlet.training.pocket.data import grid_turns, turn_of

IDLE = 0.3
"""Probability of teaching a turn where no move is better, or where the tutor checks or folds."""
HOLDEM = (
    *(Holdem(mode="hands", hands=hands) for hands in (2, 2, 2, 2, 1, 3, 5, 10, 20, 50, 100)),
    *(Holdem(mode="match", hands=hands) for hands in (200, 200, 200, 200, 100, 50, 10)),
    *(Holdem(mode="hands", stack=stack) for stack in (50, 100)),
    *(Holdem(mode="match", stack=stack) for stack in (50, 100)),
    *(Holdem(mode=mode, raises="neuron", paper_bugs=True) for mode in ("hands", "match")),
)
HANDS = 4
"""Of longer matches, the turns of about this many hands are taught."""
PLAYERS = ("random", "caller", "maniac", "tight", "mixed", "mixed")


def grid_lessons(rng: np.random.Generator) -> Iterator[Turn]:
    """Yield turns of Tic-Tac-Toe with a choice, the idle ones less often."""
    for turn, worth in grid_turns(rng):
        if len(worth) > 1 and (worth.min() < worth.max() or rng.random() < IDLE):
            yield turn


def card_turns(rng: np.random.Generator) -> Iterator[Turn]:
    """Yield turns of both seats in matches between the game's scripted players."""
    while True:
        game = HOLDEM[rng.integers(len(HOLDEM))]
        players = [PLAYERS[rng.integers(len(PLAYERS))] for _ in range(2)]
        state = game.deal(rng)
        while movers := game.to_move(state):
            turn = turn_of(game, state, movers[0])
            if len(turn.options) > 1 and rng.random() < HANDS / game.hands:
                passive = game.probabilities("tight", turn.observation)[0] == 1
                if not passive or rng.random() < IDLE:
                    yield turn
            chances = game.probabilities(players[movers[0]], turn.observation)
            state = game.play(state, (turn.options[rng.choice(len(chances), p=chances)],))
