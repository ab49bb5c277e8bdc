"""A classic game of PettingZoo as a Game.

A state is the seed and the actions so far. The library replays them, its masks give the legal
actions, and `classics.py` has the texts.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from gauntlet.common.errors import UserError, extra, suggest
from gauntlet.games.base import Action, Observation, only_move
from gauntlet.games.capabilities import WIN, Measure
from gauntlet.games.pettingzoo.classics import CLASSICS, REFUSED, Classic
from gauntlet.games.transition_cache import TransitionCache

SHARED = ("action_spaces", "observation_spaces", "possible_agents", "metadata")
"""Attributes that no step changes; copies share them."""


@dataclass
class Live:
    """One environment after some moves; history: one clause per move."""

    name: str
    env: Any
    history: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        return any((*self.env.terminations.values(), *self.env.truncations.values()))

    @property
    def seat(self) -> int:
        return int(self.env.possible_agents.index(self.env.agent_selection))

    def legal(self) -> tuple[int, ...]:
        """Return the actions of the seat to move, by its mask."""
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        return tuple(np.flatnonzero(mask).tolist())

    def rewards(self) -> tuple[float, ...]:
        """Return each seat's total reward."""
        return tuple(float(self.env.rewards.get(one, 0.0)) for one in self.env.possible_agents)

    def after(self, action: int) -> Live:
        clause = f"player {self.seat} {CLASSICS[self.name].clause(self.env, action)}"
        env = copy_env(self.env)
        env.step(action)
        return Live(self.name, env, (*self.history, clause))


def copy_env(env: Any) -> Any:
    """Return a copy of the environment in its current state; its own deepcopy would restart it."""
    memo: dict[int, Any] = {}
    for name in SHARED:
        if (one := vars(env).get(name)) is not None:
            memo[id(one)] = one
    made = object.__new__(type(env))
    vars(made).update(copy.deepcopy(vars(env), memo))
    return made


def module(name: str) -> ModuleType:
    """Return PettingZoo's module of that game. Raises UserError if it is not installed."""
    return extra(f"pettingzoo.classic.{CLASSICS[name].module}", "pettingzoo")


def start_env(name: str, seats: int, seed: int) -> Live:
    """Return the game of that name before the first move."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gymnasium warns about how PettingZoo declares its spaces
        env = module(name).raw_env(**CLASSICS[name].arguments(seats))
    env.reset(seed=seed)
    return Live(name, env)


KEPT_HERE: TransitionCache[Live] = TransitionCache(start_env, Live.after)


LIBRARIES = ("pettingzoo", "rlcard", "chess")
"""Packages that determine the classic games' behaviour; not every game needs each."""


@dataclass(frozen=True)
class State:
    """The deal's seed, and the actions since, oldest first."""

    seed: int
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class PettingZoo:
    """The classic game of that name.

    name: as PettingZoo calls it ("connect_four_v3"); the version may be left out.
    version: of PettingZoo and the packages it uses, part of a cell's identity; None for the
    installed ones.

    Raises UserError if PettingZoo is not installed or its version differs from `version`, and
    ValueError for an unknown or unsupported game or an impossible number of seats.
    """

    num_seats: int = 2
    name: str = field(kw_only=True)
    version: str | None = None

    measures: ClassVar[Sequence[Measure]] = (WIN, Measure("reward"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", full_name(self.name))
        module(self.name)
        installed = versions()
        if self.version not in (None, installed):
            raise UserError(f"{self.version} is asked for, and {installed} is installed")
        object.__setattr__(self, "version", installed)
        if self.num_seats not in self._classic.seats:
            few, most = self._classic.seats[0], self._classic.seats[-1]
            told = f"{few}" if few == most else f"{few} to {most}"
            raise ValueError(f"{self.name} seats {told} players, got {self.num_seats}")

    @property
    def deal_key(self) -> str:
        return self.name

    @property
    def draws(self) -> bool:
        return self._classic.draws

    @property
    def perfect_information(self) -> bool:
        return not self._classic.hidden

    def deal(self, rng: np.random.Generator) -> State:
        return State(int(rng.integers(2**31)))

    def to_move(self, state: State) -> tuple[int, ...]:
        live = self._live(state)
        return () if live.over else (live.seat,)

    def legal(self, state: State, seat: int) -> tuple[Action, ...]:
        return self._live(state).legal() if seat in self.to_move(state) else ()

    def play(self, state: State, moves: Sequence[Action]) -> State:
        return State(state.seed, (*state.actions, int(only_move(self, state, moves))))

    def observe(self, state: State, seat: int) -> Observation:
        live, classic = self._live(state), self._classic
        legal = self.legal(state, seat)
        return Observation(
            game=classic.title,
            seat=seat,
            rules=classic.rules,
            facts=classic.facts(live.env, seat),
            history=live.history,
            options=tuple(classic.option(live.env, action) for action in legal),
            view=None if classic.hidden else state,
        )

    def returns(self, state: State) -> tuple[float, ...]:
        """The library's rewards, clipped to -1 and 1."""
        return tuple(max(-1.0, min(1.0, worth)) for worth in self._live(state).rewards())

    def measure(self, state: State) -> Mapping[str, Sequence[float]]:
        return {"reward": self._live(state).rewards()}

    def show(self, state: State) -> str:
        env = self._live(state).env
        facts = (f for seat in range(self.num_seats) for f in self._classic.facts(env, seat))
        lines = dict.fromkeys(f"{fact.name}: {fact.text}" for fact in facts)
        return "\n".join([f"{self.name}, {len(state.actions)} moves", *lines])

    @property
    def _classic(self) -> Classic:
        return CLASSICS[self.name]

    def _live(self, state: State) -> Live:
        return KEPT_HERE.at((self.name, self.num_seats, state.seed), state.actions)


def full_name(name: str) -> str:
    """Return the full name of the supported game. Raises ValueError if there is none."""
    for full in (*CLASSICS, *REFUSED):
        if name in (full, full.rpartition("_v")[0]):
            if full in REFUSED:
                raise ValueError(f"{full} is not supported: {REFUSED[full]}")
            return full
    raise ValueError(f"PettingZoo has no classic game {name!r}{suggest(name, CLASSICS)}")


@cache
def versions() -> str:
    """Return the version of PettingZoo and of the packages it uses."""
    return ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
