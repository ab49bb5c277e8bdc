"""MLflow as a view: the contents of a sweep's runs, and an unusable store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gauntlet.pipeline import metrics, track
from gauntlet.pipeline.log import live
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.play.match import Table
from gauntlet.pipeline.sweep import play as sweeping
from gauntlet.pipeline.sweep import publish_results as ending
from gauntlet.pipeline.tables import report
from gauntlet.pipeline.tracking import follow
from gauntlet.pipeline.tracking import track as tracking
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.stores import client_of, runs

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own


def test_runs_of_which_every_match_failed_have_failed(
    sweep: Sweep, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Table, state: object, seat: int) -> object:
        if self.cell.labels["prompt"] in failing:
            raise RuntimeError("no card")
        return turn(self, state, seat)

    turn, failing = Table.turn, {"cloze"}
    monkeypatch.setattr(Table, "turn", fail)
    told = ("deals=1", "tracking=mlflow", f"tracking.store={store}")
    assert sweep(*told) == 0
    assert sorted(run.info.status for run in runs(store)) == ["FAILED", "FINISHED", "FINISHED"]
    failing.add("counterfactual")
    assert sweep(*told, f"output_dir={store.parent / 'other'}") == 1
    assert [run.info.status for run in runs(store)].count("FAILED") == 4


@pytest.mark.drawn
def test_runs_of_many_cells_bring_what_is_their_own(
    sweep: Sweep, store: Path, at_every_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MANY", 1)
    monkeypatch.setattr(follow, "MANY", 1)
    told = ("tracking=mlflow", f"tracking.store={store}", "game=tic_tac_toe", "deals=2")
    with monkeypatch.context() as killed:  # before the final runs are made
        killed.setattr(ending, "track", lambda *_: "")
        killed.setattr(report, "drawings", lambda *_: {})
        assert sweep(*told) == 0
    assert [run.info.run_name for run in runs(store)] == [
        "tic_tac_toe: fake by cloze, counterfactual [out] (live)"
    ]
    assert sweep(*told) == 0
    client = client_of(store)
    parent, *cells = sorted(runs(store), key=lambda run: len(run.data.tags))
    assert client.list_artifacts(parent.info.run_id, "figures")
    for run in cells:
        assert client.list_artifacts(run.info.run_id, "records")
        assert not client.list_artifacts(run.info.run_id, "figures")


def test_a_folder_played_on_under_another_name_is_logged_once(sweep: Sweep, store: Path) -> None:
    for name in ("first", "second"):
        words = ("tracking=mlflow", f"tracking.store={store}", f"name={name}", "deals=2")
        assert sweep("agent=random", *words) == 0
    client = client_of(store)
    held = {
        found.name: len(client.search_runs([found.experiment_id]))
        for found in client.search_experiments()
    }
    assert held == {"Default": 0, "first / uno": 0, "second / uno": 2}


def test_a_model_added_to_a_folder_stands_beside_the_others(sweep: Sweep, store: Path) -> None:
    """With the requested calls, below one parent."""
    words = ("game=tic_tac_toe", "prompt=cloze", "deals=1", "tracking=mlflow")
    client = client_of(store)
    for seed in (0, 1, 1):
        assert sweep(f"model.seed={seed}", *words, f"tracking.store={store}") == 0
    found = runs(store)
    cells = [run for run in found if "gauntlet.cell" in run.data.tags]
    assert sorted(run.data.params["model"] for run in cells) == ["fake[seed=0]", "fake[seed=1]"]
    (parent,) = [run for run in found if run not in cells]
    assert {run.data.tags["mlflow.parentRunId"] for run in cells} == {parent.info.run_id}
    for run in cells:
        place = [run.info.experiment_id]
        assert client.search_traces(locations=place, run_id=run.info.run_id, include_spans=False)


def test_decision_metrics_join_the_runs_of_a_tracked_sweep(
    sweep: Sweep, folder: Path, store: Path, tmp_path: Path, capsys: Capsys
) -> None:
    assert sweep("tracking=mlflow", f"tracking.store={store}", "agent=rule", "deals=3") == 0
    judging = [str(folder), "--playouts", "20", "--threads", "1", "--everybody", "--store"]
    assert metrics.main([*judging, str(tmp_path / "elsewhere")]) == 0
    assert "MLflow" not in capsys.readouterr().out.split("decisions worth")[-1]
    assert not (tmp_path / "elsewhere").exists()
    client, parent = client_of(store), "uno: rule [out]"
    for again in (
        lambda: metrics.main([*judging, str(store)]),
        lambda: track.main([str(folder), "--store", str(store)]),
    ):
        assert again() == 0
        found = {run.info.run_name: run for run in runs(store)}
        assert found.keys() == {parent, "uno-solo-rule"}
        listed = client.list_artifacts(found[parent].info.run_id, "metrics")
        names = {Path(item.path).name for item in listed}
        assert names == {"metrics.csv", "traces.csv", "traces.png", "decision_quality.png"}
        child = found["uno-solo-rule"]
        assert len(child.data.metrics) <= 20
        logged = client.download_artifacts(child.info.run_id, "metrics/metrics.csv")
        assert Path(logged).read_bytes() == (folder / "metrics" / "metrics.csv").read_bytes()


@pytest.fixture
def at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics are offered whenever the driver checks, and waited for at the end."""
    monkeypatch.setattr(live, "WRITE_SECONDS", 0.0)
    monkeypatch.setattr(follow, "OFFER_SECONDS", 0.0)
    monkeypatch.setattr(follow, "CLOSE_SECONDS", 300.0)


def test_figures_are_logged_while_it_plays_and_replaced_in_the_end(
    sweep: Sweep, folder: Path, store: Path, at_every_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:  # before the final runs are made
        killed.setattr(ending, "track", lambda *_: "")
        assert sweep("tracking=mlflow", f"tracking.store={store}", "prompt=cloze") == 0
    client = client_of(store)
    found = {run.info.run_name: run for run in runs(store)}
    parent = "uno: fake by cloze [out]"
    assert set(found) == {f"{parent} (live)", "uno-solo-llm.fake.cloze (live)"}
    child = found["uno-solo-llm.fake.cloze (live)"]
    assert child.data.metrics["matches"] == 6
    last = client.get_metric_history(child.info.run_id, "running_win_rate")[-1]
    assert last.step == child.data.metrics["deals"]
    assert {
        "running_mean",
        "fallback_rate",
        "all_tokens",
        "device_seconds",
    } <= child.data.metrics.keys()
    assert found[f"{parent} (live)"].data.metrics["matches"] == 6
    (began,) = {run.info.start_time for run in found.values()}
    (told,) = Folder(folder).lines("runs")
    assert began == 1000 * time.mktime(time.strptime(told["started"], "%Y-%m-%d %H:%M:%S"))
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    assert all(run.info.end_time >= began for run in found.values())

    assert sweep("tracking=mlflow", f"tracking.store={store}", "prompt=cloze", "deals=8") == 0
    names = {run.info.run_name for run in runs(store)}
    assert names == {parent, "uno-solo-llm.fake.cloze"}


def test_live_runs_of_a_sweep_that_is_broken_off_end_as_killed(
    sweep: Sweep, store: Path, at_every_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(self: sweeping.Driver, tasks: Iterator[Any]) -> None:
        play(self, tasks)
        raise KeyboardInterrupt

    play = sweeping.Driver.run
    monkeypatch.setattr(sweeping.Driver, "run", broken_off)
    monkeypatch.setattr(follow, "HASTY_SECONDS", 300.0)
    assert (
        sweep("tracking=mlflow", f"tracking.store={store}", "agent=random", "prompt=cloze") == 130
    )
    assert [run.info.status for run in runs(store)] == ["KILLED"] * 2


@pytest.mark.parametrize("store", ["a file", "http://127.0.0.1:9"])
def test_a_store_that_cannot_be_used_ends_nothing_and_is_told(
    sweep: Sweep,
    folder: Path,
    at_every_look: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    store: str,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    Path("a file").write_text("and no folder")
    assert sweep("tracking=mlflow", f"tracking.store='{store}'", "prompt=cloze") == 0
    assert "MLflow not written" in {line["event"] for line in Folder(folder).events}
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot be used" in said
    assert "python -m pipeline.track" in said
    assert (folder / "summary.csv").exists()
