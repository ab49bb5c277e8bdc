"""Ratings: matches in numbers, drawn anew, with limits that cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import t

from benchmarks.ratings import covered
from stats.bradley_terry import beats, penalised, spectral
from stats.matches import Matches, drawn_by_deal, drawn_by_match, widened
from stats.ratings import Ratings, as_gamebench, rated, without_each

Row = tuple[int, int, float, int, int]
"""First, second, what the first got, game, deal."""


def matches(rows: Sequence[Row], players: int = 4) -> Matches:
    first, second, scores, games, deals = (np.array(column) for column in zip(*rows, strict=True))
    return Matches(players, first, second, scores.astype(float), games, deals)


SOME = matches([
    (0, 1, 1.0, 0, 0), (1, 0, 0.25, 0, 0), (0, 2, 0.5, 0, 1), (2, 1, 0.0, 0, 1),
    (0, 1, 0.0, 1, 0), (1, 2, 1.0, 1, 1), (2, 0, 0.5, 1, 1), (0, 2, 1.0, 1, 2),
])  # fmt: skip
"""Three of four players, four matches in each of two games."""


# --- matches ---


def test_each_game_weighs_the_same() -> None:
    rows = [(0, 1, 1.0, 0, deal) for deal in range(8)] + [(0, 1, 0.0, 5, 0), (0, 1, 0.0, 5, 1)]
    own = matches(rows, 2)
    assert own.weights.tolist() == [10 / 16] * 8 + [10 / 4] * 2
    assert own.wins("half") == pytest.approx(np.array([[0, 5], [5, 0]]))
    assert rated(own, draws=0).fitted == pytest.approx([0, 0])


def test_points_means_and_who_met_whom() -> None:
    assert SOME.met.tolist() == [[0, 3, 3, 0], [3, 0, 2, 0], [3, 2, 0, 0], [0, 0, 0, 0]]
    assert SOME.points[0].tolist() == [0, 1.75, 2.0, 0]
    assert SOME.means == pytest.approx([3.75 / 6, 3.25 / 5, 1 / 5, np.nan], nan_ok=True)


def test_a_tie_is_half_a_win_for_each_or_does_not_count() -> None:
    half, drop = SOME.wins("half"), SOME.wins("drop")
    assert half[0, 2] - drop[0, 2] == half[2, 0] - drop[2, 0] == 1.0
    assert half[0, 1] == drop[0, 1]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 0, 1.0, 0, 0)], "nobody plays against itself"),
        ([(0, 9, 1.0, 0, 0)], "numbered from 0 to 3"),
        ([(0, 1, 1.5, 0, 0)], "scores must lie between 0 and 1, got 1.5"),
    ],
)
def test_what_are_no_matches(rows: list[Row], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        matches(rows)


def test_lists_of_other_lengths_are_no_matches() -> None:
    one, two = np.zeros(1, int), np.zeros(2, int)
    with pytest.raises(ValueError, match="lists of one length"):
        Matches(2, one, two, np.zeros(1), one, one)


# --- drawn anew ---


@pytest.mark.parametrize("ties", ["half", "drop"])
@pytest.mark.parametrize("draw", [drawn_by_match, drawn_by_deal])
def test_draws_are_the_matches_in_the_mean(draw: object, ties: str) -> None:
    """Of two matches a deal: deals of unequal size weigh what they have, which is a ratio."""
    even = SOME.where(np.array([True] * 6 + [False] * 2))
    rng = np.random.default_rng(0)
    tables = np.concatenate(list(draw(even, ties, 40_000, rng)))  # type: ignore[operator]
    assert tables.shape == (40_000, 4, 4)
    error = tables.std(0) / 200 + 1e-12
    assert (np.abs(tables.mean(0) - even.wins(ties)) < 5 * error).all()  # type: ignore[arg-type]


def test_a_draw_by_match_has_as_many_matches() -> None:
    tables = np.concatenate([*drawn_by_match(SOME, "half", 500, np.random.default_rng(1))])
    assert tables.sum((1, 2)) == pytest.approx(np.full(500, 8.0))
    assert len(np.unique(tables[:, 0, 1] * 4 % 1)) == 1  # quarters: whole matches were drawn


def test_a_draw_by_deal_keeps_deals_together_and_games_equal() -> None:
    """Game 0 has two deals, of which the first alone lets 0 meet 1, in two matches."""
    tables = np.concatenate([*drawn_by_deal(SOME, "half", 500, np.random.default_rng(2))])
    assert tables.sum((1, 2)) == pytest.approx(np.full(500, 8.0))
    only = SOME.where(SOME.games == 0)
    drawn = np.concatenate([*drawn_by_deal(only, "half", 500, np.random.default_rng(2))])
    assert drawn[:, 0, 1] == pytest.approx(7 * drawn[:, 1, 0])  # 1.75 and .25 of one deal
    assert drawn[:, 0, 2] == pytest.approx(drawn[:, 2, 0])
    assert (drawn > 0).sum((1, 2)).min() == 5


def test_few_deals_make_limits_wider() -> None:
    assert widened(SOME, 0.9) == pytest.approx(
        np.sqrt((3 / 1 + 4 / 2) / 2) * t.ppf(0.95, 3) / 1.6448536
    )
    many = matches([(0, 1, 1.0, 0, deal) for deal in range(100_000)], 2)
    assert widened(many, 0.9) == pytest.approx(1, abs=1e-4)


# --- ratings ---


def test_who_has_not_played_has_no_rating() -> None:
    for by in ("deal", "match"):
        found = rated(SOME, by=by, draws=50)  # type: ignore[arg-type]
        assert np.isnan(found.fitted).tolist() == [False, False, False, True]
        assert np.isnan([*found.limits, found.mean])[:, 3].all()
        assert found.matches.tolist() == [6, 5, 5, 0]
        assert np.isnan(found.chances).all(0)[3].all()
        assert np.nanmean(found.fitted) == pytest.approx(0, abs=1e-9)


def test_imputed_as_the_published_code_does() -> None:
    found = rated(SOME, "spectral", imputed=True, draws=50)
    assert np.isfinite([found.fitted, found.mean, *found.limits]).all()
    assert found.fitted == pytest.approx(spectral(SOME.wins("half")))


def test_parts_that_never_met_are_rated_apart() -> None:
    rows = [(0, 1, 1.0, 0, deal) for deal in range(4)] + [(2, 3, 0.0, 0, deal) for deal in range(4)]
    rows += [(1, 0, 1.0, 0, 4), (3, 2, 0.0, 0, 4)]
    found = rated(matches(rows), draws=200)
    assert found.parts.tolist() == [0, 0, 1, 1]
    assert found.fitted[:2].sum() == pytest.approx(0) == pytest.approx(found.fitted[2:].sum())
    chance, low, high = found.chances
    assert np.isnan(chance[:2, 2:]).all()
    assert low[0, 1] < chance[0, 1] < high[0, 1]


def test_ties_alone_rate_nobody_where_they_are_dropped() -> None:
    ties = matches([(0, 1, 0.5, 0, deal) for deal in range(5)], 2)
    assert np.isnan(rated(ties, ties="drop", draws=10).fitted).all()
    assert rated(ties, draws=10).fitted.tolist() == [0, 0]


def test_a_player_who_is_missing_from_a_draw_has_no_rating_in_it() -> None:
    rows = [(0, 1, float(deal % 2), 0, deal) for deal in range(30)] + [(2, 0, 1.0, 0, 99)]
    found = rated(matches(rows, 3), by="match", draws=4000)
    missing = np.isnan(found.draws[:, 2])
    assert missing.mean() == pytest.approx((30 / 31) ** 31, abs=0.03)
    assert found.present == pytest.approx([1, 1, 1 - missing.mean()])
    others = found.draws[missing][:, :2].mean(1)  # stay where they are beside all three
    assert others == pytest.approx(np.full(missing.sum(), found.fitted[:2].mean()))


def test_one_deal_of_a_game_has_no_limits() -> None:
    found = rated(SOME.where((SOME.games == 1) | (SOME.deals == 0)), draws=50)
    assert np.isnan(found.limits).all()
    assert np.isfinite(found.fitted[:3]).all()
    assert np.isnan(found.chances[1]).all()
    assert np.isnan(found.present).all()


def test_chances_follow_from_the_ratings() -> None:
    found = rated(SOME, draws=500)
    chance, low, high = found.chances
    assert chance[0, 2] == pytest.approx(beats(found.fitted)[0, 2])
    assert chance + chance.T == pytest.approx(np.where(np.isnan(chance), np.nan, 1), nan_ok=True)
    assert low + high.T == pytest.approx(np.where(np.isnan(low), np.nan, 1), nan_ok=True)
    assert np.nanmin(chance - low) > 0 < np.nanmin(high - chance)


def test_equal_seeds_give_equal_ratings() -> None:
    one, other, third = (rated(SOME, draws=100, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.draws, other.draws, equal_nan=True)
    assert not np.array_equal(one.draws, third.draws, equal_nan=True)


def test_without_each_game() -> None:
    def rate(some: Matches) -> Ratings:
        return rated(some, draws=10)

    found = dict(without_each(SOME, rate))
    assert list(found) == [0, 1]
    assert found[0].fitted[:3] == pytest.approx(
        penalised(SOME.where(SOME.games == 1).wins("half")[:3, :3])
    )


@pytest.mark.parametrize("wrong", [{"fit": "elo"}, {"ties": "win"}, {"by": "day"}, {"level": 1.0}])
def test_what_is_no_setting(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"is none of|strictly between"):
        rated(SOME, **wrong)  # type: ignore[arg-type]


def test_gamebench_settings() -> None:
    found, same = (
        as_gamebench(SOME, 200),
        rated(SOME, "spectral", "drop", "match", 200, imputed=True),
    )
    assert np.array_equal(found.draws, same.draws)
    assert np.isfinite(found.mean).all()


# --- what they are for ---


def test_limits_cover_known_strengths() -> None:
    """150 tournaments of six players: the standard error of the share is about .013."""
    assert covered(tournaments=150, seed=1).share == pytest.approx(0.9, abs=0.04)
