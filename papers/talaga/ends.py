"""How TALAGA's players did against each other, read from the tables of our output_dirs.

A player is called by its file in conf/player, or by its prompt where it is the sweep's subject;
the model that it asks, one an output_dir, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from papers.published import Estimate
from papers.reproductions import read_csv
from pipeline.log.folder import Folder

ASKED = re.compile(r"llm\..+\.(\w+(?:\[.*\])?)")
NAMED = re.compile(r"(\w+)\..*")
PERCENT = 100.0
TURNED = {"all": "all", "first": "second", "second": "first"}
"""Which matches the other side opened."""


@dataclass(frozen=True)
class Ends:
    """How often a player won, drew and lost, in percent; margin: won less lost, in points."""

    games: int
    win: Estimate
    draw: Estimate
    loss: Estimate
    margin: Estimate


Met = Mapping[tuple[str, str], Mapping[str, Ends]]
"""By a player and its opponent, and by who moved first: all, the first or the second of them."""

Counted = Mapping[tuple[str, str], tuple[Estimate, int]]
"""By a player and its opponent a figure, and how many matches or hands it is of."""


def called(name: str) -> str:
    """llm.pocket.talaga is talaga, tot.pocket is tot, minimax is minimax."""
    for form in (ASKED, NAMED):
        if found := form.fullmatch(name):
            return found[1]
    return name


def sides(folder: Path) -> dict[str, tuple[str, str]]:
    """Of every cell by its name: the measured player, and its opponent."""
    found = {}
    for about in Folder(folder).abouts():
        other, own = map(called, about.players)
        found[about.name] = (own, other)
    return found


def met(folder: Path) -> dict[tuple[str, str], dict[str, Ends]]:
    """Every two players of an output_dir that have finished matches, from either side."""
    who, found = sides(folder), dict[tuple[str, str], dict[str, Ends]]()
    table = read_csv(folder / "outcomes.csv")
    for _, row in table[table["matches"] > 0].iterrows():
        own, other = who[row["cell"]]
        found.setdefault((other, own), {})[TURNED[row["moved"]]] = _ends(row, turned=True)
        found.setdefault((own, other), {})[row["moved"]] = _ends(row)
    return found


def _ends(row: pd.Series[Any], turned: bool = False) -> Ends:
    win, draw, loss = (
        Estimate(*(PERCENT * row[f"{end}{limit}"] for limit in ("", "_low", "_high")))
        for end in ("win", "draw", "loss")
    )
    lead = [PERCENT * (2 * row[f"score{limit}"] - 1) for limit in ("", "_low", "_high")]
    if turned:
        win, loss = loss, win
        lead = [-lead[0], -lead[2], -lead[1]]
    return Ends(int(row["matches"]), win, draw, loss, Estimate(*lead))


def means(folder: Path) -> dict[str, Ends]:
    """Each player of a round robin over all its opponents; none where not all have met."""
    found = {}
    for _, row in read_csv(folder / "standings.csv").iterrows():
        found[called(row["player"])] = _ends(row)
    return found
