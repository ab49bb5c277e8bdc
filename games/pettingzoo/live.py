"""PettingZoo's environments as they stand after the moves of a state."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from common.errors import extra
from games.kept import Kept
from games.pettingzoo.classics import CLASSICS

SHARED = ("action_spaces", "observation_spaces", "possible_agents", "metadata")
"""What no step changes: copies share it."""


@dataclass
class Live:
    """One environment after some moves; history: a clause each."""

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
        """The actions of the seat to move, by its mask."""
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        return tuple(np.flatnonzero(mask).tolist())

    def rewards(self) -> tuple[float, ...]:
        """What each seat has got in all."""
        return tuple(float(self.env.rewards.get(one, 0.0)) for one in self.env.possible_agents)

    def after(self, action: int) -> Live:
        """The environment after the seat to move has taken `action`."""
        clause = f"player {self.seat} {CLASSICS[self.name].clause(self.env, action)}"
        env = copied(self.env)
        env.step(action)
        return Live(self.name, env, (*self.history, clause))


def copied(env: Any) -> Any:
    """A copy that stands where the environment stands: its own way of being copied starts anew."""
    memo: dict[int, Any] = {}
    for name in SHARED:
        if (one := vars(env).get(name)) is not None:
            memo[id(one)] = one
    made = object.__new__(type(env))
    vars(made).update(copy.deepcopy(vars(env), memo))
    return made


def module(name: str) -> ModuleType:
    """Where PettingZoo has the game of that name. Raises UserError where it is not installed."""
    return extra(f"pettingzoo.classic.{CLASSICS[name].module}", "pettingzoo")


def started(name: str, seats: int, seed: int) -> Live:
    """The game of that name before the first move."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gymnasium minds how PettingZoo declares its spaces
        env = module(name).raw_env(**CLASSICS[name].arguments(seats))
    env.reset(seed=seed)
    return Live(name, env)


KEPT_HERE: Kept[Live] = Kept(started, Live.after)
