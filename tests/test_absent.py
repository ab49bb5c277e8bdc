"""Without any extra: a first run works, and features that need an extra name it in one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.common.errors import UserError, extra
from tests import nodes
from tests.games import __main__ as conformance
from tests.test_layers import ROOT

EXTRAS = (
    *("accelerate", "alembic", "deepspeed", "flask", "mlflow", "nicegui", "pettingzoo", "pyarrow"),
    *("pygame", "pyspiel", "ray", "safetensors", "sqlalchemy", "textarena", "tokenizers", "torch"),
    *("transformers", "uvicorn", "xllamacpp"),
)
PROGRAM = """
import sys
from importlib import import_module

sys.argv[0] = "-m"  # as a command's module has it while its package is imported

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        absent = name.partition(".")[0] in sys.argv[1:]
        return None if absent else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
for line in sys.stdin:
    module, *words = line.split()
    try:
        status = import_module(module).main(words)
    except SystemExit as end:
        status = end.code
    print("STATUS", status, file=sys.stderr, flush=True)
"""
"""Program that runs these commands one after the other: most of their time is loading."""
PLAY = "pipeline.run model=fake game=tic_tac_toe deals=2"
REFUSED = {
    "pipeline.pages.__main__ --port 0": ("nicegui", "pages"),
    "pipeline.ui .": ("mlflow", "ui"),
    "pipeline.track .": ("mlflow", "tracking"),
    "gauntlet.training.dqn.train --game games.uno.arena.UnoArena": ("torch", "local"),
    "gauntlet.training.dqn.curves .": ("mlflow", "tracking"),
    "gauntlet.training.pocket.train --help": ("torch", "local"),
    "gauntlet.training.pocket.duel.evaluate": ("torch", "local"),
    "gauntlet.training.gradient.reinforce --help": ("torch", "local"),
    "gauntlet.papers.reproduce llm_uno --out reproduced": ("torch", "local"),
    "pipeline.plan.__main__ model=fake --hardware 1xcpu": ("torch", "local"),
    f"{PLAY} model=pocket prompt=cloze tracking=none": ("safetensors", "local"),
    f"{PLAY} launch.workers=2 tracking=none": ("ray", "cluster"),
}
SHARDED = "pipeline.run model=pocket model.shards=2 prompt=cloze launch=local deals=2"


def typed(
    folder: Path, *commands: str, absent: Sequence[str] = EXTRAS
) -> subprocess.CompletedProcess[str]:
    """Run our commands with these packages not installed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "of-no-account"}
    (folder / "mlflow.db").touch()
    return subprocess.run(
        (sys.executable, "-c", PROGRAM, *absent),
        cwd=folder,
        env=env,
        input="\n".join(commands),
        capture_output=True,
        text=True,
    )


def refusal(package: str, extra: str) -> str:
    return f"gauntlet: {package} is not installed: pip install 'gauntlet[{extra}]'\nSTATUS 2\n"


def test_what_lacks_is_named_with_the_command_and_a_first_run_needs_no_extra(
    tmp_path: Path,
) -> None:
    done = typed(tmp_path, *REFUSED, PLAY)
    lines = "".join(refusal(package, extra) for package, extra in REFUSED.values())
    assert done.stderr == f"{lines}STATUS 0\n", done.stdout
    (warning,) = re.findall("warning: .*", done.stdout)
    assert "mlflow is not installed: pip install 'gauntlet[tracking]'" in warning
    assert not (tmp_path / "outputs" / "mlflow").exists()
    assert not (tmp_path / "reproduced").exists()


@pytest.mark.slow
def test_workers_that_lack_a_package_name_it(tmp_path: Path) -> None:
    assert typed(tmp_path, SHARDED, absent=["deepspeed"]).stderr == refusal("deepspeed", "cluster")


def test_a_module_that_is_there_is_given():
    assert extra("json", "any") is sys.modules["json"]


def test_one_that_is_absent_is_named_with_the_command():
    with pytest.raises(
        UserError, match=r"^nowhere is not installed: pip install 'gauntlet\[far\]'$"
    ):
        extra("nowhere.inner", "far")


def test_a_package_that_lacks_another_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import nowhere_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_either"):
        extra("half_there", "any")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["mines"], "no mines.yaml is in conf/game"),
        (["uno", "--config-dir", "absent"], "--config-dir absent: the folder is not found"),
        (["mine", "--config-dir", "."], "mine._target_ is 'mygames.Mine'; it must lie in "),
        (["mine", "--config-dir", ".", "packages=[a,mygames]"], "'mygames.Mine' cannot be loaded"),
    ],
)
def test_a_check_of_a_game_of_ones_own_says_what_it_lacks(
    tmp_path, monkeypatch, capsys, words, refusal
):
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "mine.yaml").write_text("_target_: mygames.Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conformance, "FOLDERS", FOLDERS := [*nodes.FOLDERS])
    monkeypatch.setattr(nodes, "FOLDERS", FOLDERS)
    assert conformance.main(words) == 2
    assert refusal in capsys.readouterr().err


def test_a_check_of_a_game_names_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert conformance.main(["tic_tac_toe"]) == 2
    said = capsys.readouterr().err
    assert said == "gauntlet: hypothesis is not installed: pip install 'gauntlet[conformance]'\n"
