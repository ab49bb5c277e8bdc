"""A tracked sweep in MLflow: experiments, params, figures, times, words, and calls as traces."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gauntlet.pipeline import run, track
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.tables.sweep import report
from gauntlet.pipeline.tracking.spans import traces_of
from gauntlet.pipeline.tracking.store import PARENT_TAG, TAG
from gauntlet.pipeline.tracking.traces import CLOSE, FALLBACK, FIRST, WHY_TAG, striking, trace_id
from tests.pipeline.conftest import FAST, Sweep
from tests.pipeline.records import decided, ended, scored
from tests.pipeline.stores import client_of, table_of

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
    Path(store).mkdir()
    client = client_of(store)
    client.create_run(client.create_experiment("out"), tags={TAG: sweep}, run_name="out")


@pytest.fixture(scope="module")
def client(place: Path) -> Any:
    return client_of(place / "store")


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


def test_a_folder_that_is_tracked_again_has_as_many_runs(place: Path, client: Any) -> None:
    def count() -> int:
        places = [one.experiment_id for one in client.search_experiments()]
        return len(client.search_runs(places))

    before = count()
    assert track.main([str(place / "out"), "--store", str(place / "store")]) == 0
    assert count() == before == 10


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


def test_charts_have_a_step_a_deal_and_the_choices(client: Any, runs: list[Any]) -> None:
    for child in runs[1:]:
        points = client.get_metric_history(child.info.run_id, "running_mean")
        assert [point.step for point in points] == [1, 2, 3, 4]
        assert points[-1].value == pytest.approx(child.data.metrics["raw"])
        assert {point.timestamp for point in points} == {child.info.end_time}
        assert 0 <= table_of(client, child)["diagnostics/first"] <= 1
        assert len(child.data.metrics) <= 20
        assert {"estimate", "by_deal/mean"} <= child.data.metrics.keys()
        assert child.data.metrics["fallbacks"] == 0


def test_artifacts_are_the_config_the_command_and_the_cell(client: Any, runs: list[Any]) -> None:
    parent, *children = (run.info.run_id for run in runs)
    assert client.download_artifacts(parent, "command.txt")
    assert Path(client.download_artifacts(parent, "command.txt")).read_text() == f"{COMMAND}\n"
    names = {item.path for item in client.list_artifacts(parent)}
    assert {"summary.csv", "pairs.csv", "report.html"} <= names
    config = yaml.safe_load(Path(client.download_artifacts(parent, "config.yaml")).read_text())
    assert len(config["jobs"]) == 8
    for run_id in children:
        names = {item.path for item in client.list_artifacts(run_id)}
        assert "cell.json" in names
        assert len(client.list_artifacts(run_id, "records")) == 1


# --- traces


SECOND = 10**9


def two_turns(**more: Any) -> MatchRecord:
    """A decision with two prompts, one by a scripted player, and a fallback."""
    both = scored(branches=("A) a\nB) b\n", "A) b\nB) a\n"), tokens=(3, 4),
                  logprobs=((-0.1, -2.5), (-0.2, None)))  # fmt: skip
    lost = decided(1, "malformed", fallback=True)
    return ended(decided(1, asked=(both,)), decided(0, asked=()), lost, **more)


def test_a_decision_is_a_trace_and_each_prompt_a_call() -> None:
    record = two_turns(clock=Clock(100.0, ((0.25, 1.5), (2.0, 3.0))))
    first, second = traces_of(record, "sweep", 0)
    assert (first.name, first.match, first.fault) == ("turn 0, seat 1", "m", "")
    assert (second.name, second.fault) == ("turn 2, seat 1", "malformed")
    assert first.times == (100 * SECOND + SECOND // 4, 101 * SECOND + SECOND // 2)
    assert second.times == (102 * SECOND, 103 * SECOND)
    assert [call.times for call in first.calls] == [first.times] * 2
    assert [call.usage["input_tokens"] for call in first.calls] == [3, 4]
    turned = first.calls[1]
    assert turned.outputs["probabilities"] == {"A) b": 0.818731, "B) a": 0.0}
    user, cue = (message["content"] for message in turned.inputs["messages"])
    assert user == "Rules.\nWhich?\nA) b\nB) a\n"
    assert cue == "Answer:"
    assert len({trace_id(one) for one in traces_of(record, "other", 0)} | {trace_id(first)}) == 3


def test_a_record_without_a_clock_shares_its_seconds_out() -> None:
    first, second = traces_of(two_turns(seconds=3.0), "sweep", 7000)
    assert first.times == (7 * SECOND, 8 * SECOND + SECOND // 2)
    assert second.times == (8 * SECOND + SECOND // 2, 10 * SECOND)
    assert first.notes["times"] == "spread"


def test_the_sample_has_the_first_the_closest_and_the_failed() -> None:
    margins = [0.9, 0.8, 0.1, 0.7, 0.2, 0.6]
    failed = {3: 1, 5: 2}
    records = [
        ended(
            decided(1, margin=margin),
            *(decided(1, fallback=True) for _ in range(failed.get(deal, 0))),
            decided(0, margin=0.0, fallback=True),  # not the subject's
            deal=deal,
        )
        for deal, margin in enumerate(margins)
    ]
    found = {record.deal: why for record, why in striking(reversed(records), 2)}
    assert found == {
        0: (FIRST,),
        1: (FIRST,),
        2: (CLOSE,),
        3: (FALLBACK,),
        4: (CLOSE,),
        5: (FALLBACK,),
    }
    assert {record.deal: why for record, why in striking(records[3:4], 2)} == {
        3: (FIRST, FALLBACK, CLOSE)
    }


def test_a_sweep_is_traced_whole_and_traced_again_in_its_place(
    sweep: Sweep, folder: Path, store: Path
) -> None:
    told = ("tracking=mlflow", f"tracking.store={store}", "game=tic_tac_toe", "deals=3")
    assert sweep(*told, "prompt=cloze,direct", "tracking.traces=all") == 0
    log = {one.match: one for one in Folder(folder).matches()}
    asked = sum(bool(d.asked) for one in log.values() for d in one.decisions)
    tokens = sum(d.tokens for one in log.values() for d in one.decisions)

    found = {trace.info.trace_id: trace for trace, _ in traces(store)}
    assert len(found) == asked
    assert sum(span_tokens(trace) for trace in found.values()) == tokens
    for trace, linked in traces(store):
        record = log[trace.info.trace_metadata["mlflow.trace.session"]]
        assert linked.data.tags["gauntlet.cell"] == record.cell
        assert record.clock is not None
        begins = [round(1000 * (record.clock.began + begin)) for begin, _ in record.clock.asked]
        assert min(abs(trace.info.request_time - begin) for begin in begins) <= 1
        assert trace.info.tags[TAG] == Folder(folder).id
        assert WHY_TAG not in trace.info.tags

    assert track.main([str(folder), "--store", str(store)]) == 0
    some = [trace for trace, _ in traces(store)]
    assert {trace.info.trace_id for trace in some} <= found.keys()
    first = [trace.info for trace in some if FIRST in trace.info.tags[WHY_TAG]]
    assert {log[info.trace_metadata["mlflow.trace.session"]].deal for info in first} == {0, 1}
    assert track.main([str(folder), "--store", str(store), "--traces", "none"]) == 0
    assert not list(traces(store))


def traces(store: Path) -> Iterator[tuple[Any, Any]]:
    """Return every trace and the run that it is linked to."""
    client = client_of(store)
    for experiment in client.search_experiments():
        where = [experiment.experiment_id]
        for linked in client.search_runs(where):
            for trace in client.search_traces(locations=where, run_id=linked.info.run_id):
                yield trace, linked


def span_tokens(trace: Any) -> int:
    calls = [span for span in trace.data.spans if span.parent_id]
    usage = [span.attributes["mlflow.chat.tokenUsage"]["total_tokens"] for span in calls]
    return int(sum(usage))
