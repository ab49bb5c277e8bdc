"""Small games of OpenSpiel played on by known policies: mean results by going through all that may
follow, and policies that imitate a player."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.games.openspiel import engine

WORD = "habits "
"""Prefix of habits as text, which no policy's name has."""

Habits = dict[str, list[int]]
"""How often each legal action was taken, by information state."""


class Means:
    """The seats' mean results after any history, if they play by `policies`.

    policies: habits as text, or any other text for a player that takes every action alike.
    results: of a state of OpenSpiel that is over, float64 (seats,).
    """

    def __init__(self, policies: Sequence[str], results: Callable[[Any], np.ndarray]) -> None:
        self.habits = [habits(policy) for policy in policies]
        self.results = results
        self.known: dict[str, np.ndarray] = {}

    def after(self, live: Any) -> np.ndarray:
        """The mean results of a state of OpenSpiel, float64 (seats,)."""
        history = live.history_str()
        if history not in self.known:
            self.known[history] = self._after(live)
        return self.known[history]

    def _after(self, live: Any) -> np.ndarray:
        if live.is_terminal():
            return self.results(live)
        if live.is_chance_node():
            ways = live.chance_outcomes()
        else:
            law = chances(self.habits[live.current_player()], live)
            ways = [*zip(live.legal_actions(), law.tolist(), strict=True)]
        return np.asarray(sum(chance * self.after(live.child(way)) for way, chance in ways))


def chances(learnt: Habits, live: Any) -> np.ndarray:
    """The probability of each legal action of the seat to move: as often as it was taken, and once
    more in all."""
    count = len(live.legal_actions())
    taken = learnt.get(live.information_state_string()) if learnt else None
    counts = np.array(taken or [0] * count) + 1 / count
    return np.asarray(counts / counts.sum())


def learn(decisions: Iterable[tuple[Any, int]]) -> str:
    """Return the habits of a player, as text, from the states of OpenSpiel in which it moved and
    the actions that it took."""
    counts: dict[str, Counter[int]] = {}
    legal: dict[str, list[int]] = {}
    for live, action in decisions:
        known = live.information_state_string(live.current_player())
        counts.setdefault(known, Counter())[action] += 1
        legal[known] = live.legal_actions()
    return written({known: [own[one] for one in legal[known]] for known, own in counts.items()})


def written(learnt: Habits) -> str:
    """Return habits as text."""
    return WORD + json.dumps(learnt, separators=(",", ":"), sort_keys=True)


@lru_cache(maxsize=64)
def habits(text: str) -> Habits:
    """Parse the output of `learn`; {} for any other text."""
    return json.loads(text.removeprefix(WORD)) if text.startswith(WORD) else {}


def is_small(game: Any, most: int) -> bool:
    """Return whether a game of OpenSpiel is played in turns, tells its information states, and has
    at most `most` histories."""
    kind, in_turn = game.get_type(), engine.spiel().GameType.Dynamics.SEQUENTIAL
    if kind.dynamics != in_turn or not kind.provides_information_state_string:
        return False
    waiting, met = [game.new_initial_state()], 0
    while waiting and met <= most:
        live, met = waiting.pop(), met + 1
        waiting += [live.child(action) for action in live.legal_actions()]
    return not waiting
