"""The verdict and the tables in a terminal at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WIDTH, WrappedTable, console
from gauntlet.pipeline.tables import registry
from gauntlet.pipeline.tables.formatting import Scale, by_scale, percent
from gauntlet.pipeline.tables.registry import BRIEF, ROWS, TERMINAL, Part, Results, Sheet
from gauntlet.pipeline.tables.sweep import parser
from gauntlet.pipeline.tables.sweep.diagnostics import UNBEATEN
from gauntlet.pipeline.tables.sweep.summary import BRIEF_VIEW
from gauntlet.pipeline.tables.sweep.verdict import verdict

LEAST_NAME, MOST_NAME = 28, 39
"""Characters of a cell's name beside its bar."""
LONGEST = 60
"""Characters of a bar."""
WARNINGS = 3
"""Warnings below the verdict."""


def show(results: Results) -> None:
    """Prints the verdict, one table and the first warnings."""
    out = console()
    for paragraph in results.cached(verdict):
        out.print(Text(paragraph, style="bold"))
    brief = Part(results, results["summary"], BRIEF, "summary.csv")
    for sheet in [*registry.tables()["tournament"].sheets(results, TERMINAL)] or BRIEF_VIEW(brief):
        out.print()
        out.print(sheet_view(sheet))

    def short(warning: str) -> str:
        """Without what the verdict says too: that a control is not beaten."""
        reasons = warning.split("; ")
        others = [reason for reason in reasons if not reason.startswith(UNBEATEN)]
        return "; ".join(others or reasons[:1])

    warnings = results["summary"]["warning"].map(short)
    for line in first_warnings(results["summary"].assign(warning=warnings), WARNINGS):
        out.print(Text(line))


def show_all(results: Results) -> None:
    """Prints every table; below the main one its warnings, and the means as bars."""
    out = console()
    for table, sheet in registry.sheets(results, TERMINAL):
        out.print()
        out.print(sheet_view(sheet))
        if table.name == "summary":
            for warning in first_warnings(results["summary"], ROWS[TERMINAL]):
                out.print(Text(warning))
            if line := parser.summary_line(results):
                out.print(Text(line, style="dim"))
            out.print()
            out.print(bars_view(results["summary"], out.width))


def warnings(summary: pd.DataFrame) -> list[str]:
    """One line for each cell with a warning."""
    if "warning" not in summary:
        return []
    rows = zip(registry.short_names(summary), summary["warning"], strict=True)
    return [f"WARNING {name}: {warning}" for name, warning in rows if warning]


def first_warnings(summary: pd.DataFrame, most: int) -> list[str]:
    """The warnings; if more than `most`, a quarter of these, and where the others are."""
    lines = warnings(summary)
    if len(lines) <= most:
        return lines
    few = max(1, most // 4)
    return [*lines[:few], f"WARNING and {len(lines) - few:,} other cells: diagnostics.csv"]


def sheet_view(sheet: Sheet) -> RenderableType:
    """A sheet with its title and foot."""
    table = WrappedTable()
    for place, title in enumerate(sheet.headings):
        if place == 0:
            table.add_column(title, overflow="fold", min_width=max(12, len(title)))
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*row)
    head = [Text(sheet.title, style="bold")] if sheet.title else []
    foot = [Text(sheet.foot, style="dim")] if sheet.foot else []
    return Group(*head, table, *foot)


def bars_view(summary: pd.DataFrame, columns: int = WIDTH) -> RenderableType:
    """The first cells' means with interval and baseline, one axis per measure."""
    plotted = summary.dropna(subset=["raw"])
    names, lines = registry.short_names(plotted), list[str]()
    plotted = plotted.head(ROWS[TERMINAL])
    left = min(max((LEAST_NAME, *map(len, names[: ROWS[TERMINAL]]))), MOST_NAME)
    width = min(LONGEST, columns - left - 1)
    for scale, places in by_scale(plotted):
        padded = [f"{names[at][:left]:<{left}}" for at in places]
        lines += _bars(plotted.iloc[places], padded, scale, width)
    return Text("\n".join(lines))


def _bars(rows: pd.DataFrame, names: Sequence[str], scale: Scale, width: int) -> list[str]:
    """names: padded to one width."""
    values = rows[["raw", "raw_low", "raw_high", "baseline"]].to_numpy(float)
    low, high = np.nanmin(values), np.nanmax(values)
    if scale.share:
        low, high = np.floor(low * 50) / 50, np.ceil(high * 50) / 50

    def place(value: float) -> int:
        return int(np.rint((value - low) / max(high - low, 1e-9) * (width - 1)))

    lines = []
    for name, (raw, raw_low, raw_high, baseline) in zip(names, values, strict=True):
        line = [" "] * width
        if not np.isnan(baseline):
            line[place(baseline)] = "┊"
        if not np.isnan(raw_low):
            for column in range(place(raw_low), place(raw_high) + 1):
                line[column] = "─" if line[column] == " " else "┼"
        line[place(raw)] = "●"
        lines.append(f"{name} {''.join(line)}")
    first, last = (percent(x, 0) if scale.share else scale.mean(x) for x in (low, high))
    title = f"{scale.title} (┊ baseline)"
    left = len(names[0])
    return [*lines, f"{title:<{left}} {first}{last:>{width - len(first)}}"]
