"""Model calls as MLflow traces: each call of the chosen matches once, with times and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gauntlet.pipeline import track
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import Clock, MatchRecord
from gauntlet.pipeline.tracking.sampled import CLOSE, FALLBACK, FIRST, striking
from gauntlet.pipeline.tracking.spans import traces_of
from gauntlet.pipeline.tracking.store import TAG, tracking_uri
from gauntlet.pipeline.tracking.traces import WHY_TAG, trace_id
from tests.pipeline.conftest import Sweep
from tests.pipeline.records import decided, ended, scored

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own

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
    for trace, run in traces(store):
        record = log[trace.info.trace_metadata["mlflow.trace.session"]]
        assert run.data.tags["gauntlet.cell"] == record.cell
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
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri(store))
    for experiment in client.search_experiments():
        where = [experiment.experiment_id]
        for run in client.search_runs(where):
            for trace in client.search_traces(locations=where, run_id=run.info.run_id):
                yield trace, run


def span_tokens(trace: Any) -> int:
    calls = [span for span in trace.data.spans if span.parent_id]
    usage = [span.attributes["mlflow.chat.tokenUsage"]["total_tokens"] for span in calls]
    return int(sum(usage))


def test_a_sample_that_nobody_knows_is_refused(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep("tracking=mlflow", "tracking.traces=some") == 2
    said = capsys.readouterr().err
    assert "tracking.traces is 'some'; it must be sample or all or none" in said
