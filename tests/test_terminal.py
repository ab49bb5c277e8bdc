"""Terminal output is no wider than the terminal or the file, and nothing of it is cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gauntlet.common.terminal import WrappedTable
from gauntlet.pipeline.tables.registry import TERMINAL, tables
from gauntlet.pipeline.tables.sweep import terminal
from tests.pipeline.made import about, made_of, won


@pytest.mark.parametrize("width", [100, 80, 60])
def test_columns_that_do_not_fit_follow_below(width: int) -> None:
    shown = WrappedTable()
    shown.add_column("cell", overflow="fold", min_width=12)
    figures = [f"{number}" * 12 for number in range(10)]
    for figure in figures:
        shown.add_column(figure[:9], justify="right", no_wrap=True)
    for name in ("fake cot", "fake direct"):
        shown.add_row(name, *figures)
    lines = printed(shown, width)
    assert all(len(line) <= width for line in lines)
    for name in ("fake cot", "fake direct"):
        rows = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
        assert [figure for row in rows for figure in row] == figures


def test_a_narrow_terminal_keeps_names_and_columns() -> None:
    cells = [won(about(name), [1, 0, 1, 1, 0, 0]) for name in ("cloze", "counterfactual")]
    results = made_of(cells)
    (sheet,) = tables()["summary"].sheets(results, TERMINAL)
    lines = printed(terminal.sheet_view(sheet), 80)
    assert sum("counterfactual" in line for line in lines) == 2
    assert "dec/s" in " ".join(lines)
    bars = printed(terminal.bars_view(results["summary"], 80), 80)
    assert len(bars) == 3, "a bar a cell, and the axis"


def printed(renderable: object, width: int) -> list[str]:
    out = io.StringIO()
    Console(width=width, file=out).print(renderable)
    return out.getvalue().splitlines()
