"""Findings about GameBench, from its printed tables and the matches that its authors published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from gauntlet.papers.audit.findings import Finding, Open
from gauntlet.papers.gamebench.matches import WHERE
from gauntlet.papers.gamebench.rows import ROUNDED, THEIR_DRAWS, rating_gap
from gauntlet.papers.gamebench.tables import (
    ALL,
    OVERALL,
    PublishedResults,
    columns,
    fields,
    heading,
)
from gauntlet.papers.published import paper
from gauntlet.papers.verdicts import LEVEL
from gauntlet.pipeline.tables.sweep.contest import Contest

SIDES = (("gpt-3.5", "gpt-3.5-cot"), ("gpt-4-rap", "gpt-4-cot"))
"""The pairs compared in the caption of Table 1."""


def printed(part: str) -> Any:
    """Return one part of the paper's numbers."""
    return paper("gamebench")[part]


def values(table: str) -> dict[tuple[str, str], float]:
    """Return a printed table by agent and column."""
    told = paper("gamebench")
    return {(agent, column): value for agent, column, _, value in fields(told, table)}


def above(agent: str, other: str) -> list[str]:
    """Return the printed columns in which `agent` is rated above `other`."""
    found = values("table1")
    return [column for column in printed("columns") if found[agent, column] > found[other, column]]


def actual_games(names: list[str]) -> str:
    """Name the games whose numbers these printed columns really hold."""
    told = paper("gamebench")
    return ", ".join(sorted(heading(told, told["columns"][name]) for name in names)) or "none"


# --- from print ---


def gb_02() -> Finding:
    claims = printed("captions")
    (small, its_cot), (rap, cot) = SIDES
    ahead, behind = above(small, its_cot), above(rap, cot)
    return (
        f"Table 1: {small} beats its CoT in {', '.join(claims['small_beats_cot'])}; {rap} is below "
        f"{cot} but in {', '.join(claims['rap_beats_cot'])}",
        f"as printed {small} is above in {', '.join(ahead)}, really {actual_games(ahead)}; {rap} "
        f"is above in {', '.join(behind)}, really {actual_games(behind)}",
        {*claims["small_beats_cot"]} == {*ahead} == {*actual_games(ahead).split(", ")}
        and {*claims["rap_beats_cot"]} == {*behind} == {*actual_games(behind).split(", ")},
    )


def gb_03() -> Finding:
    told, best = paper("gamebench"), {}
    for column in told["columns"]:
        known = {a: v for (a, c), v in values("table2").items() if c == column and not np.isnan(v)}
        if "human" in known:
            best[column] = (known["human"], max(known.values()))
    behind = [column for column, (own, most) in best.items() if own < most]
    except_for = printed("captions")["human_not_best"]
    scores = ", ".join(
        f"{actual_games([column])} {own:.2f}"
        for column, (own, _) in best.items()
        if column in behind or actual_games([column]) == except_for
    )
    return (
        f"App. C.1: the human has the best score in every game it played but {except_for}",
        f"of {len(best)} games all but {actual_games(behind)}: {scores}",
        actual_games(behind) == except_for,
    )


def gb_04() -> Finding:
    scores, ratings = values("table2"), values("table1")
    rated = [place for place, score in scores.items() if np.isnan(score)]
    ratings_text = "; ".join(
        f"{agent} in {actual_games([column for one, column in rated if one == agent])}"
        for agent in dict.fromkeys(agent for agent, _ in rated)
    )
    distinct = sorted({ratings[place] for place in rated if actual_games([place[1]]) == "ALS"})
    return (
        f"Table 1 rates all {len(printed('agents'))} agents in all {len(printed('columns'))} games",
        f"{len(rated)} of these ratings have no match behind them, as Table 2 shows: "
        f"{ratings_text}; they are the regularisation's (in ALS "
        f"{', '.join(f'{one:g}' for one in distinct)} for both)",
        not rated,
    )


def gb_07() -> Finding:
    scores, told = values("table2"), paper("gamebench")
    really = next(column for column, game in told["columns"].items() if game == "sea_battle")
    return (
        "App. C.3: GPT-4 loses every Sea Battle match",
        f"the column headed SB has {scores['gpt-4', 'SB']:.2f}; Sea Battle is printed as {really}, "
        f"with {scores['gpt-4', really]:.2f}: the text is right and the heading is not",
        scores["gpt-4", "SB"] == 0,
    )


def gb_11() -> Finding:
    table = printed("table3")
    off = [name for name, one in table.items() if one["total"] != len(one["games"])]
    totals = ", ".join(str(one["total"]) for one in table.values())
    return (
        f"Table 3: {totals} games by category",
        f"{len(table) - len(off)} of {len(table)} totals are the numbers of games listed. Hidden "
        f"information: {', '.join(table['hidden_information']['games'])}; Air, Land & Sea and Pit "
        "have hidden hands too",
        not off,
    )


# --- from the matches ---


def gb_01(recomputed: PublishedResults) -> Finding:
    published = paper("gamebench")

    def scored(agent: str, game: str, value: float) -> bool:
        return abs(recomputed.score(agent, game) - value) <= ROUNDED

    def rated(agent: str, game: str, value: float) -> bool:
        return rating_gap(recomputed, agent, game, value).p_value >= LEVEL

    def fitting(
        table: str, fits: Callable[[str, str, float], bool], game: Callable[[str], str]
    ) -> int:
        return sum(fits(agent, game(column), v) for (agent, column), v in values(table).items())

    def own_game(column: str) -> str:
        return ALL if column == OVERALL else str(published["games"][column])

    really = columns(published).__getitem__
    wrong = [
        column
        for column, game in published["columns"].items()
        if published["games"][column] != game
    ]
    scores = [fitting("table2", scored, game) for game in (own_game, really)]
    ratings = [fitting("table1", rated, game) for game in (own_game, really)]
    order = ", ".join(f"{column} is {actual_games([column])}" for column in wrong)
    return (
        f"Tables 1 and 2: columns {', '.join(published['columns'])}",
        f"as headed {scores[0]} of 63 scores and {ratings[0]} of 70 ratings are those of the "
        f"matches (ratings tested at 5%, with the noise of {THEIR_DRAWS:,} draws); {scores[1]} and "
        f"{ratings[1]} are where {order}",
        not wrong,
    )


def gb_06(recomputed: PublishedResults) -> Finding:
    matches, human = recomputed.matches("hive"), recomputed.agents.index("human")
    without = (matches.first != human) & (matches.second != human)
    ties = int((matches.scores[without] == 0.5).sum())
    return (
        f"{len(printed('columns'))} games tell the agents apart",
        f"Hive does not: {ties} of its {int(without.sum())} matches without the human are ties, "
        f"which the ratings drop; {int((~without).sum())} are left, human against gpt-4",
        ties < without.sum(),
    )


def gb_08(recomputed: PublishedResults) -> Finding:
    matches, names = recomputed.contest.matches, recomputed.agents
    few = {name: recomputed.match_count(name, ALL) for name in ("human", "gpt-4-rap")}
    strangers = [names[int(at)] for at in np.flatnonzero(matches.met[names.index("human")] == 0)]
    never = ", ".join(name for name in strangers if name != "human")
    low, high = recomputed.ratings[ALL].limits
    text = ", ".join(f"{name} {low[at]:.2f} to {high[at]:.2f}" for at, name in enumerate(names))
    middle = [names.index(name) for name in ("gpt-4-rap", "gpt-3.5-cot", "gpt-4-cot")]
    return (
        f"{len(matches)} matches order {len(names)} agents",
        f"random is in {recomputed.match_count('random', ALL)}, "
        f"{', '.join(f'{name} in {count}' for name, count in few.items())}; the human never meets "
        f"{never}. 90% limits: {text}: those in the middle overlap",
        max(low[middle]) > min(high[middle]),
    )


def gb_09(recomputed: PublishedResults) -> Finding:
    names = recomputed.agents
    games = [recomputed.matches(game).means for game in recomputed.contest.games]
    by_game = np.nanmean(np.array(games), axis=0)
    pooled = recomputed.contest.matches.means
    far = int(np.abs(pooled - by_game).argmax())
    text = ", ".join(
        f"{n} {p:.2f} / {g:.2f}" for n, p, g in zip(names, pooled, by_game, strict=True)
    )
    return (
        "Table 2, Overall: an agent's score, as Overall in Table 1 weighs games equally",
        f"it is the mean over matches, not games: {text}; farthest apart is {names[far]}, by "
        f"{abs(pooled[far] - by_game[far]):.2f}",
        bool(np.abs(pooled - by_game).max() < ROUNDED),
    )


def gb_10(recomputed: PublishedResults) -> Finding:
    low, high = recomputed.ratings[ALL].limits
    human, rap = (recomputed.agents.index(name) for name in ("human", "gpt-4-rap"))
    return (
        "App. C.1: the upper limit of GPT-4-RAP just reaches the human's lower one",
        f"90% limits: {high[rap]:.2f} against {low[human]:.2f}, of {recomputed.draws:,} draws",
        abs(float(high[rap] - low[human])) < 0.1,
    )


CHECKS: dict[str, Callable[[], Finding]] = {
    "GB-02": gb_02,
    "GB-03": gb_03,
    "GB-04": gb_04,
    "GB-07": gb_07,
    "GB-11": gb_11,
}

OF_MATCHES: dict[str, Callable[[PublishedResults], Finding]] = {
    "GB-01": gb_01,
    "GB-06": gb_06,
    "GB-08": gb_08,
    "GB-09": gb_09,
    "GB-10": gb_10,
}
"""Findings that need the published matches."""

OPEN: dict[str, Open] = {
    "GB-05": (
        "Sec. 3.3: B = 10,000, maximum likelihood",
        "words alone: the public code has 1,000 draws, Luce spectral ranking regularised by .001, "
        "drops ties and takes shares as wins; at either B the printed ratings are met",
    ),
    "GB-12": (
        "App. F: a match costs base x depth x actions x 6",
        "a figure to plan by: no token counts are given",
    ),
    "GB-13": (
        "App. J and K: the games by their published rules",
        "words alone: the public code plays reduced ones (Codenames of 21 cards, Pit's corner at "
        "6, Hive without beetles, Two Rooms of 6 cards, Traitor of 5 roles with fixed sides)",
    ),
}
"""Findings that no number decides: the claim, and why."""


def checks(
    contest: Contest | None,
) -> tuple[Mapping[str, Callable[[], Finding]], Mapping[str, Open]]:
    """Return the findings that can be recomputed and those that cannot, with or without matches."""
    if contest is None:
        missing = dict.fromkeys(OF_MATCHES, ("of the published matches", WHERE))
        return CHECKS, dict(sorted((OPEN | missing).items()))
    again = PublishedResults(contest)
    found = {name: partial(check, again) for name, check in OF_MATCHES.items()}
    return dict(sorted((CHECKS | found).items())), OPEN
