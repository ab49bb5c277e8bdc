"""From outcomes to the two tables: a row a cell, and a row for every two cells.

Only the gap-free prefix of a cell's deals counts: short games finish first, so a table over
whatever has finished would favour whoever wins short games.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.breakdowns import SCORE, interval, score_columns
from gauntlet.pipeline.tables.comparisons import Pair, paired_off
from gauntlet.pipeline.tables.conditions import Conditions, family
from gauntlet.pipeline.tables.numbers import whole
from gauntlet.pipeline.tables.outcomes import COUNTED, counted
from gauntlet.pipeline.tables.primary_test import (
    ADJUSTED,
    CELL_COLUMNS,
    CONTROL_COLUMNS,
    MEAN,
    RAW_DIFFERENCE,
    ByDeal,
    least_beaten,
    measured_by,
    of_cell,
    of_pair,
)
from gauntlet.pipeline.tables.primary_test import PAIR_COLUMNS as BEST
from gauntlet.stats.means import limits
from gauntlet.stats.multiple import holm


def summary_table(
    results: Sequence[CellResults],
    conditions: Sequence[Conditions] = (),
    controls: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """summary.csv: a row a cell. conditions: what else is claimed, see `conditions.family`.
    controls: controls.csv."""
    beside = {} if controls is None else least_beaten(controls)
    rows = [(result, beside.get(result.about.name, {})) for result in results]
    table = tabulated([{**_row(result), **of_cell(result), **own} for result, own in rows])
    return table.assign(p_test_holm=family(table, conditions)[0])


def tabulated(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as summary.csv has them, without Holm's correction."""
    others: dict[str, Any] = {
        **dict.fromkeys(ADJUSTED, np.nan),
        "all_tokens": 0,
        "device_seconds": 0.0,
    }
    others |= {**dict.fromkeys(REPLIES, np.nan), "replies": 0, "unreported": 0, "calls": 0}
    others |= dict.fromkeys((*SCORE, *CELL_COLUMNS, *COUNTED, *CONTROL_COLUMNS), np.nan)
    others |= {"test": "", "control": ""}
    return pd.DataFrame([{**others, **row} for row in rows])[SUMMARY_COLUMNS]


REPLIES = ("replies", "malformed_rate", "illegal_rate", "unreported")
"""How many replies of the subject's model were read, what share of them was malformed and illegal,
and to how many choices it gave no probability. A reply is not a decision: `fallbacks` counts those
that no reply settled."""

SUMMARY_COLUMNS = [
    *("experiment", "game", "agent", "model", "prompt", "seats", "deals", "matches", "wins"),
    *("win_rate", "ci_low", "ci_high", "baseline", "baseline_n"),
    *("complete_deals", "set_aside", "decisions", "forced"),
    *("fallbacks", "decisions_per_s", "draws", "tokens", "cell"),
    "source",
    *ADJUSTED,
    *("all_tokens", "device_seconds"),
    *REPLIES,
    *("measure", *MEAN, "baseline_mean"),
    *("measure_low", "measure_high"),
    *SCORE,
    *CELL_COLUMNS,
    *COUNTED,
    "calls",
    *CONTROL_COLUMNS,
]
"""`all_tokens` and `device_seconds` are what the matches cost, all seats; `tokens` are the
subject's. `source` says where a row's figures come from: matches, each in the log, or simulated,
counts of games between scripted players that the compiled game played and nobody wrote down.
`mean`, its interval and its baseline are of the `measure` that the cell is judged by; for wins they
repeat the columns of the win rate. `measure_low` and `measure_high` are the measure's range, empty
where it has none. `score` is the mean of 1 a win and 1/2 a draw. CELL_COLUMNS, with the one test:
see `pipeline/tables/primary_test.py`. `calls`: how often the subject's model was asked, sample by
sample."""


def _row(result: CellResults) -> dict[str, Any]:
    outcomes, about = result.outcomes, result.about
    matches = len(outcomes)
    wins = whole(outcomes.column("winners").sum().item() / about.measured)
    totals = {name: outcomes.column(name).sum().item() for name in SUMMED}
    decisions, seconds, replies = (totals[name] for name in ("decisions", "seconds", "replies"))
    return {
        "experiment": about.experiment,
        **{group: about.labels[group] for group in ("game", "agent", "model", "prompt", "seats")},
        "deals": len(np.unique(outcomes.column("deal"))),
        "matches": matches,
        "wins": wins,
        **rates(result, wins, matches),
        "complete_deals": result.complete_deals,
        "set_aside": result.set_aside,
        **{name: totals[name] for name in ("decisions", "forced", "fallbacks", "tokens")},
        "decisions_per_s": decisions / seconds if seconds else np.nan,
        "draws": int((outcomes.column("value") == 0).sum()),
        "cell": about.name,
        "source": "matches",
        "all_tokens": totals["all_tokens"],
        "device_seconds": round(totals["device_seconds"], 3),
        "replies": replies,
        "malformed_rate": totals["malformed"] / replies if replies else np.nan,
        "illegal_rate": totals["illegal"] / replies if replies else np.nan,
        "unreported": totals["unreported"],
        "calls": totals["calls"],
        **score_columns(result),
        **counted(result),
    }


SUMMED = (
    *("decisions", "forced", "fallbacks", "seconds"),
    *("tokens", "all_tokens", "device_seconds"),
    *("replies", "malformed", "illegal", "unreported", "calls"),
)


def rates(result: CellResults, wins: float, matches: int) -> dict[str, Any]:
    """Win rate and the raw mean of the cell's measure, with intervals and baselines."""
    about, outcomes = result.about, result.outcomes
    if about.clustered:
        won = interval(outcomes.won, outcomes.column("deal"), WIN)
    else:  # a match a deal: its counts are all there is to know
        low, high = limits((0.0, 1.0), (0.0, 1.0), counts=(matches - wins, wins))
        won = (wins / matches if matches else np.nan, float(low), float(high))
    mean = won
    if not about.wins:
        mean = interval(outcomes.column("figure"), outcomes.column("deal"), about.measure)
    rate = about.baseline.rate if about.baseline else np.nan
    return {
        **dict(zip(("win_rate", "ci_low", "ci_high"), won, strict=True)),
        "baseline": rate if about.wins else np.nan,
        "baseline_n": about.baseline.games if about.baseline else 0,
        **dict(zip(MEAN, mean, strict=True)),
        "baseline_mean": rate,
        **measured_by(about),
    }


PAIR_COLUMNS = [
    *("cell_a", "cell_b", "deals", "a_only", "b_only", *RAW_DIFFERENCE, "correlation"),
    *("measure", "measure_low", "measure_high"),
    *BEST,
    "permutation_error",
]
"""`p_test` is known to `permutation_error`, a standard error, where signs were flipped at random; 0
where all were, empty where no sign was flipped."""


def pairs_table(
    results: Sequence[CellResults],
    chosen: Sequence[Pair] | None = None,
    claimed: Mapping[frozenset[str], float] = MappingProxyType({}),
) -> pd.DataFrame:
    """pairs.csv: the chosen pairs (those of `pairing.paired_off` by default) of cells that meet the
    same deals and are judged by the same measure, on the deals that both have finished. claimed:
    see `paired`."""
    found = paired_off(results).chosen if chosen is None else chosen
    return paired(((results[a], results[b]) for a, b in found), claimed)


def paired(
    cells: Iterable[tuple[CellResults, CellResults]],
    claimed: Mapping[frozenset[str], float] = MappingProxyType({}),
) -> pd.DataFrame:
    """A row for each two cells, which must have met the same cards on a deal of the same number.

    claimed: Holm's p-value of the pairs that a sentence tells, by the keys of both cells
    (`conditions.claimed`). That of the others is over themselves.
    """
    played = ByDeal()
    both = list(cells)
    table = pd.DataFrame([of_pair(a, b, played) for a, b in both], columns=PAIR_COLUMNS)
    holms = [claimed.get(frozenset((a.about.key, b.about.key))) for a, b in both]
    own = np.array([p is None for p in holms], bool)
    table["p_test_holm"] = pd.Series(holms, table.index, float)
    table.loc[own, "p_test_holm"] = holm(table["p_test"].to_numpy(float)[own])
    return table
