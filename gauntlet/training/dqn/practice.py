"""Practice games for any game that encodes its decisions as numbers, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from gauntlet.agents.dqn.network import Network
from gauntlet.agents.dqn.player import Encoded
from gauntlet.games.base import Game
from gauntlet.games.contract import final_returns, legal_actions, observation, seats_to_move


class Practice(Protocol):
    """Successive games of a learning seat against random players."""

    @property
    def features(self) -> np.ndarray:
        """The current decision, from `Encoded.encode`. Overwritten by the next."""
        ...

    @property
    def legal(self) -> np.ndarray:
        """Mask of its legal codes, bool of shape (num_codes,). Overwritten by the next."""
        ...

    def begin(self, game: int) -> bool:
        """Deal the game of this number and play to the seat's first choice between codes; False if
        the game ended without one."""
        ...

    def take(self, code: int) -> bool:
        """Play the code and continue to the seat's next choice; False if the game is over."""
        ...

    @property
    def result(self) -> float:
        """The seat's return in the finished game, as in `Game.returns`."""
        ...


def practice(game: Game[Any], seat: int, seed: int) -> Practice:
    """Return the game's own fast practice, or a generic one."""
    own = getattr(game, "practice", None)
    made: Practice = (own or partial(ByTheRules, game))(seat, seed)
    return made


class SeatInTurn:
    """Games of several practices in turn, by the game's number."""

    def __init__(self, practices: Sequence[Practice]) -> None:
        self._practices = practices
        self._now = practices[0]

    def begin(self, game: int) -> bool:
        self._now = self._practices[game % len(self._practices)]
        return self._now.begin(game)

    def take(self, code: int) -> bool:
        return self._now.take(code)

    @property
    def features(self) -> np.ndarray:
        return self._now.features

    @property
    def legal(self) -> np.ndarray:
        return self._now.legal

    @property
    def result(self) -> float:
        return self._now.result


class ByTheRules:
    """Practice through the Game protocol only: slow, but works for any encoded game."""

    def __init__(self, game: Game[Any], seat: int, seed: int) -> None:
        assert isinstance(game, Encoded), game
        self.features = np.zeros(0, np.float32)
        self.legal = np.zeros(game.num_codes, np.bool_)
        self._encoded: Encoded = game
        self._game, self._seat, self._seed = game, seat, seed
        self._rng = np.random.default_rng(seed)
        self._state: Any = None
        self._codes: tuple[tuple[int, ...], ...] = ()

    def begin(self, game: int) -> bool:
        self._rng = np.random.default_rng((self._seed, game))
        self._state = self._game.deal(self._rng)
        return self._next_choice()

    def take(self, code: int) -> bool:
        self._play(next(option for option, own in enumerate(self._codes) if code in own))
        return self._next_choice()

    @property
    def result(self) -> float:
        return final_returns(self._game, self._state)[self._seat]

    def _next_choice(self) -> bool:
        """Play to the seat's next choice and encode it; False if the game is over."""
        while seats := seats_to_move(self._game, self._state):
            if self._seat in seats and self._encode_choice():
                return True
            self._play(0)
        return False

    def _encode_choice(self) -> bool:
        """Encode the decision; False if the seat has no choice between codes."""
        seen = observation(self._game, self._state, self._seat)
        self._codes = self._encoded.option_codes(seen)
        codes = sorted({code for own in self._codes for code in own})
        if len(codes) == 1:
            return False
        self.features = self._encoded.encode(seen)
        self.legal[:] = False
        self.legal[codes] = True
        return True

    def _play(self, option: int) -> None:
        """Play one ply, the others at random."""
        moves = []
        for seat in seats_to_move(self._game, self._state):
            options = legal_actions(self._game, self._state, seat)
            own = option if seat == self._seat else int(self._rng.integers(len(options)))
            moves.append(options[own])
        self._state = self._game.play(self._state, moves)


def results(network: Network, practices: Sequence[Practice], game: int) -> np.ndarray:
    """Return the results of one game per practice, float64 of shape (practices,), with the seat
    playing greedily by the network's values."""
    going = [one for one in practices if one.begin(game)]
    while going:
        values = network.values(np.stack([one.features for one in going]))
        values[~np.stack([one.legal for one in going])] = -np.inf
        codes = values.argmax(axis=1).tolist()
        going = [one for one, code in zip(going, codes, strict=True) if one.take(code)]
    return np.array([one.result for one in practices])
