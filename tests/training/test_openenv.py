"""The server, used through OpenEnv's own client over a real connection."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gauntlet.training.environment.environment import Environment

core: Any = pytest.importorskip(
    "openenv.core", reason="openenv needs an environment of its own: make test-training"
)

pytestmark = pytest.mark.filterwarnings("default")

SAID = '{"action": "1"}'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    import uvicorn

    from gauntlet.training.openenv_server import application

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = application(Environment("uno", opponent="rule"), sessions=4)
    server = uvicorn.Server(uvicorn.Config(served, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def played(url: str, deal: int, seat: int) -> tuple[list[str], float]:
    """Return the prompts of a match through the client, and the sum of the rewards."""
    with core.GenericEnvClient(base_url=url).sync() as client:
        found = client.reset(seed=deal, seat=seat)
        texts, total = [found.observation["text"]], 0.0
        assert client.state()["deal"] == deal
        while not found.done:
            assert found.observation["options"]
            found = client.step({"text": SAID})
            texts.append(found.observation["text"])
            total += found.reward
        assert client.state()["step_count"] == len(texts) - 1
        assert found.observation["info"]["result"] == total
    return texts, total


def alone(deal: int, seat: int) -> tuple[list[str], float]:
    own = Environment("uno", opponent="rule")
    texts, total = [own.reset(deal, seat)], 0.0
    while not own.done:
        text, reward, _, _ = own.step(SAID)
        texts.append(text)
        total += reward
    return texts, total


def test_a_session_plays_the_environments_matches(url: str) -> None:
    assert played(url, 3, 1) == alone(3, 1)


def test_sessions_side_by_side_do_not_disturb_each_other(url: str) -> None:
    wanted = [(5, 0), (6, 1), (7, 0)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda one: played(url, *one), wanted)) == [alone(*w) for w in wanted]


def test_a_seat_that_is_not_there_is_an_error_and_no_end(url: str) -> None:
    with core.GenericEnvClient(base_url=url).sync() as client:
        with pytest.raises(Exception, match="seat is 7"):
            client.reset(seed=1, seat=7)
        assert client.reset(seed=1).observation["text"]


def test_deals_without_a_number_follow_each_other(url: str) -> None:
    with core.GenericEnvClient(base_url=url).sync() as client:
        deals = [client.reset().observation["info"]["deal"] for _ in range(3)]
    assert deals == list(range(deals[0], deals[0] + 3))
