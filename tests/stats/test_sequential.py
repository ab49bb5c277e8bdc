"""Stopping rules against closed forms and simulated sweeps."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.stats.sequential import (
    FIRST_LOOK,
    Stop,
    bounded_sequence,
    confidence_sequence,
    looks,
    precision,
    sprt,
)


def test_sprt_stops_where_the_likelihood_ratio_says() -> None:
    """Each win doubles the odds of .6 against .3, so 1/alpha = 20 takes five of them."""
    assert sprt([1] * 9, 0.3, 0.6, alpha=0.05) == Stop(5, True)
    losses = int(np.ceil(log(0.1) / log(0.4 / 0.7)))
    assert sprt([0] * 9, 0.3, 0.6, beta=0.1) == Stop(losses, False)
    assert sprt([1, 1, 1, 1], 0.3, 0.6) is None
    assert sprt([], 0.3, 0.6) is None


def test_sprt_of_scores_keeps_its_level() -> None:
    """Wins, draws and losses whose mean is the null: called above in at most 5% of runs."""
    rng = np.random.default_rng(1)
    scores = rng.choice([0.0, 0.5, 1.0], (1000, 200), p=[0.5, 0.2, 0.3])
    stops = [sprt(own, 0.4, 0.55) for own in scores]
    assert 0 < sum(stop is not None and stop.above for stop in stops) < 50
    assert sprt([0.5] * 9, 0.4, 0.6) is None


@given(st.lists(st.integers(0, 1), max_size=60), st.integers(0, 20))
def test_sprt_does_not_see_what_comes_after_it_stopped(wins: list[int], more: int) -> None:
    stop = sprt(wins, 0.4, 0.6, alpha=0.2, beta=0.2)
    if stop is not None:
        assert sprt([*wins, *[1] * more], 0.4, 0.6, alpha=0.2, beta=0.2) == stop
        assert sprt(wins[: stop.deals - 1], 0.4, 0.6, alpha=0.2, beta=0.2) is None


@pytest.mark.parametrize(("rate", "above", "most"), [(0.5, True, 0.05), (0.55, False, 0.1)])
def test_sprt_keeps_its_error_rates(rate: float, above: bool, most: float) -> None:
    rng = np.random.default_rng(1)
    stops = [sprt(rng.random(3_000) < rate, 0.5, 0.55) for _ in range(2_000)]
    wrong = np.mean([stop is not None and stop.above == above for stop in stops])
    assert most / 3 < wrong < most + 3 * sqrt(most * (1 - most) / 2_000)


def test_the_confidence_sequence_is_the_mixture_martingale_turned_round() -> None:
    """At its limits the normal mixture of likelihood ratios is 1/alpha: for S = t x reach,
    exp(r^2 S^2 / (2 (t r^2 + 1))) / sqrt(t r^2 + 1)."""
    values = np.random.default_rng(2).normal(0, 1, 900)
    found = confidence_sequence(values, 0.1)
    strength = -2 * log(0.1)
    r2 = (strength + log(strength) + 1) / 500
    for t in (200, 500, 900):
        total = t * (found.high[t - 1] - found.estimate[t - 1]) / values[:t].std()
        ratio = exp(r2 * total**2 / (2 * (t * r2 + 1))) / sqrt(t * r2 + 1)
        assert ratio == pytest.approx(10)


def test_the_confidence_sequence_holds_at_all_deals_at_once() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(1_000):
        found = confidence_sequence(rng.exponential(1, 1_500), 0.1)
        missed += bool((found.low > 1).any() or (found.high < 1).any())
    assert missed < 100 + 3 * sqrt(1_000 * 0.1 * 0.9)


def test_there_is_no_limit_before_the_first_look() -> None:
    values = np.random.default_rng(4).normal(5, 0.01, 400)
    found = confidence_sequence(values)
    assert np.isnan(found.low[: FIRST_LOOK - 1]).all()
    assert np.isfinite(found.low[FIRST_LOOK - 1 :]).all()
    assert looks(400)[0] == FIRST_LOOK
    assert looks(199) == []
    assert precision(values, 0.0, 0.5) == Stop(FIRST_LOOK, True)
    assert precision(values[:199], 0.0, 0.5) is None
    assert precision(values, 6.0, 0.5) == Stop(FIRST_LOOK, False)


def test_a_narrower_interval_takes_more_deals() -> None:
    values = np.random.default_rng(5).normal(0, 0.2, 5_000)
    wide, narrow = precision(values, 0.0, 0.03), precision(values, 0.0, 0.015)
    assert wide is not None
    assert narrow is not None
    assert FIRST_LOOK < wide.deals < narrow.deals
    found = confidence_sequence(values)
    assert found.high[narrow.deals - 1] - found.estimate[narrow.deals - 1] <= 0.015


@pytest.mark.parametrize("shape", ["rare", "even", "draws", "flat"])
def test_the_bounded_sequence_holds_at_all_deals_from_the_first(shape: str) -> None:
    rng = np.random.default_rng(6)
    draw = {
        "rare": lambda: (rng.random(800) < 0.07).astype(float),
        "even": lambda: (rng.random(800) < 0.5).astype(float),
        "draws": lambda: rng.choice([0.0, 0.5, 1.0], 800, p=[0.2, 0.5, 0.3]),
        "flat": lambda: rng.uniform(0.3, 0.5, 800),
    }[shape]
    mean = {"rare": 0.07, "even": 0.5, "draws": 0.55, "flat": 0.4}[shape]
    missed = 0
    for _ in range(500):
        found = bounded_sequence(draw(), 0.2)
        missed += bool((found.low > mean).any() or (found.high < mean).any())
        assert found.high[-1] - found.low[-1] < 0.25
    assert missed < 500 * 0.2


def test_the_bounded_sequence_by_hand() -> None:
    """Its first entry: a bet of 1/2 on a value against the guess 1/2."""
    (low,), (high,) = bounded_sequence([1.0], 0.05).low, bounded_sequence([1.0], 0.05).high
    risk = (1 - 0.5) ** 2 * (log(2) - 0.5)
    assert (low, high) == (0.0, 1.0)
    assert 1 - (log(40) + risk) / 0.5 < 0, "one value shows nothing"
    many = bounded_sequence(np.ones(100), 0.05)
    assert many.low[-1] > 0.8
    assert (np.diff(many.low) >= 0).all()
    with pytest.raises(ValueError, match="from 0 to 1"):
        bounded_sequence([0.5, 1.5])
