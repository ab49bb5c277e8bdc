"""Monte Carlo search: play out each option many times, redealing hidden cards."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.games.base import Game
from gauntlet.games.capabilities import Measure, measures_of
from gauntlet.games.playouts import check_policy, no_playouts_reason, values

MOST = 100_000
"""Maximum playouts per option: an error of at most .0016, and about 10 s per decision in UNO."""


@dataclass(frozen=True)
class Search:
    """Chooses the option with the highest mean result for the seat it plays for.

    playouts: number per option; the error of a win share is at most 0.5 / sqrt(playouts).
    policy: the scripted player that every seat follows in the playouts, as do seats that move at
        the same time as the searcher.

    It plays for itself or for the seat that its goal names, and for the game's first measure,
    usually the win. Each playout redeals what it cannot see, so it knows no more than another
    player in its seat. Ties go to the first listed option. A decision's scores are the means, as
    shares of the measure's range if that is bounded.
    """

    playouts: int = 100
    policy: str = "random"

    def __post_init__(self) -> None:
        if not 1 <= self.playouts <= MOST:
            raise ValueError(f"playouts is {self.playouts}; a search plays 1 to {MOST:,} an option")

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the game cannot be played out from what a seat knows."""
        if reason := no_playouts_reason(game, measures_of(game)[0].name):
            raise ValueError(reason)
        check_policy(game, self.policy)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen = turn.game, turn.observation
        benefits = seen.seat if turn.goal.helps is None else turn.goal.helps
        players = (self.policy,) * game.num_seats
        measure, seed = measures_of(game)[0], int(rng.integers(2**63))
        worth = values(game, seen, benefits, players, self.playouts, seed, measure.name)
        return Decision(int(worth.argmax()), scores=tuple(scaled(worth, measure).tolist()))
        yield


def scaled(worth: np.ndarray, measure: Measure) -> np.ndarray:
    """Values as shares of their measure's range, from 0 to 1; unchanged if it is unbounded."""
    span = measure.high - measure.low
    return (worth - measure.low) / span if isfinite(span) else worth
