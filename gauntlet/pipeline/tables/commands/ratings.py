"""Ratings of players across games, as tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.disk import write_atomically
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.tables.formatting import UNBOUNDED, number, percent
from gauntlet.pipeline.tables.media.sheets import Column, View, count, decimal, share, text
from gauntlet.pipeline.tables.registry import (
    ROWS,
    TERMINAL,
    Part,
    Results,
    Sheet,
    table,
    tables,
    truncation_note,
)
from gauntlet.pipeline.tables.sweep.contest import Contest
from gauntlet.stats.matches import Matches, Ties
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.ratings import By, Ratings, clusters, single_deal, without_each
from gauntlet.stats.scores import PairScores, beats, cycles, maximal_lottery

Rate = Callable[[Matches], Ratings]
NAMES = ("ratings", "ratings_by_game", "ratings_pairs", "ratings_left_out")
EXTRA = ("ratings_cycles", "ratings_cost")
"""Tables of a contest with cycles, and with costs."""
SQUARE = 8
"""The most players whose pairwise chances a terminal shows."""
PART = "players of one part alone can be compared; empty without a rating"
RATING = {
    "rating": "log odds around the mean; empty without a match that counts",
    "low": "lower end of its interval; -inf where nothing bounds it",
    "high": "upper end of its interval; inf where nothing bounds it",
}


@dataclass(frozen=True)
class ContestRatings:
    """A contest, its ratings, the function that computes them, and how ties count and matches hang
    together."""

    contest: Contest
    ratings: Ratings
    rate: Rate
    ties: Ties = "half"
    by: By = "deal"


def contest_ratings(results: Results) -> ContestRatings | None:
    """Known to the results of `rate_contest` only."""
    return None


def rate_contest(contest: Contest, rate: Rate, ties: Ties = "half", by: By = "deal") -> Results:
    """The tables NAMES of a contest. ties, by: as in `rate`."""
    rated = ContestRatings(contest, rate(contest.matches), rate, ties, by)
    return Results(Path(), (), {contest_ratings: rated})


def write_ratings(results: Results, folder: Path) -> list[Path]:
    """Writes NAME.csv of each table, and of each of EXTRA that has rows; a file of EXTRA without
    any is removed. Returns the files."""
    files = []
    for name in (*NAMES, *EXTRA):
        file = folder / f"{name}.csv"
        if name in EXTRA and results[name].empty:
            file.unlink(missing_ok=True)
            continue
        write_atomically(file, results[name].to_csv(index=False))
        files.append(file)
    return files


def rating_sheets(results: Results) -> Iterator[Sheet]:
    for name, entry in tables().items():
        if name in NAMES + EXTRA:
            yield from entry.sheets(results, TERMINAL)


def _order(ratings: Ratings) -> list[int]:
    """The best first, players without a rating last."""
    return [int(at) for at in np.argsort(-ratings.fitted, kind="stable")]


def _rating(ratings: Ratings, at: int) -> dict[str, float]:
    low, high = ratings.limits
    return {"rating": ratings.fitted[at], "low": low[at], "high": high[at]}


def _part(ratings: Ratings, at: int) -> Any:
    return int(ratings.parts[at]) + 1 if ratings.parts[at] >= 0 else pd.NA


def rating_span(low: float, high: float) -> str:
    """An interval of a rating."""
    if np.isnan(low):
        return "-"
    ends = (f"{end:+.2f}" if np.isfinite(end) else UNBOUNDED for end in (low, high))
    return " to ".join(ends)


# --- over all games

OVERALL = {
    "player": "the player",
    **RATING,
    "score": "its mean score over matches",
    "score_by_game": "its mean score over games",
    "matches": "matches that count",
    "games": "games that it played",
    "part": PART,
}


def _overall_columns(part: Part) -> list[Column]:
    rated = part.results.cached(contest_ratings)
    level = rated.ratings.level if rated else np.nan
    return [
        Column("player", text("player")),
        Column("rating", decimal("rating", "+.2f")),
        Column(f"{level:.0%} interval", lambda row: rating_span(row["low"], row["high"])),
        Column("score", share("score")),
        Column("by game", share("score_by_game")),
        Column("matches", count("matches")),
        Column("games", text("games")),
    ]


OVERALL_VIEW = View(
    "Ratings",
    _overall_columns,
    "rating: log odds around the mean of those who win some and lose some, every game weighing the "
    "same; 1 more is 2.7 times the odds, or 174 points of Elo. score: mean over matches; by game: "
    "over games.",
)


@table("ratings", OVERALL, [OVERALL_VIEW], place=91, file="ratings.csv")
def overall(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each player, over all games."""
    rated = results.cached(contest_ratings)
    if rated is None:
        return
    contest, ratings = rated.contest, rated.ratings
    games = range(len(contest.games))
    means = np.array([contest.game_matches(game).means for game in games])
    for at in _order(ratings):
        game_means = means[:, at][~np.isnan(means[:, at])]
        yield {
            "player": contest.players[at],
            **_rating(ratings, at),
            "score": contest.matches.means[at],
            "score_by_game": game_means.mean() if game_means.size else np.nan,
            "matches": ratings.matches[at],
            "games": len(game_means),
            "part": _part(ratings, at),
        }


# --- by pair

PAIRS = {
    "player_a": "the first player",
    "player_b": "the second player",
    "chance": "the chance that A beats B, by their ratings; a tie is half a win unless dropped",
    "low": "lower end of its interval",
    "high": "upper end of its interval",
    "score": "A's mean score against B; empty where they did not meet",
    "matches": "their matches against each other",
}


def _chances(part: Part) -> Iterator[Sheet]:
    """Everyone against everyone, if there are few players."""
    names = list(part.results["ratings"]["player"])
    if not 2 < len(names) <= SQUARE:
        return
    chances = zip(_numbered(names), chance_matrix(part.rows, names), strict=True)
    rows = [[name, *(percent(x, 0) for x in row)] for name, row in chances]
    headings = ("chance to beat", *(str(at) for at, _ in enumerate(names, start=1)))
    foot = "The row's player against the column's, by their ratings. Limits: ratings_pairs.csv."
    yield Sheet("Who beats whom", headings, rows, foot, part.file)


def _numbered(names: Sequence[str]) -> list[str]:
    """The players with their places, which head columns, as names are long."""
    return [f"{at} {name}" for at, name in enumerate(names, start=1)]


@table("ratings_pairs", PAIRS, [_chances], place=92, file="ratings_pairs.csv")
def pairs(results: Results) -> Iterator[dict[str, Any]]:
    """A row for every two players: the chance that the first beats the second."""
    rated = results.cached(contest_ratings)
    if rated is None:
        return
    players, matches = rated.contest.players, rated.contest.matches
    chance, low, high = rated.ratings.chances
    match_counts, points = matches.met, matches.points
    for a, b in combinations(_order(rated.ratings), 2):
        yield {
            "player_a": players[a],
            "player_b": players[b],
            "chance": chance[a, b],
            "low": low[a, b],
            "high": high[a, b],
            "score": points[a, b] / match_counts[a, b] if match_counts[a, b] else np.nan,
            "matches": match_counts[a, b],
        }


def chance_matrix(pairs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """The chances of rows of ratings_pairs.csv, both ways; nan where unknown."""
    chances = pairs.pivot(index="player_a", columns="player_b", values="chance")
    order = pd.Index(list(names))
    matrix = chances.reindex(index=order, columns=order).to_numpy(float)
    return np.where(np.isnan(matrix), 1 - matrix.T, matrix)


# --- by game

BY_GAME = {
    "game": "the game",
    "player": "the player",
    **RATING,
    "score": "its mean score",
    "matches": "matches that count",
    "part": PART,
}


def _by_game_sheet(part: Part) -> Iterator[Sheet]:
    """A row for each game, if there are several, and a column for each player, of many the best."""
    names, games = list(part.results["ratings"]["player"])[:SQUARE], part.rows["game"].unique()
    if len(games) < 2:
        return
    wide = part.rows.pivot(index="game", columns="player", values="rating")
    shown = wide.reindex(index=games[: ROWS[part.medium]], columns=names)
    rows = [[visible(game), *(number(x, "+.2f") for x in row)] for game, *row in shown.itertuples()]
    foot = (
        f"Ratings of each game by itself, of {', '.join(_numbered(names))}; -: no match that "
        "counts. Limits: ratings_by_game.csv."
    )
    note = truncation_note(len(rows), len(games), part.file)
    headings = ["game", *map(str, range(1, len(names) + 1))]
    yield Sheet("By game", headings, rows, f"{note}\n{foot}".strip(), part.file)


@table("ratings_by_game", BY_GAME, [_by_game_sheet], place=93, file="ratings_by_game.csv")
def by_game(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each game and player."""
    rated = results.cached(contest_ratings)
    if rated is None:
        return
    contest = rated.contest
    for game, name in enumerate(contest.games):
        matches = contest.game_matches(game)
        ratings, means = rated.rate(matches), matches.means
        for at, player in enumerate(contest.players):
            row = {"game": name, "player": player, **_rating(ratings, at), "score": means[at]}
            yield {**row, "matches": ratings.matches[at], "part": _part(ratings, at)}


# --- without one game

LEFT_OUT = {
    "without": "the game left out",
    "player": "the player",
    **RATING,
    "place": "its place, 1 the best",
}


def _left_out_sheet(part: Part) -> Iterator[Sheet]:
    """A row for each player with its lowest and highest rating."""
    known, rows = part.rows.dropna(subset=["rating"]), []
    for name in part.results["ratings"]["player"]:
        group = known[known["player"] == name]
        if not group.empty:
            ends = group.loc[group["rating"].idxmin()], group.loc[group["rating"].idxmax()]
            texts = (f"{one['rating']:+.2f} without {one['without']}" for one in ends)
            rows.append((name, *texts, f"{group['place'].min()} to {group['place'].max()}"))
    most = ROWS[part.medium]
    note = truncation_note(most, len(rows), part.file)
    foot = "Ratings as each game in turn is left out: how much hangs on a single one."
    headings = ("player", "lowest", "highest", "places")
    yield Sheet("Without one game", headings, rows[:most], f"{note}\n{foot}".strip(), part.file)


@table("ratings_left_out", LEFT_OUT, [_left_out_sheet], place=94, file="ratings_left_out.csv")
def without_game(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each game left out and player: the ratings from all other games."""
    rated = results.cached(contest_ratings)
    if rated is None:
        return
    contest = rated.contest
    if len(contest.games) < 2:
        return
    for game, ratings in without_each(contest.matches, rated.rate):
        for place, at in enumerate(_order(ratings), 1):
            known = not np.isnan(ratings.fitted[at])
            row = {"without": contest.games[game], "player": contest.players[at]}
            yield {**row, **_rating(ratings, at), "place": place if known else pd.NA}


# --- players who beat each other in a circle

CYCLES = {
    "player": "the player",
    "rating": "log odds around the mean",
    "lottery": "its chance in the maximal lottery: the mix of players that nobody beats on average",
    "cycle": "who beats whom in its circle, each beyond chance (5% over all pairs, Holm); empty "
    "outside any",
}


def _sentences(part: Part) -> str:
    circles = ". ".join(dict.fromkeys(filter(None, part.rows["cycle"])))
    return (
        f"{circles}.\nEach beats the next beyond chance (5% over all pairs, by deals, Holm), so no "
        "order says who beats whom. lottery: the mix of players that nobody beats on average."
    )


CYCLES_VIEW = View(
    "Cycles",
    (
        Column("player", text("player")),
        Column("rating", decimal("rating", "+.2f")),
        Column("lottery", share("lottery")),
    ),
    _sentences,
)


@table("ratings_cycles", CYCLES, [CYCLES_VIEW], place=95, file="ratings_cycles.csv")
def cycle_rows(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each player, if some beat each other in a circle."""
    rated = results.cached(contest_ratings)
    if rated is None or rated.contest.matches.teams is not None or not rated.contest.swapped:
        return  # three in every rotation: seats that beat each other in a circle would look alike
    matches, names = rated.contest.matches, rated.contest.players
    if rated.by == "deal" and single_deal(matches):
        return
    scores = PairScores.from_matches(matches, rated.ties, clusters(matches, rated.by))
    if np.isnan(scores.means).any():  # two never met
        return
    circles = cycles(np.nan_to_num(beats(scores), nan=1.0) < ALPHA)
    if not circles:
        return
    ratings, lottery = rated.ratings.fitted, maximal_lottery(scores.means - 0.5)
    for at in np.argsort(-ratings, kind="stable"):
        sentences = [sentence(circle, names) for circle in circles if at in circle]
        yield {
            "player": names[at],
            "rating": ratings[at],
            "lottery": lottery[at],
            "cycle": ". ".join(sentences),
        }


def sentence(circle: Sequence[int], names: Sequence[str]) -> str:
    """ "A beats B beats C beats A"."""
    return " beats ".join(names[at] for at in (*circle, circle[0]))
