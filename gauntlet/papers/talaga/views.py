"""Terminal views of TALAGA's tables: Table 1 as a square, and the cost of a move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.talaga.ends import Met
from gauntlet.papers.talaga.rows import our_name


def table1_view(reported: Mapping[str, Any], ends_by_pair: Met, model: str) -> RenderableType:
    """Win rates of row against column, in percent: ours, and the paper's in brackets."""
    grid = _table()
    for heading in ("", *reported["players"]):
        grid.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, line in reported["table1"]["rows"].items():
        cells = []
        for other, value in zip(reported["players"], line, strict=True):
            ends = ends_by_pair.get((our_name(name), our_name(other)))
            mine = f"{ends['all'].win.value:.0f}" if ends else "-"
            cells.append("" if value is None else f"{mine} ({value:g})")
        grid.add_row(name, *cells)
    return Group(Text(f"Table 1, {model}: wins in %, in brackets the paper's", "bold"), grid)


def cost_view(costs: pd.DataFrame, model: str) -> RenderableType:
    """Calls and tokens per move, by game and method."""
    grid = _table()
    headings = ("game", "method", "moves", "calls", "tokens in", "tokens out", "fallbacks")
    for at, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if at > 1 else "left", no_wrap=True)
    for _, cost in costs.iterrows():
        each = (f"{cost[name]:,.1f}" for name in ("calls", "tokens_in", "tokens_out"))
        shares = f"{100 * cost['fallbacks']:.1f}%"
        grid.add_row(cost["game"], cost["method"], f"{cost['decisions']:,}", *each, shares)
    return Group(Text(f"What a move cost, {model}", "bold"), grid)


def _table() -> WrappedTable:
    return WrappedTable(header_style="dim")
