"""metrics.csv as a person reads it in a terminal: how often each player won, and how good its
decisions were beside those of a player that takes every option alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from gauntlet.pipeline.tables.numbers import number, percent
from gauntlet.pipeline.tables.table import Sheet

WORTH = {"true": "the true cards", "seen": "hidden cards dealt afresh"}
LEGEND = (
    "K: options to choose from; n: decisions. ODHR: share that took a best option. ADR: mean rank "
    "of\nthe option taken, 1 the best. by chance: of a player that takes every option alike. The "
    "95%\nintervals allow for few deals and for the playouts' noise."
)


def sheets(table: pd.DataFrame) -> Iterator[Sheet]:
    """The players' wins; then for each threshold and source of values, fallbacks left out, a row a
    player and number of options."""
    if table.empty:
        return
    players = table.drop_duplicates(["key", "player"])
    rows = [_wins(row) for _, row in players.iterrows()]
    won = ("player", "games", "wins", "shared", "win rate", "95% interval")
    yield Sheet("all games", won, rows, "shared: wins that another player had too.")
    kept = table[table["fallbacks"] == "left_out"]
    headings = ("player", "K", "n", "ODHR", "95% interval", "by chance", "ADR", "95% interval")
    readings = list(kept[["threshold", "values"]].drop_duplicates().itertuples(index=False))
    for threshold, source in readings:
        part = kept[(kept["threshold"] == threshold) & (kept["values"] == source)]
        rows = [_decisions(row) for _, row in part.iterrows()]
        title = f"decisions worth {percent(threshold, 0)} or more, from {WORTH[source]}"
        last = (threshold, source) == readings[-1]
        yield Sheet(title, (*headings, "by chance"), rows, LEGEND if last else "")


def _wins(row: pd.Series[Any]) -> list[str]:
    counts = [f"{row[name]:,}" for name in ("games", "wins", "shared_wins")]
    span = f"{percent(row['win_low'])} to {percent(row['win_high'])}"
    return [str(row["name"]), *counts, percent(row["win_rate"]), span]


def _decisions(row: pd.Series[Any]) -> list[str]:
    low, high = (percent(row[f"odhr_{side}"]) for side in ("low", "high"))
    least, most = (number(row[f"adr_{side}"], ".2f") for side in ("low", "high"))
    return [
        *(str(row["name"]), str(row["options"]), f"{row['decisions']:,}"),
        *(percent(row["odhr"]), f"{low} to {high}", percent(row["odhr_chance"])),
        *(number(row["adr"], ".2f"), f"{least} to {most}", number(row["adr_chance"], ".2f")),
    ]
