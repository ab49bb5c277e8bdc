"""Monte Carlo tree search where each action has a reward: a guess of it before it is tried, and
the reward itself after.

Source: the search of llm-reasoners at its default settings, as RAP (Hao et al. 2023) and GameBench
use it. Who looks positions up (a model, a script) is a `World`; the search itself asks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from gauntlet.agents.base import Answer, Question

S = TypeVar("S")
A = TypeVar("A")
S_inv = TypeVar("S_inv")
A_inv = TypeVar("A_inv")


@dataclass(frozen=True, slots=True)
class Choice(Generic[A]):
    """An action and the guess of its reward."""

    action: A
    guess: float


@dataclass(frozen=True, slots=True)
class Visit(Generic[S, A]):
    """What an action led to: the position after it, its reward, and what there is to choose from
    then; () where the branch ends."""

    position: S
    reward: float
    choices: tuple[Choice[A], ...]


class World(Protocol[S_inv, A_inv]):
    """Where actions lead."""

    def visit(
        self, position: S_inv, choice: Choice[A_inv], last: bool
    ) -> Generator[Question, Answer, Visit[S_inv, A_inv]]:
        """Tries an action. `last`: the search goes no deeper, and needs no choices after it."""
        ...


@dataclass(eq=False)
class Node(Generic[S, A]):
    """An action in the tree, or its root. totals: for each run through it the sum of the rewards
    from here on, its own among them."""

    choice: Choice[A] | None
    parent: Node[S, A] | None = None
    visit: Visit[S, A] | None = None
    children: list[Node[S, A]] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)

    @property
    def reward(self) -> float:
        """The reward of the action; until it is visited the guess."""
        if self.visit is not None:
            return self.visit.reward
        return 0.0 if self.choice is None else self.choice.guess

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def value(self) -> float:
        """The mean total of the runs through it; until it is visited the guess."""
        if self.visit is None or not self.totals:
            return self.reward
        return math.fsum(self.totals) / len(self.totals)


@dataclass(frozen=True)
class Search:
    """How to search.

    depth: actions in a row. iterations: runs from the root. exploration: what the bonus for
    actions that were taken seldom is multiplied by.

    A run goes down by the largest UCT value, `Node.value` + exploration * sqrt(ln(runs of the
    parent) / runs, at least 1), and from the first unvisited action on by the largest guess; of
    equal actions the first. An action at full depth that UCT takes unvisited stays so, and counts
    its guess. Every action of the run then counts the rewards from it on.
    """

    depth: int = 2
    iterations: int = 10
    exploration: float = 1.0

    def __post_init__(self) -> None:
        if self.depth < 1 or self.iterations < 1:
            told = f"depth={self.depth}, iterations={self.iterations}"
            raise ValueError(f"{told}: a search has 1 or more of both")
        if not (self.exploration >= 0 and math.isfinite(self.exploration)):
            raise ValueError(f"exploration is {self.exploration:g}; it is 0 or more")

    def grow(
        self, world: World[S, A], position: S, choices: Sequence[Choice[A]]
    ) -> Generator[Question, Answer, Node[S, A]]:
        """The tree from a position with these choices; yields what the world asks."""
        root = Node[S, A](None)
        _visited(root, Visit(position, 0.0, tuple(choices)))
        for _ in range(self.iterations):
            path = self._selected(root)
            if path[-1].depth < self.depth:
                yield from self._simulated(world, path)
            _backed_up(path)
        return root

    def _selected(self, root: Node[S, A]) -> list[Node[S, A]]:
        path = [root]
        while path[-1].totals and path[-1].children:
            path.append(max(path[-1].children, key=self._uct))
        return path

    def _uct(self, node: Node[S, A]) -> float:
        assert node.parent is not None
        runs = math.log(len(node.parent.totals)) / max(1, len(node.totals))
        return node.value + self.exploration * math.sqrt(runs)

    def _simulated(
        self, world: World[S, A], path: list[Node[S, A]]
    ) -> Generator[Question, Answer, None]:
        """Goes on from the end of the path to the end of a branch."""
        while True:
            node = path[-1]
            if node.visit is None:
                assert node.parent is not None
                assert node.parent.visit is not None
                assert node.choice is not None
                last = node.depth == self.depth
                before = node.parent.visit.position
                _visited(node, (yield from world.visit(before, node.choice, last)))
            if not node.children:
                return
            path.append(max(node.children, key=lambda child: child.reward))


def best_total(node: Node[S, A]) -> float:
    """The largest sum of rewards from a node on, its own among them, over all branches that were
    visited to their end; minus infinity where none was."""
    if node.visit is None:
        return -math.inf
    if not node.children:
        return node.reward
    return node.reward + max(map(best_total, node.children))


def _visited(node: Node[S, A], visit: Visit[S, A]) -> None:
    node.visit = visit
    node.children = [Node(choice, node) for choice in visit.choices]


def _backed_up(path: Sequence[Node[S, A]]) -> None:
    total = 0.0
    for node in reversed(path):
        total += node.reward
        node.totals.append(total)
