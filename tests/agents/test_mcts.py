"""Tree search with scripted rewards: against a hand calculation, brute force, and a second
implementation."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.mcts import Choice, Node, Search, Visit, best_total
from tests.agents.play import talk, unasked

Path = tuple[int, ...]
"""A position: the numbers of the actions that led to it."""


@dataclass
class Scripted:
    """A tree with a guess and a reward per action, random by seed or given. `ends`: positions
    without a choice. `seen`: visited positions, in order."""

    width: int
    seed: int = 0
    guesses: dict[Path, float] = field(default_factory=dict)
    rewards: dict[Path, float] = field(default_factory=dict)
    ends: tuple[Path, ...] = ()
    seen: list[Path] = field(default_factory=list)

    def guess(self, path: Path) -> float:
        return self.guesses.get(path, self._draw(1, path))

    def reward(self, path: Path) -> float:
        return self.rewards.get(path, self._draw(2, path))

    def choices(self, path: Path) -> tuple[Choice[int], ...]:
        if path in self.ends:
            return ()
        return tuple(Choice(n, self.guess((*path, n))) for n in range(self.width))

    def visit(
        self, position: Path, choice: Choice[int], last: bool
    ) -> Generator[Any, Any, Visit[Path, int]]:
        path = (*position, choice.action)
        self.seen.append(path)
        return Visit(path, self.reward(path), () if last else self.choices(path))
        yield

    def _draw(self, kind: int, path: Path) -> float:
        return float(np.random.default_rng((self.seed, kind, *path)).uniform(-1, 1))


def grown(world: Scripted, search: Search) -> Node[Path, int]:
    tree, _ = talk(search.grow(world, (), world.choices(())), unasked)
    return tree


def test_the_first_run_follows_the_guesses() -> None:
    world = Scripted(3, guesses={(0,): 0.2, (1,): 0.9, (2,): 0.9, (1, 0): 0, (1, 1): 0, (1, 2): 1})
    grown(world, Search(iterations=1))
    assert world.seen == [(1,), (1, 2)]


def test_three_runs_by_hand() -> None:
    """Run 1: action 0 by its guess, then its action 0: totals -1 and 0. Run 2: ln 1 = 0, so the
    guess .5 of action 1 is above action 0's mean of -1. Run 3: sqrt(ln 2 / 1) = .83 for both:
    action 1's mean 2 wins; of its actions the visited one has 1 + .0, the other its guess 3,
    which at full depth is not visited and counts as it stands."""
    world = Scripted(
        2,
        guesses={(0,): 0.6, (1,): 0.5, (0, 0): 0.1, (0, 1): 0.0, (1, 0): 3.5, (1, 1): 3.0},
        rewards={(0,): -1.0, (0, 0): 0.0, (1,): 1.0, (1, 0): 1.0},
    )
    tree = grown(world, Search(iterations=3))
    assert world.seen == [(0,), (0, 0), (1,), (1, 0)]
    first, second = tree.children
    assert [first.totals, second.totals] == [[-1.0], [2.0, 4.0]]
    assert [child.totals for child in second.children] == [[1.0], [3.0]]
    assert tree.totals == [-1.0, 2.0, 4.0]
    assert (best_total(first), best_total(second)) == (-1.0, 2.0)


def test_an_action_seldom_taken_is_explored() -> None:
    """Action 0 gives 1 and action 1 promises 0. After n runs of action 0 the bonus of action 1 is
    sqrt(ln n), and above 1 + sqrt(ln n / n) from n = 10 on; without bonus it never is."""
    given = {(0,): 1.0, (1,): 0.0}
    for exploration, runs, tried in ((1.0, 10, False), (1.0, 11, True), (0.0, 50, False)):
        world = Scripted(2, guesses=given, rewards=given, ends=((0,), (1,)))
        grown(world, Search(iterations=runs, exploration=exploration))
        assert ((1,) in world.seen) == tried, (exploration, runs)


def test_a_branch_that_ends_early_counts_and_is_not_asked_again() -> None:
    world = Scripted(2, guesses={(0,): 1.0, (1,): 0.0}, rewards={(0,): 1.0}, ends=((0,),))
    tree = grown(world, Search(iterations=5))
    assert world.seen == [(0,)]
    assert best_total(tree) == 1.0
    assert tree.totals == [1.0] * 5


@pytest.mark.parametrize("seed", range(20))
def test_with_enough_runs_the_best_branch_of_a_narrow_tree_is_found(seed: int) -> None:
    """Guesses equal to the rewards: the branch of the largest sum, by brute force."""
    plain = Scripted(3, seed)
    paths = [path for n in (1, 2) for path in product(range(3), repeat=n)]
    world = Scripted(3, seed, guesses={path: plain.reward(path) for path in paths})
    tree = grown(world, Search(iterations=400, exploration=2.0))
    sums = {path: plain.reward(path[:1]) + plain.reward(path) for path in paths if len(path) == 2}
    best = max(sums, key=lambda path: sums[path])
    assert best_total(tree) == pytest.approx(sums[best])
    assert max(range(3), key=lambda n: best_total(tree.children[n])) == best[0]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_it_runs_as_a_second_program_that_keeps_a_list_of_runs(depth: int) -> None:
    for seed in range(60):
        search = Search(depth, iterations=30, exploration=(seed % 4) / 2)
        ends = ((1,), (0, 0)) if seed % 3 == 0 else ()
        world, other = Scripted(3, seed, ends=ends), Scripted(3, seed, ends=ends)
        tree, (runs, visited) = grown(world, search), listed_runs(other, search)
        assert world.seen == visited
        assert tree.totals == pytest.approx([total for _, total in runs])
        for number, child in enumerate(tree.children):
            assert len(child.totals) == sum(path[0] == number for path, _ in runs)


def listed_runs(world: Scripted, search: Search) -> tuple[list[tuple[Path, float]], list[Path]]:
    """All runs, each a path and its total, and visit counts; everything is recomputed from the list
    of runs, without a tree."""
    runs: list[tuple[Path, float]] = []
    visited: list[Path] = []

    def worth(path: Path) -> float:
        return world.reward(path) if path in visited else world.guess(path)

    def uct(path: Path) -> float:
        # as the totals stood when each run ended
        totals = [sums[len(path)] for run, sums in history if run[: len(path)] == path]
        parent = sum(run[: len(path) - 1] == path[:-1] for run, _ in history)
        mean = sum(totals) / len(totals) if path in visited else world.guess(path)
        return mean + search.exploration * math.sqrt(math.log(parent) / max(1, len(totals)))

    def below(path: Path) -> list[Path]:
        deep = len(path) == search.depth or path in world.ends
        return [] if deep else [(*path, number) for number in range(world.width)]

    history: list[tuple[Path, list[float]]] = []
    for run in range(search.iterations):
        path: Path = ()
        while run and (not path or path in visited) and below(path):
            path = max(below(path), key=uct)
        open_end = len(path) < search.depth
        while open_end:
            visited += [path] if path and path not in visited else []
            open_end = bool(below(path))
            path = max(below(path), key=world.guess, default=path)
        rewards = [0.0, *(worth(path[:n]) for n in range(1, len(path) + 1))]
        history.append((path, [sum(rewards[n:]) for n in range(len(rewards))]))
        runs.append((path, sum(rewards)))
    return runs, visited


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"depth": 0}, "depth=0, iterations=10: a search has 1 or more"),
        ({"iterations": 0}, "iterations=0: a search has 1 or more"),
        ({"exploration": -1.0}, "exploration is -1; it is 0 or more"),
        ({"exploration": math.inf}, "exploration is inf"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Search(**settings)
