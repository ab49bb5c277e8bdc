"""A run stops before it plays if the folder's matches were played with other code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline import run
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.code import Changed, compare, describe, notes
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell
from tests.pipeline.conftest import Edit, Sweep, forget_code

UNO = ("prompt=cloze,vanilla", "seats.0.player=rule", "deals=1")
"""Two cells that share a game and an opponent."""


@pytest.fixture(scope="module")
def cells() -> Sequence[Cell]:
    found: list[Cell] = []

    def look(configs: Sequence[CellConfig], sweep: SweepConfig) -> int:
        found.extend(build_cells(configs))
        return 0

    assert compose([*UNO, "model=fake"], look) == 0
    return found


@pytest.fixture
def played(cells: Sequence[Cell], folder: Path) -> Path:
    """A folder with a line for a match of each of these cells."""
    with Log(folder, 1) as log:
        describe(log, cells, [CellInfo.from_cell(cell, None) for cell in cells], Changed())
        for cell in cells:
            (folder / "records" / f"{cell.stem}.jsonl").write_text("{}\n")
    return folder


def test_changed_code_is_told_and_named(cells: Sequence[Cell], played: Path, edit: Edit) -> None:
    assert compare(played, cells) == Changed()
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    with pytest.raises(UserError, match=r"^games/uno/rules.py changed since 2 match\(es\) in "):
        compare(played, cells)
    edit("agents/prompting/cloze.py", "append(math.exp(logprob))", "append(logprob)")
    with pytest.raises(UserError, match=r"^agents/prompting/cloze.py changed since 1 match"):
        compare(played, cells)
    edit("games/uno/rules.py", "PLY_CAP = 5000\n", "PLY_CAP = 5000  # at most\n")
    assert compare(played, cells) == Changed()


OWN = """
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
    sweep: Sweep,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
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

    assert play(OWN, HELPING)[0] == 0
    before = snapshot(folder)
    status, said = play(OWN, AFTER)
    assert (status, "helping.py changed since 4 match(es) in " in said) == (2, True), said
    assert snapshot(folder) == before, "nothing is written"
    status, said = play(f"# a comment\n{OWN}", AFTER, "allow_code_change=true", "deals=3")
    assert status == 0, said
    assert "helping.py changed, which is noted" in said
    (line,) = Folder(folder).lines("accepted")
    assert (line["matches"], [file for file, *_ in line["changed"]]) == (4, ["helping.py"])
    status, said = play(OWN, AFTER)
    assert status == 0, "it was accepted"
    assert "Code changed after 4 match(es) and was accepted" in " ".join(said.split())
    assert play(OWN, HELPING)[0] == 2, "and back is a change too"


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
    assert compare(played, [vanilla]) == Changed(), "it has no part in the new cell"


def test_no_job_is_submitted_for_changed_code(
    played: Path, edit: Edit, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    job = ("launch=slurm", "launch.dry_run=true", f"output_dir={played}")
    assert run.main([*UNO, "model=fake", "prompt=cloze", *job]) == 2
    assert "games/uno/rules.py changed" in capsys.readouterr().err


def test_older_folders_and_damaged_notes_go_on(
    cells: Sequence[Cell], played: Path, edit: Edit
) -> None:
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 500")
    (played / "code.jsonl").write_bytes(b'[]\n{}\n{"code": "x", "files": 7}\ngarbled\n{"code"')
    found = compare(played, cells)
    assert (found.changes, found.unknown) == (frozenset(), 2)
    assert "2 match(es) do not say by which code they were played" in notes(played, found)[0]
    with Log(played, 1) as log:
        describe(log, cells, [CellInfo.from_cell(cell, None) for cell in cells], found)
    edit("games/uno/rules.py", "PLY_CAP = 5000", "PLY_CAP = 5000")
    with pytest.raises(UserError, match=r"games/uno/rules.py changed"):
        compare(played, cells)


def test_what_code_was_is_kept_once(cells: Sequence[Cell], played: Path) -> None:
    size = (played / "code.jsonl").stat().st_size
    with Log(played, 1) as log:
        describe(
            log, [*cells] * 3, [CellInfo.from_cell(cell, None) for cell in cells] * 3, Changed()
        )
    assert (played / "code.jsonl").stat().st_size == size
    told = [json.loads(path.read_text())["code"] for path in (played / "cells").glob("*.json")]
    assert len({*told}) == 2


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
