"""Local best response to a believed player, the yardstick of `python -m pipeline.exploit` where a
game is too large to be listed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gauntlet.agents.base import (
    Agent,
    Answer,
    Decision,
    Goal,
    Question,
    Thinking,
    Turn,
    decide,
    gather_all,
    prepared,
)
from gauntlet.games.base import Game
from gauntlet.games.capabilities import Ranged, measures_of, win_or_score
from gauntlet.games.contract import legal_actions, observation, seats_to_move
from gauntlet.games.playouts import RANDOM


@dataclass(frozen=True)
class LocalBestResponse:
    """Takes the option that wins the most if nobody raises afterwards (`capabilities.Ranged`).

    believed: how the other seat is believed to play, a policy of the game or its habits; or an
        agent, which is asked what it would do with each holding, by this player's model.
    holdings: how many it is asked about, drawn anew at each decision; None for all.

    A decision's scores are the values, in points.
    """

    believed: str | Agent
    holdings: int | None = None

    def check(self, game: Game[Any]) -> None:
        if not isinstance(game, Ranged):
            raise ValueError(f"{type(game).__name__} has no local best response")
        if win_or_score(judged := measures_of(game)[0].name):
            raise ValueError(
                f"it wins points, and this game is judged by {judged} (hold'em: game=holdem_hands)"
            )

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, LocalBestResponse]:
        """Prepare the believed agent, for the other seat."""
        agent = yield from prepared(self.believed, game, 1 - seat, goal)
        return replace(self, believed=agent)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game, seen = turn.game, turn.observation
        assert isinstance(game, Ranged)
        past, later = game.range_states(seen)
        asked, seed = (*past, *later), int(rng.integers(2**63))
        if isinstance(self.believed, str):
            found = [game.shares(self.believed, state) for state in asked]
        else:
            able = game.holdings(seen)
            if self.holdings is not None and self.holdings < len(able):
                able = rng.choice(able, self.holdings, replace=False)
            chains = [_holding_shares(self.believed, turn, state, able, seed) for state in asked]
            found = yield from gather_all(chains)
        values = game.local_values(seen, found[: len(past)], found[len(past) :], seed)
        return Decision(int(values.argmax()), scores=tuple(values.tolist()))


def _holding_shares(
    agent: Agent, subject: Turn, state: Any, holdings: np.ndarray, seed: int
) -> Generator[Question, Answer, np.ndarray]:
    """The agent's decision with each holding, as `Ranged.shares`."""
    game: Any = subject.game
    (seat,) = seats_to_move(game, state)
    options, thoughts = legal_actions(game, state, seat), []
    for holding in holdings.tolist():
        held = game.hold(state, seat, holding)
        turn = Turn(game, options, subject.goal, partial(observation, game, held, seat, options))
        thoughts.append(decide(agent, turn, np.random.default_rng(seed)))
    decisions = yield from gather_all(thoughts)
    found: np.ndarray = np.zeros_like(game.shares(RANDOM, state))
    for holding, decision in zip(holdings.tolist(), decisions, strict=True):
        found[holding, options[decision.option]] = 1
    return found
