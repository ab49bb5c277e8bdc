"""The taskset, played by the verifiers library against a scripted model behind a real endpoint."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gauntlet.training.environment.environment import Environment

vf: Any = pytest.importorskip(
    "verifiers.v1", reason="verifiers needs an environment of its own: make test-training"
)

pytestmark = pytest.mark.filterwarnings("default")

SAID = '{"thoughts": "the first will do", "action": "1"}'


class Scripted(BaseHTTPRequestHandler):
    """Gives every chat completion the same answer, and records the requests."""

    asked: list[list[dict[str, Any]]]
    said = SAID

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body["messages"])
        message = {"role": "assistant", "content": self.said}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Any]]]:
    asked: list[Any] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Scripted,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SCRIPTED_KEY", "none")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "gauntlet" / "training"))
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()


def episodes(url: str, tasks: int, **settings: Any) -> list[Any]:
    """Return this many episodes of the taskset's first tasks."""
    import verifiers_env  # type: ignore[import-not-found]

    taskset = {"id": "verifiers-env", "game": "tic_tac_toe", **settings}
    own = verifiers_env.GamesEnv(verifiers_env.GamesEnvConfig(taskset=taskset))
    client = vf.EvalClientConfig(base_url=url, api_key_var="SCRIPTED_KEY")
    context = vf.ModelContext(model="scripted", client=client)

    async def played() -> list[Any]:
        async with own.serving():
            return [await own.run_episode(task, context) for task in own.taskset.take(tasks)]

    return asyncio.run(played())


def test_a_seat_is_scored_as_the_environment_scores_it(endpoint: tuple[str, list[Any]]) -> None:
    url, asked = endpoint
    found = episodes(url, 4)
    own = Environment("tic_tac_toe")
    for task, episode in enumerate(found):
        assert episode.ok, episode.errors
        (trace,) = episode.traces
        text = own.reset(task // 2, own.seats[task % 2])
        first = next(messages for messages in asked if text.startswith(messages[-1]["content"]))
        assert len(first) == 1
        while not own.done:
            _, reward, _, info = own.step(SAID)
        assert trace.rewards["result"].score == reward == info["result"]
        assert trace.metrics["fallbacks"] == 0
    assert {trace.reward for episode in found for trace in episode.traces} <= {0.0, 1.0}


def test_two_seats_play_each_other(endpoint: tuple[str, list[Any]]) -> None:
    url, _ = endpoint
    for episode in episodes(url, 2, opponent=["self"]):
        assert episode.ok, episode.errors
        results = {trace.agent.name: trace.rewards["result"].score for trace in episode.traces}
        assert sorted(results) == ["opponent", "player"]
        assert sorted(results.values()) == [0.0, 1.0]  # both mark the first free cell


def test_advantages_are_a_reward(endpoint: tuple[str, list[Any]]) -> None:
    url, _ = endpoint
    (episode,) = episodes(url, 1, reward="advantage", playouts=2)
    (trace,) = episode.traces
    own = Environment("tic_tac_toe", reward="advantage", playouts=2)
    own.reset(0, own.seats[0])
    total = 0.0
    while not own.done:
        total += own.step(SAID)[1]
    assert trace.rewards["advantage"].score == pytest.approx(total)
