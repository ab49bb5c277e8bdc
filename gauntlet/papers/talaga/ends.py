"""Results of TALAGA's players against each other, read from the tables of our output_dirs.

A player is named by its file in conf/player, or by its prompt if it is the sweep's subject; the
model, one per output_dir, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import read_table
from gauntlet.stats import checks
from gauntlet.stats.means import per_deal
from gauntlet.stats.proportions import clopper_pearson

ASKED = re.compile(r"llm\..+\.(\w+(?:\[.*\])?)")
NAMED = re.compile(r"(\w+)\..*")
PERCENT = 100.0
ENDS = {"win": 1.0, "draw": 0.0, "loss": -1.0}
"""Possible results of a match, with the sign of the return."""
TURNED = {"all": "all", "first": "second", "second": "first"}
"""The opponent's view of who moved first."""


@dataclass(frozen=True)
class Ends:
    """How often a player won, drew and lost, in percent; margin: wins minus losses, in points.

    independent: effective number of independent games, by result. Tic-Tac-Toe has no deal, but
    games of one deal share the players' random numbers, above all those against several opponents.
    Shares have Clopper and Pearson's limits for that many games, margins the run's limits by deal.
    """

    games: int
    deals: int
    independent: Mapping[str, int]
    win: Estimate
    draw: Estimate
    loss: Estimate
    margin: Estimate


Met = Mapping[tuple[str, str], Mapping[str, Ends]]
"""By player and opponent, and by which matches: all, or those with the player first or second."""

Counted = Mapping[tuple[str, str], tuple[Estimate, int, int]]
"""By player and opponent: an estimate, and its number of matches or hands, and of deals."""


def model_name(name: str) -> str:
    """Shorten a player's name: llm.pocket.talaga is talaga, tot.pocket tot, minimax minimax."""
    for form in (ASKED, NAMED):
        if found := form.fullmatch(name):
            return found[1]
    return name


def sides(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the measured player and its opponent, by name of cell."""
    pairs = {}
    for about in Folder(folder).sweep_cells():
        other, own = map(model_name, about.players)
        pairs[about.name] = (own, other)
    return pairs


def results_by_pair(folder: Path) -> dict[tuple[str, str], dict[str, Ends]]:
    """The results of each two players of an output_dir with finished matches, for both sides."""
    players, results = sides(folder), dict[tuple[str, str], dict[str, Ends]]()
    table, matches = read_table(folder / "outcomes.csv"), match_table(folder)
    for _, row in table[table["matches"] > 0].iterrows():
        player, other = players[row["cell"]]
        both = matches[(matches["player"] == player) & (matches["opponent"] == other)]
        ends = _ends(row, both if row["moved"] == "all" else both[both["moved"] == row["moved"]])
        results.setdefault((other, player), {})[TURNED[row["moved"]]] = opponent_view(ends)
        results.setdefault((player, other), {})[row["moved"]] = ends
    return results


def match_table(folder: Path) -> pd.DataFrame:
    """Return every two-player match for both sides: player, opponent, moved, deal and end, the sign
    of the player's return."""
    return pd.DataFrame(_match_rows(folder), columns=["player", "opponent", "moved", "deal", "end"])


def _match_rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    place = Folder(folder)
    for about in place.sweep_cells():
        names = [model_name(name) for name in about.players]
        for record in place.matches(about.stem):
            for at in (0, 1):
                seat = (at + record.rotation) % 2
                moved = "second" if seat else "first"
                yield names[at], names[1 - at], moved, record.deal, np.sign(record.returns[seat])


def _ends(row: pd.Series[Any], matches: pd.DataFrame) -> Ends:
    """row: from outcomes.csv or standings.csv. matches: the rows of `played` that it summarises."""
    independent = {
        end: effective_games(matches["end"] == sign, matches["deal"]) for end, sign in ENDS.items()
    }
    win, draw, loss = (_share(row[end], games) for end, games in independent.items())
    lead = (PERCENT * (2 * row[f"score{limit}"] - 1) for limit in ("", "_low", "_high"))
    sizes = (int(row["matches"]), int(row["deals"]))
    return Ends(*sizes, independent, win, draw, loss, Estimate(*lead))


def effective_games(values: ArrayLike, deals: ArrayLike, level: float = 0.95) -> int:
    """Return the effective sample size: the number of independent games that determine a share as
    precisely as these, which share deals.

    values: 0 or 1 per game. The result is their number over the design effect, with the degrees of
    freedom that the deals leave (E. L. Korn and B. I. Graubard (1998), Survey Methodology 24,
    193-201). It is at most their number, which it equals where each game has a deal to itself or
    nothing varies. Raises ValueError as `stats.means.per_deal` does.
    """
    x = checks.finite(np.asarray(values, float), "values")
    means, games = per_deal(x, deals), x.size
    if games < 2 or len(means) < 2 or np.ptp(x) == 0 or np.ptp(means) == 0:
        return games
    alone, shared = x.var(ddof=1) / games, means.var(ddof=1) / len(means)
    tail = (1.0 + checks.inside(level, "level")) / 2.0
    degrees = float(stdtrit(games - 1, tail) / stdtrit(len(means) - 1, tail))
    return min(games, max(1, round(float(games * alone / shared) * degrees**2)))


def _share(value: float, games: int) -> Estimate:
    limits = clopper_pearson(round(value * games), games)
    return Estimate(PERCENT * value, PERCENT * float(limits.low), PERCENT * float(limits.high))


def opponent_view(ends: Ends) -> Ends:
    """Return the same results from the other side."""
    independent = {**ends.independent, "win": ends.independent["loss"],
                   "loss": ends.independent["win"]}  # fmt: skip
    lead = Estimate(-ends.margin.value, -ends.margin.high, -ends.margin.low)
    return Ends(ends.games, ends.deals, independent, ends.loss, ends.draw, ends.win, lead)


def results_by_player(folder: Path) -> dict[str, Ends]:
    """The results of each player of a round robin over all opponents; none unless all met."""
    results, matches = {}, match_table(folder)
    for _, row in read_table(folder / "standings.csv").iterrows():
        player = model_name(row["player"])
        results[player] = _ends(row, matches[matches["player"] == player])
    return results
