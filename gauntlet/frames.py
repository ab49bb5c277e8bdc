"""A folder's records as pandas tables, for a notebook:

    from gauntlet.frames import decisions, matches

    matches("outputs/quickstart").groupby("prompt")["win"].mean()

All that a folder holds is in them; the tables of `summary.csv` take the gap-free deals alone.
docs/records.md says what the fields mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord

OF_A_MATCH = ("match", "deal", "rotation", "plies", "seconds", "device_seconds")
OF_A_DECISION = (
    *("seat", "options", "scores", "margin", "chosen", "move", "forced", "status", "fallback"),
    *("attempts", "tokens", "text", "notes"),
)


def matches(folder: str | Path) -> pd.DataFrame:
    """A row a match: the labels of its cell (experiment, game, agent, model, prompt, seats), its
    place, and of every measure the mean over the measured seats. Raises UserError where the folder
    holds no sweep."""
    return pd.DataFrame(
        {
            **_labels(about),
            **{name: getattr(record, name) for name in OF_A_MATCH},
            **{
                name: sum(figures[seat] for seat in record.measured) / len(record.measured)
                for name, figures in record.measures.items()
            },
        }
        for about, record in _records(Path(folder))
    )


def decisions(folder: str | Path) -> pd.DataFrame:
    """A row a decision, of all seats: the labels of its cell, match, deal, rotation and turn (from
    0), whether its seat is under study (`subject`), and the fields of the record. Raises
    UserError where the folder holds no sweep."""
    return pd.DataFrame(
        {
            **_labels(about),
            **{name: getattr(record, name) for name in ("match", "deal", "rotation")},
            "turn": turn,
            "subject": decision.seat in record.subjects,
            **{name: getattr(decision, name) for name in OF_A_DECISION},
        }
        for about, record in _records(Path(folder))
        for turn, decision in enumerate(record.decisions)
    )


def _records(folder: Path) -> Iterator[tuple[CellInfo, MatchRecord]]:
    place = Folder(folder)
    if not place.played:
        raise UserError(f"{folder} holds no sweep")
    for about in place.abouts():
        for record in place.matches(about.stem):
            yield about, record


def _labels(about: CellInfo) -> dict[str, Any]:
    return {"experiment": about.experiment, **about.labels}
