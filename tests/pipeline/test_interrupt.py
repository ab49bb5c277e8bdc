"""Ctrl-C, and a sweep spread over Ray workers: real processes, observed from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import finished, matches, preparations


def command(folder: Path, *overrides: str) -> list[str]:
    base = ["tracking=none", "model=fake", "baseline=null", f"output_dir={folder}"]
    return [sys.executable, "-m", "gauntlet.pipeline.run", *base, *overrides]


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_an_interrupted_sweep_says_how_to_go_on(folder: Path, number: signal.Signals) -> None:
    run = subprocess.Popen(
        command(folder, "launch=inline", "deals=3000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 60
    while finished(folder) < 40 and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(number)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "matches are left" in said
    assert "running the same command again continues" in " ".join(said.split())
    table = pd.read_csv(folder / "summary.csv")
    done = matches(folder)
    for _, row in table.iterrows():
        assert row["matches"] == row["deals"] < 3000
        prefix = {r.deal for r in done.values() if r.cell == row["cell"].rpartition("-")[2]}
        assert set(range(row["deals"])) <= prefix or not prefix


def test_ray_workers_leave_the_same_records_as_one_process(
    sweep: Sweep, folder: Path, tmp_path: Path
) -> None:
    """Also with methods that prepare themselves, and their preparations: one Ray session."""
    words = ("prompt=cloze,counterfactual,pride", "deals=20")
    sweep(*words)
    spread = tmp_path / "spread"
    done = subprocess.run(
        command(spread, "launch=local", "launch.workers=2", *words),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert matches(spread) == matches(folder)
    assert len(preparations(folder)) == 1
    assert preparations(spread) == preparations(folder)
