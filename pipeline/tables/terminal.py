"""The tables as a person reads them in a terminal 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WIDTH, WrappedTable, console
from gauntlet.pipeline.tables import parser
from gauntlet.pipeline.tables.numbers import percent
from gauntlet.pipeline.tables.registry import ROWS, TERMINAL, Results, Sheet, sheets, short_names
from gauntlet.pipeline.tables.scale import Scale, by_scale

LEAST_NAMED, MOST_NAMED = 28, 39
"""Characters of a cell's name beside its bar."""
LONGEST = 60
"""Characters of a bar."""


def show(results: Results) -> None:
    """Prints every table; under the main one its warnings, and the means as a figure."""
    out = console()
    for table, sheet in sheets(results, TERMINAL):
        if table.name != "summary":
            out.print()
        out.print(sheet_view(sheet))
        if table.name == "summary":
            for warning in some_warnings(results["summary"], ROWS[TERMINAL]):
                out.print(Text(warning))
            if line := parser.line(results):
                out.print(Text(line, style="dim"))
            out.print()
            out.print(bars_view(results["summary"], out.width))


def warnings(summary: pd.DataFrame) -> list[str]:
    """What a reader of each cell's result should know first: a line a cell that is warned of."""
    if "warning" not in summary:
        return []
    rows = zip(short_names(summary), summary["warning"], strict=True)
    return [f"WARNING {name}: {warning}" for name, warning in rows if warning]


def some_warnings(summary: pd.DataFrame, most: int) -> list[str]:
    """The warnings; of more than `most` a quarter as many, and where all are."""
    told = warnings(summary)
    if len(told) <= most:
        return told
    few = most // 4
    return [*told[:few], f"WARNING and {len(told) - few:,} other cells: diagnostics.csv"]


def sheet_view(sheet: Sheet) -> RenderableType:
    """A sheet under its title, with its foot."""
    table = WrappedTable()
    for place, title in enumerate(sheet.headings):
        if place == 0:
            table.add_column(title, overflow="fold", min_width=max(12, len(title)))
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*row)
    parts: list[RenderableType] = [table]
    if sheet.title:
        parts.insert(0, Text(sheet.title, style="bold"))
    if sheet.foot:
        parts.append(Text(sheet.foot, style="dim"))
    return Group(*parts)


def bars_view(summary: pd.DataFrame, columns: int = WIDTH) -> RenderableType:
    """The first cells' means as a figure, one axis a measure: interval, estimate and baseline."""
    known = summary.dropna(subset=["raw"])
    names, lines = short_names(known), list[str]()
    known = known.head(ROWS[TERMINAL])
    left = min(max((LEAST_NAMED, *map(len, names[: ROWS[TERMINAL]]))), MOST_NAMED)
    width = min(LONGEST, columns - left - 1)
    for scale, places in by_scale(known):
        padded = [f"{names[at][:left]:<{left}}" for at in places]
        lines += _bars(known.iloc[places], padded, scale, width)
    return Text("\n".join(lines))


def _bars(rows: pd.DataFrame, names: Sequence[str], scale: Scale, width: int) -> list[str]:
    """names: all of one width."""
    drawn = rows[["raw", "raw_low", "raw_high", "baseline"]].to_numpy(float)
    low, high = np.nanmin(drawn), np.nanmax(drawn)
    if scale.share:
        low, high = np.floor(low * 50) / 50, np.ceil(high * 50) / 50

    def place(value: float) -> int:
        return int(np.rint((value - low) / max(high - low, 1e-9) * (width - 1)))

    lines = []
    for name, (_, row) in zip(names, rows.iterrows(), strict=True):
        line = [" "] * width
        if not np.isnan(row["baseline"]):
            line[place(row["baseline"])] = "┊"
        if not np.isnan(row["raw_low"]):
            for column in range(place(row["raw_low"]), place(row["raw_high"]) + 1):
                line[column] = "─" if line[column] == " " else "┼"
        line[place(row["raw"])] = "●"
        lines.append(f"{name} {''.join(line)}")
    first, last = (percent(x, 0) if scale.share else scale.mean(x) for x in (low, high))
    title = f"{scale.title} (┊ baseline)"
    left = len(names[0])
    return [*lines, f"{title:<{left}} {first}{last:>{width - len(first)}}"]
