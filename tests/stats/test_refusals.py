"""Invalid arguments of the statistics: one line that names the value and what it should be."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from gauntlet.games.watch import observation
from gauntlet.stats import (
    bradley_terry,
    components,
    decisions,
    intervals,
    means,
    multiple,
    paired,
    pooling,
    power,
    proportions,
    ratings,
    regression,
    sequential,
)
from gauntlet.stats.matches import Matches

SIDES = "side is one of above, below, either, got"
TIES = "min, average, strict_index, got 'max'"
LEVEL = "level must lie strictly between 0 and 1, got 95"
DEALS = "each value needs its deal, got 2 values and 1 deals"
WINS, NEED = "wins must be whole numbers", "2 decisions need"
ONE = Matches(2, *(np.array(one) for one in ([0], [1], [0.5], [0], [0])))


def decided(together: tuple[int, ...], chosen: list[int], games: list[int]) -> object:
    zeros = np.zeros(together, int)
    return decisions.Decisions(zeros, np.array(chosen), np.array(games), 10)


def met(first: int, second: int, score: float, seconds: int = 1) -> object:
    one = np.zeros(1, int)
    return Matches(4, one + first, np.full(seconds, second), one + score, one, one)


def pooled(y: list[float], covariance: np.ndarray) -> object:
    return pooling.partially_pooled(y, covariance)


def union(**wrong: Any) -> object:
    return observation.union([1, 0, 0], [1, 0, 0], [[1, 0, 0]], **wrong)


anova, chances = components.anova, np.zeros((2, 2))
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: bradley_terry.penalised(chances, -1.0), "spread must be above 0, got -1"),
    *(
        (lambda wins=wins: bradley_terry.penalised(wins), "(table|weight) of wins")
        for wins in (np.zeros((2, 3)), [[0.0]], [[0, -1], [1, 0]], np.eye(2), [[0, nan], [1, 0]])
    ),
    *(
        (lambda y=y: anova(y, ("wording", "deal")), "values|two levels")
        for y in (np.zeros((1, 1)), np.zeros(3), [[nan, 1.0]])
    ),
    (lambda: decisions.ranks([0.1, 0.2], 0, "max"), TIES),  # type: ignore[arg-type]
    (lambda: decided((2, 3, 3), [0, 3], [0, 1]), "0 to 2, got 3"),
    (lambda: decided((2, 3, 2), [0, 1], [0, 1]), NEED),
    (lambda: decided((2, 2, 2), [0, 1], [0]), NEED),
    (lambda: intervals.change(([1.0, 0.0], [0]), ([0.0], [0]), 1.0), "its deal"),
    (lambda: means.p_value([0, 1], (0, 1), 0.5, "up"), SIDES),  # type: ignore[arg-type]
    (lambda: means.limits([0, 1], (0, 1), 95), LEVEL),
    (lambda: means.limits([0, nan], (0, 1)), "values must be finite, got nan"),
    (lambda: means.per_deal([0, 1], [3]), DEALS),
    (lambda: multiple.holm([0.1, 1.5]), r"p-values must lie between 0 and 1, got 1\.5"),
    (lambda: multiple.holm([[0.1, 0.2]]), "one list, got an array with 2 axes"),
    (lambda: union(mode="mean"), "mode is one of fixed, paper, raw, got 'mean'"),
    (lambda: union(grid="row"), "grid is one of global, truth, guess, got 'row'"),
    (lambda: union(eps=0.0), "eps must lie strictly between 0 and 1, got 0"),
    (lambda: observation.identified("HC", []), "there is no guess"),
    (lambda: paired.count_pairs([0, 1], [0, 1, 1]), "one length, got shapes 2 and 3"),
    (lambda: paired.count_pairs([0, 1], [0, 0.5]), r"won \(1\) or not \(0\), got 0\.5"),
    (lambda: paired.PairCounts(1, 1, -1, 1), "b_only must be a whole number from 0, got -1"),
    (lambda: paired.clustered_mean([1, 2], [1]), DEALS),
    (lambda: paired.clustered_mean([1, nan], [1, 2]), "values must be finite, got nan"),
    (lambda: paired.sign_flip([1, inf], [0, 0], 0), "paired values must be finite, got inf"),
    (lambda: paired.sign_flip([1], [0], 0, 0), "resamples must be a whole number from 1, got 0"),
    (lambda: pooled([1.0, 2.0], np.eye(2)), "need"),
    (lambda: pooled([1.0, 2, 3], np.eye(2)), "need"),
    (lambda: pooled([1.0, 2, 3], np.zeros((3, 3))), "need"),
    (lambda: power.deals_one_proportion(0.4, 0.5), r"above the baseline 0\.5, got 0\.4"),
    (lambda: power.power_one_proportion(10, 0.5, 1.0), "baseline must lie strictly .* got 1"),
    (lambda: power.power_one_proportion(0, 0.5, 0.4), "deals must be a whole .* from 1, got 0"),
    (lambda: power.deals_one_proportion(0.6, 0.5, cells=0), "cells must be a whole .* got 0"),
    (
        lambda: power.detectable_one_proportion(100, 0.5, power=0.01),
        r"power must lie strictly between 0\.05 and 1, got 0\.01",
    ),
    (lambda: proportions.sign_test(-1, 3), "units ahead must be whole numbers"),
    (lambda: proportions.sign_test(1, 3, "greater"), SIDES),  # type: ignore[arg-type]
    (lambda: proportions.wilson(1, 2, level=95), LEVEL),
    (lambda: proportions.binomial_test(1, 2, 49.5), r"between 0 and 1, got 49\.5"),
    (lambda: proportions.fisher_test(1, 2, 3, 2), "baseline wins must be whole .* got 3 of 2"),
    *(
        (lambda wins=wins, games=games: proportions.wilson(wins, games), WINS)
        for wins, games in ((6, 5), (-1, 5), (2.5, 5), (nan, 5), (1, 0))
    ),
    (lambda: met(0, 0, 1.0), "nobody plays against itself"),
    (lambda: met(0, 9, 1.0), "numbered from 0 to 3"),
    (lambda: met(0, 1, 1.5), "scores must lie between 0 and 1, got 1.5"),
    (lambda: met(0, 1, 1.0, seconds=2), "lists of one length"),
    *(
        (lambda wrong=wrong: ratings.rated(ONE, **wrong), "is none of|strictly between")
        for wrong in ({"ties": "win"}, {"by": "day"}, {"level": 1.0})
    ),
    (lambda: regression.clustered_logit([0, 1], [[1]] * 3, [0, 1]), "one row a match"),
    (lambda: regression.clustered_logit([0, 2], [[1], [1]], [0, 1]), "won must be 0 or 1"),
    (lambda: regression.clustered_logit([0, 1], [[1], [inf]], [0, 1]), "design must be finite"),
    (lambda: regression.clustered_linear([nan], [[1.0]], [0]), "values must be finite"),
    (lambda: sequential.sprt([1], 0.5, 0.4), r"above the baseline 0\.5, got 0\.4"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()
