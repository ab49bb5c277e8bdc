"""How many matches are in progress, by a model's measured seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gauntlet.pipeline.play.width import FIRST, Width


def settled(seconds: Callable[[int], float], most: int = 64) -> int:
    """The number of matches after 100 rounds, if a request of a batch of this size takes so
    long."""
    width = Width(most)
    for _ in range(100):
        width.note(width.now, width.now * seconds(width.now))
    return width.now


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (lambda size: 0.01, 64),  # quick: no measuring
        (lambda size: 0.7, FIRST),  # slow, and batches do not help
        (lambda size: 8.0 / size, 64),  # a batch takes as long as one request
        (lambda size: max(0.25, 8.0 / size), 32),  # up to a point
        (lambda size: 0.5 + size / 100, FIRST),  # larger batches are worse
    ],
)
def test_more_matches_while_they_are_answered_faster(
    seconds: Callable[[int], float], expected: int
) -> None:
    assert settled(seconds) == expected


def test_never_more_than_allowed() -> None:
    assert settled(lambda size: 0.001, most=3) == 3
    assert settled(lambda size: 8.0 / size, most=20) == 20
    assert Width(1).now == 1


def test_a_model_that_writes_gets_all_matches_at_once() -> None:
    width = Width(64)
    width.open()
    assert width.now == 64
    width.note(64, 1000.0)
    width.note(64, 1000.0)
    assert width.now == 64
