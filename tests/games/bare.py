"""Games with few or no capabilities, like a newcomer's first game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gauntlet.common.errors import IllegalAction
from gauntlet.games.base import Action, Fact, Game, Observation, TextAction, TextMove, TextSpec
from gauntlet.games.capabilities import Measure, has_draws


@dataclass(frozen=True)
class Bare:
    """The rules of another game, without its capabilities, except that it may have its draws."""

    game: Any

    @property
    def draws(self) -> bool:
        return has_draws(self.game)

    @property
    def num_seats(self) -> int:
        return int(self.game.num_seats)

    def deal(self, rng: np.random.Generator) -> Any:
        return self.game.deal(rng)

    def to_move(self, state: Any) -> tuple[int, ...]:
        return tuple(self.game.to_move(state))

    def legal(self, state: Any, seat: int) -> tuple[Action, ...]:
        return tuple(self.game.legal(state, seat))

    def play(self, state: Any, moves: Sequence[Action]) -> Any:
        return self.game.play(state, moves)

    def observe(self, state: Any, seat: int) -> Observation:
        seen: Observation = self.game.observe(state, seat)
        return seen

    def returns(self, state: Any) -> tuple[float, ...]:
        return tuple(self.game.returns(state))

    def show(self, state: Any) -> str:
        return str(self.game.show(state))


@dataclass(frozen=True)
class Clear(Bare):
    """A game that declares that nothing is hidden."""

    perfect_information: ClassVar[bool] = True


@dataclass(frozen=True)
class Guessed(Bare):
    """A game with the other game's `sample` and scripted players."""

    @property
    def policies(self) -> Sequence[str]:
        return tuple(self.game.policies)

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        return tuple(self.game.probabilities(policy, observation))

    def sample(self, observation: Observation, rng: np.random.Generator) -> Any:
        return self.game.sample(observation, rng)


@dataclass(frozen=True)
class Judged(Guessed):
    """A game that has the other game's measures too."""

    @property
    def measures(self) -> Sequence[Measure]:
        return tuple(self.game.measures)

    def measure(self, state: Any) -> Mapping[str, Sequence[float]]:
        found: Mapping[str, Sequence[float]] = self.game.measure(state)
        return found


Hint = tuple[tuple[int, ...], str, int]
"""The two cards, the word, and the guess; "" and -1 before."""


@dataclass(frozen=True)
class SumGuess:
    """Seat 0 sees its two cards, 0 to 2, and says a word or stays silent; seat 1 guesses their sum,
    and both get 10 points minus the distance. The word "high" adds a point, "low" subtracts one.
    Both win from 10 points on."""

    num_seats: int = 2

    SPEC: ClassVar[TextSpec] = TextSpec("a word", ("high", "low"), max_chars=10)

    def deal(self, rng: np.random.Generator) -> Hint:
        return (tuple(int(card) for card in rng.integers(3, size=2)), "", -1)

    def to_move(self, state: Hint) -> tuple[int, ...]:
        _, word, guess = state
        return (0,) if not word else (1,) if guess < 0 else ()

    def legal(self, state: Hint, seat: int) -> tuple[Action, ...]:
        if seat not in self.to_move(state):
            return ()
        return (0, TextAction(1, self.SPEC)) if seat == 0 else tuple(range(5))

    def play(self, state: Hint, moves: Sequence[Action]) -> Hint:
        cards, word, guess = state
        (move,) = moves
        if self.to_move(state) == (1,):
            return cards, word, int(move)
        if move == 0 and not isinstance(move, TextMove):
            return cards, "-", guess
        if not isinstance(move, TextMove) or int(move) != 1 or self.SPEC.fault(move.text):
            raise IllegalAction(f"{move!r} is not legal in {state}")
        return cards, move.text, guess

    def observe(self, state: Hint, seat: int) -> Observation:
        cards, word, _ = state
        held = cards if seat == 0 else ()
        options = ("keep silent", "say a word") if seat == 0 else tuple(map(str, range(5)))
        facts = (Fact("Cards", str(held), own=True), Fact("Word", word or "none"))
        return Observation("SumGuess", seat, "Guess the sum.", facts, (), options, (held, word))

    def returns(self, state: Hint) -> tuple[float, ...]:
        return (1.0, 1.0) if self._points(state) >= 10 else (-1.0, -1.0)

    def show(self, state: Hint) -> str:
        return str(state)

    @property
    def measures(self) -> Sequence[Measure]:
        return (Measure("points", 0.0, 20.0),)

    def measure(self, state: Hint) -> Mapping[str, Sequence[float]]:
        return {"points": [self._points(state)] * 2}

    def sample(self, observation: Observation, rng: np.random.Generator) -> Hint:
        held, word = observation.view
        return (held or self.deal(rng)[0], word, -1)

    def _points(self, state: Hint) -> float:
        cards, word, guess = state
        return 10.0 - abs(sum(cards) - guess) + {"high": 1.0, "low": -1.0}.get(word, 0.0)


def endless() -> Game[int]:
    """A game that never ends."""

    class Endless(SumGuess):
        def to_move(self, state: Any) -> tuple[int, ...]:
            return (0,)

        def play(self, state: Any, moves: Sequence[Action]) -> Any:
            return state

    made: Any = Endless()
    return made  # type: ignore[no-any-return]
