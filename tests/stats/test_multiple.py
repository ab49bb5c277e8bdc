"""Holm's correction: by hand, its invariants, and its family-wise error rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from gauntlet.stats.multiple import holm
from gauntlet.stats.proportions import one_sample_z

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_holm_agrees_with_statsmodels() -> None:
    for family in np.random.default_rng(2).random((5, 9)):
        np.testing.assert_allclose(holm(family), multipletests(family, method="holm")[1])


def test_holm_takes_the_only_star_from_eight_cooperative_uno_tests() -> None:
    """The best of eight, 70B with p = 0.046, is eight times less surprising than it looked."""
    best = float(one_sample_z(2517, 7000, 0.35).p_value)
    adjusted = holm([best, 0.0555, 0.0604, 0.3, 0.4, 0.5, 0.6, 0.9])
    assert best < 0.05
    assert adjusted[0] == pytest.approx(8 * best)
    assert (adjusted > 0.3).all()


@given(P_VALUES)
def test_a_test_that_was_not_made_does_not_count(p: list[float]) -> None:
    adjusted = holm([np.nan, *p, np.nan])
    assert np.isnan(adjusted[[0, -1]]).all()
    np.testing.assert_array_equal(adjusted[1:-1], holm(p))


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan, np.nan])).all()


def test_holm_keeps_false_alarms_of_eight_true_nulls_near_5_percent() -> None:
    """Uncorrected, 1 - 0.95^8 = 34% of such families show at least one star."""
    families = np.random.default_rng(1).random((2000, 8))
    low, high = binom.interval(0.9999, 2000, 0.05)
    assert low <= sum(holm(family).min() < 0.05 for family in families) <= high
    low, high = binom.interval(0.9999, 2000, 1 - 0.95**8)
    assert low <= (families.min(axis=1) < 0.05).sum() <= high
