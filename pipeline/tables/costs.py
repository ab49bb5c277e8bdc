"""What models' replies cost."""

from __future__ import annotations

import pandas as pd

from gauntlet.pipeline.tables.table import Sheet, short_names


def cost_sheets(summary: pd.DataFrame) -> list[Sheet]:
    """What the cells cost; no sheet where no model was asked."""
    if not summary["all_tokens"].sum():
        return []
    rows = [
        _cost_row(name, row["matches"], row["all_tokens"], row["device_seconds"])
        for name, (_, row) in zip(short_names(summary), summary.iterrows(), strict=True)
    ]
    total = summary[["matches", "all_tokens", "device_seconds"]].sum()
    rows.append(_cost_row("all cells", int(total.iloc[0]), int(total.iloc[1]), total.iloc[2]))
    foot = (
        "Of the matches in the tables, all seats. Tokens: prompts as sent and texts as written; a "
        "model\ncomputes what they share once. Device-seconds: models at work, times the devices "
        "of a replica."
    )
    headings = ("cell", "matches", "tokens", "a match", "device-seconds", "a match", "tokens/s")
    whole = Sheet("What it cost", headings, rows, foot, "summary.csv", sums=1)
    return [whole, *_move_sheets(summary)]


def _move_sheets(summary: pd.DataFrame) -> list[Sheet]:
    """What a move cost whoever was measured; no sheet where its model was never asked."""
    asked = summary[summary["calls"] > 0]
    if asked.empty:
        return []
    rows = [
        (
            name,
            f"{row['decisions']:,}",
            f"{row['calls']:,}",
            f"{row['calls'] / max(1, row['decisions']):,.1f}",
            f"{row['tokens'] / max(1, row['decisions']):,.0f}",
        )
        for name, (_, row) in zip(short_names(asked), asked.iterrows(), strict=True)
    ]
    foot = (
        "Of the subject's decisions with a choice. Calls: each prompt that was scored and each "
        "sample\nthat was written counts once; tokens as above."
    )
    headings = ("cell", "decisions", "calls", "calls a move", "tokens a move")
    return [Sheet("What a move cost", headings, rows, foot, "summary.csv")]


def _cost_row(name: str, matches: int, tokens: int, seconds: float) -> tuple[str, ...]:
    def each(amount: float, units: float, form: str) -> str:
        return format(amount / units, form) if amount and units else "-"

    return (
        name,
        f"{matches:,}",
        f"{tokens:,}",
        each(tokens, matches, ",.0f"),
        f"{seconds:,.1f}" if seconds else "-",  # older logs do not tell
        each(seconds, matches, ",.3g"),
        each(tokens, seconds, ",.0f"),
    )
