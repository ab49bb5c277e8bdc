"""The margin of a decision: how much its best score could lose and still be the best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.pipeline.play.match import margin

SCORES = st.lists(st.floats(-50, 0), min_size=2, max_size=9)


@given(SCORES, st.data())
def test_a_change_of_less_than_half_the_margin_leaves_the_first_choice(scores, data):
    gap = margin(scores)
    moved = [x + data.draw(st.floats(-0.49, 0.49)) * gap for x in scores]
    if gap > 1e-9:
        assert moved.index(max(moved)) == scores.index(max(scores))


@pytest.mark.parametrize(
    ("scores", "expected"), [((), None), ((0.4,), None), ((1.0, 3.0, 2.5), 0.5), ((2.0, 2.0), 0.0)]
)
def test_margins(scores, expected):
    assert margin(scores) == expected
