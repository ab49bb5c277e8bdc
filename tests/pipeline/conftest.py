"""Run sweeps from tests: in this process, without Ray, with the fake model."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from gauntlet.common.ids import PACKAGE
from gauntlet.models.engine.files import file_hash
from gauntlet.pipeline import report as command
from gauntlet.pipeline import run
from gauntlet.pipeline.config import yaml_files
from gauntlet.pipeline.config.jobs import Configs
from gauntlet.pipeline.plan import fingerprint
from gauntlet.pipeline.plan.cells import digest
from gauntlet.pipeline.tables.sweep import report
from tests.nodes import ROOT
from tests.pipeline.stores import client_of

Sweep = Callable[..., int]
Full = Callable[[], str]
Capsys = pytest.CaptureFixture[str]
Once = Callable[..., Path]
Refusal = Callable[[int], str]
Edit = Callable[[str, str, str], None]
FAST = (
    *("launch=inline", "tracking=none", "model=fake", "deals=6", "baseline=null"),
    "controls=[]",
)
AXE = "axe-core@4.14.1"


@pytest.fixture(scope="session", autouse=True)
def composed_once() -> Iterator[None]:
    """Keep what Hydra composes from conf/ alone, half of a short sweep's time, for later tests."""
    compose = Configs._compose
    kept = cache(compose)

    def composed(words: tuple[str, ...]) -> object:
        return compose(words) if yaml_files._folders.get() else kept(words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Configs, "_compose", staticmethod(composed))
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def full(folder: Path, capsys: Capsys) -> Full:
    """Fixture: returns what `report --full` prints of the folder, in lines of 100 characters."""

    def go() -> str:
        capsys.readouterr()
        assert command.main([str(folder), "--full"]) == 0
        shown = capsys.readouterr().out
        lines = [line for line in shown.splitlines() if str(folder) not in line]
        assert max(map(len, lines)) <= 100
        return shown

    return go


@pytest.fixture
def sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Sweep:
    """Runs `python -m pipeline.run` with FAST and further overrides; returns the exit status.

    Figures, a third of such a run, are drawn only for tests marked `drawn`.
    """
    monkeypatch.chdir(tmp_path)
    if request.node.get_closest_marker("drawn") is None:
        monkeypatch.setattr(report, "drawings", lambda *_: {})

    def go(*overrides: str) -> int:
        given = {item.partition("=")[0] for item in overrides}
        base = [item for item in FAST if item.partition("=")[0] not in given]
        if "output_dir" not in given:
            base.append(f"output_dir={folder}")
        monkeypatch.setattr(sys, "argv", ["pipeline.run", *base, *overrides])
        try:
            return run.main()
        except SystemExit as end:
            return int(end.code or 0)

    return go


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def once(sweep: Sweep, folder: Path, kept: Path) -> Once:
    """Lays the folder of a sweep that succeeds; tests of a module with the same overrides have
    copies of one, and nothing is printed for all but the first."""

    def lay(*overrides: str) -> Path:
        played = kept / digest(overrides)
        if not played.exists():
            assert sweep(*overrides, f"output_dir={played}") == 0
        return Path(shutil.copytree(played, folder))

    return lay


@pytest.fixture
def refusal(capsys: Capsys) -> Refusal:
    """Takes the status of a command that refuses: it is 2, and one line says why, which is
    returned."""

    def line(status: int) -> str:
        error = capsys.readouterr().err
        assert status == 2, error
        assert error.startswith("gauntlet: ")
        assert error.count("\n") == 1, error
        return error

    return line


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store without runs: MLflow takes a second to create its tables."""
    made = tmp_path_factory.mktemp("empty")
    client_of(made).search_experiments()
    return made


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "store"))


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Edit a file of the project, one at a time, as seen by code that reads sources; loaded code
    stays the same. For a data file only the hash changes. No other module is parsed again."""
    source, parsed, data = fingerprint._source, fingerprint._module, fingerprint._data
    put, code, hashed = partial(monkeypatch.setattr, fingerprint), fingerprint._code, file_hash

    def change(file: str, old: str, new: str) -> None:
        code.cache_clear()
        put("_source", source)
        if not file.endswith(".py"):
            other = {ROOT / "gauntlet" / file: "another"}
            put("file_hash", lambda path, name: other.get(path.resolve()) or hashed(path, name))
            put("_data", data.__wrapped__)
            put("_module", parsed.__wrapped__)
            return
        text = (ROOT / "gauntlet" / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, (file, old)
        edited = tmp_path / "edited" / Path(file).name
        edited.parent.mkdir(exist_ok=True)
        edited.write_text(text.replace(old, new), encoding="utf-8")

        def is_it(name: str) -> bool:
            module = file.removesuffix(".py").removesuffix("/__init__")
            return name.removeprefix(PACKAGE).replace(".", "/") == module

        put("_source", lambda name: edited if is_it(name) else source(name))
        put("_module", lambda name: (parsed.__wrapped__ if is_it(name) else parsed)(name))

    yield change
    code.cache_clear()


CODE = (
    *(fingerprint._code, fingerprint._module, fingerprint._source, fingerprint._data),
    *(fingerprint._spec, fingerprint._is_library),
)


def forget_code() -> None:
    """As a new process would read it."""
    importlib.invalidate_caches()
    for function in CODE:
        function.cache_clear()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of axe-core, which npm gives."""
    folder, npm = tmp_path_factory.mktemp("axe"), shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm for axe-core")
    command = [npm, "pack", AXE, "--silent"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"npm gives no {AXE}: {done.stderr[-200:]}")
    with tarfile.open(folder / done.stdout.split()[-1]) as pack:
        script = pack.extractfile("package/axe.min.js")
        assert script
        return script.read().decode()
