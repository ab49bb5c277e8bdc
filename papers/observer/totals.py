"""What the matches of one observer and one match-up come to: identification, losses, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import get_args

import numpy as np
import pandas as pd

from games.rock_paper_scissors.steady import grid
from papers.observer.runs import Watched, blind, implied, same
from stats import observation
from stats.means import limits
from stats.observation import EPS, Grid, Mode
from stats.proportions import clopper_pearson

ROUGH = 1e-3
"""The other eps that scales are taken with: a guess that rules out what happens costs less."""
PERCENT = 100.0
EVERY = grid().reshape(-1, 3)
"""The outcomes of all pairs."""


def totals(matches: Iterable[Watched]) -> pd.DataFrame:
    """A row an observer and match-up. Rates in percent of guesses; `seed_*` is the 95% interval of
    the mean over deals, `cp_*` Clopper and Pearson's as if guesses were independent. Of rounds to
    understanding and of the lag the median over deals. `alike`: pairs of the outcomes of the
    truth."""
    return pd.DataFrame([_row(own) for own in grouped(matches)])


def grouped(matches: Iterable[Watched]) -> Iterator[list[Watched]]:
    """The matches of each match-up and observer, in the order in which these first come."""
    every = list(matches)
    order = list(dict.fromkeys((one.pair, one.observer) for one in every))
    every.sort(key=lambda one: (order.index((one.pair, one.observer)), one.deal))
    for _, own in groupby(every, key=lambda one: (one.pair, one.observer)):
        yield list(own)


def _row(own: list[Watched]) -> dict[str, object]:
    pair, guesses = own[0].pair, sum(len(one.guesses) for one in own)
    found = [observation.identified(one.pair, one.guesses) for one in own]
    right = np.array([one.sir for one in found])
    hits = round(sum(one.sir * len(match.guesses) for one, match in zip(found, own, strict=True)))
    exact = clopper_pearson(hits, guesses)
    low, high = limits(right, (0.0, 1.0))
    alike = [observation.alike(one.outcomes, implied(*pair)).mean() for one in own]
    courses = [observation.course(one.union()) for one in own]
    each = np.array([one.each for one in found])
    rates = {
        "sir": right.mean(), "sir_sd": right.std(ddof=1) if len(own) > 1 else np.nan,
        "seed_low": low, "seed_high": high, "cp_low": exact.low, "cp_high": exact.high,
        "player1": each[:, 0].mean(), "player2": each[:, 1].mean(), "by_class": np.mean(alike),
        "null_rate": np.mean([one.null_rate for one in found]),
    }  # fmt: skip
    return {
        "match_up": "-".join(pair),
        "observer": own[0].observer,
        "deals": len(own),
        "guesses": guesses,
        **{name: PERCENT * float(rate) for name, rate in rates.items()},
        **losses(own),
        "understood": float(np.median([one.understood for one in courses])),
        "spikes": float(np.mean([one.spikes for one in courses])),
        "lag": float(np.median([one.lag for one in found])),
        "alike": int(same(pair).sum()),
        "blind": blind(pair),
    }


def losses(own: list[Watched]) -> dict[str, float]:
    """The mean losses of the guesses that are not null, the last ones of Union too."""
    truth, guesses = implied(*own[0].pair), np.concatenate([one.outcomes for one in own])
    courses = [observation.course(one.union()) for one in own]
    return {
        "ce": mean(observation.cross_entropy(truth, guesses)),
        "brier": mean(observation.brier(truth, guesses)),
        "ev_loss": mean(observation.ev_loss(truth, guesses)),
        "union": mean(np.array([one.mean for one in courses])),
        "union_late": mean(np.array([one.late for one in courses])),
    }


def mean(values: np.ndarray) -> float:
    """Of what is not nan; nan where all is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def unions(matches: Iterable[Watched]) -> pd.DataFrame:
    """The mean Union of each observer and match-up by every mode, grid and eps, and the place of
    the observer among those of its match-up by it, 1 the least loss."""
    rows = [
        {"match_up": "-".join(own[0].pair), "observer": own[0].observer, "mode": mode,
         "grid": over, "eps": eps,
         "union": mean(np.concatenate([one.union(mode, over, eps) for one in own])),
         "alike": int(same(own[0].pair).sum())}
        for own in grouped(matches)
        for mode, over, eps in ways()
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    by = table.groupby(["match_up", "mode", "grid", "eps"])["union"]
    return table.assign(place=by.rank(method="min").astype("Int64"))


def ways() -> Iterator[tuple[Mode, Grid, float]]:
    """Every way to reckon Union; `raw` knows no grid."""
    for mode in get_args(Mode):
        for over in get_args(Grid) if mode != "raw" else ("global",):
            for eps in (EPS, ROUGH):
                yield mode, over, eps


def by_round(matches: Iterable[Watched]) -> pd.DataFrame:
    """The mean over deals of each loss after every guess, and which share named both players."""
    parts = []
    for own in grouped(matches):
        truth, guesses = implied(*own[0].pair), np.array([one.outcomes for one in own])
        scaled = observation.scaled_cross_entropy(truth, guesses, EVERY)
        named = [[guess == one.pair for guess in one.guesses] for one in own]
        columns = {
            "union": [one.union() for one in own],
            "union_paper": [one.union("paper") for one in own],
            "brier": observation.brier(truth, guesses),
            "ce_norm": scaled,
            "both_named": np.array(named, float),
        }
        told = {name: np.ma.masked_invalid(np.array(values)).mean(axis=0).filled(np.nan)
                for name, values in columns.items()}  # fmt: skip
        parts.append(
            pd.DataFrame(told).assign(
                match_up="-".join(own[0].pair),
                observer=own[0].observer,
                guess=range(1, guesses.shape[1] + 1),
                alike=int(same(own[0].pair).sum()),
            )
        )
    return pd.concat(parts, ignore_index=True)
