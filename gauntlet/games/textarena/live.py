"""TextArena's environments after the moves of a state.

Steps and trials of texts are made on copies.

The library draws from `random` and from numpy's global state, which the rest of the process uses
too. So each environment has its own random state: it is installed before a call and saved after it,
and the process's own state is restored.
"""

from __future__ import annotations

import copy
import io
import random
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np

from gauntlet.common.errors import extra
from gauntlet.games.transition_cache import TransitionCache

_LENT = RLock()
"""Held while a random state is installed: there is one of each per process."""


@dataclass
class RandomState:
    """The random state of one environment, initialized from `seed`, below 2**32."""

    seed: int
    _now: tuple[Any, Any] | None = field(default=None, repr=False)

    @contextmanager
    def activated(self) -> Iterator[None]:
        """Install this state within the context, and restore the process's own afterwards."""
        with _LENT:
            before = random.getstate(), np.random.get_state()
            try:
                self._begin()
                with redirect_stdout(io.StringIO()):  # some games print
                    yield
                self._now = random.getstate(), np.random.get_state()
            finally:
                random.setstate(before[0])
                np.random.set_state(before[1])

    def _begin(self) -> None:
        if self._now is None:
            random.seed(self.seed)
            np.random.seed(self.seed)
        else:
            random.setstate(self._now[0])
            np.random.set_state(self._now[1])

    def copy(self) -> RandomState:
        return RandomState(self.seed, self._now)


LARGE = 500
"""Collections with at least this many items are treated as word lists, which copies share."""
EVERYBODY = -1


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the library. sender: a seat, or -1 for the game. to: a seat, or -1 for all.
    kind: the name of its `ObservationType`, in lower case."""

    sender: int
    text: str
    kind: str
    to: int


@dataclass
class Live:
    """One environment after some moves.

    env: the library's. messages: all messages to anyone, oldest first. fault: why it rejected the
    last move; "" if it did not. kept: a cache for callers.
    """

    env: Any
    luck: RandomState
    messages: list[Message]
    fault: str = ""
    over: bool = False
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def seat(self) -> int:
        return int(self.env.state.current_player_id)

    @property
    def rewards(self) -> dict[int, float]:
        """The library's rewards by seat; 0 for a missing seat."""
        return {int(seat): float(worth) for seat, worth in (self.env.state.rewards or {}).items()}

    def after(self, text: str) -> Live:
        env = copy.deepcopy(self.env, shared_memo(self.env))
        step = Live(env, self.luck.copy(), list(self.messages))
        env.state.told, env.state.faults = step.messages, []
        seat = step.seat
        with step.luck.activated():
            try:
                step.over = bool(env.step(action=text)[0])
            except Exception as error:  # the library may fail on unexpected text
                env.state.faults.append(f"TextArena fails: {type(error).__name__}")
        forget(env.state)
        lost = step.over and env.state.game_info.get(seat, {}).get("invalid_move")
        step.fault = (env.state.faults or [""])[0] or ("is against the rules" if lost else "")
        return step


class Listening:
    """A mixin for the class of an environment's state: records messages with their recipients, and
    the faults of invalid moves."""

    told: list[Message]
    faults: list[str]

    def add_observation(
        self, message: str, observation_type: Any, from_id: int = -1, to_id: int = EVERYBODY
    ) -> None:
        self.told.append(Message(from_id, str(message), observation_type.name.lower(), to_id))
        above: Any = super()
        above.add_observation(message, observation_type, from_id, to_id)

    def set_invalid_move(self, *args: Any, **kwargs: Any) -> Any:
        self.faults.append(str(kwargs.get("reason", args[0] if args else "")) or "is invalid")
        above: Any = super()
        return above.set_invalid_move(*args, **kwargs)


def listening(kind: type[Any]) -> type[Any]:
    return type(f"Listening{kind.__name__}", (Listening, kind), {})


def start_env(name: str, seats: int, seed: int) -> Live:
    """Return the environment of that name before the first move. Raises whatever the library
    raises."""
    arena = extra("textarena", "textarena")
    luck = RandomState(seed)
    with luck.activated():
        env = arena.make(f"{name}-raw")
        env.reset(num_players=seats, seed=seed)
    env.state.__class__ = listening(type(env.state))
    messages = first_messages(env.state.observations)
    forget(env.state)
    return Live(env, luck, messages)


def forget(state: Any) -> None:
    """Empty the library's own message logs, which it never reads but every copy would duplicate."""
    state.logs, state.observations = [], {seat: [] for seat in state.observations}


def first_messages(observations: dict[int, list[Any]]) -> list[Message]:
    """Return the library's initial messages, each seat's in order; messages to all appear once."""
    messages: list[Message] = []
    for seat, own in observations.items():
        for sender, text, kind in own:
            everybody = all((sender, text, kind) in others for others in observations.values())
            to = EVERYBODY if everybody and len(observations) > 1 else seat
            message = Message(sender, str(text), kind.name.lower(), to)
            if message not in messages:
                messages.append(message)
    return messages


def shared_memo(env: Any) -> dict[int, Any]:
    """Return a `deepcopy` memo that shares the word lists of an environment."""
    kinds = (list, tuple, set, frozenset, dict)
    large = [one for one in vars(env).values() if isinstance(one, kinds) and len(one) >= LARGE]
    return {id(one): one for one in large}


KEPT_HERE: TransitionCache[Live] = TransitionCache(start_env, Live.after)
