"""What a launch must say before Ray is touched, and where and on which devices it plays."""

from __future__ import annotations

import logging
import re
import stat
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from socket import AF_INET6, create_server
from typing import Any

import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st
from ray.exceptions import RayError

from gauntlet.common.errors import UserError
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.fake import Fake
from gauntlet.models.human import Terminal
from gauntlet.models.llama_cpp.sources import Gguf
from gauntlet.pipeline.launch import cluster
from gauntlet.pipeline.launch import session as ray_session
from gauntlet.pipeline.launch.cluster import _wait_until_ready
from gauntlet.pipeline.launch.devices import allot
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.launch.placement import (
    FIRST_SECONDS,
    HERE,
    check_nodes,
    resolve_launch,
    stages,
)
from gauntlet.pipeline.launch.session import authentication, new_token, session
from gauntlet.pipeline.plan.cells import Plan
from tests.pipeline.composing import cells_of
from tests.pipeline.conftest import Capsys, Sweep

JOIN: dict[str, Any] = {
    "kind": "ray", "address": "10.0.0.1:6379", "nodes": 1, "workers": None, "auth": "token",
    "token_file": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"address": "???"}, "launch.address=HOST:PORT"),
        ({"address": "auto"}, "RAY_ADDRESS"),
        ({"token_file": "/nonexistent/token"}, "launch.token_file: /nonexistent/token"),
        ({"token_file": None}, "launch.token_file"),
    ],
)
def test_what_is_missing_is_named(
    changes: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    with pytest.raises(UserError, match=named), session({**JOIN, **changes}):
        pass


def test_a_token_is_new_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    new_token(one)
    new_token(other)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert len(one.read_text()) == 64
    assert one.read_text() != other.read_text()
    with pytest.raises(FileExistsError):
        new_token(one)


def test_the_token_itself_is_in_no_environment(tmp_path: Path) -> None:
    """Other users see a process's command line, and crash reports its environment."""
    new_token(tmp_path / "token")
    variables = authentication(tmp_path / "token")
    assert (tmp_path / "token").read_text() not in str(variables)
    assert authentication(None) == {"RAY_AUTH_MODE": "disabled"}


# --- place


PAID, OTHER = OpenAI("m", "http://a/v1"), OpenAI("n", "http://a/v1")


@dataclass(frozen=True)
class Settings:
    """The part of a sweep's config that matters here."""

    launch: object = "as asked"
    concurrent_matches: int = 64


@pytest.mark.parametrize(
    ("sources", "resolved"),
    [
        ([PAID, OTHER], Settings(HERE)),
        ([Terminal(), Fake()], Settings(HERE, 1)),
        ([Terminal(), PAID], Settings(HERE, 1)),
        *(([], Settings()), ([Fake()], Settings()), ([PAID, Fake()], Settings())),
    ],
)
def test_paid_models_need_no_workers_and_a_person_plays_match_by_match(
    sources: list[object], resolved: Settings
) -> None:
    assert resolve_launch(Settings(), sources) == resolved


ALONE = {"kind": "ray", "workers": None, "patience": None}


@pytest.mark.parametrize(
    ("launch", "resolved"),
    [
        (ALONE, HERE),
        *[({**ALONE, **more}, None) for more in ({"workers": 2}, {"address": "auto"})],
        ({**ALONE, "kind": "slurm"}, None),
    ],
)
def test_llama_cpp_plays_here_unless_workers_are_wanted(
    launch: dict[str, object], resolved: object
) -> None:
    sources = [Gguf("x.gguf"), PAID]
    assert resolve_launch(Settings(launch), sources) == Settings(resolved or launch)
    assert resolve_launch(Settings(launch), [*sources, Fake()]) == Settings(launch)


def test_what_loads_nothing_is_played_here_first_and_its_rest_by_workers() -> None:
    """A match takes a second: the clock is read before each."""
    clock = iter(range(100))
    first, second = (
        (stage.launch, stage.one_by_one, list(stage.tasks))
        for stage in stages(ALONE, [Fake()], iter(range(10)), lambda: float(next(clock)))
    )
    played = int(FIRST_SECONDS) - 1
    assert first == (HERE, True, list(range(played)))
    assert second == (ALONE, False, list(range(played, 10)))


def test_a_short_sweep_never_asks_for_workers() -> None:
    found = stages(ALONE, [], iter(range(3)))
    assert [(stage.launch, list(stage.tasks)) for stage in found] == [(HERE, [0, 1, 2])]


@pytest.mark.parametrize(
    ("launch", "sources"),
    [
        ({**ALONE, "workers": 2}, [Fake()]),
        ({**ALONE, "address": "head:6379"}, [Fake()]),
        (ALONE, [Fake(), PAID]),
        (HERE, [Fake()]),
    ],
)
def test_elsewhere_all_is_played_where_it_was_asked_for(
    launch: dict[str, object], sources: list[object]
) -> None:
    found = stages(launch, sources, iter(range(3)))
    assert [(stage.launch, list(stage.tasks)) for stage in found] == [(launch, [0, 1, 2])]


def test_paid_and_other_models_share_one_node_only() -> None:
    check_nodes([PAID, Fake()], 1)
    check_nodes([PAID, OTHER], 2)  # asked by one process
    check_nodes([Fake()], 2)
    with pytest.raises(UserError, match="would be asked from 2 nodes"):
        check_nodes([PAID, Fake()], 2)


def test_slurm_is_not_handed_what_several_nodes_would_pay(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    job = ("launch=slurm", "launch.nodes=2", "launch.dry_run=true", "game=tic_tac_toe")
    paid = ("model=openai", "model.name=m", "prompt=cloze")
    assert sweep(*job, *paid, "seats.0.agent=llm", "seats.0.model=fake") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "would be asked from 2 nodes" in said.err
    assert sweep(*job, *paid) == 0
    assert "#SBATCH --nodes=2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("gauntlet.common.errors.UserError: model 'm': refused", "model 'm': refused"),
        ("gauntlet.common.errors.ModelError: model 'm': refused", "model 'm': refused"),
        ("ValueError: odd", "ValueError: odd"),
    ],
)
def test_why_a_worker_could_not_start_is_told_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, last: str, message: str
) -> None:
    def refuse(_: object) -> None:
        raise RayError(f"The actor died.\n  File ...\n{last}\n")

    monkeypatch.setattr(ray, "get", refuse)
    with pytest.raises(UserError, match=rf"^a worker could not start: {message}$"):
        _wait_until_ready([])


def test_what_workers_warn_of_while_they_load_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Ray keeps what a worker prints."""

    def load(*_: object) -> None:
        logging.getLogger("gauntlet").warning("model %r: odd weights", "m")

    monkeypatch.setattr(cluster, "_Inline", load)
    plan = Plan(cells_of("game=tic_tac_toe", "agent=random"), 1, 1)
    worker = cluster._RemoteActor(1, None, *cluster._packed(plan, Planned.from_plan(plan)))
    assert worker.ready() == ["model 'm': odd weights"]
    caplog.clear()
    monkeypatch.setattr(ray, "get", lambda _: [worker.ready(), worker.ready()])
    _wait_until_ready([])
    assert caplog.messages == ["model 'm': odd weights"]


# --- devices


def in_shards(*shards: int) -> list[Checkpoint]:
    return [Checkpoint(f"folder{i}", shards=count) for i, count in enumerate(shards)]


@pytest.mark.parametrize(
    ("shards", "gpus", "wanted", "workers", "devices", "sharing"),
    [
        ((1,), 8, None, 8, 1, 1),  # a copy on each GPU
        ((1, 1), 8, 16, 16, 1, 1),  # whole models share a worker's device, workers a GPU
        ((4,), 8, None, 2, 4, 1),  # 70B on two times four
        ((4,), 8, 1, 1, 4, 1),
        ((4, 2), 8, None, 1, 6, 1),  # two models in shards, side by side
        ((4, 4), 4, None, 1, 4, 2),  # no room side by side: they share
        ((1, 4), 8, None, 1, 5, 1),  # a whole model next to four shards
        ((1, 4), 4, None, 1, 4, 2),
        ((2,), 5, None, 2, 2, 1),  # one GPU stays idle
    ],
)
def test_what_fits(shards, gpus, wanted, workers, devices, sharing):
    found = allot(in_shards(*shards), gpus, wanted, "GPU")
    assert (found.workers, found.devices, found.sharing) == (workers, devices, sharing)


@pytest.mark.parametrize(
    ("shards", "devices", "wanted", "message"),
    [
        ((4,), 2, None, "model 'folder0' needs 4 shards x 1 GPU; this cluster has 2 GPUs"),
        ((2,), 1, None, "model 'folder0' needs 2 shards x 1 GPU; this cluster has 1 GPU"),
        ((4,), 8, 3, "launch.workers=3 needs 3 workers x 4 GPUs; this cluster has 8, enough for 2"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_sum(shards, devices, wanted, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        allot(in_shards(*shards), devices, wanted, "GPU")


def test_a_model_without_shards_needs_no_checkpoint():
    assert allot([Fake()], 2, None, "core").workers == 2


@given(
    shards=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    gpus=st.integers(1, 24),
    wanted=st.none() | st.integers(1, 6),
)
def test_ranks_never_meet_on_a_device_unless_said(shards, gpus, wanted):
    sources = in_shards(*shards)
    try:
        found = allot(sources, gpus, wanted, "GPU")
    except UserError:
        return
    spans = sorted((first, first + source.shards) for source, first in found.first.items())
    assert all(stop <= found.devices for _, stop in spans)
    if found.first:
        assert found.workers * found.devices <= gpus
    if found.sharing == 1:
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
        assert not spans or spans[0][0] == (1 in shards), "a whole model has the first device"


@pytest.mark.parametrize(
    ("variables", "place"),
    [({}, None), ({"TMPDIR": "/tmp/" + 50 * "d"}, "/tmp/ray"), ({"RAY_TMPDIR": "/tmp/r"}, None)],
)
def test_sockets_have_room_for_their_paths(
    variables: dict[str, str], place: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMPDIR", "RAY_TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", variables.get("TMPDIR", "/tmp"))
    assert ray_session._folder_of_sockets() == place


def test_a_folder_too_long_for_sockets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/tmp/" + 50 * "d")
    with pytest.raises(UserError, match=r"RAY_TMPDIR is '/tmp/ddd.*at most 40"):
        ray_session._folder_of_sockets()


def test_an_ipv6_address_has_brackets() -> None:
    with create_server(("::1", 0), family=AF_INET6) as server:
        ray_session._knock(f"[::1]:{server.getsockname()[1]}")
