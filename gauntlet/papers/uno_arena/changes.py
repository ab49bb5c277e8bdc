"""Differences between UNO Arena's rows, paired by deck, in the paper's units.

Differences are in percent: points for the win rate and ODHR@K, percent of its range, K - 1, for
ADR@K.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.judging.metric_rows import OPTIONS
from gauntlet.pipeline.log.folder import Folder
from gauntlet.stats.checks import Floats
from gauntlet.stats.decisions import SAME
from gauntlet.stats.intervals import ByDeal
from gauntlet.stats.intervals import change as paired
from gauntlet.stats.paired import sign_flip

PERMUTATION_SEED = 0
SPAN = 100.0
"""Percent: the largest possible change of any of these metrics."""


@dataclass(frozen=True)
class Change:
    """Difference between two rows: by column, and the p-value of the paired permutation test of the
    win rates on the decks that both played."""

    measures: Mapping[str, Estimate]
    p_value: float = nan


@dataclass(frozen=True)
class Side:
    """A player of a cell. wins: the share of its games won, by deck. ranks: its decisions that
    count, with columns deal, options (how many) and rank."""

    wins: pd.Series[float]
    ranks: pd.DataFrame


def change(new: Side, old: Side) -> Change:
    """Return the difference `new` - `old`, all intervals paired by deck (`stats.intervals.change`).

    The ranks come from the playouts. The intervals include their scatter, except where it cancels:
    a decision that both sides faced was judged by the same playouts. They do not include the bias
    from noise, which pulls every hit rate towards chance, so the true difference is usually
    slightly larger than the one shown.
    """
    a, b = new.wins, old.wins
    decks = a.index.intersection(b.index).sort_values()
    a, b = a[decks], b[decks]
    changes = {"WR": _change((SPAN * a, decks), (SPAN * b, decks))}
    for k in OPTIONS:
        changes[f"ODHR@{k}"] = _change(_hits(new, k), _hits(old, k))
        changes[f"ADR@{k}"] = _change(_places(new, k), _places(old, k))
    return Change(changes, sign_flip(a, b, PERMUTATION_SEED).p_value)


def _change(new: ByDeal, old: ByDeal) -> Estimate:
    found, limits = paired(new, old, SPAN)
    return Estimate(found, *limits)


def _hits(side: Side, k: int) -> ByDeal:
    own = side.ranks[side.ranks["options"] == k]
    return SPAN * (own["rank"] == 1.0), own["deal"]


def _places(side: Side, k: int) -> ByDeal:
    own = side.ranks[side.ranks["options"] == k]
    return scaled_change(own["rank"], 1.0, k), own["deal"]


def ranked(folder: Path, threshold: float, fallbacks: str) -> pd.DataFrame:
    """Return the decisions of an output_dir's decisions.jsonl that count, with values from the true
    cards: columns key, player, deal, options (how many) and rank."""
    rows = []
    for line in (folder / "metrics" / "decisions.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        counts = record["true"]["criticality"] >= threshold - SAME
        if counts and (fallbacks == "counted" or not record["fallback"]):
            place = (record["key"], record["player"], record["deal"])
            rows.append((*place, len(record["options"]), record["true"]["rank"]))
    return pd.DataFrame(rows, columns=["key", "player", "deal", "options", "rank"])


def side(folder: Path, ranks: pd.DataFrame, key: str, player: int) -> Side:
    """Return a player of the cell with this key; ranks: of all cells, from `ranked`."""
    own = ranks[(ranks["key"] == key) & (ranks["player"] == player)]
    return Side(wins_by_deck(folder, key, player), own)


def wins_by_deck(folder: Path, key: str, player: int) -> pd.Series[float]:
    """The share of games that a player of a cell won on each deck. A shared win counts in full."""
    place = Folder(folder)
    stem = {about.key: about.stem for about in place.sweep_cells()}[key]
    won: dict[str, tuple[int, bool]] = {}
    for record in place.matches(stem):
        seat = (player + record.rotation) % len(record.returns)
        won[record.match] = (record.deal, record.returns[seat] > 0)
    table = pd.DataFrame(won.values(), columns=["deal", "won"])
    return table.groupby("deal")["won"].mean().astype(np.float64)


def scaled_change(new: ArrayLike, old: ArrayLike, options: int) -> Floats:
    """Return the change of a mean rank in percent of its range: 100 (new - old) / (K - 1)."""
    change: Floats = 100.0 * np.subtract(new, old) / (options - 1)
    return change
