"""Optional capabilities of a game, and their defaults.

A game has a capability if it has the members; nothing is inherited. Behaviour is a protocol here. A
declaration is an attribute of the game, read by a function here that supplies the default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from gauntlet.games.base import Action, Fact, Game, Observation

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that a match yields for every seat.

    low, high: its range; infinite if unbounded.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf


WIN = Measure("win", 0.0, 1.0)
"""1 if a seat is among the winners (its return is above 0), else 0. Every game yields it."""

MATCH_SCORE = Measure("match_score", 0.0, 1.0)
"""1 for a win, 1/2 for a draw (return 0), 0 for a loss. It follows from the returns, so every game
has it and records do not store it; a game's own measure of that name takes precedence."""


def win_or_score(measure: str) -> bool:
    """Return whether this measure is WIN or MATCH_SCORE. Both lie in [0, 1], and a score's variance
    is at most that of wins with the same mean."""
    return measure in (WIN.name, MATCH_SCORE.name)


@runtime_checkable
class HasMeasures(Protocol[S_contra]):
    """A game that yields more than wins: chips, points, a score."""

    @property
    def measures(self) -> Sequence[Measure]:
        """All measures besides `WIN`. The first is the primary one unless the config names another.
        A game judged by `WIN` lists that first, and is judged by `MATCH_SCORE` if it `has_draws`.
        """
        ...

    def measure(self, state: S_contra) -> Mapping[str, Sequence[float]]:
        """Return one value per seat for each of `measures`, by name; `state` is final."""
        ...


def nothing_hidden(game: Game[Any]) -> bool:
    """Return whether the game declares `perfect_information = True`: nothing is hidden and seats
    never move simultaneously. The `view` of its observations is then the state."""
    return bool(getattr(game, "perfect_information", False))


def has_draws(game: Game[Any]) -> bool:
    """Return whether the game declares `draws = True`: a match without a winner is a draw, and
    every seat's return is then 0. If it declares `draws = False` such a match may have returns of 0
    too, and everybody has lost."""
    return bool(getattr(game, "draws", False))


def deal_key_of(game: Game[Any]) -> str:
    """Return the `deal_key` that separates the games of one class, such as an adapter of another
    library. Equal deals of two such games are the same cards only if their keys are equal."""
    return str(getattr(game, "deal_key", ""))


def base_game_of(game: Game[Any]) -> Game[Any]:
    """Return the game that this one renames (its `retold`), with which it shares deals; else the
    game itself."""
    found: Game[Any] = getattr(game, "retold", game)
    return found


def measures_of(game: Game[Any]) -> tuple[Measure, ...]:
    """Return all measures that the game's records store, its own first."""
    own = tuple(game.measures) if isinstance(game, HasMeasures) else ()
    return own if WIN in own else (*own, WIN)


def judgeable_measures(game: Game[Any]) -> tuple[Measure, ...]:
    """Return all measures that a config may name, the primary one first: the game's own, and
    `MATCH_SCORE`, before `WIN` if the game has draws and lists `WIN` first."""
    measures = measures_of(game)
    if MATCH_SCORE.name in {one.name for one in measures}:
        return measures
    first = has_draws(game) and measures[0] == WIN
    return (MATCH_SCORE, *measures) if first else (*measures, MATCH_SCORE)


def points_of(game: Game[Any]) -> str:
    """Return what a seat collects, as a plural ("chips"), if matches are judged by a score of the
    game; "" if the aim is to win. A game may declare it as `points`."""
    declared = getattr(game, "points", None)  # of another type it is a game's own setting
    if isinstance(declared, str):
        return declared
    return "" if measures_of(game)[0].name in (WIN.name, MATCH_SCORE.name) else "points"


def add_match_score(
    figures: Mapping[str, Sequence[float]], returns: Sequence[float]
) -> dict[str, Sequence[float]]:
    """Return the values by measure with MATCH_SCORE added from the returns, one value per seat."""
    score = tuple(0.5 * ((worth > 0) + (worth >= 0)) for worth in returns)
    return {**figures, MATCH_SCORE.name: figures.get(MATCH_SCORE.name, score)}


def seatings_of(game: Game[Any]) -> tuple[tuple[int, ...], ...]:
    """Return, for each rotation, the player in each seat; the first is (0, 1, 2, ...).

    By default every rotation, with player p of rotation r in seat p + r. A game declares `seatings`
    if not every rotation is a fair exchange.
    """
    own: tuple[tuple[int, ...], ...] | None = getattr(game, "seatings", None)
    if own is not None:
        return own
    seats = range(game.num_seats)
    return tuple(tuple((seat - turned) % game.num_seats for seat in seats) for turned in seats)


def can_forfeit(game: Game[Any]) -> bool:
    """Return whether a seat can give a match up: there are two seats, and no score is missed."""
    return game.num_seats == 2 and measures_of(game) == (WIN,)


def forfeit_returns(game: Game[Any], seats: Sequence[int]) -> tuple[float, ...]:
    """Return the returns of a match that these seats gave up: they lose, the others win."""
    return tuple(-1.0 if seat in seats else 1.0 for seat in range(game.num_seats))


@runtime_checkable
class Scripted(Protocol):
    """A game with scripted players besides "random", which every game has.

    If some of them play for or against another seat, the game also has `aimed(policy, seat, at) ->
    str`: the name of `policy` when it plays `seat` and targets seat `at`; `policy` itself if it
    needs no target. It raises ValueError if the policy needs a target and `at` is None.
    """

    policies: Sequence[str]
    """The policy names that `probabilities` accepts."""

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        """Return the probability of each option for the scripted player; they sum to 1."""
        ...


@runtime_checkable
class Speaking(Protocol):
    """A game with text actions whose scripted players write their own text. In other games they use
    one of the examples."""

    def words(
        self, policy: str, observation: Observation, option: int, rng: np.random.Generator
    ) -> str:
        """Return a valid text of the scripted player for the text option at this index."""
        ...


@runtime_checkable
class Valued(Protocol[S_contra]):
    """A game that can evaluate unfinished states: `agent=one_ply`."""

    def worth(self, state: S_contra, seat: int) -> float:
        """Return the value of a state, finished or not, for `seat`, from 0 (lost) to 1 (won). It
        may use the whole state: the caller redeals what the seat cannot see."""
        ...


@runtime_checkable
class Sampled(Protocol[S_co]):
    """A game that can sample full states consistent with what a seat knows. Not needed where
    `nothing_hidden` holds."""

    def sample(self, observation: Observation, rng: np.random.Generator) -> S_co:
        """Return a state consistent with the observation; `rng` draws what is hidden."""
        ...


@runtime_checkable
class Redealt(Protocol[S]):
    """A game whose luck can be measured without knowing how anybody plays."""

    def redealt(self, state: S, rng: np.random.Generator) -> S:
        """Return the state with the chance that no seat has seen drawn anew, given all that any
        seat has seen: the order of the pile stays unknown to all, a hand does not. The result
        depends on `rng` and on what was seen alone."""
        ...


@runtime_checkable
class RolledOut(Protocol[S_contra]):
    """A `Redealt` game that plays on faster than its Game protocol allows."""

    def rollouts(
        self,
        state: S_contra | None,
        moves: Sequence[int],
        policies: Sequence[str],
        count: int,
        seed: int,
        measure: str,
    ) -> np.ndarray:
        """Play on from a state, or from new deals if it is None, `count` times: deal anew what no
        seat has seen, make the moves, if any, then play to the end, one policy per seat.

        Returns every seat's result, float64 of shape (count, seats), or their exact means, of shape
        (1, seats). Game i of a seed has the same redeal and the same random numbers of the players,
        whatever the moves.
        """
        ...


@runtime_checkable
class Simulated(Protocol):
    """A game that simulates itself from its deals faster than its Game protocol allows."""

    def simulate(self, policies: Sequence[str], games: int, seed: int) -> np.ndarray:
        """As `games.playouts.simulate`, which calls it; "random" is among the policies."""
        ...


@runtime_checkable
class PlayedOut(Protocol[S_contra]):
    """A game that runs playouts after every option faster than its Game protocol allows. One seat
    moves at a time, and there are no text actions."""

    def winners(
        self, state: S_contra, policies: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        """Return the winners after each option of the seat to move, per playout.

        policies: what every seat plays afterwards, one per seat. hidden: True redeals what the seat
        to move cannot see in each playout; False uses the actual cards. Playout i has the same
        cards and the same chance after every option (common random numbers), determined by `seed`.

        Returns uint16 of shape (options, playouts): bit s is set if seat s is among the winners.
        Options are in the order of `legal`.
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
        """Return the probability that seat `measured` wins after each option, float64 (options,):
        as `winners` with `hidden`, given what the observing seat knows."""
        ...


@runtime_checkable
class RandomlyEnded(Protocol[S_contra]):
    """A game that plays a state on at random faster than its Game protocol allows."""

    def random_playout(self, state: S_contra, rng: np.random.Generator) -> Sequence[float]:
        """Return the returns of a match that goes on from `state`, finished or not, with moves
        drawn uniformly from each mover's options."""
        ...


@runtime_checkable
class Scored(Protocol[S_contra]):
    """A game that simulates deals and playouts faster than its Game protocol allows, for each of
    its measures including `WIN`."""

    def scores(self, policies: Sequence[str], games: int, seed: int, measure: str) -> np.ndarray:
        """Return the results of games between scripted players, one policy per seat: float64
        (games, seats). Game i of a seed has the same deal for all players."""
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
        """Return every seat's result after each option of the seat to move, per playout: float64
        (options, playouts, seats). As `PlayedOut.winners`; `hidden` cards may be drawn from their
        posterior given the policies and the moves so far."""
        ...


@runtime_checkable
class Adjustable(Protocol):
    """A game that can separate how well a seat decided from how lucky it was.

    references: policies to compare decisions with, the default for an unknown player first. Any of
    them is unbiased; the closer one is to how a player plays, the lower the variance of that
    player's advantages.
    """

    references: Sequence[str]

    def unadjustable(self, measure: str) -> str:
        """Return why results in this measure cannot be adjusted; "" if they can."""
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
        """Return how much the decisions of `seat` in one game raised the result of seat `measured`
        over those of a reference policy, in the measure that can be adjusted.

        The mean over games is the difference of the two means, provided `seat` used only what it
        knew and the others played their policies.

        start: the initial state. moves: the name of the option taken at every turn, in order, as in
        the observations. policies: one per seat, the reference for `seat`. playouts: per option;
        any number is unbiased. seed: determines the playouts.
        Raises ValueError if the moves are not a game from this start.
        """
        ...


@runtime_checkable
class Imitating(Protocol):
    """A game that fits policies to how a player has played."""

    def imitate(self, games: Sequence[tuple[Any, Sequence[str], int]]) -> str:
        """Return a policy fitted to the player of these games (at least one), each given as its
        initial state, its moves as in `Adjustable.advantage`, and the player's seat. The result is
        a self-contained string that takes the place of a policy's name in `RolledOut.rollouts`,
        `Scored.scores` and `Adjustable.advantage`; equal games give equal strings."""
        ...


@dataclass(frozen=True, slots=True)
class BeliefQuestion:
    """A question about what a seat cannot know.

    kind: "hidden", what seat `about` holds; "move", what it does next; "win", whether it wins: the
        answers are then yes and no.
    answers: two or more, of which one is right; like `text`, they must not tell what is hidden.
    """

    kind: Literal["hidden", "move", "win"]
    about: int
    text: str
    answers: tuple[str, ...]


@runtime_checkable
class Believable(Protocol[S_contra]):
    """A game about whose hidden parts a player can be asked, beside a match (`beliefs=on`).

    Questions are asked of a seat that has just made `move` in `state`, of which it knows what it
    saw there.
    """

    def questions(self, state: S_contra, seat: int, move: Action) -> Sequence[BeliefQuestion]:
        """Return the questions for the seat. "move" is asked only if seat `about` moves next,
        before any chance that the seat sees, and "win" only if the match is not over."""
        ...

    def truth(self, state: S_contra, question: BeliefQuestion) -> int:
        """Return the index of the right answer to a question of the kind "hidden"."""
        ...

    def posterior(
        self,
        state: S_contra,
        seat: int,
        move: Action,
        question: BeliefQuestion,
        policies: Sequence[str | None],
    ) -> np.ndarray | None:
        """Return the exact probability of each answer, float64 (answers,), given all that the seat
        has seen; None if it is not known.

        policies: what every seat plays, None where that is unknown: the moves of such a seat count
        as if they told nothing, so that with None alone the probability is over the deal alone.
        """
        ...

    def worths(
        self, state: S_contra, seat: int, question: BeliefQuestion, policies: Sequence[str | None]
    ) -> np.ndarray | None:
        """Return what each option of the seat is worth given each answer to a question of the kind
        "hidden", in the game's points, float64 (answers, options); None if it is not known.

        The others play on by their policies, and the seat plays its best response to them. nan for
        an answer that what the seat has seen rules out.
        """
        ...


@runtime_checkable
class Ranged(Protocol[S]):
    """A game of two seats in which a seat hides one of few holdings, so that its moves are answered
    by a local best response (Lisy and Bowling 2017, 1612.07547)."""

    def holdings(self, observation: Observation) -> np.ndarray:
        """Return the holdings that the other seat may have, as numbers: int64 (possible,)."""
        ...

    def hold(self, state: S, seat: int, holding: int) -> S:
        """Return the state with this holding of the seat."""
        ...

    def range_states(self, observation: Observation) -> tuple[Sequence[S], Sequence[S]]:
        """Return the states in which the other seat made the moves that tell of its holding, and
        those that it has to answer if this seat raises now. Its holding in them is arbitrary."""
        ...

    def shares(self, policy: str, state: S) -> np.ndarray:
        """Return how often a policy, or habits of `Imitating.imitate`, takes each action with each
        holding: float64 (holdings, actions), rows of sum 1."""
        ...

    def local_values(
        self,
        observation: Observation,
        past: Sequence[np.ndarray],
        later: Sequence[np.ndarray],
        seed: int,
    ) -> np.ndarray:
        """Return what each option wins if nobody raises after it and the other seat folds as it is
        believed to, in the points of the first measure: float64 (options,). past, later: `shares`
        in each of `range_states`; a row of zeros rules a holding out. seed: of chance drawn."""
        ...


@runtime_checkable
class HasRuleHeadings(Protocol):
    """A game whose rules are a summary plus headings whose text a player may request.

    Its observations give `full_rules` of both as `rules`.
    """

    @property
    def rules_summary(self) -> str:
        """What the game is about and how to win, in a few sentences."""
        ...

    @property
    def rules_headings(self) -> Mapping[str, str]:
        """The text under each heading, one line each, in reading order."""
        ...


def full_rules(game: HasRuleHeadings) -> str:
    """Return the summary and all headings with their texts as one line."""
    return " ".join(
        (game.rules_summary, *(f"{name}: {text}" for name, text in game.rules_headings.items()))
    )


@runtime_checkable
class Advised(Protocol):
    """A game with extra information for players that deliberate. Players work without it too."""

    def review(self, observation: Observation, moves: int) -> tuple[Fact, ...]:
        """Return what the last `moves` public moves add up to, in counts; () if there is nothing to
        count. Uses only what the observing seat knows."""
        ...

    def advice(self, observation: Observation) -> tuple[str, ...]:
        """Return advice on playing well at this decision, one sentence each; it never names an
        option."""
        ...


def move_format_of(game: Game[Any]) -> str | None:
    """Return the game's `move_format`: a case-insensitive regular expression that matches the name
    of every option and of moves that are currently illegal; spaces and underscores within a name do
    not matter. None if moves cannot be told from other words by their form."""
    return getattr(game, "move_format", None)


def intents_of(game: Game[Any]) -> Sequence[str]:
    """Return the game's `intents`, the few intents that a player may have; () if it declares none.
    Each is a name, a colon and its meaning; the name alone if the moves are self-explanatory."""
    return getattr(game, "intents", ())


def fallback_of(game: Game[Any], observation: Observation) -> int | None:
    """Return the index of the option for a player that names none, from the game's `fallback`; None
    if it has no such move and a random one is to be taken."""
    own = getattr(game, "fallback", None)
    return own(observation) if own else None
