"""Whole sweeps by batch jobs: the same records, and Ctrl-C leaves a job to the next run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gauntlet.models.api import batching
from gauntlet.pipeline.log.schema import MatchRecord
from tests.api import KEY, PocketServer, Stage
from tests.batches import BatchServer, until
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

DEALS = 6


@pytest.fixture
def server(
    stage: tuple[Stage, str], served: PocketServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BatchServer]:
    monkeypatch.setattr(batching, "GATHER_SECONDS", 0.3)
    monkeypatch.setattr(batching, "FIRST_LOOK", 0.05)
    server = BatchServer("chat", served.chat, key=KEY)
    server.done.set()
    stage[0].app = server.app()
    yield server
    server.done.set()


@pytest.fixture
def asked(stage: tuple[Stage, str], server: BatchServer) -> tuple[str, ...]:
    """The overrides that make the subject use the server."""
    return (
        *("model=openai", "model.name=pocket", f"model.base_url={stage[1]}", "prompt=cloze"),
        *("game=tic_tac_toe", f"deals={DEALS}", "baseline=null", "tracking=none"),
    )


def plain(record: MatchRecord) -> object:
    """A record without its times."""
    return msgspec.structs.replace(record, seconds=0.0, clock=None)


def test_a_sweep_by_batch_jobs_has_the_records_of_one_without(
    sweep: Sweep, folder: Path, tmp_path: Path, server: BatchServer, asked: tuple[str, ...]
) -> None:
    assert sweep(*asked, "model.cache=alone.sqlite", f"output_dir={tmp_path / 'alone'}") == 0
    alone = len(server.alone)
    assert sweep(*asked, "model.batch=true", "controls=[]") == 0
    mine, theirs = matches(folder), matches(tmp_path / "alone")
    assert len(mine) == DEALS
    assert {key: plain(one) for key, one in mine.items()} == {
        key: plain(one) for key, one in theirs.items()
    }
    assert len(server.alone) == alone + 1, "only the first question comes alone"
    assert set(server.times.values()) == {1}
    assert len(server.times) == alone - 1
    plies = max(sum(bool(one.asked) for one in match.decisions) for match in mine.values())
    assert len(server.jobs) <= 2 * plies
    assert len(server.jobs["job_0"].requests) >= DEALS, "one ply of all matches"


def test_ctrl_c_leaves_the_job_to_the_same_command(
    sweep: Sweep, folder: Path, server: BatchServer, asked: tuple[str, ...]
) -> None:
    server.done.clear()
    command = [sys.executable, "-m", "gauntlet.pipeline.run", *asked, "model.batch=true"]
    cache = f"model.cache={folder.parent / 'replies.sqlite'}"
    started: Callable[..., subprocess.Popen[str]] = subprocess.Popen
    with started(
        [*command, cache, f"output_dir={folder}", "launch=inline", "controls=[]"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        until(lambda: server.jobs, 120)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, _ = run.communicate(timeout=60)
    assert time.monotonic() - began < 20
    requests = len(server.jobs["job_0"].requests)
    said = f"batch jobs that go on at the server: 1, of {requests} requests; the same command takes"
    out = " ".join(out.split())
    assert said in out
    assert "running the same command again continues" in out
    server.done.set()
    assert sweep(*asked, "model.batch=true", cache, "controls=[]") == 0
    assert len(matches(folder)) == DEALS
    assert set(server.times.values()) == {1}
