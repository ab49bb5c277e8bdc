"""What a game may be able to do beyond its rules, and what holds where it does not say.

A game has a capability by having its members; nothing is inherited. What a game does is a protocol
here. What it only says of itself is an attribute, and a function here that knows what holds without
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from gauntlet.games.base import Fact, Game, Observation

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


def nothing_hidden(game: Game[Any]) -> bool:
    """Whether the game says, by `perfect_information = True`, that nothing is hidden and seats
    never move at once. The `view` of its observations is then the state."""
    return bool(getattr(game, "perfect_information", False))


def has_draws(game: Game[Any]) -> bool:
    """Whether the game says, by `draws = True`, that a match which nobody wins is a draw: every
    seat's return is then 0."""
    return bool(getattr(game, "draws", False))


def deal_key_of(game: Game[Any]) -> str:
    """By what a class that is several games, such as an adapter of another library's, tells them
    apart: equal deals of two of them are the same cards only where their `deal_key` is equal."""
    return str(getattr(game, "deal_key", ""))


def retold_of(game: Game[Any]) -> Game[Any]:
    """The game that this one tells in other words, as its `retold`, and whose deals it meets; else
    the game itself."""
    found: Game[Any] = getattr(game, "retold", game)
    return found


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
    """What a seat is to collect, in the plural as "chips", where matches are judged by a score of
    the game's own; "" where it is to win. A game may say so itself, as its `points`."""
    own: str | None = getattr(game, "points", None)
    if own is not None:
        return own
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
    """For each rotation which player sits in which seat: entry s is the player of seat s, and the
    first is (0, 1, 2, ...). Every rotation, player p of rotation r in seat p + r, unless the game
    has `seatings`, because not every rotation is a fair exchange."""
    own: tuple[tuple[int, ...], ...] | None = getattr(game, "seatings", None)
    if own is not None:
        return own
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
        may look at all of the state: whoever asks deals again what the seat cannot see."""
        ...


@runtime_checkable
class Sampled(Protocol[S_co]):
    """A game whose full states can be guessed from what a seat knows. One in which
    `nothing_hidden` does without."""

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
        again what the seat to move cannot see; False plays on from the cards as they lie. Playout i
        brings the same cards and the same chance after every option: common random numbers, settled
        by `seed`.

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
class Headed(Protocol):
    """A game whose rules are a summary, and headings whose text a player may ask for.

    `full_rules` of both is what its observations give as `rules`.
    """

    @property
    def rules_summary(self) -> str:
        """What the game is about and how it is won, in a few sentences."""
        ...

    @property
    def rules_headings(self) -> Mapping[str, str]:
        """The text under each heading, one line each, in the order in which they are read."""
        ...


def full_rules(game: Headed) -> str:
    """The summary and all headings with their texts, one after the other, on one line."""
    return " ".join(
        (game.rules_summary, *(f"{name}: {text}" for name, text in game.rules_headings.items()))
    )


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


def move_format_of(game: Game[Any]) -> str | None:
    """The game's `move_format`: a regular expression, read without regard to case, that fits the
    name of every option and of moves that are none now; space and underscores within a name do not
    count. None where moves cannot be told from other words by how they are written."""
    return getattr(game, "move_format", None)


def intents_of(game: Game[Any]) -> Sequence[str]:
    """The few intents that a player may have, as the game's `intents`; () where it names none. Each
    is a name, a colon and what it means; where moves speak for themselves the name alone."""
    return getattr(game, "intents", ())


def fallback_of(game: Game[Any], observation: Observation) -> int | None:
    """The index of the option for a player that names none, by the game's `fallback`; None where it
    has no such move, and a random one is taken."""
    own = getattr(game, "fallback", None)
    return own(observation) if own else None
