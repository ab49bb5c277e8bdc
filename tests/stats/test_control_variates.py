"""Means with luck taken out by corrections of mean 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet.stats.control_variates import corrected, leads
from gauntlet.stats.means import limits, reaching

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


# --- which results lead

SHARE = (0.0, 1.0)


def wins(n: int, luck: float) -> tuple[np.ndarray, np.ndarray]:
    """Raw wins of even players, and results whose luck is known but for this SD."""
    return RNG.integers(0, 2, n).astype(float), 0.5 + RNG.normal(0, luck, n)


def test_the_results_with_the_narrower_interval_lead() -> None:
    raw, better = wins(200, 0.1)
    assert leads(raw, better, SHARE)
    assert not leads(raw, wins(200, 0.6)[1], SHARE)
    assert not leads(raw, better, SHARE, error=0.2), "its common error is part of the interval"
    assert not leads(raw, raw, SHARE, 2), "nothing is taken out"


def test_results_that_do_not_vary_lead() -> None:
    """Equal players in all seats share every deal."""
    _, noisy = wins(40, 0.01)
    assert not leads(np.full(40, 1 / 3), noisy, SHARE, 3)


def test_the_choice_knows_neither_the_second_half_nor_the_direction() -> None:
    raw, better = wins(60, 0.4)
    chosen = leads(raw, better, SHARE)
    for second in (np.zeros(30), np.ones(30)):
        later = np.concatenate((raw[:30], second)), np.concatenate((better[:30], 9 * second))
        assert leads(*later, SHARE) == chosen
    assert leads(1 - raw, 1 - better, SHARE) == chosen


@pytest.mark.parametrize("deals", [1, 2, 3])
def test_the_raw_results_lead_where_half_of_the_deals_show_no_spread(deals: int) -> None:
    raw, better = wins(deals, 0.1)
    assert not leads(raw, better, SHARE)


@pytest.mark.parametrize("rate", [0.1, 1 / 3, 0.5])
@pytest.mark.parametrize("ratio", [0.6, 1.0])
def test_a_choice_by_widths_does_not_reject_more_often(rate: float, ratio: float) -> None:
    """Of 2,000 samples of 40 deals, where both results are about as good, which is the worst case;
    their errors are correlated by a half."""
    runs, n = 2_000, 40
    rejected = 0
    luck = np.sqrt(rate * (1 - rate))
    for _ in range(runs):
        raw = (RNG.random(n) < rate).astype(float)
        own = (raw - rate) / luck
        better = rate + ratio * luck * (own + np.sqrt(3) * RNG.normal(size=n)) / 2
        chosen = leads(raw, better, SHARE)
        values, span = (better, reaching(better, SHARE)) if chosen else (raw, SHARE)
        low, high = limits(values, span)
        rejected += not low <= rate <= high
    assert rejected / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
