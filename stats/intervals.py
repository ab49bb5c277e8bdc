"""Intervals made of other intervals, where the samples behind them are not at hand."""

from __future__ import annotations

from math import hypot, sqrt

from stats import checks

Limits = tuple[float, float]


def difference(new: float, new_limits: Limits, old: float, old_limits: Limits) -> Limits:
    """An interval for new - old from the two estimates' own intervals, of the same level.

    Each end adds the distances of the limits that push it there, as squares: exact enough for
    independent estimates (G. Y. Zou and A. Donner (2008), Statistics in Medicine 27, 1693-1702),
    too wide for ones that rise and fall together. A limit that is nan makes its ends nan.
    """
    change = new - old
    below = hypot(new - new_limits[0], old_limits[1] - old)
    above = hypot(new_limits[1] - new, old - old_limits[0])
    return change - below, change + above


def prediction(estimate: float, limits: Limits, games: int, other_games: int) -> Limits:
    """Where the same figure from `other_games` other games lies, given ours from `games`.

    Our interval, each side wider by sqrt(1 + games / other_games): the errors of both samples,
    theirs as ours would be with as many games. Of a proportion it is what
    `stats.prediction.prediction_interval` gives, up to the method of the interval.
    Raises ValueError for no games.
    """
    checks.at_least_one(games, "games")
    checks.at_least_one(other_games, "other_games")
    wider = sqrt(1.0 + games / other_games)
    return estimate - wider * (estimate - limits[0]), estimate + wider * (limits[1] - estimate)
