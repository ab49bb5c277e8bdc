"""Means with luck taken out by corrections of mean 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.stats.control_variates import corrected

RNG = np.random.default_rng(5)


def sample(n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Results of mean 3: skill of SD 1, luck of SD 2 that a correction measures on its own scale,
    and a second correction that measures nothing."""
    luck, other = RNG.normal(0, 2, n), RNG.normal(0, 1, n)
    return 3 + RNG.normal(0, 1, n) + luck, np.column_stack((-luck * scale, other))


@pytest.mark.parametrize("scale", [1.0, 0.25, 4.0])
def test_the_mean_stays_and_the_luck_goes_whatever_the_values_scale(scale: float) -> None:
    found = [corrected(*sample(100, scale)) for _ in range(2_000)]
    means, late = np.mean(found, axis=1), np.var([one[40:] for one in found])
    assert abs(means.mean() - 3) < 4.5 * means.std() / np.sqrt(2_000)
    assert late == pytest.approx(1.0, abs=0.3), "of 5 with the luck"


def test_a_result_without_luck_is_left_almost_alone() -> None:
    found = corrected(np.full(400, 0.5), RNG.normal(0, 1, (400, 2)))
    assert np.abs(found[320:] - 0.5).max() < 0.2


@pytest.mark.parametrize("spread", [0.0, 1e-17, 1.0])
@pytest.mark.parametrize("size", [0.0, 1e-17, 1e-6, 1e-2])
def test_what_the_first_deals_hardly_have_gets_no_wild_coefficient(
    size: float, spread: float
) -> None:
    """Both seatings of a deal cancel its luck, up to rounding errors; one that failed does not."""
    values, corrections = RNG.uniform(0, 1, 24), RNG.normal(0, 0.3, (24, 3))
    values[:20] = 0.5 + spread * (values[:20] - 0.5)
    corrections[:20, 1:] *= size
    found = corrected(values, corrections)
    assert np.abs(found - values).max() < 3 * np.abs(corrections).sum(axis=1).max()


def test_what_comes_later_changes_nothing_earlier() -> None:
    """Its own correction too: coefficients are known before an observation."""
    values, corrections = sample(60)
    whole = corrected(values, corrections)
    for end in (1, 5, 6, 33):
        assert np.array_equal(corrected(values[:end], corrections[:end]), whole[:end])
    assert np.array_equal(corrected(values, 0 * corrections), values)


@pytest.mark.parametrize(
    ("values", "corrections", "line"),
    [
        ([1.0, 2.0], [[0.0]], "2 values need as many rows"),
        ([1.0], [0.0], "1 values need as many rows"),
        ([np.nan], [[0.0]], "values must be finite"),
        ([1.0], [[np.inf]], "corrections must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(values: Any, corrections: Any, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        corrected(values, corrections)
