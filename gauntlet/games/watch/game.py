"""Watching as a game: one seat observes others and guesses step by step who plays which strategy.

`deal` plays the watched games to their end, so they depend on the deal alone. The match itself
consists of the guesses. Source of the task: "Observer, Not Player" (rock-paper-scissors); here any
game with scripted players can be watched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gauntlet.common.errors import IllegalAction, suggest
from gauntlet.common.ids import class_id
from gauntlet.games.base import Action, Fact, Game, Observation, TextMove, move_fault
from gauntlet.games.capabilities import Measure, Scripted, deal_key_of
from gauntlet.games.playouts import policies_of
from gauntlet.games.watch import transcript
from gauntlet.games.watch.transcript import (
    NULL,
    Guess,
    GuessSpec,
    PolicyOutcomes,
    Spectated,
    Step,
    Transcript,
    guess_spec,
    play_watched,
)

ROLE = "the observer"


@dataclass(frozen=True)
class State:
    """The transcript, and the guesses so far; an abstention is ()."""

    transcript: Transcript
    guesses: tuple[Guess, ...] = ()


@dataclass(frozen=True)
class View:
    """What the observer knows: the number of steps shown so far and in total, and the visible
    steps."""

    shown: int
    steps: int
    told: tuple[Step, ...]


@dataclass(frozen=True)
class Watch:
    """One seat watches `of`.

    of: the watched game.
    catalogue: the policies that a guess may name; () for all scripted ones.
    players: the policy of each watched seat; () to draw them from the catalogue in the deal.
    games: how many games of the same players are watched, one after the other.
    warmup: steps that are shown before the first guess; the last step always has one.
    window: how many of the last steps are shown at a time; None for all.

    Raises ValueError for fewer than two policies or unknown ones, for players that are not one per
    seat from the catalogue, for games or window below 1, and for warmup below 0.
    """

    num_seats: int = 1
    of: Game[Any] = field(kw_only=True)
    catalogue: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    games: int = 1
    warmup: int = 10
    window: int | None = 50

    def __post_init__(self) -> None:
        if self.num_seats != 1:
            raise ValueError(f"watching seats 1 player (seats=observer), got {self.num_seats}")
        if self.games < 1 or self.warmup < 0 or (self.window is not None and self.window < 1):
            told = f"games={self.games}, warmup={self.warmup}, window={self.window}"
            raise ValueError(f"{told}: games and window are 1 or more, warmup 0 or more")
        self._check_policies()

    def _check_policies(self) -> None:
        policies, name = policies_of(self.of), type(self.of).__name__
        for policy in self.catalogue:
            if policy not in policies:
                raise ValueError(f"{name} has no policy {policy!r}{suggest(policy, policies)}")
        if len(set(self.policies)) < max(2, len(self.policies)):
            message = ", ".join(self.policies)
            raise ValueError(f"a catalogue has 2 policies or more, each once; of {name}: {message}")
        if self.players and len(self.players) != self.of.num_seats:
            message = f"{self.of.num_seats} seats of {name} need as many players"
            raise ValueError(f"{message}, got {len(self.players)}")
        for player in self.players:
            if player not in self.policies:
                near = suggest(player, self.policies)
                raise ValueError(f"the player {player!r} is not in the catalogue{near}")

    @property
    def _playing(self) -> tuple[str, ...]:
        """The policies that may play, under the names by which the watched game knows them when
        together."""
        if not isinstance(self.of, Spectated):
            return self.players or self.policies
        if self.players:
            return self.of.together(self.players)
        return tuple(self.of.together([one] * self.of.num_seats)[0] for one in self.policies)

    @property
    def deal_key(self) -> str:
        """Identifies what is watched, not how it is shown: observers with another window watch the
        same."""
        name, own, who = class_id(type(self.of)), deal_key_of(self.of), " ".join(self._playing)
        return f"{name} {own} {self.of.num_seats} {self.games}: {who}"

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """The catalogue: the names of the policies that a guess may name."""
        own = tuple(self.of.policies) if isinstance(self.of, Scripted) else ()
        return self.catalogue or own or policies_of(self.of)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(policy.replace(" ", "_") for policy in self.policies)

    @cached_property
    def watched(self) -> tuple[str, ...]:
        return transcript.names(self.of)

    @property
    def _guess_spec(self) -> GuessSpec:
        return guess_spec(self.codes, self.watched)

    def guess(self, picked: Sequence[int]) -> str:
        return " ".join(self.codes[one] for one in picked)

    def read(self, text: str) -> Guess:
        return self._guess_spec.read(text)

    def deal(self, rng: np.random.Generator) -> State:
        drawn = rng.integers(len(self.policies), size=self.of.num_seats)
        players = self.players or tuple(self.policies[one] for one in drawn.tolist())
        return State(play_watched(self.of, players, self.games, rng))

    def to_move(self, state: State) -> tuple[int, ...]:
        return (0,) if len(state.guesses) < self._guesses(state) else ()

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return (self._guess_spec.action,) if seat in self.to_move(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        if not self.to_move(state) or len(moves) != 1:
            raise IllegalAction(f"moves {list(moves)} in\n{self.show(state)}")
        (move,) = moves
        if fault := move_fault(move, self.legal(state, 0)):
            raise IllegalAction(f"move {move} {fault} in\n{self.show(state)}")
        assert isinstance(move, TextMove)
        return State(state.transcript, (*state.guesses, self.read(move.text)))

    def observe(self, state: State, seat: int) -> Observation:
        game: Any = self.of  # frozen, hence hashable
        steps, steps_shown = state.transcript, self._steps_shown(state)
        first = max(0, steps_shown - (self.window or steps_shown))
        opening = steps.opening
        return Observation(
            game=f"Watching {opening.game}",
            seat=seat,
            rules=transcript.rules(game, opening.game, opening.rules, self.policies, self.codes),
            facts=(Fact("History", transcript.format_steps(steps, first, steps_shown)),),
            history=tuple(
                map(self._clause, range(len(state.guesses)), self._format_guesses(state))
            ),
            options=("guess",),
            view=View(steps_shown, len(steps), steps.steps[first:steps_shown]),
            role=ROLE,
        )

    def returns(self, state: State) -> tuple[float, ...]:
        return (1.0,) if state.guesses[-1] == self.truth(state) else (-1.0,)

    def truth(self, state: State) -> Guess:
        """Return the index in the catalogue of each watched player's policy."""
        return tuple(map(self.policies.index, state.transcript.players))

    def show(self, state: State) -> str:
        steps_shown, right = self._steps_shown(state), state.guesses.count(self.truth(state))
        lines = [
            transcript.format_steps(state.transcript, max(0, steps_shown - 5), steps_shown),
            f"step {steps_shown} of {len(state.transcript)}, played by "
            f"{self.guess(self.truth(state))}",
        ]
        if state.guesses:
            last = self._format_guesses(state)[-1]
            lines.append(f"last guess {last}; {right} of {len(state.guesses)} guesses right")
        return "\n".join(lines)

    def progress(self, observation: Observation) -> tuple[int, int]:
        return observation.view.shown, observation.view.steps

    def likelihoods(self, observation: Observation) -> np.ndarray:
        told: Sequence[Step] = observation.view.told
        return np.array([step.chances(self.of, self.policies) for step in told])

    def frequencies(self, observation: Observation) -> np.ndarray:
        steps: Sequence[Step] = observation.view.told
        taken = np.array([[one.taken for one in step.acted] for step in steps])
        options = self.mix_table().shape[1]
        return np.array([np.bincount(row, minlength=options) / len(steps) for row in taken.T])

    def mix_table(self) -> np.ndarray:
        mixes: Mapping[str, Sequence[float]] = getattr(self.of, "mixes", {})
        if not mixes:
            raise ValueError(f"{type(self.of).__name__} has no mixes to be told apart by")
        unknown = (np.nan,) * len(next(iter(mixes.values())))
        return np.array([mixes.get(policy, unknown) for policy in self.policies])

    def losses(self) -> np.ndarray | None:
        known = self.prospects()
        return None if known is None else known.losses

    @property
    def measures(self) -> Sequence[Measure]:
        return transcript.measures_of(self.watched, transcript.comparable(self.of, self.policies))

    @property
    def points(self) -> str:
        return ""  # its rules say that the last guess wins

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        real, known = self.truth(state), self.prospects()
        found = transcript.measure(self.watched, self.policies, real, state.guesses, known)
        return {name: (figure,) for name, figure in found.items()}

    def prospects(self) -> PolicyOutcomes | None:
        """Return the outcomes of every tuple of policies; None if the watched game cannot provide
        them."""
        of: Any = self.of  # frozen, hence hashable
        return transcript.policy_outcomes(of, self.policies)

    def _guesses(self, state: State) -> int:
        return max(1, len(state.transcript) - self.warmup)

    def _steps_shown(self, state: State) -> int:
        """Return how many steps are known for the next guess; all of them if there is none."""
        left = self._guesses(state) - len(state.guesses)
        return len(state.transcript) - max(0, left - 1)

    def _format_guesses(self, state: State) -> list[str]:
        return [self.guess(guess) if guess else NULL for guess in state.guesses]

    def _clause(self, number: int, guess: str) -> str:
        return f"guess {number + 1}: {guess}"
