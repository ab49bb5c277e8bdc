"""The baseline of any game: simulated if the game supports it, else played until precise enough."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt
from typing import Any

import pytest

from gauntlet.agents.base import Agent
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.agents.search import Search
from gauntlet.common.errors import UserError
from gauntlet.games.holdem import Holdem
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.pipeline.plan import baseline, time_budget
from gauntlet.pipeline.plan.baseline import ERROR, LEAST, Baseline, enough_games, measure
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.time_budget import ProgressCallbacks
from tests.games.bare import Bare, Judged, SumGuess, endless


def cell(game: Any, *agents: Agent, **changes: Any) -> Cell:
    """Player 0 is the subject, and is measured."""
    players = tuple(Player("player", agent, None, None) for agent in agents)
    plain = Cell("", {}, game, players, (0,), (0,), "win", False, False, "random", {})
    return replace(plain, **changes)


@cache
def baseline_of(game: str, **changes: Any) -> Baseline:
    games = {"bare": Bare(TicTacToe()), "hints": SumGuess()}
    known = measure(cell(games[game], Random(), Random(), **changes), 1)
    assert known is not None
    return known


def test_a_game_that_plays_itself_is_counted() -> None:
    counted = measure(cell(Uno(), Rule(), Random()), 1, 50_000)
    wins = int(Uno().simulate(("random", "random"), 50_000, 1)[0])
    assert counted == Baseline("random", wins, 50_000)
    assert counted.error == sqrt(counted.rate * (1 - counted.rate) / 50_000)


def test_a_score_is_counted_by_wins_and_draws() -> None:
    """Of 1260 games of random play X wins 737 and 160 are drawn; a draw spreads less than a win."""
    asked = cell(TicTacToe(), Random(), Random(), measure="match_score")
    known = measure(asked, 1, 400_000)
    assert known is not None
    assert known.games == 400_000
    spread = sqrt((737 + 40) / 1260 - (817 / 1260) ** 2)
    assert known.error == pytest.approx(spread / sqrt(known.games), 0.01)
    assert abs(known.rate - (737 + 80) / 1260) < 4 * known.error


@pytest.mark.parametrize(
    ("deals", "games"), [(1, 100_000), (400, 400_000), (2_000, 1_000_000), (10**6, 1_000_000)]
)
def test_more_deals_are_worth_a_sharper_baseline(deals: int, games: int) -> None:
    assert enough_games(deals) == games


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
    assert measure(cell(SumGuess(), Random(), Random()), 1) == before
    assert measure(cell(SumGuess(), Random(), Random()), 2) != before


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
    known = measure(cell(game, *seats, measure="bb_per_hand"), 3)
    slow = measure(cell(Judged(game), *seats, measure="bb_per_hand"), 3)
    assert known is not None
    assert slow is not None
    assert known.games == 4000
    assert slow.games >= LEAST
    assert abs(known.rate - slow.rate) < 4 * (known.error + slow.error)
    assert 0 < known.error == pytest.approx(slow.error * sqrt(slow.games / 4000), rel=0.2)
    both = measure(cell(game, *seats, measure="bb_per_hand", rotate=True, baseline="caller"), 3)
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


def test_long_games_are_played_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "PLIES", 500)
    known = measure(cell(Bare(TicTacToe(size=4)), Random(), Random()), 2)
    assert known is not None
    assert known.games == 100
    assert known.error > ERROR


def baseline_and_messages(
    game: Any, name: str = "win", slow: float = 300
) -> tuple[Baseline | None, list[str]]:
    """Return the baseline of a game, and the output about it."""
    told = list[str]()
    watch = ProgressCallbacks(lambda done, total: None, told.append)
    return measure(cell(game, Random(), Random(), measure=name), 7, 1, watch, slow), told


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


def test_a_game_that_is_not_slow_is_known_well_and_nothing_is_said() -> None:
    known, said = baseline_and_messages(Bare(TicTacToe(size=2, win_length=2)), slow=100)
    assert known is not None
    assert known.games >= LEAST
    assert said == []


def test_of_a_few_games_there_is_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_budget, "SECONDS", -1.0)
    assert baseline_and_messages(Bare(TicTacToe(size=5))) == (
        None,
        ["no baseline random of Bare: 1 deal took 60 s, and 30 are needed"],
    )


def test_without_a_scripted_player_in_another_seat_there_is_none() -> None:
    assert measure(cell(TicTacToe(), Random(), Search()), 1) is None
    assert measure(cell(TicTacToe(), Search(), Random(), baseline=None), 1) is None


def test_what_cannot_be_measured_is_told() -> None:
    with pytest.raises(UserError, match=r"baseline=rule is not a scripted player .*known: random"):
        measure(cell(Bare(TicTacToe()), Random(), Random(), baseline="rule"), 1)
    with pytest.raises(UserError, match="Endless is not over after 10,000 plies"):
        measure(cell(endless(), Random(), Random()), 1)


def test_a_slow_game_that_plays_itself_is_played_until_the_error_is_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Progress is shown to a waiting user: with UNO treated as slow."""
    monkeypatch.setattr(baseline, "_quick", lambda *_: False)
    told: list[tuple[int, int]] = []
    slow = cell(Uno(), Rule(), Random())
    known = measure(slow, 7, watch=ProgressCallbacks(lambda *reached: told.append(reached), print))
    assert known is not None
    assert known.games == 10_000
    assert known.error <= ERROR
    assert told == [(done, 10_000) for done in range(100, 10_001, 100)]
    assert measure(slow, 7) == known, "who watches changes nothing"
    assert len(told) == 100
