"""Holm's correction against statsmodels, and p-values that are missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from gauntlet.stats.multiple import holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(P_VALUES)
def test_holm_agrees_with_statsmodels(family: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "gc.collect", lambda: 0
        )  # which multipletests calls, and which takes a second
        theirs = multipletests(family, method="holm")[1]
    np.testing.assert_allclose(holm(family), theirs, atol=1e-300)


@given(P_VALUES)
def test_a_test_that_was_not_made_does_not_count(p: list[float]) -> None:
    adjusted = holm([np.nan, *p, np.nan])
    assert np.isnan(adjusted[[0, -1]]).all()
    np.testing.assert_array_equal(adjusted[1:-1], holm(p))


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan, np.nan])).all()
