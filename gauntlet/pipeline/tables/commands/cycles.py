"""Players who beat each other in a circle: no order of theirs says who beats whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gauntlet.pipeline.tables.commands.ratings import ContestRatings, contest_ratings
from gauntlet.pipeline.tables.media.sheets import Column, View, decimal, share, text
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.ratings import clusters, single_deal
from gauntlet.stats.scores import PairScores, beats, cycles, maximal_lottery

CYCLES = {
    "player": "the player",
    "rating": "log odds around the mean",
    "lottery": "its chance in the maximal lottery: the mix of players that nobody beats on average",
    "cycle": "who beats whom in its circle, each beyond chance (5% over all pairs, Holm); empty "
    "outside any",
}


def _sentences(part: Part) -> str:
    found = ". ".join(dict.fromkeys(filter(None, part.rows["cycle"])))
    return (
        f"{found}.\nEach beats the next beyond chance (5% over all pairs, by deals, Holm), so no "
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
    found = results.cached(contest_ratings)
    if found is None or found.contest.matches.teams is not None:
        return
    scores = _scores(found)
    if scores is None:
        return
    names, margins = found.contest.players, scores.means - 0.5
    circles = cycles(np.nan_to_num(beats(scores), nan=1.0) < ALPHA)
    if not circles:
        return
    ratings, lottery = found.ratings.fitted, maximal_lottery(margins)
    for at in np.argsort(-ratings, kind="stable"):
        own = [sentence(circle, names) for circle in circles if at in circle]
        yield {
            "player": names[at],
            "rating": ratings[at],
            "lottery": lottery[at],
            "cycle": ". ".join(own),
        }


def _scores(ratings: ContestRatings) -> PairScores | None:
    """Of every two players; None if two never met, or there are no deals to judge by."""
    matches = ratings.contest.matches
    if ratings.by == "deal" and single_deal(matches):
        return None
    scores = PairScores.from_matches(matches, ratings.ties, clusters(matches, ratings.by))
    return None if np.isnan(scores.means).any() else scores


def sentence(circle: Sequence[int], names: Sequence[str]) -> str:
    """ "A beats B beats C beats A"."""
    return " beats ".join(names[at] for at in (*circle, circle[0]))
