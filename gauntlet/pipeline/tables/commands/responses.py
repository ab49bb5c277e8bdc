"""The table of `python -m pipeline.exploit` where a best response is bounded by matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.errors import counted
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.pipeline.play.responses import Won
from gauntlet.pipeline.tables.formatting import amount
from gauntlet.pipeline.tables.registry import Sheet
from gauntlet.stats.means import limits, per_deal

UNITS = {
    MATCH_SCORE.name: "share of a match, above half",
    "bb_per_hand": "big blinds a hand",
}
"""What a responder wins, by the measure; else the measure's own name."""
COUNTED = "asked", "fallbacks", "requests"


def response_row(won: Won) -> dict[str, Any]:
    """What a responder wins, with 95% limits by deal."""
    reach = (won.measure.high - won.measure.low) / 2
    low, high = limits(per_deal(won.gains, won.deals), (-reach, reach))
    return {
        "deals": len(np.unique(won.deals)),
        "matches": len(won.gains),
        "won": won.gains.mean(),
        "low": float(low),
        "high": float(high),
        "unit": UNITS.get(won.measure.name, won.measure.name),
        "asked": won.asked,
        "fallbacks": won.fallbacks,
        "requests": won.requests,
    }


def response_verdict(rows: pd.DataFrame) -> Iterator[str]:
    """A sentence for each player and responder."""
    for row in rows.to_dict("records"):
        who = row["responder"]
        if row["believed"]:
            who = f"a {who} that believes {row['believed']}"
        span = f"({_span(row)})"
        if row["low"] > 0:
            lost = f"{amount(row['won'])} {row['unit']} {span}"
            yield f"{row['game']}: {row['cell']} loses {lost} to {who}; to a best response, more."
        else:
            told = f"{amount(row['won'], '+')} {row['unit']} {span}"
            yield (
                f"{row['game']}: {who} is not shown to win against {row['cell']}, {told}. Others "
                "may."
            )


def _span(row: dict[Any, Any]) -> str:
    return f"{amount(row['low'], '+')} to {amount(row['high'], '+')}"


def response_sheet(rows: pd.DataFrame, file: str) -> Sheet:
    """The table: a line per player, responder and belief."""
    lines = [
        [
            row["cell"],
            row["responder"],
            row["believed"] or "-",
            f"{row['deals']:,}",
            amount(row["won"], "+"),
            _span(row),
        ]
        for row in rows.to_dict("records")
    ]
    headings = ["player", "responder", "believes", "deals", "won", "95% interval"]
    return Sheet("Responses", headings, lines, _foot(rows), file)


def _foot(rows: pd.DataFrame) -> str:
    units = ", ".join(dict.fromkeys(rows["unit"]))
    told = [
        f"Won: by the responder, {units}; the interval is by deal, each played from both seats. "
        "Every responder bounds from below what a best response wins, however wrong its belief."
    ]
    for cell, part in rows.groupby("cell", sort=False):
        asked, fallbacks, requests = (int(part[name].sum()) for name in COUNTED)
        told.append(
            f"{cell}: {counted(asked, 'decision')}, {counted(requests, 'request')}; "
            f"{counted(fallbacks, 'fallback')}, played as in a match."
        )
    return "\n".join(told)
