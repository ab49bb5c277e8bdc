"""Two cells of the same name in one folder: each keeps its own figures."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

from gauntlet.pipeline import metrics, track
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.tables.metrics import by_player, traces
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from tests.pipeline.conftest import Once
from tests.pipeline.records import placed, write
from tests.pipeline.stores import client_of

OTHER = "0123456789e12345"
"""A key that naive readers parse as a number."""


@pytest.fixture
def twins(once: Once) -> Path:
    """Four deals of a cell, and the first two again as a cell of the same name and another key."""
    folder = once("game=uno_arena", "agent=rule", "deals=4")
    (cell,) = (folder / "cells").glob("*.json")
    about = json.loads(cell.read_text())
    stem = cell.stem.replace(about["key"], OTHER)
    del about["crc32"]
    (cell.parent / f"{stem}.json").write_bytes(to_bytes({**about, "key": OTHER}))
    (log,) = (folder / "records").glob("*.jsonl")
    again = [
        placed(replace(record, cell=OTHER))
        for record in Folder(folder).matches()
        if record.deal < 2
    ]
    write(log.parent / f"{stem}.jsonl", again)
    judging = [str(folder), "--playouts", "20", "--threads", "1", "--everybody"]
    assert metrics.main([*judging, "--store", str(folder / "none")]) == 0
    return folder


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "metrics" / name, dtype={"key": str})


def test_every_file_tells_them_apart(twins: Path) -> None:
    table = read(twins, "metrics.csv")
    assert table["cell"].nunique() == 1
    games = table.drop_duplicates(["key", "games"]).set_index("key")["games"]
    assert games.pop(OTHER) == 2
    assert list(games) == [4]
    assert len(by_player(table, 0.0)) == 4
    shown = tables()["metrics"].sheets(Results(twins, (), {"metrics": table}), TERMINAL)
    rows = {sheet.title: len(sheet.rows) for sheet in shown}
    assert rows.pop("all games") == 4
    assert set(rows.values()) == {4 * 3}, "a row a player and number of options"
    lines = (twins / "metrics" / "decisions.jsonl").read_text().splitlines()
    deals = {(one["key"] == OTHER, one["deal"]) for one in map(json.loads, lines)}
    assert deals == {(False, deal) for deal in range(4)} | {(True, 0), (True, 1)}
    stands = read(twins, "traces.csv")
    assert stands.groupby("key")["match"].nunique()[OTHER] == 2
    titles = [axes.get_title() for axes in traces(stands).axes]
    assert titles == [f"deal {deal}, uno_arena-solo-rule" for deal in (0, 0, 1, 1)]


@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_each_run_of_mlflow_has_the_figures_of_its_cell(twins: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert track.main([str(twins), "--store", str(store)]) == 0
    client = client_of(store)
    places = [found.experiment_id for found in client.search_experiments()]
    runs = {run.data.tags.get("gauntlet.cell"): run for run in client.search_runs(places)}
    assert len(runs) == 3
    listed = {item.path for item in client.list_artifacts(runs[None].info.run_id, "metrics")}
    assert "metrics/metrics.csv" in listed
    for key, own in read(twins, "metrics.csv").groupby("key"):
        logged = client.download_artifacts(runs[key].info.run_id, "metrics/metrics.csv")
        again = pd.read_csv(logged, dtype={"key": str})
        pd.testing.assert_frame_equal(again, own.reset_index(drop=True), check_dtype=False)
