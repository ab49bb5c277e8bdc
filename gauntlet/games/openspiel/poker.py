"""Kuhn and Leduc poker: a player by the equilibrium, and beliefs about what others hold.

A belief is exact: it lists all cards that a seat cannot tell from those that were dealt, each
weighed by its chance and by how likely the others would have made their moves with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gauntlet.games.base import Action, Observation
from gauntlet.games.capabilities import BeliefQuestion
from gauntlet.games.openspiel import engine, exploitability
from gauntlet.games.openspiel.tree import KUHN, Policy, listed, solved, tabular
from gauntlet.games.playouts import RANDOM, check_known_policy

LEDUC = "leduc_poker"
SUITS = {KUHN: 1, LEDUC: 2}
"""Cards of each rank; there is a rank more than seats. Chance first deals a card to each seat."""
EQUILIBRIUM = "equilibrium"
ROUNDS = 50
"""Of CFR+, for the equilibrium of Leduc poker: seconds, and a NashConv of 0.03."""

World = tuple[Any, float]
"""OpenSpiel's state with some cards, and its weight."""


def members(game: Any) -> Mapping[str, Any]:
    """Return the members that an `OpenSpiel` game has if it is one of these, by name: those of
    `Believable`, and with two seats those of `Scripted`."""
    if game.name not in SUITS or game.parameters:
        return {}
    if game.listed < game.engine.num_distinct_actions():
        return {}  # moves may be typed
    table = Poker(game)
    found = {name: getattr(table, name) for name in ("questions", "truth", "posterior", "worths")}
    if game.num_seats == 2:
        found |= {"policies": (RANDOM, EQUILIBRIUM), "probabilities": table.probabilities}
    return found


@lru_cache
def _equilibrium(name: str) -> Policy:
    return solved(engine.load(name, "{}", 2, None), ROUNDS)


def chances(name: str, policy: str, live: Any) -> Sequence[float]:
    """Return the probability of each legal action of the seat to move. Raises ValueError for an
    unknown policy."""
    check_known_policy(name, policy, (RANDOM, EQUILIBRIUM))
    actions = live.legal_actions()
    if policy == RANDOM:
        return [1 / len(actions)] * len(actions)
    told = _equilibrium(name)(live)
    return [told[action] for action in actions]


class Poker:
    """The members of an `OpenSpiel` game that is Kuhn or Leduc poker."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self._posteriors: dict[Any, np.ndarray | None] = {}

    def probabilities(self, policy: str, observation: Observation) -> tuple[float, ...]:
        live = self.game.live(observation.view.state)
        return tuple(chances(self.game.name, policy, live))

    def questions(self, state: Any, seat: int, move: Action) -> tuple[BeliefQuestion, ...]:
        others = [other for other in range(self.game.num_seats) if other != seat]
        found = [_holds(other, self._ranks) for other in others]
        live = self.game.live(state).child(int(move))
        if not live.is_chance_node() and not live.is_terminal():
            found += [_does(live)] if live.current_player() != seat else []
        if not live.is_terminal():
            found.append(BeliefQuestion("win", seat, "Will you win this match?", ("yes", "no")))
        return tuple(found)

    @property
    def _ranks(self) -> tuple[str, ...]:
        """The names of the ranks, by the numbers of their cards."""
        suits, count = SUITS[self.game.name], self.game.num_seats + 1
        cards = [range(rank * suits, (rank + 1) * suits) for rank in range(count)]
        ends = {0: " (the lowest)", count - 1: " (the highest)"}
        return tuple(
            f"{' or '.join(map(str, own))}{ends.get(rank, '')}" for rank, own in enumerate(cards)
        )

    def truth(self, state: Any, question: BeliefQuestion) -> int:
        return self._rank(self.game.live(state), question.about)

    def _rank(self, live: Any, seat: int) -> int:
        return int(live.history()[seat]) // SUITS[self.game.name]

    def posterior(
        self,
        state: Any,
        seat: int,
        move: Action,
        question: BeliefQuestion,
        policies: Sequence[str | None],
    ) -> np.ndarray | None:
        if question.kind == "win" or (question.kind == "move" and not policies[question.about]):
            return None
        seen = self.game.live(state).information_state_string(seat)
        asked = (seat, seen, int(move), question, *policies)
        if asked not in self._posteriors:
            self._posteriors[asked] = self._posterior(state, seat, move, question, policies)
        return self._posteriors[asked]

    def _posterior(
        self,
        state: Any,
        seat: int,
        move: Action,
        question: BeliefQuestion,
        policies: Sequence[str | None],
    ) -> np.ndarray | None:
        shares, policy = np.zeros(len(question.answers)), policies[question.about]
        for live, weight in self.worlds(state, seat, policies):
            if question.kind == "hidden":
                shares[self._rank(live, question.about)] += weight
            else:
                after = live.child(int(move))
                shares += weight * np.array(chances(self.game.name, str(policy), after))
        return shares / shares.sum() if shares.sum() > 0 else None

    def worlds(self, state: Any, seat: int, policies: Sequence[str | None]) -> list[World]:
        """Return every state that the seat cannot tell from this one, with its weight."""
        true = engine.start(self.game.engine, state.seed)
        worlds: list[World] = [(true, 1.0)]
        for action in state.actions:
            true = true.child(action)
            seen = true.information_state_string(seat)
            worlds = [
                (live, weight)
                for before, old in worlds
                for live, weight in self._following(before, old, action, seat, policies)
                if live.information_state_string(seat) == seen
            ]
        return worlds

    def _following(
        self, live: Any, weight: float, action: int, seat: int, policies: Sequence[str | None]
    ) -> Iterator[World]:
        """Yield the states after any piece of chance, or after this move."""
        if live.is_chance_node():
            for outcome, chance in live.chance_outcomes():
                yield live.child(outcome), weight * chance
            return
        mover = live.current_player()
        if mover != seat and (policy := policies[mover]) is not None:
            place = live.legal_actions().index(action)
            weight *= chances(self.game.name, policy, live)[place]
        if weight > 0:
            yield live.child(action), weight

    def worths(
        self, state: Any, seat: int, question: BeliefQuestion, policies: Sequence[str | None]
    ) -> np.ndarray | None:
        policy = policies[question.about]
        if self.game.num_seats != 2 or policy is None:
            return None
        known = self.game.live(state).information_state_string(seat)
        return _worths(self.game, seat, policy)[known]


def _holds(seat: int, ranks: tuple[str, ...]) -> BeliefQuestion:
    return BeliefQuestion("hidden", seat, f"Which card does player {seat} hold?", ranks)


def _does(live: Any) -> BeliefQuestion:
    """The question about the move of the seat that is next."""
    seat = live.current_player()
    names = tuple(engine.name(live, seat, action) for action in live.legal_actions())
    return BeliefQuestion("move", seat, f"What will player {seat} do next?", names)


@lru_cache(maxsize=16)
def _worths(game: Any, seat: int, policy: str) -> Mapping[str, np.ndarray]:
    """What `Believable.worths` returns in each information state of a seat whose only opponent
    plays `policy`."""
    found = listed(game)
    tree = found.tree
    other = tabular(found, _as_function(game.name, policy))
    _, chosen = exploitability.best_response(tree, other, seat)
    own, edges = tree.mover == seat, tree.edges(other)
    best = np.where(own, chosen[tree.info[tree.parent]] == tree.place, edges)
    values = tree.backed_up(best, tree.payoffs[:, seat])
    reach, ranks = tree.reach(np.where(own, 1.0, edges)), _cards(tree, 1 - seat) // SUITS[game.name]
    below, place = np.flatnonzero(own), tree.place[own]
    above = tree.parent[below]
    shape = (tree.infos, game.num_seats + 1, tree.legal.shape[1])
    total, weight = np.zeros(shape), np.zeros(shape)
    at = (tree.info[above], ranks[above], place)
    np.add.at(total, at, reach[above] * values[below])
    np.add.at(weight, at, reach[above])
    worth = np.divide(total, weight, out=np.full(shape, np.nan), where=weight > 0)
    return {
        one.live.information_state_string(seat): worth[info, :, : int(tree.options[row])]
        for row, (one, info) in enumerate(zip(found.states, found.infos, strict=True))
        if one.live.current_player() == seat
    }


def _as_function(name: str, policy: str) -> Policy:
    def action_probabilities(live: Any) -> Mapping[int, float]:
        return dict(zip(live.legal_actions(), chances(name, policy, live), strict=True))

    return action_probabilities


def _cards(tree: exploitability.GameTree, seat: int) -> np.ndarray:
    """The card of a seat of two at each node, -1 before it is dealt."""
    cards = np.full((len(tree.parent), 2), -1)
    for depth, level in enumerate(tree.levels, start=1):
        cards[level] = cards[tree.parent[level]]
        if depth == 1:
            cards[level, 0] = tree.place[level]
        elif depth == 2:  # the first card is no longer among the outcomes
            cards[level, 1] = tree.place[level] + (tree.place[level] >= cards[level, 0])
    return np.asarray(cards[:, seat])
