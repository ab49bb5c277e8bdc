"""Summaries of the matches of one observer and match-up: identification, losses, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import get_args

import numpy as np
import pandas as pd

from gauntlet.games.rock_paper_scissors.strategies import grid
from gauntlet.games.watch import observation
from gauntlet.games.watch.observation import EPS, Grid, Mode
from gauntlet.papers.observer.runs import WatchedMatch, implied_outcomes, same_outcomes
from gauntlet.stats.means import limits
from gauntlet.stats.proportions import clopper_pearson

ROUGH = 1e-3
"""A second eps for the scales: guesses that rule out the truth are penalised less."""
PERCENT = 100.0
EVERY = grid().reshape(-1, 3)
"""The outcomes of all pairs."""


MEANS = ("ce", "brier", "ev_loss", "union", "late", "spikes")
MEDIANS = ("understood", "lag", "alike")
SHARES = {"player1": "sir_1", "player2": "sir_2", "same_outcome": "same_outcome",
          "null_rate": "null_rate"}  # fmt: skip
"""Columns in percent, mapped to the measures of a match."""


def totals(matches: Iterable[WatchedMatch]) -> pd.DataFrame:
    """Return one row per observer and match-up, from the measures of its matches. Rates in percent
    of guesses; `deal_*` is the 95% interval of the mean over deals, `exact_*` Clopper and Pearson's
    treating guesses as independent. MEDIANS are medians over deals, all others means. `blind`: no
    loss depends on the guess about one of the players."""
    return pd.DataFrame([_row(own) for own in group_matches(matches)])


def group_matches(matches: Iterable[WatchedMatch]) -> Iterator[list[WatchedMatch]]:
    """Yield the matches of each match-up and observer, in order of first appearance."""
    every = list(matches)
    order = list(dict.fromkeys((one.pair, one.observer) for one in every))
    every.sort(key=lambda row: (order.index((row.pair, row.observer)), row.deal))
    for _, own in groupby(every, key=lambda row: (row.pair, row.observer)):
        yield list(own)


def _row(matches: list[WatchedMatch]) -> dict[str, object]:
    each, guesses = pd.DataFrame([dict(one.measures) for one in matches]), matches[0].guesses
    right, total = each["sir"].to_numpy(float), len(matches) * len(guesses)
    exact = clopper_pearson(round(float(right.sum()) * len(guesses)), total)
    low, high = limits(right, (0.0, 1.0))
    rates = {
        "sir": right.mean(), "sir_sd": right.std(ddof=1) if len(matches) > 1 else np.nan,
        "deal_low": low, "deal_high": high, "exact_low": exact.low, "exact_high": exact.high,
        **{name: each[measure].mean() for name, measure in SHARES.items()},
    }  # fmt: skip
    return {
        "match_up": "-".join(matches[0].pair),
        "observer": matches[0].observer,
        "deals": len(matches),
        "guesses": total,
        **{name: PERCENT * float(rate) for name, rate in rates.items()},
        **{name: each[name].mean() for name in MEANS},
        **{name: each[name].median() for name in MEDIANS},
        "blind": bool(each["blind"].any()),
    }


def unions(matches: Iterable[WatchedMatch]) -> pd.DataFrame:
    """Return the mean Union of each observer and match-up for every mode, grid and eps, and the
    observer's rank in its match-up, 1 the lowest loss."""
    rows = [
        {"match_up": "-".join(group[0].pair), "observer": group[0].observer, "mode": mode,
         "grid": over, "eps": eps,
         "union": observation.mean(np.concatenate([one.union(mode, over, eps) for one in group])),
         "alike": int(same_outcomes(group[0].pair).sum())}
        for group in group_matches(matches)
        for mode, over, eps in union_variants()
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    by = table.groupby(["match_up", "mode", "grid", "eps"])["union"]
    return table.assign(place=by.rank(method="min").astype("Int64"))


def union_variants() -> Iterator[tuple[Mode, Grid, float]]:
    """Yield every variant of Union; `raw` has no grid."""
    for mode in get_args(Mode):
        for over in get_args(Grid) if mode != "raw" else ("global",):
            for eps in (EPS, ROUGH):
                yield mode, over, eps


def by_round(matches: Iterable[WatchedMatch]) -> pd.DataFrame:
    """The mean over deals of each loss after every guess, and the share naming both players."""
    parts = []
    for group in group_matches(matches):
        truth, guesses = implied_outcomes(*group[0].pair), np.array([one.outcomes for one in group])
        scaled = observation.scaled_cross_entropy(truth, guesses, EVERY)
        right = [[guess == one.pair for guess in one.guesses] for one in group]
        columns = {
            "union": [one.union() for one in group],
            "union_paper": [one.union("paper") for one in group],
            "brier": observation.brier(truth, guesses),
            "ce_norm": scaled,
            "both_named": np.array(right, float),
        }
        curves = {name: np.ma.masked_invalid(np.array(values)).mean(axis=0).filled(np.nan)
                for name, values in columns.items()}  # fmt: skip
        parts.append(
            pd.DataFrame(curves).assign(
                match_up="-".join(group[0].pair),
                observer=group[0].observer,
                guess=range(1, guesses.shape[1] + 1),
                alike=int(same_outcomes(group[0].pair).sum()),
            )
        )
    return pd.concat(parts, ignore_index=True)
