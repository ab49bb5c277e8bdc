"""Scores of stated probabilities, against closed forms and simulations."""

from __future__ import annotations

import numpy as np
import pytest

from gauntlet.stats import beliefs


def some(n: int, answers: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(answers), n)


def drawn(p: np.ndarray, seed: int = 1) -> np.ndarray:
    shared = np.random.default_rng(seed).random(len(p))
    return np.asarray((np.cumsum(p, axis=1)[:, :-1] < shared[:, None]).sum(axis=1))


def test_even_beliefs_have_known_scores() -> None:
    even = np.full((3, 4), 0.25)
    assert beliefs.brier(even, [0, 1, 3]) == pytest.approx(0.75)
    assert beliefs.log_score(even, [0, 1, 3]) == pytest.approx(np.log(4))
    assert beliefs.sharpness(even) == pytest.approx(0.25)
    assert beliefs.log_score([[0.0, 1.0]], [0]) == pytest.approx(-np.log(0.001))


def test_beliefs_that_do_not_sum_to_1_are_an_error() -> None:
    for wrong in ([[0.5, 0.4]], [[0.7, 0.7]], [[1.2, -0.2]], [[np.nan, 1.0]]):
        with pytest.raises(ValueError, match=r"sum to 1|between 0 and 1"):
            beliefs.brier(wrong, [0])
    with pytest.raises(ValueError, match="0 or more"):
        beliefs.normalised([[0.5, -0.1]])
    assert np.isnan(beliefs.normalised([[0.0, 0.0]])).all()


def test_distance_from_exact_ranks_as_brier_does() -> None:
    """E|q - y|^2 = |q - p|^2 + E|p - y|^2, as a sum over all outcomes."""
    q, p = some(50, 3), some(50, 3, seed=5)
    by_outcome = sum(p[:, one] * beliefs.brier(q, np.full(50, one)) for one in range(3))
    own = sum(p[:, one] * beliefs.brier(p, np.full(50, one)) for one in range(3))
    assert by_outcome == pytest.approx(beliefs.distance(q, p) + own)


def test_the_decomposition_adds_up_and_finds_what_is_wrong() -> None:
    p = np.random.default_rng(3).random(20_000)
    right = (np.random.default_rng(4).random(len(p)) < p).astype(float)
    for stated in (p, p**2, np.full(len(p), 0.5)):
        parts = beliefs.decomposed(stated, right)
        total = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert total == pytest.approx(np.mean((stated - right) ** 2))
        assert min(parts.miscalibration, parts.discrimination) > -1e-12
    assert beliefs.decomposed(p, right).miscalibration < 0.002
    squared = beliefs.decomposed(p**2, right)
    assert squared.miscalibration == pytest.approx(1 / 30, abs=0.004)  # E (p^2 - p)^2
    assert squared.discrimination == pytest.approx(beliefs.decomposed(p, right).discrimination)
    assert beliefs.decomposed(np.full(len(p), 0.5), right).discrimination == pytest.approx(0)


def test_recalibrated_is_the_best_nondecreasing_fit() -> None:
    assert beliefs.recalibrated([0.1, 0.4, 0.4, 0.9], [1, 0, 1, 1]) == pytest.approx(
        [2 / 3, 2 / 3, 2 / 3, 1]
    )


def test_bands_hold_calibrated_beliefs() -> None:
    """A card is asked about three times, with ever better knowledge: p moves by Bayes' rule."""
    held = points = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first = rng.dirichlet(np.ones(3), 120)
        card = drawn(first, seed + 1_000)
        told, likely, asked = first, [first], rng.random((2, 120)) < 0.7
        for honest in asked:
            signal = np.where(honest, card, rng.integers(3, size=120))
            told = told * np.where(np.arange(3) == signal[:, None], 0.8, 0.1)
            told = told / told.sum(axis=1, keepdims=True)
            likely.append(told)
        q, truth = np.concatenate(likely), np.tile(card, 3)
        answers, events = np.full(len(q), 3), np.tile(np.arange(120), 3)
        band = beliefs.consistency_band(q, answers, events, rng, resamples=100)
        p, right = beliefs.flattened(q, truth, answers)
        fitted = beliefs.recalibrated(np.round(p * beliefs.STEPS) / beliefs.STEPS, right)
        for at in (0.1, 0.3, 0.5, 0.7, 0.9):
            place = np.abs(band.p - at).argmin()
            value = fitted[np.abs(p - band.p[place]).argmin()]
            held += bool(band.low[place] - 1e-9 <= value <= band.high[place] + 1e-9)
            points += 1
    assert 0.90 <= held / points <= 0.995, held / points


def test_bands_do_not_hold_overconfident_beliefs() -> None:
    p = some(2_000, 2)
    truth = drawn(p)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    answers, events = np.full(len(p), 2), np.arange(len(p))
    band = beliefs.consistency_band(sharp, answers, events, np.random.default_rng(0))
    stated, right = beliefs.flattened(sharp, truth, answers)
    place = np.abs(band.p - 0.9).argmin()
    at = np.abs(stated - band.p[place]).argmin()
    assert beliefs.recalibrated(stated, right)[at] < band.low[place]


def test_movement_of_bayes_rule_is_the_fall_of_uncertainty() -> None:
    """Over both outcomes of a signal that is right with probability .8."""
    for p in (0.1, 0.5, 0.9):
        seen = 0.8 * p + 0.2 * (1 - p)
        up, down = 0.8 * p / seen, 0.2 * p / (1 - seen)
        moved = beliefs.excess_movement([p, p], [up, down])
        assert seen * moved[0] + (1 - seen) * moved[1] == pytest.approx(0)
        assert p * up >= 0
    assert beliefs.excess_movement(0.9, 0.1) == pytest.approx(0.64)


def test_value_is_lost_by_not_knowing_or_by_not_using() -> None:
    worths, sure = [[1.0, 0.0], [0.0, 3.0]], [1.0, 0.0]
    assert beliefs.value_lost(worths, [0.9, 0.1], sure, chosen=0) == (0, 0)
    assert beliefs.value_lost(worths, [0.9, 0.1], sure, chosen=1) == (0, 1)
    assert beliefs.value_lost([[1.0, 0.0], [0.0, 3.0]], [0.1, 0.9], [0.8, 0.2], 1) == (
        pytest.approx(0.2),
        pytest.approx(0),
    )
    knowing, using = beliefs.value_lost(worths, [0.1, 0.9], [0.8, 0.2], chosen=0)
    assert (knowing, using) == (pytest.approx(0.2), pytest.approx(-0.2))


def test_answers_that_are_ruled_out_are_left_out() -> None:
    worths = [[np.nan, np.nan], [2.0, 1.0], [0.0, 1.0]]
    found = beliefs.value_lost(worths, [0.9, 0.0, 0.1], [0.0, 0.5, 0.5], chosen=0)
    assert found == (0, 0)
    assert np.isnan(beliefs.value_lost(worths, [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], 0)).all()
