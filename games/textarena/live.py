"""TextArena's environments as they stand after the moves of a state.

A step is made on a copy, and so is every try whether a text would do.

The library draws from `random` and from numpy's global state, which everything else in a process
draws from too. So each environment has a state of its own: it is put in place before a call and
taken out after it, and the process finds its own again.
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
"""Held by whoever has put a state in place: there is one of each in a process."""


@dataclass
class Luck:
    """The random state of one environment; `seed` below 2**32 begins it."""

    seed: int
    _now: tuple[Any, Any] | None = field(default=None, repr=False)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Draws from this state while it lasts, and from the process's own again afterwards."""
        with _LENT:
            before = random.getstate(), np.random.get_state()
            try:
                self._begin()
                with redirect_stdout(io.StringIO()):  # some of its games print what they do
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

    def copy(self) -> Luck:
        """The same state, which goes its own way from here."""
        return Luck(self.seed, self._now)


LARGE = 500
"""Items of a collection from which on it is taken for a word list, which copies share."""
EVERYBODY = -1


@dataclass(frozen=True, slots=True)
class Message:
    """What the library told. sender: a seat, or -1 for the game. to: a seat, or -1 for all. kind:
    the name of its `ObservationType`, in lower case."""

    sender: int
    text: str
    kind: str
    to: int


@dataclass
class Live:
    """One environment after some moves.

    env: the library's. messages: all that it told anybody, oldest first. fault: why it did not take
    the last move; "" where it did. kept: what others have computed from it.
    """

    env: Any
    luck: Luck
    messages: list[Message]
    fault: str = ""
    over: bool = False
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def seat(self) -> int:
        return int(self.env.state.current_player_id)

    @property
    def rewards(self) -> dict[int, float]:
        """The library's own, by seat; a seat that is not named has 0."""
        return {int(seat): float(worth) for seat, worth in (self.env.state.rewards or {}).items()}

    def after(self, text: str) -> Live:
        """The environment after the seat to move has said `text`."""
        env = copy.deepcopy(self.env, shared(self.env))
        step = Live(env, self.luck.copy(), list(self.messages))
        env.state.told, env.state.faults = step.messages, []
        seat = step.seat
        with step.luck.lent():
            try:
                step.over = bool(env.step(action=text)[0])
            except Exception as error:  # the library stumbles over a text that it does not expect
                env.state.faults.append(f"TextArena fails: {type(error).__name__}")
        forget(env.state)
        lost = step.over and env.state.game_info.get(seat, {}).get("invalid_move")
        step.fault = (env.state.faults or [""])[0] or ("is against the rules" if lost else "")
        return step


class Listening:
    """Mixed into the class of an environment's state: notes what is told and to whom, and what is
    called invalid."""

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
    """A class of the library's states that listens."""
    return type(f"Listening{kind.__name__}", (Listening, kind), {})


def started(name: str, seats: int, seed: int) -> Live:
    """The environment of that name before the first move. Raises whatever the library does."""
    arena = extra("textarena", "textarena")
    luck = Luck(seed)
    with luck.lent():
        env = arena.make(f"{name}-raw")
        env.reset(num_players=seats, seed=seed)
    env.state.__class__ = listening(type(env.state))
    messages = first_messages(env.state.observations)
    forget(env.state)
    return Live(env, luck, messages)


def forget(state: Any) -> None:
    """Empties what the library keeps of its own messages, which it never reads: every copy would
    copy them."""
    state.logs, state.observations = [], {seat: [] for seat in state.observations}


def first_messages(observations: dict[int, list[Any]]) -> list[Message]:
    """What the library told at the start, each seat's in its order; once what it told all."""
    found: list[Message] = []
    for seat, own in observations.items():
        for sender, text, kind in own:
            everybody = all((sender, text, kind) in others for others in observations.values())
            to = EVERYBODY if everybody and len(observations) > 1 else seat
            message = Message(sender, str(text), kind.name.lower(), to)
            if message not in found:
                found.append(message)
    return found


def shared(env: Any) -> dict[int, Any]:
    """A memo of `deepcopy` in which the word lists of an environment stand for themselves."""
    kinds = (list, tuple, set, frozenset, dict)
    large = [one for one in vars(env).values() if isinstance(one, kinds) and len(one) >= LARGE]
    return {id(one): one for one in large}


KEPT_HERE: TransitionCache[Live] = TransitionCache(started, Live.after)
