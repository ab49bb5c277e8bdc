"""Weights replaced during a run are detected, and no result of theirs is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray.exceptions import RayTaskError

from gauntlet.agents.dqn.network import save
from gauntlet.agents.dqn.player import DQN
from gauntlet.common.errors import Stopped
from gauntlet.games.uno import Uno
from gauntlet.models.base import Model, ModelSource
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.launch.cluster import _Actor, _RayWorker
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan import identity
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Plan
from gauntlet.pipeline.plan.fingerprint import Code
from gauntlet.pipeline.sweep import run_sweep
from tests.agents.test_dqn import random_network
from tests.pipeline.conftest import Sweep
from tests.pipeline.filed import Filed

TOLD = "changed during the run"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_text("1")
    identity.model_identity.cache_clear()
    return path


@pytest.fixture
def overrides(weights: Path) -> tuple[str, ...]:
    model = ("model=fake", "model._target_=tests.pipeline.filed.Filed", f"+model.path={weights}")
    return ("game=tic_tac_toe", "prompt=cloze", "packages=[tests]", *model)


@pytest.fixture
def plan(overrides: tuple[str, ...]) -> Plan:
    found: list[Plan] = []

    def look(configs: Sequence[CellConfig], sweep: SweepConfig) -> int:
        found.append(Plan(build_cells(configs), 2, 1))
        return 0

    assert compose(overrides, look) == 0
    return found[0]


def test_a_model_exchanged_before_it_is_loaded(
    overrides: tuple[str, ...],
    weights: Path,
    sweep: Sweep,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def exchange(*_: Any) -> None:
        weights.write_text("2")

    with monkeypatch.context() as during:
        during.setattr(run_sweep, "announce", exchange)
        assert sweep(*overrides) == 2
    said = capsys.readouterr().err
    assert TOLD in said
    assert said.count("\n") == 1
    assert Folder(folder).record_files() == []


def test_a_model_exchanged_while_it_is_read(plan: Plan, weights: Path) -> None:
    (source,) = plan.sources
    closed = []

    def load_one(source: ModelSource) -> Model:
        model = source.load()
        weights.write_text("2")
        return SimpleNamespace(answer=model.answer, close=lambda: closed.append(model))

    planned = Planned.from_plan(plan)
    with pytest.raises(Stopped, match=TOLD):
        planned.load(source, load_one)
    assert len(closed) == 1
    weights.write_text("1")
    assert planned.load(source, Filed.load)


def test_a_worker_that_starts_anew_with_another_model_or_code(
    plan: Plan, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says why, and the run ends with it; the driver keeps the others' matches."""
    planned, lease = Planned.from_plan(plan), list(plan.tasks())[:2]
    worker = _Actor(plan, 2, None, planned)
    assert [one.error for one in worker.play(lease)] == [None, None]
    worker.close()
    (cell,) = plan.cells
    other = Code({**planned.code[cell.key].files, "games/tic_tac_toe.py": "another"})
    worker = _Actor(plan, 2, None, replace(planned, code={cell.key: other}))
    with pytest.raises(Stopped, match=r"^games/tic_tac_toe.py changed while the run goes"):
        worker.ready()
    weights.write_text("2")
    worker = _Actor(plan, 2, None, planned)
    with pytest.raises(Stopped, match=TOLD) as told:
        worker.play(lease)
    worker.close()

    def get(_: Any) -> None:
        raise RayTaskError("play", "trace", told.value).as_instanceof_cause()

    monkeypatch.setattr(ray, "get", get)
    actor = SimpleNamespace(play=SimpleNamespace(remote=lambda lease: lease))
    ended = _RayWorker(actor).play(lease).result(10)
    assert [(one.halts, one.record) for one in ended] == [(True, None)] * 2
    assert all(one.error == str(told.value) for one in ended)


def test_networks_exchanged_before_a_worker_reads_them(tmp_path: Path) -> None:
    game, path = Uno(), tmp_path / "uno-2.npz"
    save(path, [random_network(game)])
    agent = DQN(weights=str(tmp_path))
    before = agent.networks(game)
    save(path, [random_network(game, 1)])
    assert agent.networks(game) is before, "what was read stays"
    late = DQN(weights=str(tmp_path))
    save(path, [random_network(game, 2)])
    with pytest.raises(Stopped, match=TOLD):
        late.networks(game)


def test_other_networks_under_the_same_path_are_another_cell(
    sweep: Sweep, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resumed run plays them from the first deal, and names the origin of existing matches."""
    weights = tmp_path / "networks"
    weights.mkdir()
    dqn = ("game=uno", "agent=dqn", f"agent.weights={weights}")
    save(weights / "uno-2.npz", [random_network(Uno())])
    assert sweep(*dqn, "deals=2") == 0
    save(weights / "uno-2.npz", [random_network(Uno(), 1)])
    capsys.readouterr()
    assert sweep(*dqn, "deals=3") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "already in the log" not in said
    assert "has matches of another cell called uno-solo-dqn" in said
    assert "differs in players.1.agent.digest" in said
    assert [len(file.read_bytes().splitlines()) for file in by_age(folder)] == [2, 3]
    moved = weights.rename(tmp_path / "elsewhere")
    assert sweep(*dqn[:2], f"agent.weights={moved}", "deals=3") == 0
    assert "3 of them already in the log" in " ".join(capsys.readouterr().out.split())


def by_age(folder: Path) -> list[Path]:
    return sorted(Folder(folder).record_files(), key=lambda file: file.stat().st_mtime_ns)
