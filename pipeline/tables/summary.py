"""From outcomes to the two tables: a row a cell, and a row for every two cells.

Only the gap-free prefix of a cell's deals counts: short games finish first, so a table over
whatever has finished would favour whoever wins short games.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from games.capabilities import Measure
from pipeline.log.results import About, CellResults
from pipeline.plan.baseline import Baseline
from pipeline.tables.apart import SCORE, score_columns
from pipeline.tables.best import (
    ADJUSTED,
    CELL_COLUMNS,
    CONTROL_COLUMNS,
    family,
    least_beaten,
    of_cell,
    of_pair,
)
from pipeline.tables.best import PAIR_COLUMNS as BEST
from pipeline.tables.conditions import Conditions
from pipeline.tables.ended import PERMUTATION_SEED, TEST_COLUMNS, tested
from pipeline.tables.numbers import whole
from pipeline.tables.pairing import Pair, paired_off
from stats.means import limits, p_value, per_deal
from stats.multiple import holm
from stats.paired import clustered_mean, clustered_z, count_pairs, mcnemar, permutation
from stats.proportions import binomial_test, fisher_test, one_sample_z, two_sample_z


def summary_table(
    results: Sequence[CellResults],
    conditions: Sequence[Conditions] = (),
    controls: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """summary.csv: a row a cell. conditions: what else is claimed, see `best.family`. controls:
    controls.csv."""
    beside = {} if controls is None else least_beaten(controls)
    rows = [(result, beside.get(result.about.name, {})) for result in results]
    table = tabulated([{**_row(result), **of_cell(result), **own} for result, own in rows])
    return table.assign(p_test_holm=family(table, conditions)[0])


def tabulated(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as summary.csv has them, with Holm's correction over each experiment's."""
    others: dict[str, Any] = {
        **dict.fromkeys(ADJUSTED, np.nan),
        "all_tokens": 0,
        "device_seconds": 0.0,
    }
    others |= {**dict.fromkeys(REPLIES, np.nan), "replies": 0, "unreported": 0, "calls": 0}
    others |= dict.fromkeys((*SCORE, *CELL_COLUMNS, *TEST_COLUMNS, *CONTROL_COLUMNS), np.nan)
    others |= {"test": "", "control": ""}
    table = pd.DataFrame([{**others, **row} for row in rows])
    table["p_holm"] = table.groupby("experiment")["p_mean"].transform(
        lambda p: holm(p.to_numpy(float))
    )
    return table[SUMMARY_COLUMNS]


REPLIES = ("replies", "malformed_rate", "illegal_rate", "unreported")
"""How many replies of the subject's model were read, what share of them was malformed and illegal,
and to how many choices it gave no probability. A reply is not a decision: `fallbacks` counts those
that no reply settled."""

SUMMARY_COLUMNS = [
    *("experiment", "game", "agent", "model", "prompt", "seats", "deals", "matches", "wins"),
    *("win_rate", "ci_low", "ci_high", "baseline", "baseline_n", "z", "p_value", "p_holm"),
    *("z_two_sample", "p_two_sample", "complete_deals", "set_aside", "decisions", "forced"),
    *("fallbacks", "decisions_per_s", "draws", "tokens", "cell"),
    "source",
    *ADJUSTED,
    *("all_tokens", "device_seconds"),
    *REPLIES,
    *("measure", "mean", "mean_low", "mean_high", "baseline_mean", "p_mean"),
    *("measure_low", "measure_high"),
    *SCORE,
    *CELL_COLUMNS,
    *TEST_COLUMNS,
    "calls",
    *CONTROL_COLUMNS,
]
"""`all_tokens` and `device_seconds` are what the matches cost, all seats; `tokens` are the
subject's. `source` says where a row's figures come from: matches, each in the log, or simulated,
counts of games between scripted players that the compiled game played and nobody wrote down.
`mean`, its interval, its baseline and `p_mean` are of the `measure` that the cell is judged by, and
`p_holm` is of `p_mean`; for wins they repeat the columns of the win rate. `measure_low` and
`measure_high` are the measure's range, empty where it has none. `score` is the mean of 1 a win and
1/2 a draw. TEST_COLUMNS: see `pipeline/tables/ended.py`. `calls`: how often the subject's model was
asked, sample by sample."""


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
        **tested(result),
    }


SUMMED = (
    *("decisions", "forced", "fallbacks", "seconds"),
    *("tokens", "all_tokens", "device_seconds"),
    *("replies", "malformed", "illegal", "unreported", "calls"),
)


def rates(result: CellResults, wins: float, matches: int) -> dict[str, Any]:
    """Win rate and the cell's measure, with intervals and tests."""
    won = _win_rate(result, wins, matches)
    if result.about.wins:
        mean = {"mean": won["win_rate"], "mean_low": won["ci_low"], "mean_high": won["ci_high"]}
        mean |= {"baseline_mean": won["baseline"], "p_mean": won["p_value"]}
    else:
        mean = _mean(result)
        won |= dict.fromkeys(("baseline", "z", "p_value", "z_two_sample", "p_two_sample"), np.nan)
    return {**won, **mean, **_measure(result.about)}


def _measure(about: About) -> dict[str, Any]:
    """Which measure it is; a bound that is not there is nan."""
    bounds = {"measure_low": about.measure.low, "measure_high": about.measure.high}
    finite = {name: x if np.isfinite(x) else np.nan for name, x in bounds.items()}
    return {"measure": about.measure.name, **finite}


def _mean(result: CellResults) -> dict[str, Any]:
    """The mean of a measure other than wins: the deal is what is counted, the test one-sided."""
    outcomes, baseline, measure = result.outcomes, result.about.baseline, result.about.measure
    rate, error = (baseline.rate, baseline.error) if baseline else (np.nan, np.nan)
    values, span = per_deal(outcomes.column("figure"), outcomes.column("deal")), _span(measure)
    low, high = limits(values, span)
    return {
        "mean": values.mean() if len(values) else np.nan,
        "mean_low": low,
        "mean_high": high,
        "baseline_mean": rate,
        "p_mean": p_value(values, span, rate, "above", error),
    }


def _span(measure: Measure) -> tuple[float, float]:
    return measure.low, measure.high


def _win_rate(result: CellResults, wins: float, matches: int) -> dict[str, Any]:
    """Win rate, interval and tests; by deal where a deal holds several results."""
    tested = _by_deal if result.about.clustered else _by_match
    known = result.about.baseline if result.about.wins else None  # else it is of another measure
    return {
        "win_rate": wins / matches if matches else np.nan,
        **tested(result, wins, matches, known),
        "baseline": known.rate if known else np.nan,
        "baseline_n": result.about.baseline.games if result.about.baseline else 0,
    }


def _by_match(
    result: CellResults, wins: float, matches: int, baseline: Baseline | None
) -> dict[str, Any]:
    """One match a deal: its counts are all there is to know."""
    low, high = limits((0.0, 1.0), (0.0, 1.0), counts=(matches - wins, wins))
    rate = baseline.rate if baseline else np.nan
    games = (baseline.wins, baseline.games) if baseline else (0, 0)
    return {
        "ci_low": float(low),
        "ci_high": float(high),
        "z": one_sample_z(wins, matches, rate).z,
        "p_value": binomial_test(wins, matches, rate),
        "z_two_sample": two_sample_z(wins, matches, *games).z,
        "p_two_sample": fisher_test(wins, matches, *games),
    }


def _by_deal(
    result: CellResults, wins: float, matches: int, baseline: Baseline | None
) -> dict[str, Any]:
    won, deals = result.outcomes.won, result.outcomes.column("deal")
    values, mean, span = per_deal(won, deals), clustered_mean(won, deals), (0.0, 1.0)
    low, high = limits(values, span)
    rate, error = (baseline.rate, baseline.error) if baseline else (np.nan, np.nan)
    return {
        "ci_low": float(low),
        "ci_high": float(high),
        "z": clustered_z(mean, rate).z,
        "p_value": p_value(values, span, rate),
        "z_two_sample": clustered_z(mean, rate, error).z,
        "p_two_sample": p_value(values, span, rate, "above", error),
    }


PAIR_COLUMNS = [
    *("cell_a", "cell_b", "deals", "a_only", "b_only", "difference", "ci_low", "ci_high"),
    *("p_mcnemar", "p_holm", "correlation", "p_permutation"),
    *("measure", "measure_low", "measure_high"),
    *BEST,
    "permutation_error",
]
"""`p_permutation` is known to `permutation_error`, a standard error, where signs were flipped at
random; 0 where all were."""


def pairs_table(
    results: Sequence[CellResults], chosen: Sequence[Pair] | None = None
) -> pd.DataFrame:
    """pairs.csv: the chosen pairs (those of `pairing.paired_off` by default) of cells that meet the
    same deals and are judged by the same measure, on the deals that both have finished."""
    found = paired_off(results).chosen if chosen is None else chosen
    return paired((results[a], results[b]) for a, b in found)


def paired(cells: Iterable[tuple[CellResults, CellResults]]) -> pd.DataFrame:
    """A row for each two cells, which must have met the same cards on a deal of the same number.

    One win or loss a deal: exact McNemar. Several (rotated seats, several measured players), or
    another measure: a deal's mean is compared, by a paired permutation test, and p_mcnemar stays
    empty. Holm's family is the rows.
    """
    rows, played = [], _ByDeal()
    for a, b in cells:
        row = _pair(a, b, played)
        raw = row["p_permutation"] if np.isnan(row["p_mcnemar"]) else row["p_mcnemar"]
        rows.append({**row, "p_holm": raw, **of_pair(a, b, raw)})
    table = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    corrected = {"p_holm": table["p_holm"], "p_test_holm": table["p_test"]}
    return table.assign(**{name: holm(p.to_numpy(float)) for name, p in corrected.items()})


class _ByDeal(dict[int, tuple[CellResults, tuple[np.ndarray, np.ndarray]]]):
    """What each cell's deals gave, found once however many pairs it is in."""

    def of(self, cell: CellResults) -> tuple[np.ndarray, np.ndarray]:
        if id(cell) not in self:
            self[id(cell)] = cell, cell.by_deal()  # the cell too, lest another take its place
        return self[id(cell)][1]


def _pair(a: CellResults, b: CellResults, played: _ByDeal) -> dict[str, Any]:
    (deals_a, means_a), (deals_b, means_b) = played.of(a), played.of(b)
    shared, x, y = deals_a, means_a, means_b
    if not np.array_equal(deals_a, deals_b):
        shared, in_a, in_b = np.intersect1d(deals_a, deals_b, True, return_indices=True)
        x, y = means_a[in_a], means_b[in_b]
    row = {
        "cell_a": a.about.name,
        "cell_b": b.about.name,
        "deals": len(shared),
        "a_only": int((x > y).sum()),
        "b_only": int((y > x).sum()),
        **_measure(a.about),
    }
    if a.about.wins and not (a.about.clustered or b.about.clustered):
        test = mcnemar(count_pairs(x, y))
        return {
            **row,
            "difference": test.difference,
            "ci_low": test.low,
            "ci_high": test.high,
            "p_mcnemar": test.p_value,
            "correlation": test.phi,
            "p_permutation": np.nan,
            "permutation_error": np.nan,
        }
    span = _span_of_differences(a.about.measure)
    low, high = limits(x - y, span)
    p, error = permutation(x - y, span, PERMUTATION_SEED)
    return {
        **row,
        "difference": (x - y).mean() if len(shared) else np.nan,
        "ci_low": low,
        "ci_high": high,
        "p_mcnemar": np.nan,
        "correlation": _correlation(x, y),
        "p_permutation": p,
        "permutation_error": error,
    }


def _span_of_differences(measure: Measure) -> tuple[float, float]:
    return measure.low - measure.high, measure.high - measure.low


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    varies = len(x) > 1 and x.std() > 0 and y.std() > 0
    return float(np.corrcoef(x, y)[0, 1]) if varies else np.nan
