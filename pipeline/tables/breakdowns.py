"""A cell's results shown apart, by seat and by seed, and with a draw as half a win.

seats.csv    a row for each rotated cell and seat of the measured player (or players)
seeds.csv    a row for each cell and seed, where a folder has several
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import Measure
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.plan.cells import seeded
from gauntlet.pipeline.tables.scale import Scale
from gauntlet.pipeline.tables.table import Sheet
from gauntlet.stats.means import limits, per_deal

SCORE = ("score", "score_low", "score_high")
COUNTED = ("deals", "matches", "mean", "low", "high", "measure")
SEAT_COLUMNS = ["cell", "seat", *COUNTED]
SEED_COLUMNS = ["cell", "seed", *COUNTED]


def seats_table(results: Sequence[CellResults]) -> pd.DataFrame:
    """seats.csv: `seat` is the measured player's, or theirs joined by +."""
    rows = [row for result in results if rotated(result) for row in _by_seat(result)]
    return pd.DataFrame(rows, columns=SEAT_COLUMNS)


def rotated(result: CellResults) -> bool:
    """Whether the measured players sat in more than one place; not known of old logs."""
    return len(set(result.about.seats)) > 1 and len(result.outcomes) > 0


def seeds_table(results: Sequence[CellResults], seed: Seed) -> pd.DataFrame:
    """seeds.csv; no rows where the folder has one seed."""
    if not isinstance(seed, tuple):
        return pd.DataFrame(columns=SEED_COLUMNS)
    rows = [row for result in results for row in _by_seed(result, seed)]
    return pd.DataFrame(rows, columns=SEED_COLUMNS)


def scores(result: CellResults) -> np.ndarray:
    """The expected score of each match: 1 a win, 1/2 a draw, 0 a loss; of several measured players
    the share that won."""
    mean: np.ndarray = result.outcomes.won + result.outcomes.draws / 2
    return mean


def score_columns(result: CellResults) -> dict[str, float]:
    """The mean score with its 95% interval, the deal as unit."""
    found = interval(scores(result), result.outcomes.column("deal"), Measure("score", 0.0, 1.0))
    return dict(zip(SCORE, found, strict=True))


def interval(values: np.ndarray, deals: np.ndarray, measure: Measure) -> tuple[float, float, float]:
    """The mean with its 95% limits by deal, as summary.csv has them."""
    low, high = limits(per_deal(values, deals), (measure.low, measure.high))
    return float(values.mean()) if len(values) else np.nan, float(low), float(high)


def sheets(
    seats: pd.DataFrame,
    seeds: pd.DataFrame,
    scales: dict[str, Scale],
    names: dict[str, str],
) -> Iterator[Sheet]:
    """What there is to be shown apart; scales: by the measure's name, names: by the cell's."""
    foot = "95% intervals over the deals, of fewer matches than the cell's own."
    for table, part in ((seats, "seat"), (seeds, "seed")):
        if not table.empty:
            yield Sheet(f"By {part}", *_apart(table, part, scales, names), foot, f"{part}s.csv")


def _apart(
    table: pd.DataFrame, part: str, scales: dict[str, Scale], names: dict[str, str]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    rows = []
    for _, row in table.iterrows():
        scale = scales[row["measure"]]
        mean, span = scale.mean(row["mean"]), scale.span(row["low"], row["high"])
        rows.append((names[row["cell"]], str(row[part]), f"{row['matches']:,}", mean, span))
    return ("cell", part, "matches", "mean", "95% interval"), rows


def _by_seat(result: CellResults) -> Iterator[dict[str, Any]]:
    about = result.about
    places = result.outcomes.column("rotation") // about.step
    for seats in sorted(set(about.seats)):
        own = [place for place, sat in enumerate(about.seats) if sat == seats]
        yield {"seat": "+".join(map(str, seats)), **_counted(result, np.isin(places, own))}


def _by_seed(result: CellResults, seed: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    deals = result.outcomes.column("deal")
    of = np.array([seeded(seed, int(deal))[0] for deal in deals], int)
    for one in dict.fromkeys(seed):
        yield {"seed": one, **_counted(result, of == one)}


def _counted(result: CellResults, chosen: np.ndarray) -> dict[str, Any]:
    deals = result.outcomes.column("deal")[chosen]
    figures = result.outcomes.column("figure")[chosen]
    mean, low, high = interval(figures, deals, result.about.measure)
    counted = {"deals": len(np.unique(deals)), "matches": len(deals)}
    limits = {"mean": mean, "low": low, "high": high}
    return {"cell": result.about.name, **counted, **limits, "measure": result.about.measure.name}
