"""Reproduce UNO Arena: its Tables 2 to 5, the correlations of Fig. 2 and the traces of Fig. 3.

Every table is an experiment of conf/, judged by `pipeline/metrics.py`. Table 4 uses the same
matches as the first row of Table 5, played once in one folder; the decks of Fig. 3 are the first
four of Table 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
from matplotlib.figure import Figure
from rich.console import RenderableType

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.papers.published import Row, frame, paper, view
from gauntlet.papers.reproductions import Reproduction, Settings, available
from gauntlet.papers.uno_arena import tables as uno_arena_tables
from gauntlet.papers.uno_arena.changes import Change, change, ranked, side
from gauntlet.papers.uno_arena.lines import (
    Line,
    Lines,
    line,
    newest,
    published_lines,
    read_metrics,
    with_names,
)
from gauntlet.papers.uno_arena.rows import change_rows, correlation_rows, table_rows, trace_rows
from gauntlet.papers.uno_arena.tables import Block
from gauntlet.papers.verdicts import COMPARED
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.commands.metrics import heat_map, traces
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import read_table
from gauntlet.pipeline.tracking.judged import add_metrics

SCRIPTED = ("random", "rule", "search", "dqn")
THRESHOLDS = {"table2": 0.15, "table3": 0.0, "table3_rotated": 0.0, "table4": 0.0, "table5": 0.0}
"""Thresholds for critical decisions. Table 5's caption has .15; its first row, from Table 4, 0."""
DECKS = {"table2": 500, "table3": 200, "table3_rotated": 40, "table5": 100}
"""The paper's numbers of games; with rotation, each deck gives as many games as seats."""
TIE, TRACES = "min", 4
"""The paper's tie rule for ranks, and the number of decks in Fig. 3."""
TITLES = {
    "table2": "Table 2: against a random player, who moves first",
    "table3": "Table 3: five players at one table, seats fixed",
    "table3_rotated": "Table 3 again, everybody in every seat",
    "table4": "Table 4: TUTRI against vanilla",
    "table5": "Table 5: TUTRI, whole and without a part, against vanilla",
}


def reproduce(settings: Settings) -> Reproduction:
    """Play, judge and write everything, at most `deals` decks per table.

    Raises UserError for an unknown model.
    """
    model_names = available(settings.models)
    folders = play(settings, model_names)
    for folder in dict.fromkeys(folders.values()):
        judge(settings, folder, everybody=folder != folders["table2"])
    published, tables, figures_dir = (
        paper("uno_arena"),
        settings.out / "tables",
        settings.out / "figures",
    )
    blocks = {table: our_block(folders, table, THRESHOLDS[table]) for table in TABLES}
    trace_frame = read_traces(folders["table2"])
    tables.mkdir(exist_ok=True)
    for table in TABLES:
        file = tables / f"uno_arena_{table}.csv"
        write_atomically(file, layout(published, table, folders).to_csv(index=False))
    with plot_style.drawing_for(plot_style.WIDE):
        plot_style.save_png(figures(published, blocks, trace_frame, model_names), figures_dir)
    track(folders, blocks["table5"], published["columns"], settings.store)
    found = frame([*rows(published, blocks, trace_frame, settings.models)])
    judged = found[found["verdict"].isin(COMPARED)]
    return Reproduction(found, [*views(published, blocks), view(judged)], [tables, figures_dir])


def play(settings: Settings, model_names: Sequence[str]) -> dict[str, Path]:
    """Return the output_dir of every table that can be played here; `five` is Table 3 with the
    paper's own models, if all of them are available."""

    def run(table: str, experiment: str, folder: str, *words: str) -> Path:
        deals = f"deals={min(DECKS[table], settings.deals)}"
        return settings.run(f"uno_arena_{experiment}", f"uno_arena_{folder}", deals, *words)

    models = f"model={','.join(model_names)}" if model_names else "model=pocket"
    agents = f"agent={','.join([*SCRIPTED, 'llm'] if model_names else SCRIPTED)}"
    folders = {"table2": run("table2", "table2", "table2", agents, models)}
    if model_names:
        rotated = ("table3_rotated", "table3", "table3_rotated", "rotate=true")
        folders["table3"] = run("table3", "table3", "table3", models)
        folders["table3_rotated"] = run(*rotated, models)
        folders["table4"] = folders["table5"] = run("table5", "table5", "tutri", models)
    if set(FIVE) <= set(model_names):
        seats = [f"seats.{seat}.model={model}" for seat, model in enumerate(FIVE)]
        folders["five"] = run("table3", "table3", "five", "seats=five_models", *seats)
    return folders


def judge(settings: Settings, folder: Path, everybody: bool) -> None:
    """Judge the decisions of all players, or only of the measured ones as in Table 2, unless
    already done since the last match with at least as many playouts."""
    if not _is_judged(settings, folder, everybody):
        thresholds = map(str, sorted(set(THRESHOLDS.values())))
        options = ["--thresholds", *thresholds, "--tie", TIE, "--traces", str(TRACES)]
        settings.judge(folder, *options, *(["--everybody"] if everybody else []))


def _is_judged(settings: Settings, folder: Path, everybody: bool) -> bool:
    metrics_file = folder / "metrics" / "metrics.csv"
    played = max(file.stat().st_mtime for file in Folder(folder).record_files())
    if not metrics_file.exists() or metrics_file.stat().st_mtime <= played:
        return False
    table = read_table(metrics_file, "key")
    return (
        set(table["tie"]) == {TIE}
        and set(THRESHOLDS.values()) <= set(table["threshold"])
        and bool((table["playouts"] >= settings.playouts).all())
        and bool((table["traces"] >= TRACES).all())
        and not (everybody and (table.groupby("key")["player"].nunique() == 1).any())
    )


def track(folders: Mapping[str, Path], ablation: Block, columns: Sequence[str], store: str) -> None:
    """Log the metrics to the sweeps' MLflow runs, and to those of Table 5 the ablation of TUTRI's
    reflections, ablation.csv."""
    if "table5" in folders:
        file = folders["table5"] / "metrics" / "ablation.csv"
        write_atomically(file, uno_arena_tables.layout(ablation, columns).to_csv(index=False))
    for folder in dict.fromkeys(folders.values()):
        try:
            add_metrics(folder, store)
        except UserError as error:
            print(f"warning: {error}")


def layout(reported: Mapping[str, Any], table: str, folders: Mapping[str, Path]) -> pd.DataFrame:
    """Return a table as written to a file: the paper's rows, then ours at both thresholds, with
    fallback decisions left out and counted."""
    columns = reported["columns"]
    parts = [uno_arena_tables.layout(paper_block(reported, table), columns)]
    readings = product(sorted(set(THRESHOLDS.values())), get_args(Fallbacks))
    for threshold, fallbacks in readings:
        block = our_block(folders, table, threshold, fallbacks)
        about = {"threshold": threshold, "fallbacks": fallbacks}
        parts.append(uno_arena_tables.layout(block, columns).assign(**about))
    widest = max(parts, key=lambda part: part.shape[1])
    whole = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return whole[[*widest, *(column for column in whole if column not in widest)]]


def rows(
    reported: Mapping[str, Any],
    blocks: Mapping[str, Block],
    trace_frame: pd.DataFrame,
    models: Sequence[str],
) -> Iterator[Row]:
    """Yield every row of uno_arena.csv. models: those requested, available or not."""
    for table in TABLES:
        players = expected_players(table, SCRIPTED, models)
        yield from table_rows(reported, table, blocks[table].lines, players)
        if table in ("table4", "table5"):
            yield from change_rows(reported, table, blocks[table], players)
    yield from correlation_rows(
        reported, {name: blocks[name].lines for name in ("table2", "table3")}
    )
    yield from trace_rows(reported, trace_frame, models)


def views(reported: Mapping[str, Any], blocks: Mapping[str, Block]) -> Iterator[RenderableType]:
    for table in TABLES:
        title = f"{TITLES[table]}; decisions worth {THRESHOLDS[table]:.2f} or more"
        both = (paper_block(reported, table), blocks[table])
        yield uno_arena_tables.view(title, both, reported["columns"])


def figures(
    reported: Mapping[str, Any],
    blocks: Mapping[str, Block],
    trace_frame: pd.DataFrame,
    model_names: Sequence[str],
) -> dict[str, Figure]:
    """Draw Fig. 2 from both tables, the paper's and ours, and Fig. 3 for every available model."""
    plots = {}
    for table in ("table2", "table3"):
        for block in (paper_block(reported, table), blocks[table]):
            if block.lines:
                name = f"uno_arena_fig2_{table}_{block.source}"
                place = f"Table {table[-1]}, {block.source}"
                plots[name] = heat_map(by_player(block.lines), place)
    for model in model_names:
        plots[f"uno_arena_fig3_{model}"] = traces(duels(trace_frame, model))
    return plots


def by_player(lines: Lines) -> pd.DataFrame:
    """Return the estimates in the form `heat_map` expects."""
    return pd.DataFrame(
        {"name": player, **{column: one.value for column, one in line.measures.items()}}
        for player, line in lines.items()
    )


def duels(stands: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the rows of the model's matches."""
    return stands[stands["match"].isin(stands[stands["who"] == model]["match"])]


# --- tables as blocks of rows: the paper's, and ours from judged output_dirs

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
