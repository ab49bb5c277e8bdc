"""UNO Arena's tables as blocks of rows: the paper's, and ours from judged output_dirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from gauntlet.papers.uno_arena.changes import Change, change, ranked, side
from gauntlet.papers.uno_arena.lines import (
    Line,
    line,
    newest,
    published_lines,
    read_metrics,
    with_names,
)
from gauntlet.papers.uno_arena.tables import Block
from gauntlet.pipeline.tables.registry import read_table

TABLES = ("table2", "table3", "table3_rotated", "table4", "table5")
FIVE = ("gpt-3.5", "gpt-4", "gemini-pro", "llama2", "chatglm3")
"""Table 3's models in seat order, by their files in conf/model."""
VARIANTS = {
    "tutri": "full",
    "tutri_no_history": "minus_history",
    "tutri_no_strategy": "minus_strategy",
    "vanilla": "vanilla",
}
"""Table 5's rows by the prompt of the subject, player 1."""
SUBJECT, OPPONENT = 1, 0
Fallbacks = Literal["left_out", "counted"]


def paper_block(reported: Mapping[str, Any], table: str) -> Block:
    """Return the paper's rows; none for Table 3 with rotated seats, which is ours."""
    if table not in reported:
        return Block("paper", {})
    found = published_lines(reported, table, "changes") if "changes" in reported[table] else {}
    behind = ".tutri" if table == "table4" else ""
    changes = {f"{player}{behind}": Change(one.measures) for player, one in found.items()}
    return Block("paper", published_lines(reported, table), changes, table == "table4")


def our_block(
    folders: Mapping[str, Path], table: str, threshold: float, fallbacks: Fallbacks = "left_out"
) -> Block:
    """Return our rows of a table; none if it was not played. folders: output_dirs by table, and
    under `five` that of the paper's five models at one table."""
    if table not in folders:
        return Block("ours", {})
    metrics = read_metrics(folders[table], threshold, fallbacks)
    if table in ("table4", "table5"):
        ranks = ranked(folders[table], threshold, fallbacks)
        return _against_vanilla(folders[table], table, metrics, ranks)
    lines = {}
    if table == "table2":  # the opponent, the same in every cell, gets no row
        metrics = metrics[metrics["player"] == SUBJECT]
    for _, own in metrics.groupby(["key", "player"], sort=False):
        lines[_player(table, own, metrics)] = line(own)
    if table == "table3" and "five" in folders:
        together = read_metrics(folders["five"], threshold, fallbacks)
        lines |= {str(who): line(own) for who, own in together.groupby("who")}
    return Block("ours", lines)


def _player(table: str, player_rows: pd.DataFrame, frame: pd.DataFrame) -> str:
    """A player's id in rows. At a table of five, scripted players are named by the model there."""
    model, prompt, key = player_rows[["who", "prompt", "key"]].iloc[0]
    if table == "table2":
        return str(model)
    if prompt:
        return f"{model}.{prompt}"
    models = frame[(frame["key"] == key) & (frame["prompt"] != "")]["who"]
    return f"{model}.with_{models.iloc[0]}"


def _against_vanilla(folder: Path, table: str, frame: pd.DataFrame, ranks: pd.DataFrame) -> Block:
    """Tables 4 and 5. frame: from `measured`. ranks: from `ranked`, with the same `fallbacks`."""
    subjects = frame[frame["player"] == SUBJECT].drop_duplicates("key")
    lines: dict[str, Line] = {}
    changes: dict[str, Change] = {}
    for model, own in subjects.groupby("who", sort=False):
        cells = dict(zip(own["prompt"], own["key"], strict=True))
        if "tutri" not in cells:
            continue
        tutri = side(folder, ranks, cells["tutri"], SUBJECT)
        if table == "table4":
            lines[f"{model}.vanilla"] = line(_rows(frame, cells["tutri"], OPPONENT))
            lines[f"{model}.tutri"] = line(_rows(frame, cells["tutri"], SUBJECT))
            other = side(folder, ranks, cells["tutri"], OPPONENT)
            changes[f"{model}.tutri"] = change(tutri, other)
            continue
        for prompt in (one for one in VARIANTS if one in cells):
            player = f"{model}.{VARIANTS[prompt]}"
            lines[player] = line(_rows(frame, cells[prompt], SUBJECT))
            if prompt != "tutri":
                changes[player] = change(side(folder, ranks, cells[prompt], SUBJECT), tutri)
    return Block("ours", lines, changes, table == "table4")


def _rows(frame: pd.DataFrame, key: str, player: int) -> pd.DataFrame:
    return frame[(frame["key"] == key) & (frame["player"] == player)]


def expected_players(table: str, scripted: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return the players that a table has with these models."""
    if table == "table2":
        return [*scripted, *models]
    if table == "table4":
        return [f"{model}.{prompt}" for model in models for prompt in ("vanilla", "tutri")]
    if table == "table5":
        return [f"{model}.{variant}" for model in models for variant in VARIANTS.values()]
    seats = [f"{player}.with_{{0}}" for player in ("random", "rule", "search")]
    seats += ["{0}.vanilla", "{0}.tutri"]
    return [seat.format(model) for model in models for seat in seats]


def read_traces(folder: Path) -> pd.DataFrame:
    """Return traces.csv with `who`, for the cells that count."""
    stands = with_names(read_table(folder / "metrics" / "traces.csv", "key", "name"))
    return stands[stands["key"].isin(newest(folder))]
