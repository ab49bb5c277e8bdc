"""Scripted players simulated instead of played: the published seatings, and the effect of help."""

from __future__ import annotations

from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binom

from gauntlet.pipeline.config.read import CellConfig, SeatConfig
from gauntlet.pipeline.plan.baseline import Baseline, measure
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.sweep.simulate import wins_by_seat
from gauntlet.stats.power import deals_one_proportion
from gauntlet.stats.proportions import two_sample_z
from tests.pipeline.conftest import Sweep

SEEDS = 200
MEASURED = {
    # RLCard, 800,000 games for two random players, 500,000 for rule-rule-random, 100,000 else
    "two_random": ((50.55, 49.45), 0.11),
    "two_rule": ((50.56, 49.44), 0.31),
    "three_random": ((34.04, 33.26, 32.70), 0.29),
    "three_rule": ((34.28, 33.09, 32.63), 0.29),
    "rule_rule_random": ((36.24, 35.20, 28.56), 0.13),
}


def table(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def test_the_published_seatings_win_as_measured(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_baselines", "deals=100000") == 0
    assert sorted(path.name for path in folder.iterdir()) == ["seats.csv", "summary.csv"]
    summary = table(folder / "summary.csv")
    assert list(summary["agent"]) == ["random", "rule", "random", "rule", "rule"]
    assert set(summary["model"]) == {"-"}
    seats = table(folder / "seats.csv")
    assert list(seats["seats"].unique()) == list(MEASURED)
    for seating, rows in seats.groupby("seats"):
        percent, width = MEASURED[str(seating)]
        for (_, row), expected in zip(rows.iterrows(), percent, strict=True):
            half_widths = sqrt(((row["ci_high"] - row["ci_low"]) / 2) ** 2 + (width / 100) ** 2)
            errors = abs(row["win_rate"] - expected / 100) / (half_widths / 1.96)
            assert errors < 3, (seating, row["seat"])  # thirteen seats: three standard errors


def test_a_game_with_draws_is_simulated_by_its_score(sweep: Sweep, folder: Path) -> None:
    """Of 1260 games of random play O wins 363 and 160 are drawn."""
    words = ("game=tic_tac_toe", "agent=random", "simulate=true", "baseline=random")
    assert sweep(*words, "deals=20000") == 0
    (row,) = table(folder / "summary.csv").to_dict("records")
    assert row["raw"] == row["estimate"] == pytest.approx((363 + 80) / 1260, abs=0.02)
    assert row["raw_low"] < (363 + 80) / 1260 < row["raw_high"]
    assert row["baseline"] == pytest.approx((363 + 80) / 1260, abs=0.002)


def test_the_rule_player_wins_54_percent_from_seat_1(sweep: Sweep, folder: Path) -> None:
    assert sweep("experiment=llm_uno_solo", "agent=rule", "simulate=true", "deals=100000") == 0
    (row,) = table(folder / "summary.csv").to_dict("records")
    assert abs(row["raw"] - 0.542) < 0.003


def test_counts_never_take_the_place_of_played_matches(sweep: Sweep, folder: Path) -> None:
    assert sweep("agent=rule", "deals=2") == 0
    before = (folder / "summary.csv").read_bytes()
    assert sweep("agent=rule", "deals=2", "simulate=true") == 2
    assert (folder / "summary.csv").read_bytes() == before


def coop(policy: str) -> Cell:
    """The cooperative seating with a scripted player in the model's seat."""

    def seat(agent: str, subject: bool = False) -> SeatConfig:
        node = {"_target_": "agents.rule.Rule", "policy": agent}
        return SeatConfig(agent, subject, node, {}, {}, 1 if subject else None)

    (cell,) = build_cells(
        [
            CellConfig(
                experiment="coop",
                labels=dict.fromkeys(("game", "agent", "model", "prompt", "seats"), "-"),
                game={"_target_": "games.uno.Uno"},
                seats=(seat("rule"), seat("rule"), seat(policy, subject=True)),
                measured=(1,),
                rotate=False,
                paper_bugs=False,
                baseline="random",
                packages=(),
            )
        ]
    )
    return cell


@cache
def known_baseline() -> Baseline:
    found = measure(coop("random"), 1)
    assert found is not None
    return found


def count_significant(policy: str, games: int, alpha: float = 0.05) -> int:
    """Count the sweeps, of SEEDS with `games` games, in which seat 1 is found to be above its
    baseline."""
    cell, baseline, hits = coop(policy), known_baseline(), 0
    for seed in range(SEEDS):
        wins: Any = wins_by_seat(cell, games, seed)[1]
        test = two_sample_z(wins, games, baseline.wins, baseline.games)
        hits += bool(test.p_value < alpha)
    return hits


PLANNED = deals_one_proportion(0.3919, 0.3520, power=0.9)


def test_how_many_games_help_takes_to_be_found() -> None:
    """Four points over 35.2%: about twelve hundred games for a power of 90%."""
    assert 1150 < PLANNED < 1300


def test_the_helper_is_found_as_often_as_planned() -> None:
    low, high = binom.interval(0.999, SEEDS, 0.9)
    assert low <= count_significant("helper", PLANNED) <= high


def test_a_helper_that_does_not_help_is_found_no_more_often_than_alpha() -> None:
    low, high = binom.interval(0.999, SEEDS, 0.05)
    assert low <= count_significant("random", PLANNED) <= high


def test_a_saboteur_is_never_taken_for_a_helper() -> None:
    assert count_significant("saboteur", PLANNED) == 0


@pytest.mark.slow
def test_played_matches_tell_the_helper_from_the_saboteur(sweep: Sweep, folder: Path) -> None:
    """The same through deals, matches, records and paired tables: 800 deals, 7.8 points."""
    assert sweep("experiment=llm_uno_yardsticks", "agent=helper,saboteur", "deals=800") == 0
    (pair,) = table(folder / "pairs.csv").to_dict("records")
    assert pair["p"] < 0.01
    assert pair["ci_low"] < 0.0774 < pair["ci_high"]
