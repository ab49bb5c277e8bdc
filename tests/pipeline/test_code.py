"""A run stops before it plays with other code, and what is exchanged meanwhile is noticed."""

from __future__ import annotations

import sys
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
from gauntlet.common.errors import Stopped, UserError
from gauntlet.games.uno import Uno
from gauntlet.models.base import Model, ModelSource
from gauntlet.pipeline import run
from gauntlet.pipeline.launch import cluster
from gauntlet.pipeline.launch.cluster import _packed, _RayWorker, _RemoteActor
from gauntlet.pipeline.launch.loading import Planned
from gauntlet.pipeline.log.code import CodeChange, compare, describe, notes
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan import identity
from gauntlet.pipeline.plan.cells import Cell, Plan
from gauntlet.pipeline.plan.fingerprint import Code
from gauntlet.pipeline.sweep import run_sweep
from tests.agents.test_dqn import random_network
from tests.pipeline.composing import cells_of
from tests.pipeline.conftest import Capsys, Edit, Refusal, Sweep, forget_code
from tests.pipeline.filed import Filed

UNO = ("prompt=cloze,vanilla", "seats.0.player=rule", "deals=1")
"""Two cells that share a game and an opponent."""


@pytest.fixture(scope="module")
def cells() -> Sequence[Cell]:
    return cells_of(*UNO, "model=fake")


@pytest.fixture
def played(cells: Sequence[Cell], folder: Path) -> Path:
    """A folder with a line for a match of each of these cells."""
    with Log(folder, 1) as log:
        describe(log, cells, [CellInfo.from_cell(cell, None) for cell in cells], CodeChange())
        for cell in cells:
            (folder / "records" / f"{cell.stem}.jsonl").write_text("{}\n")
    return folder


def test_changed_code_is_told_and_named(cells: Sequence[Cell], played: Path, edit: Edit) -> None:
    assert compare(played, cells) == CodeChange()
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    with pytest.raises(UserError, match=r"^games/uno/rules.py changed since 2 matches in "):
        compare(played, cells)
    edit("agents/prompting/cloze.py", "append(math.exp(logprob))", "append(logprob)")
    with pytest.raises(UserError, match=r"^agents/prompting/cloze.py changed since 1 match"):
        compare(played, cells)
    edit("games/uno/rules.py", "PLY_CAP = 5000\n", "PLY_CAP = 5000  # at most\n")
    assert compare(played, cells) == CodeChange()


USERS_GAME = """
from dataclasses import dataclass

from gauntlet.games.tic_tac_toe import TicTacToe
from helping import begins


@dataclass(frozen=True)
class Mine(TicTacToe):
    def deal(self, rng):
        return begins(self, rng)  # who begins
"""
HELPING = "def begins(game, rng):\n    return super(type(game), game).deal(rng)\n"
AFTER = "def begins(game, rng):\n    return game.play(super(type(game), game).deal(rng), [4])\n"


def test_a_user_s_own_code_is_told_and_accepted(
    sweep: Sweep, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """User modules may be anywhere; here one imports another that no `packages` names."""
    monkeypatch.syspath_prepend(tmp_path)
    own = ("game=tic_tac_toe", "game._target_=mine.Mine", "packages=[mine]", "prompt=cloze")

    def play(mine: str, helping: str, *overrides: str) -> tuple[int, str]:
        """As a new process would."""
        (tmp_path / "mine.py").write_text(mine)
        (tmp_path / "helping.py").write_text(helping)
        for name in ("mine", "helping"):
            sys.modules.pop(name, None)
        forget_code()
        capsys.readouterr()
        status = sweep(*own, "deals=2", "controls=[first]", *overrides)
        both = capsys.readouterr()
        return status, both.out + both.err

    assert play(USERS_GAME, HELPING)[0] == 0
    before = snapshot(folder)
    status, said = play(USERS_GAME, AFTER)
    assert (status, "helping.py changed since 4 matches in " in said) == (2, True), said
    assert snapshot(folder) == before, "nothing is written"
    status, said = play(f"# a comment\n{USERS_GAME}", AFTER, "allow_code_change=true", "deals=3")
    assert status == 0, said
    assert "helping.py changed, which is noted" in said
    (line,) = Folder(folder).lines("accepted")
    assert (line["matches"], [file for file, *_ in line["changed"]]) == (4, ["helping.py"])
    status, said = play(USERS_GAME, AFTER)
    assert status == 0, "it was accepted"
    assert "Code changed after 4 matches and was accepted" in " ".join(said.split())
    assert play(USERS_GAME, HELPING)[0] == 2, "and back is a change too"


def test_a_new_cell_beside_one_of_other_code_is_told(
    cells: Sequence[Cell], played: Path, edit: Edit
) -> None:
    """They would be compared in one table."""
    _, vanilla = cells
    (played / "records" / f"{vanilla.stem}.jsonl").unlink()
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    with pytest.raises(UserError, match=r"games/uno/rules.py changed since 1 match"):
        compare(played, [vanilla])
    edit("agents/prompting/cloze.py", "append(math.exp(logprob))", "append(logprob)")
    assert compare(played, [vanilla]) == CodeChange(), "it has no part in the new cell"


def test_no_job_is_submitted_for_changed_code(played: Path, edit: Edit, refusal: Refusal) -> None:
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    job = ("launch=slurm", "launch.dry_run=true", f"output_dir={played}")
    assert "games/uno/rules.py changed" in refusal(
        run.main([*UNO, "model=fake", "prompt=cloze", *job])
    )


def test_older_folders_and_damaged_notes_go_on(
    cells: Sequence[Cell], played: Path, edit: Edit
) -> None:
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    (played / "code.jsonl").write_bytes(b'[]\n{}\n{"code": "x", "files": 7}\ngarbled\n{"code"')
    found = compare(played, cells)
    assert (found.changes, found.unknown) == (frozenset(), 2)
    assert "no record of the code that played 2 matches" in notes(played, found)[0]
    with Log(played, 1) as log:
        describe(log, cells, [CellInfo.from_cell(cell, None) for cell in cells], found)
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 5000")
    with pytest.raises(UserError, match=r"games/uno/rules.py changed"):
        compare(played, cells)


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- exchanged


EXCHANGED = "changed during the run"


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
    return Plan(cells_of(*overrides), 2, 1)


def test_a_model_exchanged_before_it_is_loaded(
    overrides: tuple[str, ...],
    weights: Path,
    sweep: Sweep,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Refusal,
) -> None:
    def exchange(*_: Any) -> None:
        weights.write_text("2")

    with monkeypatch.context() as during:
        during.setattr(run_sweep, "announce", exchange)
        assert EXCHANGED in refusal(sweep(*overrides))
    assert Folder(folder).record_files() == []


def test_a_model_exchanged_while_it_is_read(plan: Plan, weights: Path) -> None:
    (source,) = plan.sources
    closed = []

    def load_one(source: ModelSource) -> Model:
        model = source.load()
        weights.write_text("2")
        return SimpleNamespace(answer=model.answer, close=lambda: closed.append(model))

    planned = Planned.from_plan(plan)
    with pytest.raises(Stopped, match=EXCHANGED):
        planned.load(source, load_one)
    assert len(closed) == 1
    weights.write_text("1")
    assert planned.load(source, Filed.load)


def test_a_worker_that_starts_anew_with_another_model_or_code(
    plan: Plan, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says why, and the run ends with it; the driver keeps the others' matches."""
    planned, lease = Planned.from_plan(plan), list(plan.tasks())[:2]
    monkeypatch.setattr(cluster, "PIECE", 100)
    pieces = _packed(plan, planned)
    assert len(pieces) > 9
    worker = _RemoteActor(2, None, *pieces)
    assert [one.error for one in worker.play(lease)] == [None, None]
    worker.close()
    (cell,) = plan.cells
    other = Code({**planned.code[cell.key].files, "games/tic_tac_toe/__init__.py": "another"})
    worker = _RemoteActor(2, None, *_packed(plan, replace(planned, code={cell.key: other})))
    with pytest.raises(Stopped, match=r"^games/tic_tac_toe/__init__.py changed while the run goes"):
        worker.ready()
    weights.write_text("2")
    worker = _RemoteActor(2, None, *pieces)
    with pytest.raises(Stopped, match=EXCHANGED) as told:
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
    with pytest.raises(Stopped, match=EXCHANGED):
        late.networks(game)
