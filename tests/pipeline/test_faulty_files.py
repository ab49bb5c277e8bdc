"""A faulty user YAML file or module ends in one line with file, line and the error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gauntlet.pipeline.config import yaml_files
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.plan.build import build_cells
from tests.nodes import ROOT
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Capsys, Refusal, Sweep

BASE = ("game=tic_tac_toe", "model=fake", "prompt=cloze", "baseline=null")
YAML = {
    "a tab": (b"a:\n\tb: 1\n", "line 2: found character '\\t' that cannot start"),
    "two colons": (b"a: b: c\n", "line 1: mapping values are not allowed"),
    "an open quote": (b'a: "open\n', "line 2: found unexpected end of stream"),
    "a key twice": (b"a: 1\nb: 2\na: 3\n", "line 3: found duplicate key a"),
    "an unknown anchor": (b"a: *nope\n", "line 1: found undefined alias 'nope'"),
    "a directive": (b"%foo\na: 1\n", "line 2: expected"),
    "a percent sign": (b"a: %foo\n", "line 1: found character '%' that cannot start"),
    "an at sign": (b"a: @foo\n", "line 1: found character '@' that cannot start"),
    "a NUL": (b"a: 1\nb: \x00\n", "special characters are not allowed"),
    "a Python tag": (b"a: !!python/object/apply:os.getpid []\n", "line 1: could not determine"),
    "an anchor in itself": (b"a: &a\n  - *a\n", "or an anchor holds itself"),
    "brackets": (b"a: " + b"[" * 2000 + b"]" * 2000, "nested too deeply"),
    "not UTF-8": (b"a: 1\nb: \xff\n", "'utf-8' codec can't decode byte 0xff in position 8"),
    "nothing": (b"", "a config is a mapping"),
    "a list": (b"- 1\n", "a config is a mapping"),
    "an unhashable key": (b"? [1]\n: 2\n", "line 1: found unhashable key"),
    "a bad header": (b"# @package a b c\na: 1\n", "Too many components"),
    "a null key": (b"null: 1\n", "Incompatible key type 'NoneType'"),
}


@pytest.mark.parametrize(("text", "line"), YAML.values(), ids=YAML)
def test_a_faulty_file_is_named_with_its_line(
    tmp_path: Path, capsys: Capsys, text: bytes, line: str
) -> None:
    said = refused(tmp_path, capsys, "experiment", text)
    assert f"{tmp_path}/experiment/x.yaml" in said
    assert line in said


COMPOSED = {
    "defaults of itself": (b"defaults:\n  - x\n", "includes or refers to itself"),
    "an interpolation of itself": (b"a: ${.b}\nb: ${.a}\n", "game.a: Recursive interpolation"),
    "no class": (b"size: 3\n", "game._target_ must be given"),
    "a deep interpolation": (
        b"a: '" + b"${oc.decode:" * 800 + b"1" + b"}" * 800 + b"'\n",
        "nested too deeply",
    ),
}


@pytest.mark.parametrize(("text", "line"), COMPOSED.values(), ids=COMPOSED)
def test_a_file_that_cannot_be_composed_is_one_line(
    tmp_path: Path, capsys: Capsys, text: bytes, line: str
) -> None:
    assert line in refused(tmp_path, capsys, "game", text)


def refused(folder: Path, capsys: Capsys, group: str, text: bytes, *words: str) -> str:
    """Return the message about a file of this group, a single line with status 2."""
    (folder / group).mkdir()
    (folder / group / "x.yaml").write_bytes(text)
    given = ("--config-dir", str(folder), f"{group}=x", *words)
    base = [word for word in BASE if not word.startswith(f"{group}=")]

    def described(configs: Sequence[CellConfig], _: SweepConfig) -> int:
        return len([CellInfo.from_cell(cell, None) for cell in build_cells(configs)])

    assert compose([*base, *given], described) == 2
    said = capsys.readouterr().err
    assert said.startswith("gauntlet: ")
    assert said.count("\n") == 1
    return said


HEAD = """\
import sys
from dataclasses import dataclass, field
from gauntlet.agents.random import Random
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.fake import Fake
@dataclass(frozen=True)
class Mine({base}):
    {body}
"""
BASES = {"game": "TicTacToe", "model": "Fake", "agent": "Random"}

IMPORTED = {
    "def f(:\n": "line 1: SyntaxError",
    "x = 1\nraise RuntimeError('a\\nb')\n": "line 2: RuntimeError: a b",
    "import sys\nsys.exit()\n": "line 2: SystemExit",
    "raise BaseException('x')\n": "line 1: BaseException: x",
    "import nopenope\n": "line 1: ModuleNotFoundError: No module named 'nopenope'",
    "from games.base import Game\n": "line 1: ImportError: games.base is gauntlet.games.base",
    "import pipeline.log\n": "line 1: ImportError: pipeline.log is gauntlet.pipeline.log",
}

BUILT = {
    ("game", "def __post_init__(self): raise TypeError('bad')"): "line 8: TypeError: bad",
    ("game", "def __post_init__(self): sys.exit(0)"): "line 8: SystemExit: 0",
    ("game", "z: 'Nope' = 1"): "Mine: NameError: name 'Nope'",
    ("game", "z: 'sys.exit(1)' = 1"): "Mine: SystemExit: 1",
    ("agent", "def __new__(cls): return 7"): "Mine() gave a int",
    ("game", "z: object = b'x'"): "Mine.z is of type bytes; it must be plain data",
    ("game", "z: float = float('nan')"): "Mine.z is nan; it must be plain data",
    ("game", "z: int = 10**5000"): "Mine.z is of type int; it must be plain data",
    (
        "model",
        "z: list = field(default_factory=list)",
    ): "unhashable type: 'list'; it must have a hash",
    ("model", "def identity(self): sys.exit(0)"): "line 8: SystemExit: 0",
    ("model", "identity = 7"): "Mine.identity is not a method",
    ("model", "def identity(self, x): return {}"): "identity() cannot be called: Mine.identity()",
    ("model", "def identity(self): return None"): "Mine.identity() is a NoneType; it must be a",
    ("model", "def identity(self): return {'a': [{1}]}"): "identity().a.0 is of type set",
    ("model", "def identity(self): return {'a': float('inf')}"): "identity().a is inf",
    ("model", "def identity(self): a = []; a.append(a); return {'a': a}"): "holds itself",
    ("model", "def check_choices(self, choices): 1 / 0"): "line 8: ZeroDivisionError",
    ("game", "def deal(self, rng): sys.exit(0)"): "line 8: SystemExit: 0",
    ("game", "def seatings(self): return ((0, 1),)"): "Mine.seatings is <bound method",
    ("game", "seatings = ((0, 1), (1,))"): "Mine.seatings is ((0, 1), (1,)); it must be",
    (
        "game",
        "@property\n    def seatings(self, x): return ()",
    ): "line 8: TypeError: Mine.seatings()",
    ("game", "def deal(self): return 1"): "line 8: TypeError: Mine.deal() takes",
    ("game", "seatings = ()"): "Mine.seatings is (); it must be an attribute or a property",
    ("game", "seatings = ((1, 0), (0, 1))"): "sits where, first (0, 1)",
}

LOADED = {
    "def load(self): raise RuntimeError('x')": "line 8: RuntimeError: x",
    "def load(self): raise BaseException('x')": "line 8: BaseException: x",
    "def load(self, x): return None": "line 8: TypeError: Mine.load() missing",
    "def load(self): return None": "Mine.load() gave a NoneType; it must give a model",
}

Module = Callable[[str], str]


SWEPT = {
    "game": b"# @package _global_\ndefaults: [/game@game: uno]\nsweep: {seed: '1,2'}\n",
    "prompt": b"_target_: agents.prompting.cloze.Cloze\nsweep: {moves: '1,2'}\n",
}


@pytest.mark.parametrize(("group", "text"), SWEPT.items())
def test_lists_outside_an_experiment_are_refused(
    tmp_path: Path, capsys: Capsys, group: str, text: bytes
) -> None:
    said = refused(tmp_path, capsys, group, text)
    assert f"{tmp_path}/{group}/x.yaml: `sweep` is for files of the group experiment" in said


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write an importable module, and return its name."""

    def write(text: str) -> str:
        name = f"mine_{abs(hash((tmp_path, text)))}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return name

    return write


@pytest.mark.parametrize(("text", "line"), IMPORTED.items())
def test_a_module_that_cannot_be_imported_is_one_line(
    tmp_path: Path, capsys: Capsys, module: Module, text: str, line: str
) -> None:
    name = module(text)
    node = f"_target_: {name}.Mine\n".encode()
    said = refused(tmp_path, capsys, "game", node, f"packages=[{name}]")
    assert f"{tmp_path}/{name}.py {line}" in said


@pytest.mark.parametrize(("place", "line"), BUILT.items(), ids=str)
def test_a_class_that_cannot_be_built_or_described_is_one_line(
    tmp_path: Path, capsys: Capsys, module: Module, place: tuple[str, str], line: str
) -> None:
    group, body = place
    name = module(HEAD.format(base=BASES[group], body=body))
    node = f"_target_: {name}.Mine\n".encode()
    said = refused(tmp_path, capsys, group, node, f"packages=[{name}]")
    assert name in said
    assert line in said


@pytest.mark.parametrize(("body", "line"), LOADED.items())
def test_a_model_that_cannot_be_loaded_is_one_line(
    sweep: Sweep, tmp_path: Path, refusal: Refusal, module: Module, body: str, line: str
) -> None:
    name = module(HEAD.format(base="Fake", body=body))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "x.yaml").write_text(f"_target_: {name}.Mine\n")
    own = ("--config-dir", str(tmp_path), "model=x", f"packages=[{name}]")
    assert line in refusal(sweep(*own, "game=tic_tac_toe", "prompt=cloze", "deals=1"))


NO_THREAD = """
import sys, threading
def refuse(thread): raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
from gauntlet.common.process import as_process
from gauntlet.pipeline import run
as_process(run.main)
"""


def test_no_further_thread_is_one_line(tmp_path: Path) -> None:
    words = (*BASE, "launch=inline", "tracking=none", "deals=1", f"output_dir={tmp_path}/out")
    command = (sys.executable, "-c", NO_THREAD, *words)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("gauntlet: the system lets this process start no further thread")
    assert done.stderr.count("\n") == 1


def test_a_bug_of_ours_is_no_mistake_of_a_user() -> None:
    def broken(*_: object) -> int:
        raise AttributeError("ours")

    with pytest.raises(AttributeError, match="ours"):
        compose(list(BASE), broken)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *(("12:00:00", "12:00:00"), ("1:30", "1:30"), ("on", "on"), ("no", "no"), ("y", "y")),
        *(("0123", "0123"), ("1_000", "1_000"), ("0x1F", "0x1F"), ("2026-01-01", "2026-01-01")),
        *(("true", True), ("False", False), ("null", None), ("~", None), ("", None)),
        *(("12", 12), ("-3", -3), ("1e-5", 1e-5), ("1e5", 1e5), (".5", 0.5), ("5.", 5.0)),
    ],
)
def test_a_plain_word_is_what_was_typed(written: str, read: object) -> None:
    """YAML 1.1 makes 43,200 of a time, and a switch of `on`."""
    found = yaml_files.load(f"key: {written}")["key"]
    assert (found, type(found)) == (read, type(read))


def test_a_time_in_a_file_reaches_slurm_as_it_was_typed(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /launch: slurm\n  - override /beliefs: on\n"
        "name: mine\nlaunch: {time: 12:00:00}\n"
    )
    _, sweep = composed("experiment=mine", f"--config-dir={tmp_path}")
    assert sweep.launch["time"] == "12:00:00"
    assert sweep.beliefs["kind"] == "asked"
