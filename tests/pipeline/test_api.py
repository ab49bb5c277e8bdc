"""Whole sweeps over an API, paid ones that are stopped, and batch jobs: a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gauntlet.models.api import batching
from gauntlet.models.api.openai import OpenAI
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Plan
from tests.api import KEY, PocketServer, Script, Stage
from tests.batches import BatchServer, until
from tests.nodes import ROOT
from tests.pipeline.composing import cells_of
from tests.pipeline.conftest import Capsys, Refusal, Sweep
from tests.pipeline.logs import matches

README = ROOT / "README.md"


@pytest.fixture
def api(url: str) -> tuple[str, ...]:
    """The overrides that make the subject use the server."""
    return (
        *("model=openai", "model.name=pocket", f"model.base_url={url}", "prompt=cloze"),
        *("game=tic_tac_toe", "deals=2", "model.endpoint=completions"),
    )


def test_a_match_over_the_api_is_the_match_of_the_model_itself(
    sweep: Sweep, folder: Path, tmp_path: Path, api: tuple[str, ...]
) -> None:
    assert sweep(*api) == 0
    mine = matches(folder)
    other = f"output_dir={tmp_path / 'local'}"
    assert sweep("model=pocket", "prompt=cloze", "game=tic_tac_toe", "deals=2", other) == 0
    theirs = matches(tmp_path / "local")

    def moves(record: MatchRecord) -> list[int]:
        return [decision.chosen for decision in record.decisions]

    assert sorted(map(moves, mine.values())) == sorted(map(moves, theirs.values()))
    summary = (folder / "summary.csv").read_text()
    assert "openai:pocket[endpoint=completions]" in summary


def test_a_capped_sweep_goes_on_from_the_cache(
    sweep: Sweep, folder: Path, served: PocketServer, api: tuple[str, ...], capsys
) -> None:
    priced = (*api, "model.price_in=10", "model.price_out=30", "model.in_flight=4")
    assert sweep(*priced, "model.cap=0.012") == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "gauntlet: pocket at http://127.0.0.1" in said.err
    assert "the spending cap of 0.012 is reached" in said.err
    assert "stopped: 2 matches are left" in said.out
    assert "the same command again" not in said.out, "a larger cap is needed"
    assert not (folder / "failed_matches.jsonl").exists()
    paid = served.billed.copy()
    assert len(paid) > 5
    kept = matches(folder)
    assert sweep(*priced, "model.cap=10") == 0
    assert len(matches(folder)) == 2
    assert matches(folder).items() >= kept.items()
    assert set(served.billed.values()) == {1}
    total = served.billed.copy()
    (folder / "records").rename(folder / "before")
    assert sweep(*priced, "model.cap=10") == 0
    assert served.billed == total, "a match played again from the cache asked the server"


def test_what_is_paid_is_told(
    sweep: Sweep, folder: Path, served: PocketServer, api: tuple[str, ...], capsys
) -> None:
    assert sweep(*api, "deals=1", "model.price_in=1e6") == 0
    replies = served.billed.total()
    told = re.search(rf": {replies:,} replies kept, ([\d,]+) tokens read", capsys.readouterr().out)
    assert told
    read = int(told.group(1).replace(",", ""))
    (record,) = matches(folder).values()
    asked = sum(decision.tokens for decision in record.decisions)
    assert 0 < read - asked < 40, "the first question whether it answers is no match's"
    lines = map(json.loads, (folder / "run.log").read_text().splitlines())
    (line,) = (line for line in lines if line["event"] == "paid")
    assert f"{read:.4g} paid, at most 0 more" in line["account"]


def test_two_ways_to_ask_one_model_are_one_account(
    sweep: Sweep, api: tuple[str, ...], capsys: Capsys
) -> None:
    ways = (*api[:-1], "model.endpoint=chat,completions")
    assert sweep(*ways, "deals=1") == 0
    assert capsys.readouterr().out.count("\npaid ") == 1


def test_the_command_of_the_readme_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    row = re.search(r"OPENAI_API_KEY=\S+ python -m pipeline\.run ([^#\n]*)", README.read_text())
    assert row
    (source,) = Plan(cells_of(*row.group(1).split()), 1, 1).sources
    assert isinstance(source, OpenAI)
    assert min(source.prices.prompt, source.prices.written) > 0
    assert source.cap


def test_a_server_that_is_not_there_is_one_line(
    sweep: Sweep, folder: Path, refusal: Refusal
) -> None:
    asked = ("model=openai", "model.name=m", "model.base_url=http://127.0.0.1:9/v1", "deals=1")
    assert "model 'm' at http://127.0.0.1:9/v1: it cannot be reached" in refusal(
        sweep(*asked, "prompt=cloze")
    )
    assert not list((folder / "records").iterdir())


# --- api stopped


def answered(served: PocketServer) -> int:
    """Count the distinct requests that the server has answered; each once."""
    assert set(served.billed.values()) <= {1}, "a request was answered twice"
    return len(served.billed)


def stored(cache: Path) -> tuple[int, int]:
    """Count the replies kept, and the requests that may be billed without one."""
    with sqlite3.connect(cache) as base:
        counts = base.execute(
            "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM sent)"
        ).fetchone()
    base.close()
    return counts


def test_a_sweep_stopped_by_ctrl_c_keeps_every_answer(
    sweep: Sweep, folder: Path, served: PocketServer, script: Script, api: tuple[str, ...]
) -> None:
    """Ray workers, as the other player is a model of theirs; then this process goes on."""
    script.seconds = (0.3, 0.4, 0.5)  # long enough to be under way, and sure to be waited for
    cache = folder.parent / "replies.sqlite"
    words = (
        *("seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=cloze", *api, "deals=12"),
        *("model.price_in=1", "model.price_out=300", "model.in_flight=4", f"model.cache={cache}"),
        *("baseline=null", "tracking=none", "controls=[]"),
    )
    command = (sys.executable, "-m", "pipeline.run", *words, "launch.workers=2")
    with subprocess.Popen(
        [*command, f"output_dir={folder}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # in a process group of its own, as under a terminal
    ) as run:
        while answered(served) < 10:  # only the server's count shows how far the command is
            assert run.poll() is None, "".join(run.communicate())
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130, out + err
    assert "running the same command again continues" in " ".join(out.split())
    assert answered(served) >= 10
    assert stored(cache) == (answered(served), 0)
    script.seconds = (0.0,)
    assert sweep(*words) == 0
    assert stored(cache) == (answered(served), 0)


# --- batch jobs


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
