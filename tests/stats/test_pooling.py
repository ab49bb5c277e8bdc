"""Partial pooling: the eight schools, and the best of eight cells; variance components."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.robustness import NAMES, SPREADS, WITHIN, best_of, covered, recovered
from gauntlet.stats.components import Anova, anova
from gauntlet.stats.pooling import moderated, partially_pooled

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


def test_a_covariance_from_few_deals_is_no_trap() -> None:
    """Six cells that share the luck of five deals: taken as it is estimated, their covariance is
    close to singular, and the intervals held two in three truths."""
    every, best = covered(6, 5, 0.5, 150)
    assert every > 0.85
    assert best > 0.85


def test_of_many_observations_the_covariance_is_what_they_say() -> None:
    own = np.array([[4.0, 1, 0.5], [1, 9, 2], [0.5, 2, 1]]) / 10**6
    found = moderated(own, np.full(3, 10**6), np.ones((3, 3)))
    assert found == pytest.approx(own, rel=1e-3)


def test_means_that_share_no_deals_stay_independent() -> None:
    own = np.diag([4.0, 9, 1]) / 20
    found = moderated(own, np.full(3, 20), np.eye(3))
    assert found == pytest.approx(np.diag(np.diag(found)))
    assert np.diag(found).min() > own[2, 2], "the least is drawn up to the mean of all"


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


# Variance components.


@pytest.mark.parametrize("binary", [False, True])
def test_known_components_are_recovered(binary: bool) -> None:
    z, covered = recovered(120, binary, seed=1)
    assert (np.abs(z) < 4).all(), z
    assert (covered >= 0.87).all(), covered  # 3 standard errors below .95


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_intervals_cover_what_they_promise(binary: bool) -> None:
    z, covered = recovered(3000, binary, seed=2)
    assert (np.abs(z) < 4).all(), z
    assert (covered >= 0.93).all(), covered


def test_mean_squares_are_those_of_statsmodels() -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    y = np.random.default_rng(3).normal(size=(3, 5, 4))
    at = np.indices(y.shape).reshape(3, -1)
    table = pd.DataFrame({"y": y.ravel(), "a": at[0], "b": at[1], "c": at[2]})
    theirs = anova_lm(ols("y ~ C(a) + C(b) + C(a):C(b) + C(b):C(c)", table).fit())
    design = anova(y, ("a", "b", "c"), {"c": "b"})
    ours = dict(zip(design.effects, design.squares, strict=True))
    for names, term in ((("a",), "C(a)"), (("b",), "C(b)"), (("a", "b"), "C(a):C(b)")):
        assert ours[design.effect(*names)] == pytest.approx(theirs.loc[term, "mean_sq"])
    assert ours[design.effect("b", "c")] == pytest.approx(theirs.loc["C(b):C(c)", "mean_sq"])
    assert design.squares[-1] == pytest.approx(theirs.loc["Residual", "mean_sq"])
    assert sum(design.degrees) == y.size - 1


def test_one_normal_mean_square_has_its_exact_interval() -> None:
    """Of n plain numbers: (n - 1) s^2 over the points of chi-square."""
    from scipy.stats import chi2

    y = np.random.default_rng(4).normal(size=12)
    one = anova(y, ("deal",)).component(frozenset({0}))
    assert one.variance == pytest.approx(y.var(ddof=1))
    assert one.low == pytest.approx(11 * y.var(ddof=1) / chi2.isf(0.025, 11), rel=1e-5)
    assert one.high == pytest.approx(11 * y.var(ddof=1) / chi2.isf(0.975, 11), rel=1e-5)


def test_an_interval_holds_its_estimate_and_nothing_below_nothing() -> None:
    design = anova(np.random.default_rng(5).normal(size=(4, 30)), ("wording", "deal"))
    none = design.component(design.effect("wording"))
    assert none.low == 0.0 <= max(none.variance, 0) <= none.high


def test_factors_of_one_level_fall_out() -> None:
    y = np.random.default_rng(6).normal(size=(3, 20, 1, 1))
    design: Anova = anova(y, NAMES, WITHIN)
    assert design.names == ("wording", "deal")
    assert len(design.effects) == 3
