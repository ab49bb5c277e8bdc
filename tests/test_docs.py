"""The page on extending, done as it says, in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent
PARTS = (
    *("agents", "common", "conf", "games", "hydra_plugins"),
    *("models", "papers", "pipeline", "stats", "tests", "training"),
)
BLOCK = re.compile(
    r"`((?:games|agents|conf)/[\w/]+\.(?:py|yaml))`(?:(?!```|`agents/|`conf/).)*?```\w+\n(.*?)```",
    re.DOTALL,
)
"""A file's name in the text, and the code block that follows it."""

UNUSED = shutil.ignore_patterns("*.pyc", "*.tmp.*")
"""What is not copied. The compiled engine is: it is as good in the copy as here."""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with every file that docs/extending.md writes."""
    copy = tmp_path_factory.mktemp("project")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=UNUSED)
    shutil.copy(ROOT / "pyproject.toml", copy)
    written = BLOCK.findall((ROOT / "docs" / "extending.md").read_text())
    assert len(written) == 6, [name for name, _ in written]
    for name, text in written:
        assert not (copy / name).exists(), f"{name} is there already"
        (copy / name).write_text(text)
    return copy


def go(copy: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_game_and_a_new_method_play(extended: Path) -> None:
    go(
        extended,
        *("-m", "pipeline.run", "game=nim", "prompt=once,cloze,counterfactual", "model=fake"),
        *("launch=inline", "tracking=none", "deals=10", "output_dir=outputs/nim"),
    )
    table = pd.read_csv(extended / "outputs" / "nim" / "summary.csv")
    assert list(table["prompt"]) == ["once", "cloze", "counterfactual"]
    assert set(table["matches"]) == {10}


def test_search_players_take_a_new_game_in(extended: Path) -> None:
    go(
        extended,
        *("-m", "pipeline.run", "game=nim", "agent=minimax", "launch=inline", "tracking=none"),
        *("deals=40", "output_dir=outputs/search"),
    )
    table = pd.read_csv(extended / "outputs" / "search" / "summary.csv")
    assert table["win_rate"][0] > 0.9


def test_a_new_experiment_is_its_name(extended: Path) -> None:
    go(
        extended,
        *("-m", "pipeline.run", "experiment=mine", "model=fake", "launch=inline"),
        *("tracking=none", "deals=4"),
    )
    table = pd.read_csv(extended / "outputs" / "mine" / "summary.csv")
    assert list(table["game"]) == ["tic_tac_toe", "tic_tac_toe"]


def test_the_conformance_suites_take_a_new_game_in(extended: Path) -> None:
    said = go(
        extended,
        *("-m", "pytest", "tests/games/test_conformance.py", "tests/agents/test_conformance.py"),
        *("-k", "nim or Nim", "-p", "no:cacheprovider"),
    )
    assert "passed" in said
