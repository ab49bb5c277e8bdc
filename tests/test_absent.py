"""Without any extra: a first run works, and features that need an extra name it in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layers import ROOT

EXTRAS = (
    *("accelerate", "deepspeed", "flask", "httpx2", "nicegui", "pettingzoo", "pyarrow", "pygame"),
    *("pyspiel", "textarena"),
)
PROGRAM = f"""
import sys
from runpy import run_module

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        absent = name.partition(".")[0] in {EXTRAS}
        return None if absent else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
sys.argv = sys.argv[1:]
run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
PLAY = ("pipeline.run", "model=fake", "game=tic_tac_toe", "launch=inline", "deals=2")
ASKED = (*PLAY, "model=openai", "model.name=m", "prompt=cloze")
SHARDED = ("model=pocket", "model.shards=2", "prompt=cloze", "launch=local")


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one of our commands with no extra installed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = (sys.executable, "-c", PROGRAM)
    return subprocess.run((*program, *words), cwd=folder, env=env, capture_output=True, text=True)


def test_a_first_run_needs_no_extra(tmp_path: Path) -> None:
    done = typed(tmp_path, *PLAY)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stdout
    assert (tmp_path / "outputs" / "mlflow" / "mlflow.db").exists()


@pytest.mark.parametrize(
    ("words", "package", "name"),
    [
        (("pipeline.pages", "--port", "0"), "nicegui", "pages"),
        (("pipeline.ui", "."), "flask", "ui"),
        ((*ASKED, "tracking=none"), "httpx2", "api"),
        pytest.param(
            (*PLAY[:1], *SHARDED, *PLAY[2:3], "deals=2"), "deepspeed", "gpu", marks=pytest.mark.slow
        ),
    ],
)
def test_what_lacks_is_named_with_the_command(
    tmp_path: Path, words: tuple[str, ...], package: str, name: str
) -> None:
    (tmp_path / "mlflow.db").touch()
    done = typed(tmp_path, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    told = f"gauntlet: {package} is not installed: pip install 'gauntlet[{name}]'\n"
    assert done.stderr == told
