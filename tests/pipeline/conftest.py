"""Running sweeps from tests: in this process, without Ray, with the fake model."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import run
from pipeline.tables import gallery
from pipeline.tracking.store import tracking_uri

Sweep = Callable[..., int]
FAST = (
    *("launch=inline", "tracking=none", "model=fake", "deals=6", "baseline=null"),
    "controls=[]",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Sweep:
    """Runs `python -m pipeline.run` with FAST and further overrides; returns the exit status.

    Figures, a third of such a run, are drawn for tests marked `drawn` alone.
    """
    monkeypatch.chdir(tmp_path)
    if request.node.get_closest_marker("drawn") is None:
        monkeypatch.setattr(gallery, "drawings", lambda *_: {})

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


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs: making its tables takes MLflow a second."""
    from mlflow.tracking import MlflowClient

    made = tmp_path_factory.mktemp("empty")
    MlflowClient(tracking_uri(made)).search_experiments()
    return made


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "store"))
