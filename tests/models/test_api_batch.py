"""Batch jobs: all that waits is one job, at half price, and a job is never sent twice."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api import batching
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.jobs import JOBS
from gauntlet.models.api.ledger import JOB_SECONDS
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.remote import Remote
from gauntlet.models.api.settings import BATCH_SLOTS
from gauntlet.models.base import Concurrent, Generate, Generation, Prompt, Score
from tests.api import KEY, Stage
from tests.batches import BatchServer, echo, until
from tests.vendors import READ, VENDORS, WRITTEN

ENDPOINTS = ("chat", "completions", "responses", "messages")
BOTH = ("chat", "messages")
ASKS = [Generate(Prompt("Rules.\n", f"Hand {hand}\n"), 8, seed=3) for hand in range(12)]

KILLED = """
import sys
from gauntlet.models.api import batching
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.base import Generate, Prompt
batching.GATHER_SECONDS, batching.FIRST_LOOK, batching.LONGEST_LOOK = 0.2, 0.05, 0.05
endpoint, url, cache = sys.argv[1:]
model = OpenAI("m", url, endpoint, cache=cache, batch=True).load()
model.answer([Generate(Prompt("Rules.\\n", f"Hand {hand}\\n"), 8, seed=3) for hand in range(12)])
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, and the key of both vendors."""
    monkeypatch.setattr(batching, "GATHER_SECONDS", 0.2)
    monkeypatch.setattr(batching, "FIRST_LOOK", 0.05)
    monkeypatch.setattr(batching, "LONGEST_LOOK", 0.1)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)


class World:
    """A server, and models that ask it."""

    def __init__(self, server: BatchServer, url: str, cache: Path) -> None:
        self.server, self.url, self.cache = server, url, cache
        self._opened: list[Remote] = []

    def source(self, **settings: Any) -> OpenAI:
        usual = {"batch": True, "cache": str(self.cache), "patience": 5.0, "timeout": 5.0}
        return OpenAI("m", self.url, self.server.endpoint, **{**usual, **settings})

    def open(self, **settings: Any) -> Remote:
        self._opened.append(self.source(**settings).load())
        return self._opened[-1]

    def close(self) -> None:
        for model in self._opened:
            model.close()


Worlds = Callable[[str], World]


@pytest.fixture
def world(stage: tuple[Stage, str], tmp_path: Path) -> Iterator[Worlds]:
    worlds: list[World] = []

    def make(endpoint: str) -> World:
        server = BatchServer(endpoint, echo(endpoint), key=KEY)
        server.done.set()
        stage[0].app = server.app()
        worlds.append(World(server, stage[1], tmp_path / "replies.sqlite"))
        return worlds[-1]

    yield make
    for opened in worlds:
        opened.close()


def texts(model: Remote, asks: list[Generate] = ASKS) -> list[str]:
    """The texts of replies to requests that come from as many threads."""
    with ThreadPoolExecutor(len(asks)) as threads:
        replies = [reply for (reply,) in threads.map(lambda ask: model.answer([ask]), asks)]
    assert all(isinstance(reply, Generation) for reply in replies)
    return [reply.text for reply in replies if isinstance(reply, Generation)]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_all_that_waits_is_one_job_with_the_replies_of_single_requests(
    world: Worlds, endpoint: str, tmp_path: Path
) -> None:
    here = world(endpoint)
    right = here.open(batch=False, cache=str(tmp_path / "other")).answer(ASKS)
    alone = here.server.alone[1:]
    model = here.open()
    assert isinstance(model, Concurrent)
    assert model.slots == BATCH_SLOTS
    assert len(set(texts(model))) == len(ASKS), "each its own"
    (job,) = here.server.jobs.values()
    assert sorted(map(str, alone)) == sorted(str(body) for _, body in job.requests)
    assert job.looks >= 1
    assert model.answer(ASKS) == right
    assert here.open(batch=False).answer(ASKS) == right, "a reply is a reply, however it came"
    assert len(here.server.alone) == len(alone) + 2, "only the first question comes alone"
    assert len(here.server.jobs) == 1
    spending = model.spending()
    assert (spending.replies, spending.unsure.prompt) == (len(ASKS) + 1, 0)


@pytest.mark.parametrize("endpoint", BOTH)
def test_what_fails_in_a_job_is_asked_again_and_what_is_refused_is_not(
    world: Worlds, endpoint: str
) -> None:
    here = world(endpoint)
    fates = {0: "expired", 1: "canceled", 2: "500", 3: "missing", 4: "400"}
    here.server.fate = lambda job, place, body: fates.get(place, "") if job == 0 else ""
    model = here.open(price_in=1.0, price_out=1.0)
    with ThreadPoolExecutor(len(ASKS)) as threads:
        waiting = [threads.submit(model.answer, [ask]) for ask in ASKS]
    errors = [future.exception() for future in waiting if future.exception()]
    assert len(errors) == 1
    assert isinstance(errors[0], ModelError)
    assert not isinstance(errors[0], Stopped)
    assert "refused (400: a bad prompt)" in str(errors[0])
    first, second = here.server.jobs.values()
    assert {key for key, _ in second.requests} == {key for key, _ in first.requests[:4]}
    spending = model.spending()
    assert spending.replies == len(ASKS) - 1 + 1
    assert spending.unsure.written == 8, "only the missing one may have been billed"


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_request_that_always_expires_is_given_up(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    here.server.fate = lambda job, place, body: "expired"
    with pytest.raises(Stopped, match=r"the same command continues"):
        here.open().answer(ASKS[:1])
    assert len(here.server.jobs) == batching.MOST_JOBS


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_killed_run_is_resumed_by_the_name_of_its_job(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    here.server.done.clear()
    command = [sys.executable, "-c", KILLED, endpoint, here.url, str(here.cache)]
    with subprocess.Popen(command) as other:
        until(lambda: any(job.looks for job in here.server.jobs.values()), 60)
        other.send_signal(signal.SIGKILL)
    assert "go on at the server: 1, of 12 requests" in here.source().account()
    with pytest.raises(Stopped, match=r"job_0; set model.batch=true"):
        here.open(batch=False).answer(ASKS[:1])
    here.server.done.set()
    model = here.open()
    assert len(set(texts(model))) == len(ASKS)
    assert set(here.server.times.values()) == {1}
    assert len(here.server.times) == len(ASKS)
    assert (model.spending().replies, model.spending().unsure.prompt) == (len(ASKS) + 1, 0)
    assert "batch jobs" not in here.source().account()


@pytest.mark.parametrize("endpoint", BOTH)
def test_several_models_share_a_job_and_pay_it_once(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    here.server.done.clear()
    models = [here.open(), here.open()]
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(texts, models[0])]
        until(lambda: here.server.jobs)
        more = [replace(ASKS[0], seed=4), *ASKS]
        waiting += [threads.submit(texts, models[1], more)]
        until(lambda: len(here.server.jobs) == 2)
        here.server.done.set()
        first, second = [future.result(20) for future in waiting]
    assert second[1:] == first
    assert set(here.server.times.values()) == {1}
    assert len(here.server.times) == len(ASKS) + 1
    assert models[0].spending().replies == len(ASKS) + 2


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_cap_counts_half_the_price(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    prices = {"price_in": 1e6, "price_out": 1e6, "price_cached": 1e6}  # a token costs 1
    dialect, stores = DIALECTS[endpoint](name="m"), endpoint == "messages"
    most = dialect.most(dialect.writing(ASKS[0]))
    bound = most.prompt * (1.25 if stores else 1) + most.written
    paid = READ + WRITTEN + (0.25 * 3 if stores else 0)  # text taken into a cache costs more
    here.open()
    with pytest.raises(Stopped, match=r"spending cap"):
        here.open(**prices, cap=paid + 0.49 * bound).answer(ASKS)
    assert not here.server.jobs
    model = here.open(**prices, cap=paid + 2.1 * bound)
    assert len(set(texts(model))) == len(ASKS)
    assert len(here.server.jobs["job_0"].requests) == 4
    total = paid + len(ASKS) * paid / 2
    assert f"; {total:.4g} paid, at most 0 more" in here.source(**prices).account()
    assert here.source(**prices).price(1, 1) == 1
    assert here.source(**prices, batch=False).price(1, 1) == 2


@pytest.mark.parametrize("endpoint", BOTH)
def test_cancelling_leaves_the_job_to_the_next_run(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    here.server.done.clear()
    model = here.open()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(model.answer, ASKS)
        until(lambda: any(job.looks for job in here.server.jobs.values()))
        started = time.monotonic()
        model.cancel()
        assert "the run ends" in str(waiting.exception(5))
        assert time.monotonic() - started < 0.5
        model.close()
        assert time.monotonic() - started < 2
    with pytest.raises(ModelError, match="the run ends"):
        model.answer(ASKS)
    here.server.done.set()
    assert len(set(texts(here.open()))) == len(ASKS)
    assert set(here.server.times.values()) == {1}


@pytest.mark.parametrize("endpoint", BOTH)
def test_results_that_are_too_long_are_counted_and_not_asked_again(
    world: Worlds, endpoint: str
) -> None:
    here = world(endpoint)
    here.server.pad = 4_000_000
    model = here.open()
    for _ in range(2):
        with pytest.raises(Stopped, match=r"job_0 are broken off"):
            model.answer(ASKS)
    assert len(here.server.jobs) == 1
    assert model.spending().unsure.written == 8 * len(ASKS)


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_server_that_fails_for_a_while_gets_the_job_once(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    places = {"chat": ["files", "files", "batches", "batches/job_0", "files/output-job_0"]}
    other = ["messages/batches", "messages/batches/job_0", "messages/batches/job_0/results"]
    model = here.open()
    here.server.faults = [(place, 503) for place in places.get(endpoint, other)]
    assert len(set(texts(model))) == len(ASKS)
    assert not here.server.faults
    assert set(here.server.times.values()) == {1}
    assert model.spending().unsure.prompt == 0


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_job_whose_name_is_lost_may_have_been_billed(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    model = here.open()
    here.server.faults = [("batches" if endpoint == "chat" else "messages/batches", 0)]
    assert len(set(texts(model))) == len(ASKS)
    assert set(here.server.times.values()) == {2}
    assert model.spending().unsure.written == 8 * len(ASKS)


@pytest.mark.parametrize("endpoint", BOTH)
def test_a_job_that_the_server_does_not_know(world: Worlds, endpoint: str) -> None:
    here = world(endpoint)
    here.server.done.clear()
    model = here.open()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(model.answer, ASKS[:1])
        until(lambda: here.server.jobs)
        here.server.jobs["other"] = here.server.jobs.pop("job_0")
        message = str(waiting.exception(10))
    assert "not found; is the key in" in message
    assert "job_0" in message
    model.close()
    with sqlite3.connect(here.cache) as base:
        base.execute("UPDATE jobs SET created = created - ?", (JOB_SECONDS,))
    base.close()
    here.server.done.set()
    assert texts(here.open(), ASKS[:1])
    assert list(here.server.times.values()) == [2], "its results are gone for good"


def test_a_job_that_fails_as_a_whole_costs_nothing(world: Worlds) -> None:
    here = world("chat")
    here.server.broken = f"no such model for {KEY}"
    model = here.open()
    with pytest.raises(Stopped, match=r"400: .* \[key\]"):
        model.answer(ASKS)
    assert model.spending().unsure.prompt == 0


def test_a_server_without_batch_jobs(world: Worlds) -> None:
    here = world("chat")
    model = here.open()
    here.server.faults = [("files", 404)]
    with pytest.raises(Stopped, match=r"set model.batch=false"):
        model.answer(ASKS)
    assert model.spending().unsure.prompt == 0


def test_samples_of_a_protocol_without_several_come_in_one_job(world: Worlds) -> None:
    here = world("messages")
    model = here.open(scores="sampled", samples=5)
    asks = [Score((Prompt("Rules.\n", f"Hand {hand}\n"),), ("red", "blue")) for hand in range(3)]
    with ThreadPoolExecutor(3) as threads:
        assert len(list(threads.map(lambda ask: model.answer([ask]), asks))) == 3
    assert [len(job.requests) for job in here.server.jobs.values()] == [15]


def test_a_job_has_no_more_than_its_vendor_takes(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world("chat")
    monkeypatch.setattr(type(JOBS["chat"]), "MOST_REQUESTS", 5)
    assert len(set(texts(here.open()))) == len(ASKS)
    assert [len(job.requests) for job in here.server.jobs.values()] == [5, 5, 2]
    monkeypatch.setattr(type(JOBS["chat"]), "MOST_BYTES", 1000)
    texts(here.open(), [replace(ask, seed=9) for ask in ASKS])
    for size in [len(file) for file in here.server.files.values()][3:]:
        assert size < 1000


def test_no_thread_is_left(world: Worlds) -> None:
    here = world("chat")
    model = here.open()
    texts(model)
    model.close()
    until(
        lambda: (
            not [
                thread
                for thread in threading.enumerate()
                if thread.name.startswith(("batch", "api_"))
            ]
        )
    )


def lines(endpoint: str) -> list[bytes]:
    """Three requests as parts of a job."""
    dialect, path = DIALECTS[endpoint](name="m"), VENDORS[endpoint].path
    sent = [dialect.sent(dialect.writing(ask)) for ask in ASKS[:3]]
    return [JOBS[endpoint].line(f"{place:064}", path, body) for place, body in enumerate(sent)]


FATES = ("expired", "400", "")


def test_openais_client_finds_its_types_at_the_server(world: Worlds) -> None:
    openai = pytest.importorskip("openai")
    here = world("chat")
    here.server.fate = lambda job, place, body: FATES[place]
    with openai.OpenAI(base_url=here.url, api_key=KEY) as client:
        content = b"".join(lines("chat"))
        file = client.files.create(file=("x.jsonl", content), purpose="batch")
        path: Any = f"/v1/{VENDORS['chat'].path}"
        job = client.batches.create(input_file_id=file.id, endpoint=path, completion_window="24h")
        job = client.batches.retrieve(job.id)
        type(job).model_validate(job.to_dict())
        assert job.status == "expired"
        assert client.files.content(job.output_file_id).text.count('custom_id": "000') == 1
        assert client.files.content(job.error_file_id).text.count('custom_id": "000') == 2


def test_anthropics_client_finds_its_types_at_the_server(world: Worlds) -> None:
    anthropic = pytest.importorskip("anthropic")
    from anthropic.types.messages import MessageBatchIndividualResponse, batch_create_params

    here = world("messages")
    requests = [json.loads(line) for line in lines("messages")]
    adapter = TypeAdapter(batch_create_params.Request)
    for request in requests:
        adapter.validate_python(request)
    address = here.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=address, api_key=None, auth_token=KEY) as client:
        job = client.messages.batches.create(requests=requests)
        job = client.messages.batches.retrieve(job.id)
    type(job).model_validate(job.to_dict())
    assert job.processing_status == "ended"
    for fate in FATES:
        result = here.server.result(fate, requests[0]["params"])
        MessageBatchIndividualResponse.model_validate({"custom_id": "x", **result})
