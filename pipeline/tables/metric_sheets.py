"""The decision metrics of `python -m pipeline.metrics`: how often each player won, and how good
its decisions were beside those of a player that takes every option alike."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from gauntlet.pipeline.judging.metric_rows import METRIC_COLUMNS, TRACE_COLUMNS
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.registry import Part, Results, table
from gauntlet.pipeline.tables.sheets import Column, Format, View, count, decimal, share, text

WORTH = {"true": "the true cards", "seen": "hidden cards dealt afresh"}
LEGEND = (
    "K: options to choose from; n: decisions. ODHR: share that took a best option. ADR: mean rank "
    "of\nthe option taken, 1 the best. by chance: of a player that takes every option alike. The "
    "95%\nintervals allow for few deals and for the playouts' noise."
)
FILES = ("metrics.csv", "traces.csv")
COLUMNS = {
    "cell": "the cell's name",
    "key": "its key, which tells cells of one name apart",
    "player": "the player's number",
    "name": "its name",
    "games": "matches it played",
    "wins": "matches it won",
    "solo_wins": "of these the ones that it won alone",
    "shared_wins": "and the ones that another player won too",
    "win_rate": "wins / games",
    "win_low": "lower end of its 95% interval by deals",
    "win_high": "upper end of it",
    "values": "`true`: options played on from the cards as they lay; `seen`: hidden cards redealt",
    "threshold": "decisions whose best and worst option are this far apart or more",
    "fallbacks": "whether decisions that a fallback took are `left_out` or `counted`",
    "options": "decisions with this many options",
    "decisions": "how many decisions",
    "odhr": "share that took a best option",
    "odhr_low": "lower end of its 95% interval",
    "odhr_high": "upper end of it",
    "odhr_denoised": "the share without the playouts' noise",
    "adr": "mean rank of the option taken, 1 the best",
    "adr_low": "lower end of its 95% interval",
    "adr_high": "upper end of it",
    "adr_denoised": "the mean rank without the playouts' noise",
    "playouts": "playouts an option",
    "tie": "the rank of equal values",
    "traces": "deals that are traced",
    "odhr_chance": "ODHR of a player that takes every option alike",
    "adr_chance": "ADR of such a player",
}


def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """metrics.csv and traces.csv of an output_dir; None where its decisions were not judged, or by
    another version."""
    try:
        table, stands = (pd.read_csv(folder / "metrics" / name) for name in FILES)
    except (OSError, ValueError):  # pandas' own are ValueErrors
        return None
    known = {*METRIC_COLUMNS} <= {*table.columns} and {*TRACE_COLUMNS} <= {*stands.columns}
    return (table, stands) if known else None


def judged(results: Results) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """What `read` gives of the folder."""
    return read(results.folder)


def _interval(low: str, high: str) -> Format:
    written = [decimal(end, ".2f") if end.startswith("adr") else share(end) for end in (low, high)]
    return lambda row: " to ".join(one(row) for one in written)


def _read(part: Part) -> str:
    first = part.rows.iloc[0]
    return (
        f"decisions worth {percent(first['threshold'], 0)} or more, from {WORTH[first['values']]}"
    )


WON = View(
    "all games",
    (
        Column("player", text("name")),
        Column("games", count("games")),
        Column("wins", count("wins")),
        Column("shared", count("shared_wins")),
        Column("win rate", share("win_rate")),
        Column("95% interval", _interval("win_low", "win_high")),
    ),
    "shared: wins that another player had too.",
    lambda rows: rows.drop_duplicates(["key", "player"]),
)
DECIDED = View(
    _read,
    (
        Column("player", text("name")),
        Column("K", text("options")),
        Column("n", count("decisions")),
        Column("ODHR", share("odhr")),
        Column("95% interval", _interval("odhr_low", "odhr_high")),
        Column("by chance", share("odhr_chance")),
        Column("ADR", decimal("adr", ".2f")),
        Column("95% interval", _interval("adr_low", "adr_high")),
        Column("by chance", decimal("adr_chance", ".2f")),
    ),
    LEGEND,
    lambda rows: rows[rows["fallbacks"] == "left_out"],
    by=("threshold", "values"),
)


@table("metrics", COLUMNS, [WON, DECIDED], place=90, file="metrics/metrics.csv")
def metrics(results: Results) -> pd.DataFrame:
    """A row a player, source of values, threshold and number of options."""
    found = results.once(judged)
    return pd.DataFrame(columns=[*COLUMNS]) if found is None else found[0]
