"""A small OpenSpiel game as a tree: all histories, and a state for each question that a match could
ask; policies of OpenSpiel for it; mean results of playing on by known policies, and policies that
imitate a player.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.games.openspiel import engine, words
from gauntlet.games.openspiel.engine import State
from gauntlet.games.openspiel.exploitability import CHANCE, TERMINAL, GameTree

MOST_NODES = 3_000_000
KUHN = "kuhn_poker"
ALPHA = 1 / 3
"""How often player 0 bets the jack in the equilibrium of Kuhn poker; any number from 0 to 1/3."""

Policy = Callable[[Any], Mapping[int, float]]
"""The probability of each action in one of OpenSpiel's states."""
_Moves = tuple[tuple[int, str], ...]
_Waiting = tuple[Any, _Moves, int, int, float]
"""OpenSpiel's state, the moves to it, its parent, and the place and chance of the last action."""


@dataclass(frozen=True)
class Listed:
    """A game in full. states: for each row of a policy, a state in which it applies; the seat to
    move sees the same in all of them. infos: the information state of each row."""

    tree: GameTree
    states: Sequence[State]
    infos: Sequence[int]


@dataclass
class _Nodes:
    """The nodes found so far, column by column, and the numbers of what was met."""

    columns: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    infos: dict[Any, int] = field(default_factory=dict)
    rows: dict[Any, int] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    of_row: list[int] = field(default_factory=list)
    options: list[int] = field(default_factory=list)


def listed(game: Any, most: int = MOST_NODES) -> Listed:
    """List a game's histories. Raises ValueError for a game that cannot be listed: too large, with
    simultaneous moves, secret chance or typed moves, or without information states."""
    _check(game)
    nodes = _Nodes()
    level: list[_Waiting] = [(game.engine.new_initial_state(), (), 0, 0, 1.0)]
    depth = 0
    while level:
        if len(nodes.columns["parent"]) + len(level) > most:
            raise ValueError(f"{game.name} has over {most:,} positions; it cannot be listed")
        following: list[_Waiting] = []
        for live, moves, parent, place, chance in level:
            number = len(nodes.columns["parent"])
            _add(nodes, game, live, moves, (parent, place, chance, depth))
            following += _children(live, moves, number)
        level, depth = following, depth + 1
    arrays = {name: np.array(column) for name, column in nodes.columns.items()}
    return Listed(GameTree(**arrays, options=np.array(nodes.options)), nodes.states, nodes.of_row)


def _check(game: Any) -> None:
    kind, types = game.engine.get_type(), engine.spiel().GameType
    if kind.dynamics != types.Dynamics.SEQUENTIAL:
        raise ValueError(f"{game.name} has simultaneous moves; exploitability needs turns")
    if game.secretive:
        raise ValueError(f"{game.name} draws its chance in secret; its positions cannot be listed")
    if not kind.provides_information_state_string:
        raise ValueError(f"OpenSpiel does not tell the information states of {game.name}")


def _add(
    nodes: _Nodes,
    game: Any,
    live: Any,
    moves: _Moves,
    place: tuple[int, int, float, int],
) -> None:
    over, lucky = live.is_terminal(), live.is_chance_node()
    seat = TERMINAL if over else CHANCE if lucky else live.current_player()
    info, row = (-1, -1) if seat < 0 else _row(nodes, game, live, moves, place[3])
    payoffs = live.returns() if over else [0.0] * game.num_seats
    names = ("parent", "place", "chance", "depth", "seat", "info", "row", "payoffs")
    for name, value in zip(names, (*place, seat, info, row, payoffs), strict=True):
        nodes.columns[name].append(value)


def _row(nodes: _Nodes, game: Any, live: Any, moves: _Moves, depth: int) -> tuple[int, int]:
    """The numbers of the information state and of the row of a policy."""
    seat = live.current_player()
    known = (seat, live.information_state_string(seat))
    info = nodes.infos.setdefault(known, len(nodes.infos))
    if nodes.depths.setdefault(info, depth) != depth:
        raise ValueError(f"{game.name}: a seat cannot always tell how many moves were made")
    shown = words.situation(game.engine, game.notes, live, seat)
    told = (info, shown, words.history(moves, game.open_to_all, game.notes))
    row = nodes.rows.setdefault(told, len(nodes.rows))
    if row == len(nodes.states):
        count = len(live.legal_actions())
        if count > game.listed:
            raise ValueError(f"a move of {game.name} is typed; raise game.listed to {count}")
        nodes.states.append(State(0, tuple(live.history()), moves, live))
        nodes.of_row.append(info)
        nodes.options.append(count)
    return info, row


def _children(live: Any, moves: _Moves, number: int) -> list[_Waiting]:
    if live.is_terminal():
        return []
    lucky, seat = live.is_chance_node(), live.current_player()
    pairs = live.chance_outcomes() if lucky else [(one, 1.0) for one in live.legal_actions()]
    found: list[_Waiting] = []
    for place, (action, chance) in enumerate(pairs):
        told = moves if lucky else (*moves, (seat, engine.name(live, seat, action)))
        found.append((live.child(action), told, number, place, chance))
    return found


def solved(game: Any, rounds: int) -> Policy:
    """Return an equilibrium of OpenSpiel's game of two seats and zero sum: in closed form for Kuhn
    poker, else the mean of `rounds` rounds of CFR+."""
    if game.get_type().short_name == KUHN:
        optimal: Policy = engine.spiel().kuhn_poker.get_optimal_policy(ALPHA).action_probabilities
        return optimal
    solver = engine.spiel().CFRPlusSolver(game)
    for _ in range(rounds):
        solver.evaluate_and_update_policy()
    mean = solver.average_policy()  # valid only as long as its solver is

    def action_probabilities(live: Any, _: Any = solver) -> Mapping[int, float]:
        found: Mapping[int, float] = mean.action_probabilities(live)
        return found

    return action_probabilities


def equilibrium(game: Any, listed: Listed, rounds: int) -> tuple[str, np.ndarray] | None:
    """An equilibrium's name and policy, shape (rows, options): in closed form for Kuhn poker of two
    seats, else the mean of `rounds` rounds of CFR+ by OpenSpiel. None if the game is not one of two
    seats and zero sum, for which neither is known."""
    if game.num_seats != 2 or not words.zero_sum(game.engine):
        return None
    policy = solved(game.engine, rounds)
    name = "equilibrium (alpha = 1/3)" if game.name == KUHN else f"CFR+ ({rounds:,} rounds)"
    return name, tabular(listed, policy)


def tabular(listed: Listed, probabilities: Callable[[Any], Mapping[int, float]]) -> np.ndarray:
    """A function of OpenSpiel's states as a policy, shape (rows, options)."""
    policy = np.zeros(listed.tree.legal.shape)
    for row, state in enumerate(listed.states):
        told = probabilities(state.live)
        chances = [told[action] for action in state.live.legal_actions()]
        policy[row, : len(chances)] = chances
    return policy


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
