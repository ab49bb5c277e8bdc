"""A tracked sweep of two games in MLflow: experiments, params, metrics, times, texts."""

from __future__ import annotations

import contextlib
import io
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from gauntlet.pipeline import run, track
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.tables import report
from gauntlet.pipeline.tracking.store import NOTE_TAG, PARENT_TAG, TAG, tracking_uri
from tests.pipeline.conftest import FAST

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own

SWEPT = ("game=tic_tac_toe,rock_paper_scissors", "prompt=cloze,counterfactual", "prompt.moves=2,3")
TIC, ROCK = "out / tic_tac_toe", "out / rock_paper_scissors"
COMMAND = "python -m pipeline.run 'a | b'"
BEGUN = "2026-11-01 12:00:00"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `out`, played on 1 November from noon for a minute, and `store`, with an older
    version's run of it under an older name."""
    base = tmp_path_factory.mktemp("tracked")
    folder, store = base / "out", str(base / "store")
    words = [word for word in FAST if not word.startswith("deals")]
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(io.StringIO()):
        patched.chdir(base)
        patched.setattr(report, "drawings", lambda *_: {})
        assert run.main([*words, *SWEPT, "deals=4", f"output_dir={folder}"]) == 0
        (told,) = Folder(folder).lines("runs")
        aged = {**told, "started": BEGUN, "command": COMMAND, "commit": "abc1234"}
        (folder / "runs.jsonl").write_bytes(line(aged))
        noon = time.mktime(time.strptime(BEGUN, "%Y-%m-%d %H:%M:%S"))
        for file in (folder / "records").iterdir():
            os.utime(file, (noon + 60, noon + 60))
        older(store, Folder(folder).id)
        assert track.main([str(folder), "--store", store]) == 0
    return base


def older(store: str, sweep: str) -> None:
    from mlflow.tracking import MlflowClient

    Path(store).mkdir()
    client = MlflowClient(tracking_uri(store))
    client.create_run(client.create_experiment("out"), tags={TAG: sweep}, run_name="out")


@pytest.fixture(scope="module")
def client(place: Path) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri(place / "store"))


@pytest.fixture(scope="module")
def runs_by_experiment(client: Any) -> dict[str, list[Any]]:
    """The runs of each experiment, the parent first."""
    return {
        one.name: sorted(
            client.search_runs([one.experiment_id]), key=lambda run: PARENT_TAG in run.data.tags
        )
        for one in client.search_experiments()
    }


@pytest.fixture(params=[TIC, ROCK])
def runs(runs_by_experiment: dict[str, list[Any]], request: pytest.FixtureRequest) -> list[Any]:
    return runs_by_experiment[request.param]


def test_a_game_is_an_experiment_and_older_runs_are_gone(
    runs_by_experiment: dict[str, list[Any]],
) -> None:
    assert {name: len(own) for name, own in runs_by_experiment.items()} == dict(
        zip(("Default", "out", TIC, ROCK), (0, 0, 5, 5), strict=True)
    )


def test_parent_and_children_stand_together(runs: list[Any]) -> None:
    parent, *children = runs
    assert {one.data.tags[PARENT_TAG] for one in children} == {parent.info.run_id}
    assert parent.data.params["cells"] == "4"
    assert {one.data.params["game"] for one in runs} == {parent.data.params["game"]}
    assert sum(one.data.metrics["matches"] for one in children) == parent.data.metrics["matches"]


def test_params_tell_with_what_it_was_played(runs: list[Any]) -> None:
    parent, *children = runs
    for child in children:
        told = child.data.params
        assert (told["deals"], told["matches_per_deal"], told["samples"]) == ("4", "1", "1")
        assert (told["opponents"], told["seed"], told["commit"]) == ("random", "1", "abc1234")
        assert {"torch", "transformers", "python", "machine", "seatings", "test"} <= told.keys()
        assert told["prompt"].startswith(told["prompt.name"])
        assert f"[moves={told['prompt.moves']}]" in told["prompt"]
    differ = {name for name in children[0].data.params if name not in parent.data.params}
    assert differ == {"prompt", "prompt.moves", "prompt.name"}
    assert {child.data.params["prompt.moves"] for child in children} == {"2", "3"}


def test_times_are_those_of_play(runs: list[Any]) -> None:
    noon = 1000 * int(time.mktime(time.strptime(BEGUN, "%Y-%m-%d %H:%M:%S")))
    assert {(one.info.start_time, one.info.end_time) for one in runs} == {(noon, noon + 60_000)}


def test_a_copied_folder_ends_no_later_than_its_run_said(place: Path) -> None:
    from gauntlet.pipeline.tracking.played import spans

    folder = Folder(place / "out")
    about = folder.abouts()[0]
    file, kept = folder.records_file(about.stem), folder.records_file(about.stem).stat()
    os.utime(file)
    try:
        ((start, end),) = spans(folder, [about], [])
    finally:
        os.utime(file, (kept.st_atime, kept.st_mtime))
    assert start == end == int(1000 * (folder.status or {})["updated"])


def test_differences_are_those_of_pairs_csv_from_either_side(place: Path, runs: list[Any]) -> None:
    pairs = pd.read_csv(place / "out" / "pairs.csv")
    own = {one.info.run_name: one.data.metrics for one in runs[1:]}
    names = {one.info.run_name: one.data.params["prompt"] for one in runs[1:]}
    seen = pairs[pairs["cell_a"].isin(own)]
    assert len(seen) == 6
    for _, pair in seen.iterrows():
        a, b = pair["cell_a"], pair["cell_b"]
        ((name, value),) = [
            (name, value)
            for name, value in own[a].items()
            if name.startswith("pairs/diff_vs_") and named(name).endswith(named(names[b]))
        ]
        assert value == pytest.approx(pair["difference"])
        assert own[a][f"{name}_low"] == pytest.approx(pair["ci_low"])
        (back,) = [
            name
            for name in own[b]
            if name.startswith("pairs/diff_vs_") and named(name).endswith(named(names[a]))
        ]
        assert own[b][back] == pytest.approx(-pair["difference"])
        assert own[b][f"{back}_high"] == pytest.approx(-pair["ci_low"])


def named(text: str) -> str:
    """Letters and digits alone."""
    return "".join(filter(str.isalnum, text))


def test_charts_have_a_step_a_deal_and_the_choices(client: Any, runs: list[Any]) -> None:
    for child in runs[1:]:
        points = client.get_metric_history(child.info.run_id, "running_mean")
        assert [point.step for point in points] == [1, 2, 3, 4]
        assert {point.timestamp for point in points} == {child.info.end_time}
        assert 0 <= child.data.metrics["diagnostics/first"] <= 1
        assert child.data.metrics["fallbacks"] == 0


def test_notes_say_what_was_found_and_how(place: Path, runs: list[Any]) -> None:
    parent, *children = runs
    note = parent.data.tags[NOTE_TAG]
    assert f"```\n{COMMAND}\n```" in note
    assert "there is no baseline to compare with" in note
    assert f"`{place / 'out' / 'report.html'}`" in note
    assert note.count("\n| fake ") == 4
    for child in children:
        assert child.data.tags[NOTE_TAG].startswith("fake c")
        assert ("**Warning:**" in child.data.tags[NOTE_TAG]) == bool(
            child.data.tags["gauntlet.warning"]
        )


def test_artifacts_are_the_config_the_command_and_the_cell(client: Any, runs: list[Any]) -> None:
    parent, *children = (run.info.run_id for run in runs)
    assert client.download_artifacts(parent, "command.txt")
    assert Path(client.download_artifacts(parent, "command.txt")).read_text() == f"{COMMAND}\n"
    config = yaml.safe_load(Path(client.download_artifacts(parent, "config.yaml")).read_text())
    assert len(config["jobs"]) == 8
    for run_id in children:
        names = {item.path for item in client.list_artifacts(run_id)}
        assert "cell.json" in names
