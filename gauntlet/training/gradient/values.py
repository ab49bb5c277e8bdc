"""Exact values of all options, for games small enough for a complete search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.base import TextAction
from gauntlet.games.capabilities import nothing_hidden
from gauntlet.games.contract import legal_actions, observation, seats_to_move, values_with_score
from gauntlet.games.playouts import probabilities
from gauntlet.training.environment.credit import require_advantage, seat_policies
from gauntlet.training.environment.match import Match
from gauntlet.training.environment.setting import Setting

MOST = 200_000
"""Maximum number of positions searched; Tic-Tac-Toe has 5,478."""


class Values:
    """The advantages of all options over the setting's baseline, by complete search.

    All randomness of a game is in its deal, so a position's value is the mean of its options'
    values, weighted by the policy of the player to move; every position is evaluated once, and
    equal states are the same position. Raises UserError for settings without such values.
    """

    def __init__(self, setting: Setting) -> None:
        require_advantage(setting.cell)
        self.game, self.measure = setting.cell.game, setting.cell.measure
        if not nothing_hidden(self.game):
            raise UserError(
                f"reward=expected: {setting.cell.labels['game']} hides something, so that rules "
                "alone do not say what an option is worth; take reward=advantage"
            )
        self.known: dict[tuple[Sequence[str], Any], np.ndarray] = {}

    def advantages(self, match: Match, seat: int) -> np.ndarray:
        """Return each option's advantage over the baseline, for the seat to move: float64 of shape
        (options,). Raises UserError if there are too many positions."""
        policies = seat_policies(match)
        after = self._after(policies, match.state)[:, seat]
        return np.asarray(after - self._chances(policies, match.state) @ after)

    def _after(self, policies: Sequence[str], state: Any) -> np.ndarray:
        """Return the value for each seat after each option: (options, seats)."""
        (mover,) = seats_to_move(self.game, state)
        options = legal_actions(self.game, state, mover)
        if any(isinstance(option, TextAction) for option in options):
            raise UserError("reward=expected: moves that want words cannot be gone through")
        ahead = [self._value(policies, self.game.play(state, [option])) for option in options]
        return np.stack(ahead)

    def _value(self, policies: Sequence[str], state: Any) -> np.ndarray:
        """Return the value of the state for each seat: (seats,)."""
        if (value := self.known.get((policies, state))) is not None:
            return value
        if len(self.known) >= MOST:
            raise UserError(
                f"reward=expected: the game has more than {MOST:,} positions; take reward=advantage"
            )
        if seats_to_move(self.game, state):
            value = self._chances(policies, state) @ self._after(policies, state)
        else:
            value = np.array(values_with_score(self.game, state)[self.measure], float)
        self.known[policies, state] = value
        return value

    def _chances(self, policies: Sequence[str], state: Any) -> np.ndarray:
        """Return the scripted policy's probability of each option: (options,)."""
        (mover,) = seats_to_move(self.game, state)
        seen = observation(self.game, state, mover)
        return np.array(probabilities(self.game, policies[mover], seen))
