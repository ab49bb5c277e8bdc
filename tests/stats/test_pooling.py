"""Partial pooling: the eight schools, and the best of eight cells."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robustness import SPREADS, best_of
from gauntlet.stats.pooling import partially_pooled

EFFECTS = [28.0, 8, -3, 7, -1, 1, 18, 12]
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def test_the_eight_schools() -> None:
    """Gelman et al., Bayesian Data Analysis, table 5.3: quantiles from 200 draws, in whole points;
    posterior means as the Stan user's guide and its case studies print them."""
    found = partially_pooled(EFFECTS, np.diag(ERRORS**2))
    assert found.estimates == pytest.approx([11.4, 7.9, 6.1, 7.7, 5.1, 6.1, 10.7, 8.4], abs=0.15)
    assert found.mean == pytest.approx(7.9, abs=0.1)
    assert found.spread == pytest.approx(6.6, abs=0.2)
    assert found.low == pytest.approx([-2, -5, -11, -7, -9, -7, -1, -6], abs=2)
    assert found.high[:5] == pytest.approx([31, 23, 19, 21, 18], abs=2.5)


def test_shared_luck_moves_all_and_is_not_taken_for_noise_between_them() -> None:
    y, alone = [0.5, 0.55, 0.65], 0.02**2 * np.eye(3)
    apart = partially_pooled(y, alone)
    shared = partially_pooled(y, alone + 0.05**2)
    assert shared.estimates == pytest.approx(apart.estimates, abs=1e-4)
    assert (shared.high - shared.low > apart.high - apart.low).all()


def test_what_is_known_well_stays_where_it_is() -> None:
    y = [0.4, 0.5, 0.7]
    assert partially_pooled(y, 1e-8 * np.eye(3)).estimates == pytest.approx(y, abs=1e-4)


def test_the_best_of_eight_is_not_as_good_as_it_looks() -> None:
    raw, pooled, _, covered = best_of(80, 0.67, seed=1)
    assert raw > 0.5
    assert abs(pooled) < raw / 2
    assert covered > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
def test_the_best_of_eight_pooled(spread: float) -> None:
    raw, pooled, _, covered = best_of(2000, spread, seed=2)
    assert -0.1 < pooled < 0.5 * raw
    assert covered > 0.93
