"""UNO Arena's Tables 2 to 5 in its layout, the paper's rows above ours, for files and the terminal.

Best and second best of a column are computed from the rows, separately for the paper's and for
ours, and in Table 4 for each model: lowest for ADR, highest for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.uno_arena.changes import Change
from gauntlet.papers.uno_arena.lines import Line, Lines
from gauntlet.pipeline.tables.formatting import number, p_value
from gauntlet.stats.multiple import holm

STYLES = {"best": "bold", "second": "underline"}
Marks = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Block:
    """Rows of one source. changes: by player, shown in brackets after its row. paired: whether each
    model's rows are marked separately."""

    source: str
    lines: Lines
    changes: Mapping[str, Change] = field(default_factory=dict)
    paired: bool = False

    def marks(self) -> Marks:
        if not self.paired:
            return marks(self.lines)
        models = dict.fromkeys(player.rpartition(".")[0] for player in self.lines)
        tables = (
            {p: one for p, one in self.lines.items() if p.rpartition(".")[0] == m} for m in models
        )
        return {player: found for lines in tables for player, found in marks(lines).items()}

    def corrected(self) -> dict[str, float]:
        """Return Holm's p-values over all changes."""
        found = holm([one.p_value for one in self.changes.values()])
        return dict(zip(self.changes, found.tolist(), strict=True))


def marks(lines: Lines) -> Marks:
    """Return the columns in which each player is best or second best. Equal values share a place;
    nothing is marked for a single player."""
    marks_by_player: dict[str, dict[str, str]] = {player: {} for player in lines}
    columns = next(iter(lines.values())).measures if lines else {}
    for column in columns:
        sign = 1 if column.startswith("ADR") else -1
        values = {p: sign * one.measures[column].value for p, one in lines.items()}
        places = sorted({value for value in values.values() if not isnan(value)})[:2]
        for player, value in values.items():
            if len(places) > 1 and value in places:
                marks_by_player[player][column] = ("best", "second")[places.index(value)]
    return marks_by_player


def layout(block: Block, columns: Sequence[str]) -> pd.DataFrame:
    """Return the block as a table for a file."""
    rows = []
    placed, corrected = block.marks(), block.corrected()
    for player, line in block.lines.items():
        row: dict[str, Any] = {"source": block.source, "player": player, "games": line.games}
        row |= {"solo_wins": line.solo, "shared_wins": line.shared}
        for column in columns:
            row |= _cells(column, line)
        for place in STYLES:
            row[place] = " ".join(c for c in columns if placed[player].get(c) == place)
        if player in block.changes:
            row |= _changes(block.changes[player], columns)
            row["p_holm"] = corrected[player]
        rows.append(row)
    return pd.DataFrame(rows)


def _cells(column: str, line: Line) -> dict[str, Any]:
    estimate = line.measures[column]
    cells: dict[str, Any] = {column: estimate.value}
    if line.decisions is not None:
        cells |= {f"{column}_low": estimate.low, f"{column}_high": estimate.high}
        if column.startswith("ODHR"):
            k = column.partition("@")[2]
            cells[f"decisions@{k}"] = line.decisions.get(int(k), 0)
    return cells


def _changes(change: Change, columns: Sequence[str]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for column in columns:
        found = change.measures[column]
        cells[f"delta_{column}"] = found.value
        cells |= {f"delta_{column}_low": found.low, f"delta_{column}_high": found.high}
    return {**cells, "p_value": change.p_value}


def view(title: str, blocks: Sequence[Block], columns: Sequence[str]) -> RenderableType:
    """Return the table for a terminal of 100 columns: bold is best, underlined second best."""
    grid = WrappedTable(header_style="dim")
    tested = any(not isnan(one.p_value) for block in blocks for one in block.changes.values())
    grid.add_column("player", overflow="fold", max_width=26)
    for heading in ("games", "solo", "shared", *columns, *(("p Holm",) if tested else ())):
        grid.add_column(heading, justify="right", no_wrap=True)
    for block in filter(lambda block: block.lines, blocks):
        grid.add_row(Text(block.source, style="dim"))
        placed, corrected = block.marks(), block.corrected()
        for player, line in block.lines.items():
            cells = [_cell(c, line, placed[player].get(c, "")) for c in columns]
            grid.add_row(player, str(line.games), _count(line.solo), _count(line.shared), *cells)
            if player in block.changes:
                change = block.changes[player].measures
                brackets = [number(change[c].value, "+.2f") for c in columns]
                p = [p_value(corrected[player])] if tested else []
                grid.add_row("", "", "", "", *(Text(b, style="dim") for b in brackets), *p)
    return Group(Text(title, style="bold"), grid)


def _cell(column: str, line: Line, mark: str) -> Text:
    value = line.measures[column].value
    text = number(value, ".4f" if column.startswith("ADR") else ".2f")
    return Text(text, style=STYLES.get(mark, ""))


def _count(count: int | None) -> str:
    return "" if count is None else str(count)
