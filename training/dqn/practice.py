"""Games to practise on, of any game that tells its decisions in numbers; and how well it goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from gauntlet.agents.dqn.network import Network
from gauntlet.agents.dqn.player import Encoded
from gauntlet.games.base import Game


class Practice(Protocol):
    """One game after another of a seat that learns, against players that choose at random."""

    features: np.ndarray
    """The decision at hand as `Encoded.encode` tells it. Overwritten by the next."""
    legal: np.ndarray
    """Which codes it has, bool of shape (num_codes,). Overwritten by the next."""

    def begin(self, game: int) -> bool:
        """Deals the game of this number and plays on to the seat's first choice between codes;
        False where the game ended without one."""
        ...

    def take(self, code: int) -> bool:
        """Plays the code and goes on to the seat's next choice; False where the game is over."""
        ...

    @property
    def result(self) -> float:
        """What the game that is over brought the seat, as `Game.returns` gives it."""
        ...


def practice(game: Game[Any], seat: int, seed: int) -> Practice:
    """The game's own fast practice, or one by its rules alone."""
    own = getattr(game, "practice", None)
    made: Practice = (own or partial(ByTheRules, game))(seat, seed)
    return made


class ByTheRules:
    """Practice by the Game protocol alone: slow, but for any encoded game."""

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
        return self._on()

    def take(self, code: int) -> bool:
        self._play(next(option for option, own in enumerate(self._codes) if code in own))
        return self._on()

    @property
    def result(self) -> float:
        return self._game.returns(self._state)[self._seat]

    def _on(self) -> bool:
        """Plays on to a choice of the seat and tells of it; False where the game is over."""
        while seats := self._game.to_move(self._state):
            if self._seat in seats and self._encode_choice():
                return True
            self._play(0)
        return False

    def _encode_choice(self) -> bool:
        """Whether the seat can choose between codes, which are then told."""
        observation = self._game.observe(self._state, self._seat)
        self._codes = self._encoded.option_codes(observation)
        codes = sorted({code for own in self._codes for code in own})
        if len(codes) == 1:
            return False
        self.features = self._encoded.encode(observation)
        self.legal[:] = False
        self.legal[codes] = True
        return True

    def _play(self, option: int) -> None:
        """Plays one ply, the others at random."""
        moves = []
        for seat in self._game.to_move(self._state):
            options = self._game.legal(self._state, seat)
            own = option if seat == self._seat else int(self._rng.integers(len(options)))
            moves.append(options[own])
        self._state = self._game.play(self._state, moves)


def results(network: Network, practices: Sequence[Practice], game: int) -> np.ndarray:
    """What comes of one game of each practice, float64 of shape (practices,), when its seat always
    takes the legal code of the highest value."""
    going = [one for one in practices if one.begin(game)]
    while going:
        values = network.values(np.stack([one.features for one in going]))
        values[~np.stack([one.legal for one in going])] = -np.inf
        codes = values.argmax(axis=1).tolist()
        going = [one for one, code in zip(going, codes, strict=True) if one.take(code)]
    return np.array([one.result for one in practices])
