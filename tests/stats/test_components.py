"""Variance components: against statsmodels' sums of squares, and recovered from known ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.robustness import NAMES, WITHIN, recovered
from gauntlet.stats.components import Anova, anova


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
    assert one.low == pytest.approx(11 * y.var(ddof=1) / chi2.isf(0.025, 11), rel=1e-6)
    assert one.high == pytest.approx(11 * y.var(ddof=1) / chi2.isf(0.975, 11), rel=1e-6)


def test_an_interval_holds_its_estimate_and_nothing_below_nothing() -> None:
    design = anova(np.random.default_rng(5).normal(size=(4, 30)), ("wording", "deal"))
    none = design.component(design.effect("wording"))
    assert none.low == 0.0 <= max(none.variance, 0) <= none.high


def test_factors_of_one_level_fall_out() -> None:
    y = np.random.default_rng(6).normal(size=(3, 20, 1, 1))
    design: Anova = anova(y, NAMES, WITHIN)
    assert design.names == ("wording", "deal")
    assert len(design.effects) == 3
