"""Tables of cells measured by wins, by a score, or by the wins of a team; and the level that
intervals and tests keep, also for few deals and rates near 0 and 1."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multinomial

from benchmarks import ended
from benchmarks.intervals import measured
from benchmarks.populations import FAMILIES
from gauntlet.common.terminal import WIDTH
from gauntlet.games.capabilities import Measure
from gauntlet.pipeline.log.results import Adjusted, CellResults
from gauntlet.pipeline.tables.formatting import amount
from gauntlet.pipeline.tables.sweep.findings import answers
from gauntlet.pipeline.tables.sweep.pairs import COLUMNS as PAIRS
from gauntlet.pipeline.tables.sweep.primary_test import DIFFERENCE, ESTIMATE, RAW
from gauntlet.pipeline.tables.sweep.summary import SUMMARY
from gauntlet.pipeline.tables.sweep.terminal import show_all
from gauntlet.stats.means import limits, p_value
from gauntlet.stats.paired import sign_flip
from tests.pipeline.conftest import Capsys
from tests.pipeline.made import (
    RANDOM,
    KnownBaseline,
    about,
    drawn_of,
    made_of,
    pairs_table,
    results,
    scored,
    summary_table,
    won,
)

WIN_TABLES = Path(__file__).parent / "win_tables"


def team(name: str, wins: Sequence[int]) -> CellResults:
    """Of two measured players."""
    return won(about(name, measured=2), wins)


def row(result: CellResults) -> dict[str, Any]:
    (found,) = summary_table([result]).to_dict("records")
    return dict(found)


def test_the_tables_of_wins_are_what_they_were() -> None:
    """win_tables/ was written before there were other measures; its intervals are those that hold
    for few deals."""
    cells = [
        won(about("a", baseline=RANDOM), [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]),
        won(about("b", baseline=RANDOM), [0, 0, 1, 1, 0, 0, 1, 0, 0, 1]),
        won(about("c", rotations=2, baseline=RANDOM), [1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1]),
        won(about("d"), [1, 0, 0]),
    ]
    summary, pairs = summary_table(cells), pairs_table(cells)
    for name, found in (("summary", summary), ("pairs", pairs)):
        before = pd.read_csv(WIN_TABLES / f"{name}.csv")
        read = pd.read_csv(io.StringIO(found[list(before.columns)].to_csv(index=False)))
        pd.testing.assert_frame_equal(read, before, rtol=1e-6)
    assert (list(summary.columns), list(pairs.columns)) == ([*SUMMARY], [*PAIRS])
    assert (len(SUMMARY) <= 36, len(PAIRS) <= 16) == (True, True)
    assert set(summary["estimator"]) == {"raw"}
    for best, raw in zip(ESTIMATE, RAW, strict=True):
        assert summary[best].to_list() == pytest.approx(summary[raw].to_list(), nan_ok=True)
    for best, raw in zip(DIFFERENCE, RAW, strict=True):
        assert pairs[best].to_list() == pytest.approx(pairs[raw].to_list(), nan_ok=True)


def test_a_mean_has_the_interval_and_the_test_of_its_deals() -> None:
    """Four deals with scores of 0 to 10: the limits of `stats.means`, one mirrored."""
    found = row(scored("a", [4, 6, 8, 6], baseline=KnownBaseline(5.0)))
    assert (found["measure"], found["raw"], found["baseline"]) == ("score", 6.0, 5.0)
    low, high = limits([4, 6, 8, 6], (0, 10))
    assert (found["raw_low"], found["raw_high"]) == (low, high)
    expected = p_value([4, 6, 8, 6], (0, 10), 5.0, "either")
    assert found["p"] == found["p_holm"] == pytest.approx(expected)
    at_limit = row(scored("a", [4, 6, 8, 6], baseline=KnownBaseline(float(low))))
    assert at_limit["p"] == pytest.approx(0.05)
    assert (found["measure_low"], found["measure_high"]) == (0.0, 10.0)


@pytest.mark.parametrize(
    ("cell", "deals", "bounds"),
    [
        (scored("a", [3, 5, 5, 7, 8, 8, 2, 10], rotations=2), [4, 6, 8, 6], (0, 10)),
        (scored("a", [4.0] * 10), [4] * 10, (0, 10)),
        (won(about("a", measured=3), [1, 2, 0, 3]), [1 / 3, 2 / 3, 0, 1], (0, 1)),
    ],
    ids=["rotated", "alike", "several measured"],
)
def test_a_deal_is_one_observation(
    cell: CellResults, deals: Sequence[float], bounds: tuple[float, float]
) -> None:
    """Whatever matches and players it has."""
    found = row(replace(cell, about=replace(cell.about, baseline=KnownBaseline(1 / 3))))
    assert found["raw"] == pytest.approx(np.mean(deals))
    assert (found["raw_low"], found["raw_high"]) == pytest.approx(limits(deals, bounds))
    assert found["p"] == pytest.approx(p_value(deals, bounds, 1 / 3, "either"))


@pytest.mark.parametrize(
    ("first", "second", "differences", "reach"),
    [
        (scored("a", [6, 7, 8, 9]), scored("b", [4, 6, 8, 8]), [2, 1, 0, 1], 10),
        (
            won(about("a", measured=2), [2, 1, 2]),
            won(about("b", measured=2), [0] * 3),
            [1, 0.5, 1],
            1,
        ),
    ],
    ids=["scores", "teams"],
)
def test_a_pair_is_compared_by_deal(
    first: CellResults, second: CellResults, differences: Sequence[float], reach: float
) -> None:
    """By permutations of the signs, but a deal of the other end could well be unseen among few."""
    (found,) = pairs_table([first, second]).to_dict("records")
    assert found["difference"] == pytest.approx(np.mean(differences))
    assert (found["a_only"], found["b_only"], found["test"]) == (3, 0, "permutation")
    assert (found["ci_low"], found["ci_high"]) == limits(differences, (-reach, reach))
    expected = p_value(differences, (-reach, reach), 0.0, "either")
    assert found["p"] == found["p_holm"] == expected
    assert expected > sign_flip(differences, [0.0] * len(differences), 0).p_value


def test_the_baselines_own_error_enters_the_test() -> None:
    scores = [6, 7, 8, 7] * 5
    exact, measured = (
        row(scored("a", scores, baseline=KnownBaseline(6.0, e)))["p"] for e in (0.0, 0.5)
    )
    assert exact < measured < 1


def test_a_measure_without_a_range_has_an_interval_from_100_deals_on(capsys: Capsys) -> None:
    chips = np.random.default_rng(1).normal(3, 1, 100)
    few, many = (
        results(about("a", Measure("chips"), baseline=KnownBaseline(3.0)), chips[:n], [0] * n)
        for n in (99, 100)
    )
    found = row(few)
    assert all(math.isnan(found[name]) for name in ("raw_low", "raw_high", "p"))
    assert math.isnan(found["measure_low"])
    assert "A measure without a range has an interval and a p from 100 deals on." in terminal_text(
        [few], capsys
    )
    assert "no interval, as a measure without a range takes 100 deals" in sentences([few])
    found = row(many)
    assert found["raw_low"] < found["raw"] < found["raw_high"]
    assert 0 < found["p"] < 1


def test_cells_of_two_measures_are_not_paired() -> None:
    cells = [scored("a", [6, 7]), scored("b", [4, 6]), won(about("c"), [1, 0])]
    other = results(about("d", Measure("score", 0, 100)), [1, 2], [0, 0])
    found = pairs_table([*cells, other])
    assert found[["cell_a", "cell_b"]].to_numpy().tolist() == [["a", "b"]]


def sentences(cells: Sequence[CellResults]) -> str:
    found = answers(made_of(cells))
    return " ".join(sentence for answer in found for sentence in answer.sentences)


def drawn(cells: Sequence[CellResults]) -> dict[str, str]:
    """The label of each figure's horizontal axis, by the figure's name."""
    figures = drawn_of(made_of(cells), "win_rates", "running_win_rates", "paired_differences")
    return {name: figure.axes[0].get_xlabel() for name, figure in figures.items()}


def terminal_text(cells: Sequence[CellResults], capsys: Capsys) -> str:
    show_all(made_of(cells))
    found = capsys.readouterr().out
    assert max(map(len, found.splitlines())) <= WIDTH
    return found


SPREAD = np.tile([-2.0, -1.0, 0.0, 1.0, 2.0], 40)
BETTER = [
    scored("model1b", (5 + SPREAD).tolist(), baseline=KnownBaseline(5.0)),
    scored("model10b", (6 + SPREAD[::-1]).tolist(), baseline=KnownBaseline(5.0)),
]


def test_sentences_name_the_measure() -> None:
    """200 deals, s = 1.4178, error .10025: by the normal law (2.394 + .8416) x .10025 = .3244, of
    three tests, each two-sided; and by the interval, which allows for scores of 0 and 10 that were
    not seen, .3733."""
    text = sentences(BETTER)
    assert "1 of 2 cells have a higher score than their baseline" in text
    assert "model1b cloze is not shown to beat the baseline: score 5.000 instead of 5.000" in text
    assert (
        "model10b cloze beats the baseline: score 6.000 instead of 5.000 (+1.000, 95% interval +0.7"
        in text
    )
    assert "model10b instead of model1b changes the mean score by +1.000 (95% interval +0." in text
    assert "Paired differences on the deals that both cells played" in text
    assert "a difference from the baseline of 0.3733 is found 4 times in 5" in text
    assert "%" not in text.replace("95%", "")
    assert "win" not in text


def test_figures_and_terminal_name_the_measure(capsys: Capsys) -> None:
    labels = drawn(BETTER)
    assert set(labels) == {"means_score", "running_means_score", "paired_differences_score"}
    assert labels["means_score"].startswith("score (95%")
    assert labels["paired_differences_score"].startswith(
        "difference of mean score on shared deals ("
    )
    text = terminal_text(BETTER, capsys)
    heading, first = text.splitlines()[1:3]
    assert heading.split()[:2] == ["cell", "score"]
    assert "z" not in heading.split()
    assert "5.000 4.774 to 5.226" in first
    assert "A ahead" in text


def test_two_measures_stand_in_one_table_each_in_its_own_terms(capsys: Capsys) -> None:
    cells = [*BETTER, won(about("c", baseline=RANDOM), [1, 0, 1])]
    assert {"win_rates", "means_score"} <= drawn(cells).keys()
    text = terminal_text(cells, capsys)
    assert text.split()[:2] == ["cell", "mean"]
    assert "(score)" in text
    assert "c cloze (win rate)     66.7%" in text


def test_a_measure_from_0_to_1_is_told_in_percent(capsys: Capsys) -> None:
    cell = about("a", Measure("accuracy", 0, 1), baseline=KnownBaseline(0.5))
    text = terminal_text([results(cell, [0.5, 0.75, 1.0], [0, 0, 0])], capsys)
    assert "accuracy" in text
    assert "75.0%" in text


@pytest.mark.parametrize(
    ("value", "words"),
    [(6, "6.000"), (0, "0.000"), (0.99999, "1.000"), (-12.3456, "-12.35"), (12345.6, "12,346"),
     (0.001234, "0.001234"), (math.nan, "-"), (math.inf, "no limit"), (-math.inf, "no limit")],
)  # fmt: skip
def test_amounts_have_four_digits_or_so(value: float, words: str) -> None:
    assert amount(value) == words


# --- few deals


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
    assert [worst for worst in found if not worst.holds] == []
    assert len(found) > 10


@pytest.mark.slow
def test_what_outcomes_standings_chips_and_money_say_holds() -> None:
    """The grid of `python -m benchmarks.ended`; minutes."""
    found = measured(ended.FAMILIES, 50)
    assert [worst for worst in found if not worst.holds] == []
    assert len(found) == 15
