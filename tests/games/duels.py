"""Matches between two players, each deal with every seating."""

from __future__ import annotations

from typing import Any

import numpy as np

from gauntlet.agents.actors import scripted_decision
from gauntlet.agents.one_ply import OnePly
from gauntlet.games.base import Action, Game, TextAction
from gauntlet.games.capabilities import MATCH_SCORE, seatings_of
from gauntlet.games.contract import values_with_score
from gauntlet.games.playouts import scripted_move
from tests.agents.play import moved, turn_at

ONE_PLY = "one_ply"


def scores(game: Game[Any], first: str, second: str, deals: int, seed: int = 0) -> np.ndarray:
    """Return the match score of the first player, who takes the even seats of every seating, by
    deal, averaged over seatings: float64 of shape (deals,). A player is a scripted policy, or
    one-ply search with its usual settings."""
    found = []
    for deal in range(deals):
        own = []
        for seating in seatings_of(game):
            rng = np.random.default_rng((seed, deal, 1))
            state = game.deal(np.random.default_rng((seed, deal)))
            players = [(first, second)[player % 2] for player in seating]
            while seats := game.to_move(state):
                state = game.play(
                    state, [_move(game, state, seat, players[seat], rng) for seat in seats]
                )
            score = values_with_score(game, state)[MATCH_SCORE.name]
            own.append(score[seating.index(0)])
        found.append(np.mean(own))
    return np.array(found)


def _move(game: Game[Any], state: Any, seat: int, player: str, rng: np.random.Generator) -> Action:
    if player != ONE_PLY:
        return scripted_move(game, state, seat, player, rng)
    turn = turn_at(game, state, seat)
    if len(turn.options) == 1 and not isinstance(turn.options[0], TextAction):
        return turn.options[0]
    return moved(turn, scripted_decision(OnePly().decide(turn, rng)), 0)
