"""Terminal views of GameBench: Tables 1 and 2 under the right headings, printed values in brackets,
and how many rows agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.terminal import WrappedTable
from gauntlet.papers.gamebench.tables import OVERALL, heading

TITLES = {"table1": "Table 1: ratings", "table2": "Table 2: mean scores"}
FOOT = (
    "Under each game's own heading; in brackets what is printed, under the heading in the second "
    "line. Empty: nobody played, though Table 1 has a rating. *: of ties alone, which do not count."
)


def table_view(reported: Mapping[str, Any], ratings: pd.DataFrame, name: str) -> RenderableType:
    """ratings: from `tables.table`."""
    grid = WrappedTable(header_style="dim")
    order = [OVERALL, *reported["games"]]
    fields = {
        (row["agent"], heading(reported, row["game"])): row for row in ratings.to_dict("records")
    }
    first = next(iter(reported["agents"]))
    grid.add_column("agent", no_wrap=True)
    for short in order:
        title = f"{short}\n({fields[first, short]['printed_column']})"
        grid.add_column(title, justify="right", no_wrap=True)
    for agent in reported["agents"]:
        grid.add_row(agent, *(_field(fields[agent, short]) for short in order))
    return Group(Text(TITLES[name], "bold"), grid, Text(FOOT, "dim"))


def _field(row: Mapping[Any, Any]) -> str:
    mine = "" if np.isnan(row["corrected"]) else f"{row['corrected']:.2f}"
    alone = "*" if row["matches"] and row["matches"] == row["ties"] else ""
    printed = "NaN" if np.isnan(row["printed"]) else f"{row['printed']:.2f}"
    return f"{mine}{alone}\n({printed})"


def summary(frame: pd.DataFrame) -> str:
    """Return the number of rows with each verdict, by table, and the largest difference."""
    lines = []
    for table in ("table1", "table2", "table3", "fig2"):
        own = frame[frame["id"].str.startswith(f"gamebench.{table}.")]
        verdicts = ", ".join(f"{n} {said}" for said, n in own["verdict"].value_counts().items())
        most = own["gap"].abs().max()
        lines.append(
            f"{table}: {verdicts}" + ("" if np.isnan(most) else f"; at most {most:.3f} off")
        )
    return "\n".join(lines)
