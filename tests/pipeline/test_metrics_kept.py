"""Decisions are judged once: an interrupted judging resumes with the same results, and two cells of
one name keep their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec.structs import replace

from gauntlet.pipeline import metrics, track
from gauntlet.pipeline.judging import judge
from gauntlet.pipeline.judging.judgement_cache import most_deals, plies
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.tables.metrics import by_player, traces
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from tests.pipeline.conftest import Capsys, Once
from tests.pipeline.logs import edited
from tests.pipeline.records import decided, ended, placed, write
from tests.pipeline.stores import client_of


@pytest.fixture
def judged(once: Once, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the matches judged, one by one, in a folder of six."""
    once("game=uno_arena", "agent=rule", "deals=6")
    found: list[str] = []
    own = judge.judge

    def noted(game: Any, work: judge.JudgeSettings, record: Any) -> Any:
        found.append(record.match)
        return own(game, work, record)

    monkeypatch.setattr(metrics, "judge", noted)
    return found


def go(folder: Path, *options: str) -> dict[str, bytes]:
    base = ["--playouts", "20", "--threads", "1", "--store", str(folder / "none")]
    assert metrics.main([str(folder), *base, *options]) == 0
    return {path.name: path.read_bytes() for path in (folder / "metrics").iterdir()}


def test_what_is_judged_is_judged_once(judged: list[str], folder: Path) -> None:
    whole = go(folder)
    assert len(judged) == 6
    (kept,) = (folder / "judged").iterdir()
    lines = kept.read_bytes().splitlines(keepends=True)
    foreign = b'{"match": 1}\nno line at all\n'
    kept.write_bytes(foreign + b"".join(lines[:3]) + lines[3][:99])  # killed in the fourth
    assert go(folder) == whole
    assert len(judged) == 9
    go(folder, "--traces", "6")
    assert len(judged) == 11, "two of six had no trace yet; the torn line swallowed no other"
    go(folder, "--everybody")
    assert len(judged) == 17, "other players are judged anew"


def test_another_record_is_judged_anew(judged: list[str], folder: Path) -> None:
    go(folder)
    (path,) = (folder / "records").glob("*.jsonl")
    match = json.loads(path.read_text().splitlines()[2])["match"]

    def fallen(record: dict[str, Any]) -> dict[str, Any]:
        record["decisions"][0]["fallback"] = record["match"] == match
        return record

    edited(path, fallen)
    go(folder)
    assert judged[6:] == [match]


def test_the_first_deals_alone(
    judged: list[str], folder: Path, capsys: Capsys, monkeypatch: Any
) -> None:
    go(folder, "--deals", "2")
    assert len(judged) == 2
    assert "20 playouts an option, the first 2 of 6 deals" in capsys.readouterr().out
    monkeypatch.setattr(metrics, "PLIES", 1)
    monkeypatch.setattr(metrics, "PLAYOUTS", 5)
    assert metrics.main([str(folder), "--store", str(folder / "none")]) == 0
    assert len(judged) == 3, "one at the least, where nothing was asked for"


def test_a_budget_of_plies() -> None:
    costs = [(deal, 10) for deal in (0, 0, 1, 1, 2, 2)]
    assert [most_deals(costs, 5, budget) for budget in (0, 199, 200, 299, 300)] == [1, 1, 2, 2, 3]
    record = ended(decided(1), decided(0), decided(1, options=("a", "a")), decided(1))
    assert plies(record, everybody=False) == 2 * (2 * 4 + 2 * 1)
    assert plies(record, everybody=True) == 2 * (2 * 4 + 2 * 3 + 2 * 1)


# --- two cells of one name


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
