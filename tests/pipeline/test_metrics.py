"""Decision metrics of whole sweeps: what is judged, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline import metrics
from tests.pipeline.conftest import Sweep


def measured(folder: Path, *options: str) -> pd.DataFrame:
    assert metrics.main([str(folder), "--playouts", "40", "--threads", "1", *options]) == 0
    return pd.read_csv(folder / "metrics" / "metrics.csv")


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "metrics" / "decisions.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("game", ["uno", "uno_arena"])
def test_every_decision_of_the_subject_is_judged(sweep: Sweep, folder: Path, game: str) -> None:
    assert sweep(f"game={game}", "agent=rule", "deals=3") == 0
    table = measured(folder, "--traces", "1")
    summary = pd.read_csv(folder / "summary.csv")
    found = lines(folder)
    assert len(found) == summary["decisions"].sum()
    assert {line["player"] for line in found} == {1}
    for line in found:
        for source in ("true", "seen"):
            values = line[source]["values"]
            assert len(values) == len(set(line["options"])) == len(line["options"])
            assert 0 <= min(values) <= max(values) <= 1
            better = sum(value > values[line["chosen"]] for value in values)
            assert line[source]["rank"] == 1 + better
            assert line[source]["criticality"] == pytest.approx(max(values) - min(values))
    assert len(table) == 3 * 2 * 2 * 2
    row = table[(table["options"] == 2) & (table["values"] == "true")].iloc[0]
    two = [line["true"]["rank"] for line in found if len(line["options"]) == 2]
    assert row["decisions"] == len(two)
    assert row["adr"] == pytest.approx(sum(two) / len(two))
    assert row["odhr"] == pytest.approx(2 - row["adr"])
    assert row["wins"] == summary["wins"].sum()
    trace = pd.read_csv(folder / "metrics" / "traces.csv")
    assert set(trace["deal"]) == {0}
    last = trace[trace["ply"] == trace["ply"].max()]
    assert set(last["true"]) == {0.0, 1.0} or game == "uno_arena"


def test_wins_alone_and_shared_ones_are_told_apart() -> None:
    """Three matches, the last with the players' seats exchanged."""
    returns = ((1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
    records = [
        {"returns": worth, "rotation": rotation}
        for worth, rotation in zip(returns, (0, 0, 1), strict=True)
    ]
    cell = metrics.Cell("cell", ("a", "b"), tuple(records), (), ())
    counts = ("games", "wins", "solo_wins", "shared_wins")
    assert [metrics.wins(cell, 0)[name] for name in counts] == [3, 3, 2, 1]
    assert [metrics.wins(cell, 1)[name] for name in counts] == [3, 1, 0, 1]


def test_the_same_log_gives_the_same_tables(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=uno_arena", "agent=random", "deals=2") == 0
    first = measured(folder)
    pd.testing.assert_frame_equal(measured(folder, "--threads", "2"), first)


def test_decisions_of_a_fallback_are_left_out_and_counted_apart(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=uno_arena", "agent=llm", "prompt=cloze", "deals=2") == 0
    (path,) = (folder / "records").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        for decision in record["decisions"]:
            decision["fallback"] = decision["seat"] == record["subject"]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    table = measured(folder)
    left_out = table[table["fallbacks"] == "left_out"]
    assert left_out["decisions"].sum() == 0
    assert left_out["odhr"].isna().all()
    assert table[table["fallbacks"] == "counted"]["decisions"].sum() > 0


@pytest.mark.parametrize(
    ("overrides", "options", "told"),
    [
        (["game=tic_tac_toe"], [], "tic_tac_toe has no playouts"),
        (["game=uno_arena"], ["--playouts", "0"], "playouts and threads are 1 or more"),
        (["game=uno_arena"], ["--thresholds", "2"], "threshold"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    sweep: Sweep,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    overrides: list[str],
    options: list[str],
    told: str,
) -> None:
    assert sweep(*overrides, "agent=random", "deals=1") == 0
    assert metrics.main([str(folder), "--playouts", "10", *options]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_folder_without_a_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert metrics.main([str(tmp_path)]) == 2
    assert "holds no finished or begun sweep" in capsys.readouterr().err
