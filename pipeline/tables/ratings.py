"""Ratings of players across games, as tables:

ratings.csv            a row a player, over all games
ratings_by_game.csv    a row for each game and player
ratings_pairs.csv      a row for every two: the chance that the first beats the second
ratings_left_out.csv   a row for each game left out and player: what all other games give
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.pipeline.tables.numbers import number, percent
from gauntlet.pipeline.tables.pairwise_matches import Contest
from gauntlet.pipeline.tables.registry import Sheet
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import Ratings, without_each

RATED = ("rating", "low", "high")
RATING_COLUMNS = ["player", *RATED, "score", "score_by_game", "matches", "games", "part"]
GAME_COLUMNS = ["game", "player", *RATED, "score", "matches", "part"]
PAIR_COLUMNS = ["player_a", "player_b", "chance", "low", "high", "score", "matches"]
LEFT_OUT_COLUMNS = ["without", "player", *RATED, "place"]

NO_LIMIT = "no limit"
"""The end of an interval that nothing bounds: its player won, or lost, everything."""
SQUARE = 8
"""The most players of whom a terminal shows the chances of every two."""

Rate = Callable[[Matches], Ratings]


@dataclass(frozen=True)
class RatingTables:
    """The four tables, one a file. level: of all limits."""

    overall: pd.DataFrame
    by_game: pd.DataFrame
    pairs: pd.DataFrame
    left_out: pd.DataFrame
    level: float

    def write(self, folder: Path) -> list[Path]:
        """Returns the files."""
        tables = {"ratings": self.overall, "ratings_by_game": self.by_game}
        tables |= {"ratings_pairs": self.pairs, "ratings_left_out": self.left_out}
        for name, table in tables.items():
            write_atomically(folder / f"{name}.csv", table.to_csv(index=False))
        return [folder / f"{name}.csv" for name in tables]


def rating_tables(contest: Contest, rate: Rate) -> RatingTables:
    """Everything there is to rate. rate: matches in, ratings out.

    A field is empty where it cannot be had; low and high are -inf and inf where nothing bounds
    them. score: the mean over matches, score_by_game over games. part: players of one part alone
    can be compared. place: 1 the best.
    """
    whole = rate(contest.matches)
    each = {number: rate(contest.of_game(number)) for number in range(len(contest.games))}
    return RatingTables(
        _frame(_overall(contest, whole), RATING_COLUMNS),
        _frame(_by_game(contest, each), GAME_COLUMNS),
        _frame(_pairs(contest, whole), PAIR_COLUMNS),
        _frame(_left_out(contest, rate), LEFT_OUT_COLUMNS),
        whole.level,
    )


def _frame(rows: Iterator[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=list(columns))
    whole = [name for name in ("part", "place") if name in columns]
    return table.astype(dict.fromkeys(whole, "Int64"))


def _overall(contest: Contest, found: Ratings) -> Iterator[dict[str, Any]]:
    games = [contest.of_game(number) for number in range(len(contest.games))]
    means = np.array([game.means for game in games])
    for at in _order(found.fitted):
        played = means[:, at][~np.isnan(means[:, at])]
        yield {
            "player": contest.players[at],
            **_rated(found, at),
            "score": contest.matches.means[at],
            "score_by_game": played.mean() if played.size else np.nan,
            "matches": found.matches[at],
            "games": len(played),
            "part": _part(found, at),
        }


def _by_game(contest: Contest, each: dict[int, Ratings]) -> Iterator[dict[str, Any]]:
    for game, found in each.items():
        means = contest.of_game(game).means
        for at in range(len(contest.players)):
            yield {
                "game": contest.games[game],
                "player": contest.players[at],
                **_rated(found, at),
                "score": means[at],
                "matches": found.matches[at],
                "part": _part(found, at),
            }


def _pairs(contest: Contest, found: Ratings) -> Iterator[dict[str, Any]]:
    chance, low, high = found.chances
    met, points = contest.matches.met, contest.matches.points
    for a, b in combinations(_order(found.fitted), 2):
        yield {
            "player_a": contest.players[a],
            "player_b": contest.players[b],
            "chance": chance[a, b],
            "low": low[a, b],
            "high": high[a, b],
            "score": points[a, b] / met[a, b] if met[a, b] else np.nan,
            "matches": met[a, b],
        }


def _left_out(contest: Contest, rate: Rate) -> Iterator[dict[str, Any]]:
    if len(contest.games) < 2:
        return
    for game, found in without_each(contest.matches, rate):
        for place, at in enumerate(_order(found.fitted), 1):
            known = not np.isnan(found.fitted[at])
            told = {"without": contest.games[game], "player": contest.players[at]}
            yield {**told, **_rated(found, at), "place": place if known else None}


def _order(ratings: np.ndarray) -> list[int]:
    """The best first, who has none last."""
    return [int(at) for at in np.argsort(-ratings, kind="stable")]


def _rated(found: Ratings, at: int) -> dict[str, float]:
    low, high = found.limits
    return dict(zip(RATED, (found.fitted[at], low[at], high[at]), strict=True))


def _part(found: Ratings, at: int) -> int | None:
    return int(found.parts[at]) + 1 if found.parts[at] >= 0 else None


# --- for people ---


def sheets(tables: RatingTables) -> Iterator[Sheet]:
    yield _overall_sheet(tables)
    if 2 < len(tables.overall) <= SQUARE:
        yield _square(tables)
    if tables.by_game["game"].nunique() > 1:
        yield _game_sheet(tables)
        yield _left_out_sheet(tables)


def _overall_sheet(tables: RatingTables) -> Sheet:
    rows = [
        (
            row["player"],
            number(row["rating"], "+.2f"),
            span(row["low"], row["high"]),
            percent(row["score"]),
            percent(row["score_by_game"]),
            f"{row['matches']:,}",
            f"{row['games']}",
        )
        for _, row in tables.overall.iterrows()
    ]
    foot = (
        "rating: log odds around the mean of those who win some and lose some, every game weighing "
        "the\nsame; 1 more is 2.7 times the odds, or 174 points of Elo. score: mean over matches; "
        "by game: over\ngames."
    )
    headings = (
        *("player", "rating", f"{tables.level:.0%} interval", "score"),
        *("by game", "matches", "games"),
    )
    return Sheet("Ratings", headings, rows, foot, "ratings.csv")


def span(low: float, high: float) -> str:
    """An interval of a rating, as a person reads it."""
    return "-" if np.isnan(low) else f"{_limit(low)} to {_limit(high)}"


def _limit(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else NO_LIMIT


def _square(tables: RatingTables) -> Sheet:
    names = list(tables.overall["player"])
    chances: dict[tuple[str, str], float] = {}
    for a, b, chance in zip(*(tables.pairs[name] for name in PAIR_COLUMNS[:3]), strict=True):
        chances |= {(a, b): chance, (b, a): 1 - chance}
    rows = [
        (name, *(percent(chances.get((name, other), np.nan), 0) for other in names))
        for name in names
    ]
    headings = ("chance to beat", *(name[:9] for name in names))
    foot = "The row's player against the column's, by their ratings. Limits: ratings_pairs.csv."
    return Sheet("Who beats whom", headings, rows, foot, "ratings_pairs.csv")


def _game_sheet(tables: RatingTables) -> Sheet:
    """A row a game: of many players the best."""
    names = list(tables.overall["player"])[:SQUARE]
    ratings = tables.by_game.set_index(["game", "player"])["rating"]
    rows = [
        (str(game), *(number(ratings[game, name], "+.2f") for name in names))
        for game in dict.fromkeys(tables.by_game["game"])
    ]
    foot = "Ratings of each game by itself; -: no match that counts. Limits: ratings_by_game.csv."
    return Sheet("By game", ("game", *(name[:9] for name in names)), rows, foot)


def _left_out_sheet(tables: RatingTables) -> Sheet:
    rows = []
    for name in tables.overall["player"]:
        own = tables.left_out[tables.left_out["player"] == name].dropna(subset=["rating"])
        if own.empty:
            continue
        least, most = own.loc[own["rating"].idxmin()], own.loc[own["rating"].idxmax()]
        places = f"{own['place'].min()} to {own['place'].max()}"
        told = (f"{one['rating']:+.2f} without {one['without']}" for one in (least, most))
        rows.append((name, *told, places))
    headings = ("player", "lowest", "highest", "places")
    foot = "Ratings as each game in turn is left out: how much hangs on a single one."
    return Sheet("Without one game", headings, rows, foot, "ratings_left_out.csv")
