"""A TextArena game as a Game.

A state is the seed and the texts so far; the library replays them (`live.py`). Every move is a
text: one text action, which the library itself validates on a copy before it is played, so its
penalty for invalid moves never applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import ClassVar

import numpy as np

from gauntlet.common.errors import UserError, extra, suggest
from gauntlet.games.base import (
    Action,
    Observation,
    TextAction,
    TextMove,
    TextSpec,
    only_move,
)
from gauntlet.games.capabilities import WIN, Measure
from gauntlet.games.textarena import words
from gauntlet.games.textarena.live import KEPT_HERE, Live, start_env

LONGEST = 400
"""Maximum length of a move in characters."""
MOST_SEATS = 15
FIXED = {"SinglePlayerState": 1, "TwoPlayerState": 2}
"""Number of seats by the library's class of game state."""


@dataclass(frozen=True)
class State:
    """The deal's seed, and what the seats to move have said since, oldest first."""

    seed: int
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedMove(TextSpec):
    """A text that the library validates; at: the state in which it is said."""

    at: tuple[tuple[str, int, int], tuple[str, ...]] = (("", 0, 0), ())

    def __post_init__(self) -> None:
        """The examples were already validated."""

    def fault(self, text: str) -> str:
        plain = TextSpec("a text", ("-",), self.pattern, self.max_chars).fault(text)
        if plain:
            return plain
        wrong = KEPT_HERE.at(*self.at).after(text).fault
        return f"is not taken by the game: {words.one_line(wrong)}" if wrong else ""


@dataclass(frozen=True)
class TextArena:
    """The game of that name.

    name: as TextArena registers it ("TicTacToe-v0", "Nim-v0-large"); "-v0" may be left out.
    version: TextArena's, part of a cell's identity; None for the installed one.

    Raises UserError if TextArena is not installed or its version differs from `version`, and
    ValueError for an unknown or unsupported game or an impossible number of seats.
    """

    num_seats: int = 2
    name: str = field(kw_only=True)
    version: str | None = None

    measures: ClassVar[Sequence[Measure]] = (WIN, Measure("reward"))

    def __post_init__(self) -> None:
        registered = names()
        name = self.name if self.name in registered else f"{self.name}-v0"
        if name not in registered:
            raise ValueError(f"TextArena has no game {self.name!r}{suggest(self.name, registered)}")
        object.__setattr__(self, "name", name)
        installed = version("textarena")
        if self.version not in (None, installed):
            raise UserError(f"TextArena {self.version} is asked for, and {installed} is installed")
        object.__setattr__(self, "version", installed)
        check_supported(name, self.num_seats)

    @property
    def draws(self) -> bool:
        """TextArena does not say which of its games can be drawn; a task for one seat cannot."""
        return self.num_seats > 1

    @property
    def deal_key(self) -> str:
        return self.name

    def deal(self, rng: np.random.Generator) -> State:
        return State(int(rng.integers(2**31)))

    def to_move(self, state: State) -> tuple[int, ...]:
        live = self._live(state)
        return () if live.over or self._stuck(state) else (live.seat,)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        if seat not in self.to_move(state):
            return ()
        if not (examples := tuple(self._examples(state))):
            raise RuntimeError(f"no text is known that {self.name} takes in\n{self.show(state)}")
        ask = "your move, written as the rules say"
        at = (self.name, self.num_seats, state.seed), state.said
        return (TextAction(0, CheckedMove(ask, examples, max_chars=LONGEST, at=at)),)

    def play(self, state: State, moves: Sequence[Action]) -> State:
        move = only_move(self, state, moves)
        assert isinstance(move, TextMove)
        return State(state.seed, (*state.said, move.text))

    def observe(self, state: State, seat: int) -> Observation:
        live, first = self._live(state), self._live(State(state.seed))
        return Observation(
            game=self.name.replace("-v0", "").replace("-", " "),
            seat=seat,
            rules=words.rules(first, self._kind, self.num_seats),
            facts=words.facts(live, first, self.num_seats, seat),
            history=words.history(live.messages),
            options=("say your move",) if seat in self.to_move(state) else (),
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """The library's rewards, clipped to -1 and 1. With one seat a reward is the share of a task
        that was done: a full one is a win, and less is below 0."""
        rewards = self._rewards(state)
        if self.num_seats == 1:
            done = max(0.0, rewards[0])
            return (1.0 if done >= 1 else done - 1,)
        return tuple(max(-1.0, min(1.0, worth)) for worth in rewards)

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {"reward": self._rewards(state)}

    def show(self, state: State) -> str:
        live = self._live(state)
        boards = [m.text.strip("\n") for m in live.messages if m.kind == words.BOARD]
        told = words.history(live.messages)[-5:]
        return "\n".join([f"{self.name}, {len(state.said)} moves", *boards[-1:], *told])

    def _rewards(self, state: State) -> tuple[float, ...]:
        live = self._live(state)
        rewards = live.rewards
        if not live.over and self._stuck(state):
            mover, (worth, _) = live.seat, words.DEAD_ENDS[self._kind]
            rewards = {seat: worth if seat == mover else -worth for seat in range(self.num_seats)}
        return tuple(rewards.get(seat, 0.0) for seat in range(self.num_seats))

    def _live(self, state: State) -> Live:
        return KEPT_HERE.at((self.name, self.num_seats, state.seed), state.said)

    @property
    def _kind(self) -> str:
        return self.name.partition("-v0")[0]

    def _stuck(self, state: State) -> bool:
        """Whether the library goes on and takes no move, in a game in which that happens."""
        return self._kind in words.DEAD_ENDS and not self._examples(state)

    def _examples(self, state: State) -> list[str]:
        """Return moves that the library accepts, the same for every caller."""
        live = self._live(state)
        if "examples" not in live.kept:
            rng = np.random.default_rng([state.seed, len(state.said)])
            seen = words.seen_by(live, live.seat)
            live.kept["examples"] = words.legal_texts(live, seen, self._kind, rng)
        examples: list[str] = live.kept["examples"]
        return examples


@cache
def names() -> tuple[str, ...]:
    """Return all games of the installed TextArena. Raises UserError if it is not installed."""
    extra("textarena", "textarena")
    registry = extra("textarena.envs.registration", "textarena").ENV_REGISTRY
    return tuple(sorted(name.removesuffix("-raw") for name in registry if name.endswith("-raw")))


@cache
def check_supported(name: str, seats: int) -> None:
    """Raises as `TextArena` does if a game cannot be played with this many seats."""
    if why := words.why_not(name.partition("-v0")[0]):
        raise ValueError(f"{name} is not supported: {why}")
    if not 1 <= seats <= MOST_SEATS:
        raise ValueError(f"{name} seats 1 to {MOST_SEATS} players, got {seats}")
    try:
        live = start_env(name, seats, seed=0)
    except (AssertionError, ValueError) as error:
        raise ValueError(f"{name} has another number of players, got {seats}") from error
    kin = [one.__name__ for one in type(live.env.state).__mro__]
    right = next((FIXED[one] for one in kin if one in FIXED), max(2, seats))
    if seats != right:
        raise ValueError(f"{name} seats {right} player{'s' * (right > 1)}, got {seats}")
