"""Monte Carlo tree search where each action has a reward, estimated before its first visit.

Source: the search of llm-reasoners with its default settings, as used by RAP (Hao et al. 2023) and
GameBench. A `World` (a model or a script) expands positions; the search itself makes no requests.
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
    """An action and the estimate of its reward."""

    action: A
    guess: float


@dataclass(frozen=True, slots=True)
class Visit(Generic[S, A]):
    """The result of an action: the new position, the reward and the next choices.

    choices: () at the end of a branch.
    """

    position: S
    reward: float
    choices: tuple[Choice[A], ...]


class World(Protocol[S_inv, A_inv]):
    """The model of the environment."""

    def visit(
        self, position: S_inv, choice: Choice[A_inv], last: bool
    ) -> Generator[Question, Answer, Visit[S_inv, A_inv]]:
        """Try an action. `last`: the search goes no deeper and needs no further choices."""
        ...


@dataclass(eq=False)
class Node(Generic[S, A]):
    """An action in the tree, or the root.

    totals: for each run through it, the sum of the rewards from this node on, inclusive.
    """

    choice: Choice[A] | None
    parent: Node[S, A] | None = None
    visit: Visit[S, A] | None = None
    children: list[Node[S, A]] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)

    @property
    def reward(self) -> float:
        """The reward of the action, or its estimate until it is visited."""
        if self.visit is not None:
            return self.visit.reward
        return 0.0 if self.choice is None else self.choice.guess

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def value(self) -> float:
        """The mean total of the runs through it, or the estimate until it is visited."""
        if self.visit is None or not self.totals:
            return self.reward
        return math.fsum(self.totals) / len(self.totals)


@dataclass(frozen=True)
class Search:
    """Search settings.

    depth: actions in a row.
    iterations: runs from the root.
    exploration: weight of the bonus for rarely taken actions.

    A run descends by the largest UCT value, `Node.value` + exploration * sqrt(ln(runs of the
    parent) / runs, at least 1), and from the first unvisited action on by the largest estimate;
    ties go to the first action. An action at full depth that UCT selects unvisited is not visited
    and counts its estimate. Every action of the run is then credited with the rewards from it on.
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
        """The tree from a position with these choices; yields the world's requests."""
        root = Node[S, A](None)
        _visited(root, Visit(position, 0.0, tuple(choices)))
        for _ in range(self.iterations):
            path = self._selected(root)
            if path[-1].depth < self.depth:
                yield from self._simulated(world, path)
            total = 0.0
            for node in reversed(path):
                total += node.reward
                node.totals.append(total)
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
        """Extend the path to the end of a branch."""
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
    """The largest sum of rewards from a node on, inclusive; minus infinity without a full branch.
    Only branches that were visited to their end count."""
    if node.visit is None:
        return -math.inf
    if not node.children:
        return node.reward
    return node.reward + max(map(best_total, node.children))


def _visited(node: Node[S, A], visit: Visit[S, A]) -> None:
    node.visit = visit
    node.children = [Node(choice, node) for choice in visit.choices]
