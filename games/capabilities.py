"""What a game may be able to do beyond its rules, and what holds where it does not say.

A game has a capability by having its members; nothing is inherited or declared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from games.base import Game, Observation

S_co = TypeVar("S_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that a match yields for every seat.

    low, high: its range, infinite where there is none.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf


WIN = Measure("win", 0.0, 1.0)
"""1 where a seat is among the winners (its return is above 0), else 0: every game yields it."""

MATCH_SCORE = Measure("match_score", 0.0, 1.0)
"""1 a win, 1/2 where a seat's return is 0 (a draw), 0 a loss. It follows from the returns, so every
game has it and no record tells it; a game's own measure of that name goes before."""


def win_or_score(measure: str) -> bool:
    """Whether the measure of this name is WIN or MATCH_SCORE. Both lie between 0 and 1, and a score
    spreads no wider than wins of the same mean."""
    return measure in (WIN.name, MATCH_SCORE.name)


@runtime_checkable
class Measured(Protocol[S_contra]):
    """A game that yields more than who won: chips, points, a score."""

    @property
    def measures(self) -> Sequence[Measure]:
        """All that it yields beside `WIN`. The first is what its matches are judged by, unless a
        config asks for another; a game that is judged by `WIN` lists that first, and is judged by
        `MATCH_SCORE` where it `has_draws`."""
        ...

    def measure(self, state: S_contra) -> Mapping[str, Sequence[float]]:
        """For each of `measures`, by name, one figure a seat; `state` is a final one."""
        ...


@runtime_checkable
class PointScoring(Protocol):
    """A game that says what its seats collect where they play for a score."""

    @property
    def points(self) -> str:
        """In the plural, as "chips"; "" for a game that is won or lost."""
        ...


@runtime_checkable
class Seated(Protocol):
    """A game in which not every rotation of the players over the seats is a fair exchange."""

    @property
    def seatings(self) -> tuple[tuple[int, ...], ...]:
        """For each rotation which player sits in which seat: entry s is the player of seat s. The
        first is (0, 1, 2, ...)."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A class that is several games, such as an adapter of another library's."""

    @property
    def deal_key(self) -> str:
        """Names the game: equal deals of two games are the same cards only if this is equal."""
        ...


@runtime_checkable
class Retelling(Protocol):
    """A game that is another one told in other words: it meets that one's deals."""

    @property
    def retold(self) -> Game[Any]: ...


def nothing_hidden(game: Game[Any]) -> bool:
    """Whether the game says that nothing is hidden and seats never move at once."""
    return bool(getattr(game, "perfect_information", False))


def has_draws(game: Game[Any]) -> bool:
    """Whether the game says, by `draws = True`, that a match which nobody wins is a draw: every
    seat's return is then 0."""
    return bool(getattr(game, "draws", False))


def measures_of(game: Game[Any]) -> tuple[Measure, ...]:
    """All measures that a game's records tell, its own first."""
    own = tuple(game.measures) if isinstance(game, Measured) else ()
    return own if WIN in own else (*own, WIN)


def judgeable_by(game: Game[Any]) -> tuple[Measure, ...]:
    """All measures that a config may ask for, the one first that the game is judged by: those of
    the game, and `MATCH_SCORE`, which goes before `WIN` where there are draws."""
    own = measures_of(game)
    if MATCH_SCORE.name in {one.name for one in own}:
        return own
    first = has_draws(game) and own[0] == WIN
    return (MATCH_SCORE, *own) if first else (*own, MATCH_SCORE)


def points_of(game: Game[Any]) -> str:
    """What a seat is to collect, in the plural, where matches are judged by a score of the game's
    own; "" where it is to win."""
    if isinstance(game, PointScoring):
        return game.points
    return "" if measures_of(game)[0].name in (WIN.name, MATCH_SCORE.name) else "points"


def with_score(
    figures: Mapping[str, Sequence[float]], returns: Sequence[float]
) -> dict[str, Sequence[float]]:
    """What a match yields by measure, and its MATCH_SCORE by its returns; a figure a seat."""
    score = tuple(0.5 * ((worth > 0) + (worth >= 0)) for worth in returns)
    return {**figures, MATCH_SCORE.name: figures.get(MATCH_SCORE.name, score)}


def measured(game: Game[Any], state: Any) -> dict[str, tuple[float, ...]]:
    """Every measure of a final state by name, one figure a seat."""
    own = game.measure(state) if isinstance(game, Measured) else {}
    wins = tuple(float(worth > 0) for worth in game.returns(state))
    return {**{name: tuple(map(float, figures)) for name, figures in own.items()}, WIN.name: wins}


def judged(game: Game[Any], state: Any) -> dict[str, Sequence[float]]:
    """As `measured`, with the MATCH_SCORE."""
    return with_score(measured(game, state), game.returns(state))


def seatings_of(game: Game[Any]) -> tuple[tuple[int, ...], ...]:
    """The game's seatings, or every rotation: player p of rotation r sits in seat p + r."""
    if isinstance(game, Seated):
        return game.seatings
    seats = range(game.num_seats)
    return tuple(tuple((seat - turned) % game.num_seats for seat in seats) for turned in seats)


@runtime_checkable
class Scripted(Protocol):
    """A game that comes with scripted players beside "random", which every game has.

    Where some of them play for or against another seat, the game also has `aimed(policy, seat, at)
    -> str`: the name under which it knows `policy` where it sits in `seat` with an eye on seat
    `at`; `policy` itself where it minds no other seat. Raises ValueError where it needs another
    seat, and `at` is none.
    """

    policies: Sequence[str]
    """Names that `probabilities` takes."""

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        """The chance with which the scripted player takes each option; sums to 1."""
        ...


@runtime_checkable
class Speaking(Protocol):
    """A game with open actions whose scripted players find words of their own. Those of other games
    take one of the examples."""

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        """What the scripted player says with the open option of this index; the game takes it."""
        ...


@runtime_checkable
class Valued(Protocol[S_contra]):
    """A game that can tell how well a seat stands before it is over: `agent=one_ply`."""

    def worth(self, state: S_contra, seat: int) -> float:
        """What `seat` may hope for in a state, over or not, from 0 (all lost) to 1 (all won). It
        may look at all of the state: whoever asks deals afresh what the seat cannot see."""
        ...


@runtime_checkable
class Sampled(Protocol[S_co]):
    """A game whose full states can be guessed from what a seat knows.

    One in which nothing is hidden and seats never move at once does without: it has the class
    attribute `perfect_information = True`, and its observations give the state as `view`.
    """

    def sample(self, observation: Observation, rng: np.random.Generator) -> S_co:
        """A state that fits the observation: what is hidden is drawn by `rng`."""
        ...


@runtime_checkable
class Simulated(Protocol):
    """A game that plays itself from its deals faster than its Game protocol would."""

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        """As `games.playouts.simulate`, which asks this one: "random" is among the policies."""
        ...


@runtime_checkable
class PlayedOut(Protocol[S_contra]):
    """A game that plays itself on after every option faster than its Game protocol would. One
    seat moves at a time, and there are no open actions."""

    def winners(
        self, state: S_contra, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        """Who wins after each option of the seat to move, playout by playout.

        policies: what every seat plays afterwards, one a seat. hidden: whether each playout deals
        afresh what the seat to move cannot see; False plays on from the cards as they lie. Playout
        i brings the same cards and the same chance after every option: common random numbers,
        settled by `seed`.

        Returns uint16 of shape (options, playouts): bit s is set where seat s is among the
        winners; options in the order of `legal`.
        """
        ...

    def values(
        self,
        observation: Observation,
        measured: int,
        policies: Sequence[str],
        playouts: int,
        seed: int,
    ) -> np.ndarray:
        """The chance that seat `measured` wins after each option, float64 of shape (options,):
        as `winners` with `hidden`, from what the observing seat knows."""
        ...


@runtime_checkable
class Scored(Protocol[S_contra]):
    """A game that plays itself faster than its Game protocol would, from its deals and on after
    every option, for each of its measures, `WIN` among them."""

    def scores(self, policies: Sequence[str], games: int, seed: int, measure: str) -> np.ndarray:
        """What every seat gets in games of scripted players, one policy a seat: float64 of shape
        (games, seats). Game i of one seed has the same deal whoever plays."""
        ...

    def outcomes(
        self,
        state: S_contra,
        policies: Sequence[str],
        playouts: int,
        seed: int,
        hidden: bool,
        measure: str,
    ) -> np.ndarray:
        """What every seat gets after each option of the seat to move, playout by playout: float64
        of shape (options, playouts, seats). As `PlayedOut.winners`; `hidden` cards may be dealt as
        likely as the policies make them by the moves so far."""
        ...


@runtime_checkable
class Adjustable(Protocol):
    """A game that can tell how well a seat decided from how lucky it was.

    references: policies that decisions can be judged against, the one first to take of a player of
    whom nothing is known. Any is unbiased; the closer it is to how a player plays, the less that
    player's advantages vary.
    """

    references: Sequence[str]

    def unadjustable(self, measure: str) -> str:
        """Why results in this measure cannot be adjusted, in words; "" where they can."""
        ...

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
        """How much the decisions of `seat` in one game raised what `measured` gets, over those of a
        reference policy, in the measure that can be adjusted. The mean over games is the difference
        of the two means, if `seat` chose by what it knew and the others played by their policies.

        start: the first state. moves: for every turn of the game in order, the name of the option
        taken, as observations give it. policies: one a seat, the reference for `seat`. playouts:
        how many an option; any number is unbiased. seed: settles the playouts.
        Raises ValueError where the moves are not a game from this start.
        """
        ...


@runtime_checkable
class Imitating(Protocol):
    """An `Adjustable` game that makes references of how a player has played."""

    def imitate(self, games: Sequence[tuple[Any, Sequence[str], int]]) -> str:
        """A reference like the player of these games, one or more: for each its first state, its
        moves as `Adjustable.advantage` takes them, and the player's seat. It is a text from which
        alone `advantage` and `imitated` know it; the same games give the same."""
        ...

    def imitated(self, policies: Sequence[str], seat: int, games: int, seed: int) -> np.ndarray:
        """What every seat gets in games with such a reference in `seat`, one policy a seat, in the
        measure that can be adjusted: float64 of shape (games, seats). Game i of one seed has the
        same deal whoever plays."""
        ...


@runtime_checkable
class Encoded(Protocol):
    """A game whose decisions can be told in numbers, for players that learn.

    One that plays a learner's games faster than its Game protocol would also has `practice(seat,
    seed) -> Practice`: games of `seat`, all chance in them settled by `seed` and their numbers.
    """

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
