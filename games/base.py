"""What a game is: rules as pure functions of an immutable state, and facts in words.

A game holds no randomness of its own. `deal` turns a random generator into a first state in
which all chance is settled (the order of the pile, the seed of later shuffles), so that one deal
is the same deal whoever plays it. An observation carries facts, never prompt wording: the
prompting methods under `agents/prompting` decide how the facts are asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

Action = int
"""An action's number. What it means is the game's affair; `Observation.options` names it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One named thing that a seat knows, such as ("Hand", "red 3, wild").

    own: whether it is of this seat alone: what only it holds, what it has to decide.
    """

    name: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What one seat may know at its turn, in facts that any prompting method can word.

    game: the game's name as a person would write it ("UNO").
    seat: the observing seat, from 0.
    rules: the rules and how the game is won; equal for every state of a match.
    facts: the situation, in the order in which it should be told.
    history: the public moves so far, one short clause each, oldest first.
    options: a name for each legal action, in the order of `Game.legal`.
    view: the same situation as plain data, for scripted players of this game.
    """

    game: str
    seat: int
    rules: str
    facts: tuple[Fact, ...]
    history: tuple[str, ...]
    options: tuple[str, ...]
    view: Any = None


class Game(Protocol[S]):
    """The rules of one game. Implementations are frozen dataclasses whose fields are its
    parameters; the first is always `num_seats`, checked on construction (ValueError)."""

    @property
    def num_seats(self) -> int: ...

    def deal(self, rng: np.random.Generator) -> S:
        """A first state. The only place where randomness enters."""
        ...

    def to_move(self, state: S) -> tuple[int, ...]:
        """The seats that act now: one, several at once (simultaneous moves), or () when over."""
        ...

    def legal(self, state: S, seat: int) -> tuple[Action, ...]:
        """The actions open to `seat`, in a fixed order; never empty for a seat that is to move."""
        ...

    def play(self, state: S, moves: Sequence[Action]) -> S:
        """The state after the seats of `to_move`, in that order, make `moves`.

        Raises IllegalAction where a move is not legal. `state` itself is left as it was.
        """
        ...

    def observe(self, state: S, seat: int) -> Observation:
        """What `seat`, one of `to_move`, knows: nothing hidden from it may be read off."""
        ...

    def returns(self, state: S) -> tuple[float, ...]:
        """One figure a seat once the game is over: 1 a win, -1 a loss, 0 a draw or no winner.

        Games with scores may use the range between. A match is won where the return is above 0;
        where several seats share a win, it is a full win for each of them.
        """
        ...

    def show(self, state: S) -> str:
        """The whole state, hidden parts included, drawn for a person in a few lines."""
        ...


@runtime_checkable
class Scripted(Protocol):
    """A game that comes with scripted players and can play them against each other fast."""

    policies: Sequence[str]
    """Names that `probabilities` and `simulate` take; "random" is always among them."""

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        """The chance with which the scripted player takes each option; sums to 1."""
        ...

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        """Plays `games` games between scripted players, one policy a seat.

        Returns int64 counts of shape (num_seats + 1,): wins by seat, then games nobody won. A
        shared win counts for each of its seats.
        """
        ...


@runtime_checkable
class Aiming(Protocol):
    """A game some of whose scripted players play for or against another seat."""

    def aimed(self, policy: str, seat: int, at: int | None) -> str:
        """The name under which `probabilities` and `simulate` know `policy` where it sits in
        `seat` with an eye on seat `at`; `policy` itself where it minds no other seat.

        Raises ValueError where it needs another seat, and `at` is none.
        """
        ...


@runtime_checkable
class Sampled(Protocol[S_co]):
    """A game whose full states can be guessed from what a seat knows, for players that search."""

    perfect_information: ClassVar[bool]
    """Whether nothing is hidden and seats never move at once, as exact search needs."""

    def sample(self, observation: Observation, rng: np.random.Generator) -> S_co:
        """A state that fits the observation; the state itself where nothing is hidden."""
        ...


@runtime_checkable
class Adjustable(Protocol):
    """A game that can tell how well a seat decided from how lucky it was."""

    def advantage(
        self,
        start: Any,
        moves: Sequence[str],
        seat: int,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> float:
        """How much the decisions of `seat` in one game raised the chance that `measured` wins,
        over those of a reference policy. The mean over games is the difference of the two win
        rates, if `seat` chose by what it knew and the others played by their policies.

        start: the first state. moves: for every turn of the game in order, the name of the option
        taken, as observations give it. policies: one a seat, the reference for `seat`. playouts:
        how many an option; any number is unbiased. seed: settles the playouts.
        Raises ValueError where the moves are not a game from this start.
        """
        ...


@runtime_checkable
class Valued(Protocol):
    """A game that can say what each option is worth if everybody goes on as a scripted player."""

    policies: Sequence[str]

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        """The chance that seat `measured` wins after each option, float64 of shape (options,).

        Estimated by `playouts` games an option, for what the observing seat knows: each deals
        afresh what is hidden from it. policies: what every seat plays afterwards, one a seat.
        """
        ...


@runtime_checkable
class PlayedOut(Protocol[S_contra]):
    """A game that can be played on from a full state many times over, after every option."""

    policies: Sequence[str]

    def winners(
        self, state: S_contra, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        """Who wins after each option of the seat to move, playout by playout.

        state: one in which a single seat is to move. policies: what every seat plays afterwards,
        one a seat. hidden: whether each playout deals afresh what the seat to move cannot see;
        False plays on from the cards as they lie. Playout i brings the same cards and the same
        chance after every option: common random numbers, settled by `seed`.

        Returns uint16 of shape (options, playouts): bit s is set where seat s is among the
        winners; options in the order of `legal`.
        """
        ...


@runtime_checkable
class Advised(Protocol):
    """A game with more to tell a player that thinks twice. Players do without where it has not."""

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        """What the last `moves` public moves add up to, in counts; () where there is nothing to
        count. Only what the observing seat knows."""
        ...

    def advice(self, observation: Observation) -> tuple[str, ...]:
        """How to play well for a win at such a decision, a sentence each; never which option."""
        ...


@runtime_checkable
class Encoded(Protocol):
    """A game whose decisions can be told in numbers, for players that learn."""

    num_codes: ClassVar[int]
    """Codes, from 0, are what a learner tells apart among the options of all decisions."""

    @property
    def encoding(self) -> str:
        """The name of this way to tell decisions, fit for a file: what was learnt under it fits
        any game that gives the same name."""
        ...

    def encode(self, observation: Observation) -> np.ndarray:
        """What the observing seat knows, float32 of a shape that is the same for all decisions."""
        ...

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        """The codes of each option, one or more: an option is worth what its best code is."""
        ...


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


@runtime_checkable
class Practised(Protocol):
    """An encoded game that plays a learner's games faster than its Game protocol would."""

    def practice(self, seat: int, seed: int) -> Practice:
        """Games of `seat`, all chance in them settled by `seed` and their numbers."""
        ...
