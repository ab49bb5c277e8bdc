"""Scripted players: the baseline of any game, simulated if the game supports it, else played until
precise enough."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportions_ztest

from gauntlet.agents.base import Agent
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.agents.search import Search
from gauntlet.common.errors import UserError
from gauntlet.games.holdem import Holdem
from gauntlet.games.playouts import simulate
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.papers.llm_uno.reproduction import seat_table
from gauntlet.pipeline.config.read import CellConfig, SeatConfig
from gauntlet.pipeline.plan import baseline, time_budget
from gauntlet.pipeline.plan.baseline import (
    ERROR,
    LEAST,
    Baseline,
    measure,
    scripted_policies,
)
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.time_budget import ProgressCallbacks
from gauntlet.stats.power import deals_one_proportion
from tests.games.bare import Bare, Judged, SumGuess, endless
from tests.pipeline.conftest import Sweep


def seated(game: Any, *agents: Agent, **changes: Any) -> Cell:
    """Player 0 is the subject, and is measured."""
    players = tuple(Player("player", agent, None, None) for agent in agents)
    plain = Cell("", {}, game, players, (0,), (0,), "win", False, False, "random", {})
    return replace(plain, **changes)


@cache
def baseline_of(game: str, **changes: Any) -> Baseline:
    games = {"bare": Bare(TicTacToe()), "hints": SumGuess()}
    known = measure(seated(games[game], Random(), Random(), **changes), 1)
    assert known is not None
    return known


def test_a_game_that_plays_itself_is_counted() -> None:
    counted = measure(seated(Uno(), Rule(), Random()), 1, 50_000)
    wins = int(Uno().simulate(("random", "random"), 50_000, 1)[0])
    assert counted == Baseline("random", wins, 50_000)
    assert counted.error == sqrt(counted.rate * (1 - counted.rate) / 50_000)


def test_a_score_is_counted_by_wins_and_draws() -> None:
    """Of 1260 games of random play X wins 737 and 160 are drawn; a draw spreads less than a win."""
    asked = seated(TicTacToe(), Random(), Random(), measure="match_score")
    known = measure(asked, 1, 400_000)
    assert known is not None
    assert known.games == 400_000
    spread = sqrt((737 + 40) / 1260 - (817 / 1260) ** 2)
    assert known.error == pytest.approx(spread / sqrt(known.games), 0.01)
    assert abs(known.rate - (737 + 80) / 1260) < 4 * known.error


def test_another_game_is_played_until_the_error_is_small() -> None:
    """X wins 737 of 1260 games of random play; 1 / (4 x .005^2) games are always enough."""
    known = baseline_of("bare")
    assert abs(known.rate - 737 / 1260) < 4 * known.error
    assert known.error <= ERROR
    assert LEAST <= known.games <= 10_000
    assert known.wins / known.games == pytest.approx(known.rate)
    assert known.error == pytest.approx(sqrt(known.rate * (1 - known.rate) / known.games), rel=0.01)


def test_one_seed_is_one_baseline() -> None:
    before = baseline_of("hints")
    baseline._from_deals.cache_clear()
    assert measure(seated(SumGuess(), Random(), Random()), 1) == before
    assert measure(seated(SumGuess(), Random(), Random()), 2) != before


def test_seats_exchanged_are_a_mean_over_deals() -> None:
    """A player in both seats in turn wins half of the decisive games: 1 - 8/63."""
    known = baseline_of("bare", rotate=True)
    assert known.games % 2 == 0
    assert abs(known.rate - (1 - 8 / 63) / 2) < 4 * known.error


def test_what_the_cell_measures_has_its_mean() -> None:
    """The guess is off by 24 in 15 sums of 9 pairs of cards, and half of all words add nothing."""
    known = baseline_of("hints", measure="points")
    off = sum(abs(a + b - guess) for a in range(3) for b in range(3) for guess in range(5)) / 45
    assert abs(known.rate - (10 - off)) < 4 * known.error
    assert known.error <= 20 * ERROR
    assert 0 < known.wins < known.games


def test_a_game_that_plays_itself_for_its_own_measure_does_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the rules the same within the error; over both seats no player gains on itself."""
    monkeypatch.setattr(baseline, "SCORED", 4000)
    game, seats = Holdem(mode="hands", hands=1), (Random(), Random())
    known = measure(seated(game, *seats, measure="bb_per_hand"), 3)
    slow = measure(seated(Judged(game), *seats, measure="bb_per_hand"), 3)
    assert known is not None
    assert slow is not None
    assert known.games == 4000
    assert slow.games >= LEAST
    assert abs(known.rate - slow.rate) < 4 * (known.error + slow.error)
    assert 0 < known.error == pytest.approx(slow.error * sqrt(slow.games / 4000), rel=0.2)
    both = measure(seated(game, *seats, measure="bb_per_hand", rotate=True, baseline="caller"), 3)
    assert both is not None
    assert abs(both.rate) < 4 * both.error < 4


def test_of_several_measured_players_it_is_the_mean_and_they_are_no_independent_games() -> None:
    """Both get the same returns: two give no more information than one."""
    one, both = baseline_of("hints"), baseline_of("hints", measured=(0, 1))
    assert both.games == 2 * one.games
    assert both.wins == 2 * one.wins
    assert (both.rate, both.error) == pytest.approx((one.rate, one.error))


def test_a_measure_without_a_range_is_known_by_its_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of a hundredth of the standard deviation take 10,000 deals."""
    monkeypatch.setattr(baseline, "ERROR", 0.01)
    deals = [(0.0, 50.0 * (number % 2)) for number in range(2_000)]
    assert not baseline._enough(deals, float("inf"))
    assert baseline._enough(deals * 2, float("inf"))


def baseline_and_messages(
    game: Any, name: str = "win", slow: float = 300
) -> tuple[Baseline | None, list[str]]:
    """Return the baseline of a game, and the output about it."""
    told = list[str]()
    watch = ProgressCallbacks(lambda done, total: None, told.append)
    return measure(seated(game, Random(), Random(), measure=name), 7, 1, watch, slow), told


@pytest.mark.parametrize("game", [Bare(TicTacToe()), TicTacToe()], ids=["rules", "itself"])
def test_a_slow_game_is_played_as_often_as_the_sweep_needs_and_that_is_told(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_budget, "PATIENT", 0.0)
    monkeypatch.setattr(baseline, "QUICK", 0.0)
    known, (line,) = baseline_and_messages(game)
    assert known is not None
    assert known.games == 300
    assert ERROR < known.error < 0.03
    assert f"300 games, as they are slow: win {known.rate:.3f}" in line
    assert f"standard error {known.error:.3f}" in line


def test_of_a_few_games_there_is_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_budget, "SECONDS", -1.0)
    assert baseline_and_messages(Bare(TicTacToe(size=5))) == (
        None,
        ["no baseline random of Bare: 1 deal took 60 s, and 30 are needed"],
    )


def test_without_a_scripted_player_in_another_seat_there_is_none() -> None:
    assert measure(seated(TicTacToe(), Random(), Search()), 1) is None
    assert measure(seated(TicTacToe(), Search(), Random(), baseline=None), 1) is None


def test_what_cannot_be_measured_is_told() -> None:
    with pytest.raises(UserError, match=r"baseline=rule is not a scripted player .*known: random"):
        measure(seated(Bare(TicTacToe()), Random(), Random(), baseline="rule"), 1)
    with pytest.raises(UserError, match="Endless is not over after 10,000 plies"):
        measure(seated(endless(), Random(), Random()), 1)


# --- published seatings


SEEDS = 200
MEASURED = {
    # RLCard, 800,000 games for two random players, 500,000 for rule-rule-random, 100,000 else
    "two_random": ((50.55, 49.45), 0.11),
    "two_rule": ((50.56, 49.44), 0.31),
    "three_random": ((34.04, 33.26, 32.70), 0.29),
    "three_rule": ((34.28, 33.09, 32.63), 0.29),
    "rule_rule_random": ((36.24, 35.20, 28.56), 0.13),
}


def test_the_published_seatings_win_as_measured() -> None:
    seats = seat_table()
    assert list(seats["seats"].unique()) == list(MEASURED)
    for seating, rows in seats.groupby("seats"):
        percent, width = MEASURED[str(seating)]
        for (_, row), expected in zip(rows.iterrows(), percent, strict=True):
            half_widths = sqrt(((row["ci_high"] - row["ci_low"]) / 2) ** 2 + (width / 100) ** 2)
            errors = abs(row["win_rate"] - expected / 100) / (half_widths / 1.96)
            assert errors < 3, (seating, row["seat"])  # thirteen seats: three standard errors


def table(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


def test_fewer_deals_later_leave_the_sharper_baseline(sweep: Sweep, folder: Path) -> None:
    words = ("game=tic_tac_toe", "agent=random", "baseline=random")
    for deals in (120, 2, 2):
        assert sweep(*words, f"deals={deals}") == 0
        (row,) = table(folder / "summary.csv").to_dict("records")
        assert row["baseline_n"] == 120_000


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
        policies = [str(policy) for policy in scripted_policies(cell)]
        wins: Any = simulate(cell.game, policies, games, seed)[1]
        won = [wins, baseline.wins]
        _, p_value = proportions_ztest(won, [games, baseline.games], alternative="larger")
        hits += bool(p_value < alpha)
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
