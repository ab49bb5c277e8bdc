"""A sweep with its model in two shards, played in Ray: undisturbed, and with a rank killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tests.pipeline.logs import finished, matches
from tests.pipeline.test_kill import ancestors

pytestmark = pytest.mark.cluster

DEALS = 40
COMMAND = (
    "tracking=none",
    "model=pocket",
    f"deals={DEALS}",
    "baseline=null",
    "concurrent_matches=8",
)
SHARDED = ("launch=local", "launch.workers=1", "model.shards=2")


def start(folder: Path, *overrides: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pipeline.run", *COMMAND, f"output_dir={folder}", *overrides]
    return subprocess.Popen(command)


@pytest.fixture(scope="module")
def unsharded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("whole")
    assert start(folder, "launch=inline").wait(900) == 0
    return matches(folder)


def ranks(driver: int) -> Iterator[int]:
    """Process ids of the ranks that answer for `driver`."""
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if status.read_bytes().startswith(b"ray::_Rank"):
                pid = int(status.parent.name)
                if driver in ancestors(pid):
                    yield pid
        except OSError:
            continue


def without_floats(record: Any) -> Any:
    """The record with every log-probability left out: what was asked, chosen and won."""
    if isinstance(record, dict):
        return {key: without_floats(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [without_floats(value) for value in record]
    return None if isinstance(record, float) else record


def floats(record: Any) -> list[float]:
    if isinstance(record, dict):
        return [value for key in sorted(record) for value in floats(record[key])]
    if isinstance(record, (list, tuple)):
        return [value for part in record for value in floats(part)]
    return [record] if isinstance(record, float) else []


def furthest(left: Any, right: Any) -> float:
    """The largest difference between two logs that must be the same in all but the last bits."""
    left, right = to_builtins(left), to_builtins(right)
    assert without_floats(left) == without_floats(right)
    pairs = zip(floats(left), floats(right), strict=True)
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.brief
def test_a_sweep_in_two_shards_has_the_records_of_one_process(
    unsharded: dict[str, Any], tmp_path: Path, figure: Callable[[str], None]
) -> None:
    assert start(tmp_path, *SHARDED).wait(900) == 0
    difference = furthest(matches(tmp_path), unsharded)
    figure(f"{len(unsharded)} matches with 2 shards in Ray: numbers within {difference:.1e}")
    assert difference < 1e-4


def test_a_killed_rank_takes_no_match_along(unsharded: dict[str, Any], tmp_path: Path) -> None:
    run = start(tmp_path, *SHARDED)
    deadline = time.monotonic() + 900
    while finished(tmp_path) < len(unsharded) // 4 and time.monotonic() < deadline:
        assert run.poll() is None, "the sweep ended before a rank could be killed"
        time.sleep(0.05)
    before = sorted(ranks(run.pid))
    assert len(before) == 2
    os.kill(random.Random(5).choice(before), signal.SIGKILL)
    assert run.wait(900) == 0
    assert furthest(matches(tmp_path), unsharded) < 1e-4


def test_shards_without_ray_are_refused_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipeline.run", *COMMAND, f"output_dir={tmp_path}"]
    asked = ("launch=inline", "model.shards=2")
    run = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=600)
    assert run.returncode != 0
    assert "in 2 shards needs Ray: set launch=local" in run.stderr
    assert "Traceback" not in run.stderr
