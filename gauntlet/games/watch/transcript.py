"""The watched games of scripted players, step by step, and their text.

A step is a moment in which seats of the watched game move: one seat, or several simultaneously.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.games.base import Action, Game, Observation
from gauntlet.games.contract import check_length, legal_actions, observation, seats_to_move
from gauntlet.games.playouts import policy_probabilities, scripted_move

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
