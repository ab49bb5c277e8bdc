"""The watched games of scripted players, step by step, their text, and the guesses about them.

A step is a moment in which seats of the watched game move: one seat, or several simultaneously.

Guesses are text: a code per watched player, or a dash for none. A match is scored by how often its
guesses name the true policies, and by the losses of wrong ones: these compare what truth and guess
imply for the watched game (`observation`), by the game's own outcomes (`Spectated`), or by
simulating its scripted players.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.games.base import Action, Game, Observation, TextAction, TextSpec
from gauntlet.games.capabilities import Measure, Simulated
from gauntlet.games.contract import check_length, legal_actions, observation, seats_to_move
from gauntlet.games.playouts import policy_probabilities, scripted_move, simulate
from gauntlet.games.watch import observation as scoring

Moves = tuple[Action, ...]


@runtime_checkable
class Spectated(Protocol):
    """A game with its own spectator view. For other games every step is described as the seats see
    it."""

    spectator_rules: str
    """The game in a few sentences, and how its steps are written."""
    spectator_names: Sequence[str]
    """The spectator's names of the players, one per seat."""

    def spectate(self, moves: Sequence[Sequence[Action]], first: int) -> str:
        """Return these steps as text, a line or more; `first` is the number of the first."""
        ...

    def together(self, policies: Sequence[str]) -> tuple[str, ...]:
        """Return the names of these policies when they play together, one per seat: a player may
        behave differently with others than alone."""
        ...

    def outlook(self, policies: Sequence[str]) -> tuple[float, ...]:
        """Return the outcome probabilities of a match between these policies, one per seat; they
        sum to 1."""
        ...


@dataclass(frozen=True, slots=True)
class SeatAction:
    """What one seat did in a step: its observation, and the index of the option it took."""

    seat: int
    observation: Observation
    taken: int


@dataclass(frozen=True)
class Step:
    """One step: who acted, and the moves as the game takes them."""

    moves: Moves
    acted: tuple[SeatAction, ...]

    def chances(self, game: Game[Any], policies: tuple[str, ...]) -> np.ndarray:
        """Return the likelihood of the step under each policy, float64 of shape (seats, policies):
        1 if a seat did not act. Cached per step, since a watched game has one catalogue."""
        cached: np.ndarray | None = self.__dict__.get("_chances")
        if cached is None:
            cached = np.ones((game.num_seats, len(policies)))
            for one in self.acted:
                cached[one.seat] = policy_probabilities(game, policies, one.observation)[
                    :, one.taken
                ]
            self.__dict__["_chances"] = cached
        return cached

    def __reduce__(self) -> tuple[type[Step], tuple[Moves, tuple[SeatAction, ...]]]:
        return Step, (self.moves, self.acted)


@dataclass(frozen=True)
class Transcript:
    """Games between the same players, from initial states that settle all chance.

    players: the policy of each watched seat. starts: the initial state of each game. moves: of each
    game, step by step.
    """

    game: Game[Any]
    players: tuple[str, ...]
    starts: tuple[Any, ...]
    moves: tuple[tuple[Moves, ...], ...]

    def __len__(self) -> int:
        return sum(map(len, self.moves))

    @cached_property
    def opening(self) -> Observation:
        """What the first seat to move knows before the first move."""
        start = self.starts[0]
        return observation(self.game, start, seats_to_move(self.game, start)[0])

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps, games one after the other."""
        steps = []
        for state, played in zip(self.starts, self.moves, strict=True):
            for moves in played:
                steps.append(_step(self.game, state, moves))
                state = self.game.play(state, moves)
        return tuple(steps)

    def __reduce__(self) -> tuple[type[Transcript], tuple[Any, ...]]:
        return Transcript, (self.game, self.players, self.starts, self.moves)


def play_watched(
    game: Game[Any], players: Sequence[str], games: int, rng: np.random.Generator
) -> Transcript:
    """Play `games` games between these policies, one per seat."""
    names = game.together(players) if isinstance(game, Spectated) else tuple(players)
    starts, moves = [], []
    for _ in range(games):
        start = game.deal(rng)
        starts.append(start)
        moves.append(_play_to_end(game, start, names, rng))
    return Transcript(game, tuple(players), tuple(starts), tuple(moves))


def _play_to_end(
    game: Game[Any], state: Any, policies: Sequence[str], rng: np.random.Generator
) -> tuple[Moves, ...]:
    """Return the moves of one game to its end. Raises UserError if it does not end."""
    history: list[Moves] = []
    while seats := seats_to_move(game, state):
        check_length(game, len(history))
        history.append(
            tuple(scripted_move(game, state, seat, policies[seat], rng) for seat in seats)
        )
        state = game.play(state, history[-1])
    return tuple(history)


def _step(game: Game[Any], state: Any, moves: Moves) -> Step:
    acted = []
    for seat, move in zip(seats_to_move(game, state), moves, strict=True):
        options = legal_actions(game, state, seat)
        seen = observation(game, state, seat, options)
        acted.append(SeatAction(seat, seen, [*map(int, options)].index(int(move))))
    return Step(moves, tuple(acted))


def names(game: Game[Any]) -> tuple[str, ...]:
    if isinstance(game, Spectated):
        return tuple(game.spectator_names)
    return tuple(map(str, range(game.num_seats)))


@lru_cache(maxsize=16)
def rules(
    game: Game[Any], title: str, game_rules: str, policies: tuple[str, ...], codes: tuple[str, ...]
) -> str:
    """Return the watched game's rules, the catalogue, and the observer's task. title, game_rules:
    the game's name and rules in its own observations."""
    watched_rules = (
        game.spectator_rules if isinstance(game, Spectated) else _rules(title, game_rules)
    )
    known: Mapping[str, str] = getattr(game, "told_policies", {})
    listed = "; ".join(
        f"{code}: {known[policy]}" if policy in known else code
        for code, policy in zip(codes, policies, strict=True)
    )
    return (
        f"{watched_rules} Each player keeps to one strategy of this catalogue, two may have the "
        f"same. Catalogue, by code: {listed}. You watch and do not play. After each step you are "
        "shown the latest steps and guess the strategy of every player. You win if your last guess "
        "is right."
    )


def _rules(title: str, game_rules: str) -> str:
    return (
        f"A match of {title} is played. Its rules: {game_rules} A step of it is written "
        "as its number, the player who moves, what that player knows, and what it takes."
    )


def format_steps(transcript: Transcript, first: int, end: int) -> str:
    """Return the steps from index `first` up to but excluding `end`, numbered from 1."""
    steps = transcript.steps[first:end]
    if isinstance(transcript.game, Spectated):
        return transcript.game.spectate([step.moves for step in steps], first + 1)
    return "\n".join(
        f"{number}. {'; '.join(map(_line, step.acted))}"
        for number, step in enumerate(steps, first + 1)
    )


def _line(acted: SeatAction) -> str:
    observation = acted.observation
    facts = ", ".join(
        f"{fact.name}: {fact.text}".replace("\n", " / ") for fact in observation.facts
    )
    options = f" of {', '.join(observation.options)}" if len(observation.options) > 1 else ""
    line = f"player {acted.seat} ({facts}) takes {observation.options[acted.taken]}{options}"
    return line.replace(" (you)", "")


NULL = "-"
"""The text of an abstention."""
MANY = 1000
"""Largest number of combinations that are all given as examples."""

GAMES = 500
"""Simulated games per tuple of policies if the game does not provide outcomes: the standard error
is about two points."""

LOSSES = ("ce", "brier", "ev_loss", "union")
WORST = {"ce": -float(np.log(scoring.EPS)), "brier": 2.0, "ev_loss": 4.0, "union": 1.0}
"""The maximum of each, which a match without any guess gets."""

Guess = tuple[int, ...]
"""The index of a code for each watched player; () for none."""


@dataclass(frozen=True)
class GuessSpec:
    """The action that takes a guess, and how its text is parsed."""

    action: TextAction
    codes: dict[str, int]

    def read(self, text: str) -> Guess:
        return () if text == NULL else tuple(self.codes[word] for word in text.casefold().split())


@lru_cache(maxsize=32)
def guess_spec(codes: tuple[str, ...], players: tuple[str, ...]) -> GuessSpec:
    """Return the action that takes one of these codes for each of these players. Its examples are
    uniformly distributed guesses."""
    code_pattern = f"({'|'.join(map(re.escape, codes))})"
    told = "for player " + " and for player ".join(players)
    text = TextSpec(
        ask=f"a strategy's code {told}, in this order with a space between them",
        examples=tuple(" ".join(guess) for guess in _examples(codes, len(players))),
        pattern=f"(?i){NULL}|{' '.join([code_pattern] * len(players))}",
        max_chars=len(players) * (max(map(len, codes)) + 1),
        instead=NULL,
    )
    return GuessSpec(TextAction(0, text), {code.casefold(): at for at, code in enumerate(codes)})


def _examples(codes: tuple[str, ...], players: int) -> list[tuple[str, ...]]:
    """Return all guesses if there are not too many; else a subset with every code equally often for
    every player, spaced by every constant step from one player to the next."""
    if len(codes) ** players <= MANY:
        return list(itertools.product(codes, repeat=players))
    count = len(codes)
    pairs = itertools.product(range(count), repeat=2)
    return [
        tuple(codes[(first + step * seat) % count] for seat in range(players))
        for first, step in pairs
    ]


@dataclass(frozen=True, eq=False)
class PolicyOutcomes:
    """The outcomes of every tuple of policies, in lexicographic order of their indices.

    chances: float64 (tuples, outcomes); the outcomes are a win of the first seat, no winner, and a
    win of each other seat. worth: the value of each outcome to the first seat. losses: the Union
    loss, `fixed`, float64 (guesses, truths).
    """

    chances: np.ndarray
    worth: tuple[float, ...]
    losses: np.ndarray

    def alike(self, truth: int) -> np.ndarray:
        """Return which tuples no loss distinguishes from this one, itself included: bool of shape
        (tuples,)."""
        return scoring.indistinguishable(self.chances, self.chances[truth])

    def curves(self, truth: int, guesses: Sequence[int | None]) -> dict[str, np.ndarray]:
        """Return each of LOSSES per guess, NaN for an abstention."""
        places = [truth if guess is None else guess for guess in guesses]
        real, guessed = self.chances[truth], self.chances[places]
        losses = {
            "ce": np.maximum(scoring.cross_entropy(real, guessed), 0.0),  # EPS takes it below 0
            "brier": scoring.brier(real, guessed),
            "ev_loss": scoring.ev_loss(real, guessed, self.worth),
            "union": self.losses[places, truth],
        }
        null = np.array([guess is None for guess in guesses])
        return {name: np.where(null, np.nan, curve) for name, curve in losses.items()}


def comparable(game: Game[Any], policies: Sequence[str]) -> bool:
    """Return whether outcomes are available: the game provides them or simulates itself, and the
    tuples of these policies are not too many."""
    few = len(policies) ** game.num_seats <= MANY
    return few and (isinstance(game, Spectated | Simulated))


@lru_cache(maxsize=16)
def policy_outcomes(game: Game[Any], policies: tuple[str, ...]) -> PolicyOutcomes | None:
    """Return the outcomes of all tuples of these policies; None if they are not `comparable`."""
    if not comparable(game, policies):
        return None
    tuples = itertools.product(policies, repeat=game.num_seats)
    if isinstance(game, Spectated):
        chances = np.array([game.outlook(players) for players in tuples], float)
    else:
        chances = np.array([_shares(game, players) for players in tuples])
    worth = (1.0, 0.0, *(-1.0 for _ in range(chances.shape[1] - 2)))
    losses = scoring.union(chances, chances[:, None], chances, worth=worth)
    return PolicyOutcomes(chances, worth, losses)


def _shares(game: Game[Any], players: tuple[str, ...]) -> np.ndarray:
    *seats, nobody = simulate(game, players, GAMES, 0)
    counts = np.array([seats[0], nobody, *seats[1:]], float)
    return np.asarray(counts / counts.sum())


def measures_of(names: Sequence[str], losses: bool) -> tuple[Measure, ...]:
    """Return the measures of a match of guesses about these players; the first is the primary one.

    `sir`: the share of guesses that name all players correctly (Strategy Identification Rate);
    `sir_NAME`: one player. null_rate: the share of abstentions. lag: guesses between the first that
    is right about one player and the first by which each has been named. With losses also
    same_outcome: the share of guesses that no loss distinguishes from the truth; alike: the number
    of such tuples of policies; blind: 1 if they leave one player's policy entirely open. ce, brier,
    ev_loss, union: mean losses; late: of union, over the last guesses. understood: the number of
    the first guess with almost no union loss. spikes: how often it rises again. Never is the number
    of guesses + 1.
    """
    measures = [Measure("sir", 0.0, 1.0), *(Measure(f"sir_{name}", 0.0, 1.0) for name in names)]
    measures += [Measure("null_rate", 0.0, 1.0), Measure("lag", 0.0)]
    if losses:
        measures += [
            Measure("same_outcome", 0.0, 1.0),
            Measure("alike", 1.0),
            Measure("blind", 0.0, 1.0),
        ]
        measures += [Measure(name, 0.0, WORST[name]) for name in LOSSES]
        measures += [Measure("late", 0.0, 1.0), Measure("understood", 1.0), Measure("spikes", 0.0)]
    return tuple(measures)


def measure(
    names: Sequence[str],
    policies: Sequence[str],
    truth: Guess,
    guesses: Sequence[Guess],
    outlook: PolicyOutcomes | None,
) -> dict[str, float]:
    """Return each of `measures_of` for a finished match."""
    named = [[policies[one] for one in guess] if guess else None for guess in guesses]
    found = scoring.identified([policies[one] for one in truth], named)
    figures = {"sir": found.sir, "null_rate": found.null_rate, "lag": float(found.lag)}
    figures |= {f"sir_{name}": share for name, share in zip(names, found.each, strict=True)}
    if outlook is None:
        return figures
    shape = (len(policies),) * len(truth)
    right = int(np.ravel_multi_index(truth, shape))
    places = [int(np.ravel_multi_index(guess, shape)) if guess else None for guess in guesses]
    alike, curves = outlook.alike(right), outlook.curves(right, places)
    figures["same_outcome"] = float(np.mean([at is not None and alike[at] for at in places]))
    figures |= {"alike": float(alike.sum()), "blind": float(_blind(alike.reshape(shape), truth))}
    for name, curve in curves.items():
        figures[name] = _or_worst(scoring.course(curve).mean, name)
    course = scoring.course(curves["union"])
    figures["late"] = _or_worst(course.late, "union")
    return figures | {"understood": float(course.understood), "spikes": float(course.spikes)}


def _blind(same: np.ndarray, truth: Guess) -> bool:
    """Return whether one player could have any policy, given the others."""
    slices = [(np.moveaxis(same, at, -1), truth[:at] + truth[at + 1 :]) for at in range(len(truth))]
    return any(bool(table[rest].all()) for table, rest in slices)


def _or_worst(mean: float, loss: str) -> float:
    return WORST[loss] if np.isnan(mean) else mean
