"""The installed package: the command, its contents, and that it works outside a checkout."""

from __future__ import annotations

import ast
import fnmatch
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import gauntlet.__main__ as command
from gauntlet.common.process import invocation
from tests.test_layers import ROOT

SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
LEFT_OUT = [ROOT / "gauntlet" / "papers" / "league" / "log.tar.xz"]
PLAY = ("model=fake", "launch=inline", "deals=3", "controls=[]", "tracking=none")


def installed() -> list[Path]:
    """Every file of an installed package."""
    return [
        file.relative_to(ROOT)
        for file in (ROOT / "gauntlet").rglob("*")
        if file.is_file()
        and file not in LEFT_OUT
        and "__pycache__" not in file.parts
        and not file.name.startswith(".")
    ]


def test_every_folder_and_every_kind_of_file_is_installed() -> None:
    kinds = (*SETUP["package-data"]["*"], "*.py")
    missed = [file for file in installed() if not any(fnmatch.fnmatch(file.name, k) for k in kinds)]
    assert not missed


def test_a_version_is_told_alike_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_has_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    told = capsys.readouterr().out
    for name, (module, what) in command.COMMANDS.items():
        assert importlib.util.find_spec(f"gauntlet.{module}")
        assert f"  {name:<11}{what}" in told
    assert max(map(len, told.splitlines())) <= 100


@pytest.mark.parametrize("name", command.COMMANDS)
def test_a_hint_calls_a_command_as_the_user_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = command.COMMANDS[name][0].removesuffix(".__main__")
    monkeypatch.setattr(sys, "argv", ["pipeline/run.py"])
    assert invocation(module) in (f"python -m {module}", f"python -m gauntlet.{module}")
    assert importlib.util.find_spec(invocation(module).split()[-1])
    monkeypatch.setattr(sys, "argv", ["gauntlet run"])
    assert invocation(module) == f"gauntlet {name}"


def test_a_path_in_a_hint_is_no_option() -> None:
    assert shlex.split(invocation("pipeline.replay", "1f", "--in", Path("-a b"))).pop() == "./-a b"
    assert invocation("pipeline.report", Path("a/-x")).split().pop() == "a/-x"


HINT = re.compile(r"python -m (?!benchmarks|gauntlet\.training)\w")


def test_no_text_says_how_to_call_a_command_by_itself() -> None:
    """All ask `invocation`. Docstrings are for readers of the code."""
    for file in [*ROOT.glob("gauntlet/pipeline/**/*.py"), *ROOT.glob("gauntlet/models/**/*.py")]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        described = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module) and isinstance(node.body[0], ast.Expr)
        }
        for text in texts:
            if isinstance(text.value, str) and id(text) not in described:
                assert not HINT.search(text.value), f"{file} line {text.lineno}"


def test_a_wrong_word_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["statsu"]) == 2
    assert command.main(["completion", "tcsh"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "did you mean 'status'?" in first
    assert "bash or zsh?" in second


def test_a_shell_completes_commands_and_settings(tmp_path: Path) -> None:
    script = tmp_path / "complete.bash"
    script.write_text(command.BASH.replace("@COMMANDS@", "run replay report"))
    tell = """
        gauntlet() { "$PYTHON" -m gauntlet "$@"; }
        . complete.bash
        COMP_WORDS=(gauntlet rep) COMP_CWORD=1; _gauntlet; echo ${COMPREPLY[@]}
        COMP_WORDS=(gauntlet run game=ti) COMP_CWORD=2 COMP_LINE="gauntlet run game=ti"
        _gauntlet; echo ${COMPREPLY[@]}
    """
    env = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", tell], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["replay", "report", "game=tic_tac_toe"], done.stderr


@pytest.mark.parametrize(
    "command",
    ["-m gauntlet run --help", "-m pipeline.run --help", "-m gauntlet.papers.reproduce --help"],
)
def test_no_file_of_the_current_folder_is_run(tmp_path: Path, command: str) -> None:
    for file in ("hydra_plugins/mine.py", "hydra/__init__.py", "models.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("open('it ran', 'w')")
    go(sys.executable, *command.split(), cwd=tmp_path)
    assert not (tmp_path / "it ran").exists()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel, and another one built from the source distribution."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("built")
    for name in ("gauntlet", "pyproject.toml", "README.md", "LICENSE"):
        there = ROOT / name
        unused = shutil.ignore_patterns("__pycache__")
        if there.is_dir():
            shutil.copytree(there, copy / name, ignore=unused, symlinks=True)
        else:
            shutil.copy(there, copy / name)
    build = "from setuptools.build_meta import build_sdist; print(build_sdist('dist'))"
    go(
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--target",
        str(out / "tools"),
        "setuptools>=77",
    )
    go(sys.executable, "-c", build, cwd=copy, path=out / "tools")
    (source,) = (copy / "dist").glob("*.tar.gz")
    for made_of, folder in ((str(copy), "wheel"), (str(source), "sdist")):
        go(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "-w",
            str(out / folder),
            made_of,
        )
    return out


def go(*words: str, cwd: Path | None = None, path: Path = ROOT) -> str:
    env = {**os.environ, "PYTHONPATH": str(path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_wheel_plays_far_from_the_checkout(built: Path, tmp_path: Path, kind: str) -> None:
    (wheel,) = (built / kind).glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {file.as_posix() for file in installed()}  # all below gauntlet/
    site, away = tmp_path / "site", tmp_path / "away"
    away.mkdir()
    go(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel))
    (away / "mine.py").write_text(
        "from dataclasses import dataclass\n\n"
        "from gauntlet.games.tic_tac_toe import TicTacToe\n\n\n"
        "@dataclass(frozen=True)\nclass Again(TicTacToe):\n    pass\n"
    )
    (away / "own" / "game").mkdir(parents=True)
    (away / "own" / "game" / "again.yaml").write_text("_target_: mine.Again\n")
    words = ("--config-dir", str(away / "own"), "packages=[mine]", "game=again")
    run = (sys.executable, "-P", "-m", "gauntlet", "run", *words, *PLAY, "output_dir=out")
    go(*run, cwd=away, path=site)
    assert list(pd.read_csv(away / "out" / "summary.csv")["game"].unique()) == ["again"]
    pocket = (sys.executable, "-P", "-m", "gauntlet", "run", "model=pocket", *PLAY[1:])
    go(*pocket, "prompt=cloze", "game=tic_tac_toe", "output_dir=two", cwd=away, path=site)
    assert pd.read_csv(away / "two" / "summary.csv")["matches"].sum() == 3
