"""MLflow as a view: the contents of a sweep's runs, and an unusable store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet.pipeline import metrics, track
from gauntlet.pipeline.play.match import Table
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


@pytest.mark.parametrize("store", ["a file", "http://127.0.0.1:9"])
def test_a_store_that_cannot_be_used_ends_nothing_and_is_told(
    sweep: Sweep,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    store: str,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    Path("a file").write_text("and no folder")
    assert sweep("tracking=mlflow", f"tracking.store='{store}'", "prompt=cloze") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot be used" in said
    assert "python -m pipeline.track" in said
    assert (folder / "summary.csv").exists()


FIRST = """
import sys
from gauntlet.pipeline.tracking.store import open_store
print(len(open_store(sys.argv[1]).search_experiments()))
"""


def test_several_processes_make_a_new_store_together(tmp_path: Path) -> None:
    """In a folder whose name an address would take for a slash."""
    store = tmp_path / "feature%2Fx a?b#c" / "mlflow"
    command = [sys.executable, "-c", FIRST, str(store)]
    first = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in first] == ["1\n"] * 2
    assert (store / "mlflow.db").exists()


def test_a_folder_is_tracked_where_its_run_was(
    sweep: Sweep, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    monkeypatch.chdir(tmp_path)
    assert sweep("game=tic_tac_toe", "tracking=mlflow", f"tracking.store={own}") == 0
    assert track.main([str(folder)]) == 0
    assert not Path("outputs").exists()
    assert len(runs(own)) == 3
