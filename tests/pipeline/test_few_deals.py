"""Intervals and tests of the tables keep their nominal level, also for few deals and rates near 0
and 1: computed exactly at the hardest points, and simulated on the whole grid (slow)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from benchmarks import ended
from benchmarks.intervals import measured
from benchmarks.populations import FAMILIES
from gauntlet.pipeline.log.results import Adjusted, CellResults
from tests.pipeline.made import KnownBaseline, about, pairs_table, summary_table, won

Row = Mapping[str, Any]


def covered(row: Row, truth: float) -> bool:
    return bool(row["ci_low"] <= truth <= row["ci_high"])


def outcome(wins: int, deals: int, rotations: int) -> list[int]:
    """This many deals won in every rotation, the others in none."""
    return [1] * (wins * rotations) + [0] * ((deals - wins) * rotations)


@pytest.mark.parametrize(
    ("deals", "rate", "rotations"),
    [
        (10, 0.0567, 1),  # the z test rejects in .11
        (27, 0.0204, 1),  # Wilson's interval covers .896
        (10, 0.02, 2),  # Student's t over deals covers .18
        (10, 0.98, 2),
        (30, 0.9, 2),  # z by the clustered error rejects in .14
    ],
)
def test_a_cell_of_few_deals_covers_and_keeps_its_level(
    deals: int, rate: float, rotations: int
) -> None:
    """Computed exactly over all numbers of deals won; rotated deals are all or nothing."""
    baseline, right, alarms = KnownBaseline(rate), 0.0, 0.0
    cells = [
        won(about(f"{k}", rotations=rotations, baseline=baseline), outcome(k, deals, rotations))
        for k in range(deals + 1)
    ]
    for k, row in enumerate(summary_table(cells).to_dict("records")):
        chance = float(binom.pmf(k, deals, rate))
        right += chance * covered(row, rate)
        alarms += chance * (row["p"] < 0.05)
    assert right >= 0.93
    assert alarms <= 0.06


@pytest.mark.parametrize(
    ("rates", "rotations"),
    [
        ((0.1, 0.1), 1),
        ((0.1, 0.1), 2),
        ((0.1, 0.02), 2),  # Student's t over deals covers .71
    ],
)
def test_a_pair_of_few_deals_covers_and_keeps_its_level(
    rates: tuple[float, float], rotations: int
) -> None:
    """Ten deals, independent cells, rotated deals all or nothing: computed exactly."""
    deals, (a, b) = 10, rates
    chances = [a * b + (1 - a) * (1 - b), a * (1 - b), b * (1 - a)]
    right = alarms = 0.0
    for first, second in product(range(deals + 1), repeat=2):
        if first + second > deals:
            continue
        sides = ([1] * first + [0] * (deals - first), [0] * first + [1] * second)
        sides[1].extend([0] * (deals - first - second))
        cells = [
            won(about(name, rotations=rotations), np.repeat(side, rotations).tolist())
            for name, side in zip("ab", sides, strict=True)
        ]
        (row,) = pairs_table(cells).to_dict("records")
        told = [deals - first - second, first, second]
        chance = float(multinomial.pmf(told, deals, chances))
        right += chance * covered(row, a - b)
        alarms += chance * (row["p_holm"] < 0.05)
    assert right >= 0.93
    assert a != b or alarms <= 0.06


def test_a_luck_adjusted_rate_of_few_deals_stays_a_rate_and_knows_how_little_it_knows() -> None:
    """Two deals, of advantage -1 and .5: Student's t would say -886 to 1,019%."""
    cell = about("a", baseline=KnownBaseline(0.5, 0.0005))
    result = won(cell, [0, 1])
    found = adjusted(result, [-0.5, 1.0])
    assert found["estimate"] == 0.25
    assert 0 <= found["ci_low"] < 0.25 < found["ci_high"] <= 1
    alike = adjusted(won(cell, [1] * 10), [0.5] * 10)
    assert alike["ci_high"] - alike["ci_low"] > 0.25, "what differs could be unseen in ten deals"


def adjusted(result: CellResults, values: Sequence[float]) -> Row:
    known = Adjusted(np.arange(len(values)), np.array(values), "random", 0.5, 0.0)
    (row,) = summary_table([replace(result, adjusted=known)]).to_dict("records")
    return row


@pytest.mark.slow
def test_every_interval_covers_and_every_test_keeps_its_level() -> None:
    """The grid of `python -m benchmarks.intervals`; minutes."""
    found = measured(FAMILIES, 1_000)
    assert [worst for worst in found if not worst.kept] == []
    assert len(found) > 10


@pytest.mark.slow
def test_what_outcomes_standings_chips_and_money_say_holds() -> None:
    """The grid of `python -m benchmarks.ended`; minutes."""
    found = measured(ended.FAMILIES, 50)
    assert [worst for worst in found if not worst.kept] == []
    assert len(found) == 15
