"""Maximal lotteries, and cycles of who beats whom: closed forms, copies of players."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gauntlet.stats.scores import cycles, maximal_lottery

ROCK_PAPER_SCISSORS = np.array([[0, -0.5, 0.5], [0.5, 0, -0.5], [-0.5, 0.5, 0]])


def margins(rng: np.random.Generator, k: int) -> np.ndarray:
    table = rng.normal(0, 0.2, (k, k))
    return (table - table.T) / 2


def with_copy(table: np.ndarray, player: int) -> np.ndarray:
    """The same game with one player twice."""
    every = [*range(len(table)), player]
    return table[np.ix_(*[every] * table.ndim)]


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 3), (5, 1, 1)])
def test_three_who_go_round_are_mixed_in_proportion(weights: tuple[float, float, float]) -> None:
    """With margins a, b, c around the circle the lottery is (b, c, a) over their sum."""
    a, b, c = np.array(weights) / 12
    table = np.array([[0, a, -c], [-a, 0, b], [c, -b, 0]])
    assert maximal_lottery(table) == pytest.approx(np.array([b, c, a]) / (a + b + c))


def test_who_beats_everybody_is_the_lottery() -> None:
    table = np.array([[0, 0.1, 0.3], [-0.1, 0, 0.2], [-0.3, -0.2, 0]])
    assert maximal_lottery(table).tolist() == pytest.approx([1, 0, 0])


def test_of_several_lotteries_it_is_that_of_most_entropy() -> None:
    assert maximal_lottery(np.zeros((4, 4))) == pytest.approx([0.25] * 4)
    copied = with_copy(ROCK_PAPER_SCISSORS, 0)
    assert maximal_lottery(copied) == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6], abs=1e-6)


@pytest.mark.parametrize("k", [3, 6, 12, 20])
def test_nobody_beats_the_lottery(k: int) -> None:
    table = margins(np.random.default_rng(k), k)
    p = maximal_lottery(table)
    assert p.sum() == pytest.approx(1)
    assert (p @ table).min() > -1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: maximal_lottery(np.ones((2, 2))), "is minus that of i against j"),
        (lambda: maximal_lottery(np.ones((2, 3))), "square table of finite numbers"),
    ],
)
def test_other_tables_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("beaten", "expected"),
    [
        ([(0, 1), (1, 2), (0, 2)], []),
        ([(0, 1), (1, 2), (2, 0), (0, 3)], [[0, 1, 2]]),
        ([(2, 1), (1, 0), (0, 2)], [[0, 2, 1]]),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)], [[0, 1, 2]]),
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_cycles_are_the_shortest_of_each_group(
    beaten: list[tuple[int, int]], expected: list[list[int]]
) -> None:
    shown = np.zeros((6, 6), bool)
    shown[tuple(np.transpose(beaten))] = True
    assert cycles(shown) == expected
