"""Killed anywhere, repeatedly, a sweep ends with the records of an undisturbed one.

Every kill is a SIGKILL between the first and the last finished match: of a Ray worker, of the
driver, and of the driver in the middle of a write. Below, a sweep that is interrupted.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.common.process import INTERRUPTED
from gauntlet.pipeline import status
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.outcomes import Outcome
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.sweep import run_sweep
from gauntlet.pipeline.sweep.play import interruption
from tests.cluster.brake import braked, words
from tests.nodes import ROOT
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import finished, matches, preparations

DEALS = 40
"""Of two cells."""
SWEEP = (
    "baseline=null",
    "concurrent_matches=8",
    "game=tic_tac_toe",
    "controls=[]",
    f"deals={DEALS}",
    "prompt=cloze,pride",
)
PAUSE = 0.15
"""Seconds that the braked fake waits before a batch while its sweep is being killed: a test process
that gets no core for a second still finds the sweep running."""
SECONDS = 300.0
"""More than any of this takes, on a busy machine too."""


def wait_for(run: subprocess.Popen[bytes], folder: Path, lines: int) -> bool:
    """Wait until the log holds `lines` matches; False if the run ended first."""
    while run.poll() is None:
        if finished(folder) >= lines:
            return True
        time.sleep(0.02)
    return False


def ray_workers(driver: int) -> Iterator[int]:
    """Yield the process ids of the Ray workers of `driver`."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            name, pid = place.read_bytes(), int(place.parent.name)
        except OSError:
            continue
        if name.startswith(b"ray::_RemoteActor") and driver in ancestors(pid):
            yield pid


def living_workers(run: subprocess.Popen[bytes]) -> list[int]:
    """The same, once there are any: right after a kill the next one may still be starting."""
    while run.poll() is None:
        if found := list(ray_workers(run.pid)):
            return found
        time.sleep(0.05)
    raise AssertionError("no worker to kill")


def ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.append(pid)
    return found


def start(folder: Path, brake: Path, launch: str, *module: str) -> subprocess.Popen[bytes]:
    words_ = (*SWEEP, *words(brake), "tracking=none", f"launch={launch}", f"output_dir={folder}")
    # without a number of workers a sweep as short as this one has none
    workers = ["launch.workers=2"] * (launch == "local")
    command = [sys.executable, "-m", *(module or ["pipeline.run"]), *words_, *workers]
    out = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)


def kill(run: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill the driver a few matches from here, before it is done."""
    assert wait_for(run, folder, finished(folder) + 5)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert finished(folder) < 2 * DEALS


def test_a_sweep_killed_everywhere_has_the_records_of_one_that_never_was(
    sweep: Sweep, tmp_path: Path
) -> None:
    """A model that only waits, in a small game: the kill is of the sweep, not of its players. Ray
    workers begin it, also with the preparation of a method, and one process ends it."""
    brake, calm, stormy = tmp_path / "brake", tmp_path / "calm", tmp_path / "stormy"
    assert sweep(*SWEEP, *words(brake), f"output_dir={calm}") == 0
    with braked(brake, PAUSE):
        run = start(stormy, brake, "local")
        assert wait_for(run, stormy, 5)
        os.kill(living_workers(run)[0], signal.SIGKILL)
        kill(run, stormy)
        run = start(stormy, brake, "inline", "tests.pipeline.torn_run", "2")
        assert run.wait(SECONDS) == -signal.SIGKILL, "the sweep ended before the write was torn"
        files = [path.read_bytes() for path in (stormy / "records").glob("*.jsonl")]
        assert not all(text.endswith(b"\n") for text in files), "no match had to be played again"
        kill(start(stormy, brake, "inline"), stormy)
    assert sweep(*SWEEP, *words(brake), f"output_dir={stormy}") == 0
    assert len(matches(calm)) == 2 * DEALS
    assert matches(stormy) == matches(calm)
    assert len(preparations(calm)) == 1
    assert preparations(stormy) == preparations(calm)


# --- interrupt


def command(folder: Path, *overrides: str) -> list[str]:
    base = ["tracking=none", "model=fake", "baseline=null", f"output_dir={folder}"]
    return [sys.executable, "-m", "gauntlet.pipeline.run", *base, *overrides]


def looked(folder: Path) -> status.Status:
    found = status.Status(Folder(folder))
    found.look()
    return found


def test_an_interrupted_sweep_is_watched_and_says_how_to_go_on(folder: Path) -> None:
    """Another process sees how far it is."""
    run = subprocess.Popen(
        command(folder, "launch=inline", "deals=4000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + SECONDS
        while finished(folder) < 40 or not (Folder(folder).status or {}).get("rate"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        seen = looked(folder)
        assert (seen.playing, seen.done + (seen.left or 0)) == (True, 2 * 4000)
        assert seen.seconds_left is not None
    finally:
        run.send_signal(signal.SIGTERM)
        said, _ = run.communicate(timeout=SECONDS)
    after = looked(folder)
    assert (after.run["state"], after.done) == ("interrupted", finished(folder))
    assert after.done >= seen.done
    assert run.returncode == 130, said
    assert "matches are left" in said
    assert "running the same command again continues" in " ".join(said.split())
    table = pd.read_csv(folder / "summary.csv")
    done = matches(folder)
    for _, row in table.iterrows():
        assert row["matches"] == row["deals"] < 4000
        prefix = {r.deal for r in done.values() if r.cell == row["cell"].rpartition("-")[2]}
        assert set(range(row["deals"])) <= prefix or not prefix


def test_the_loop_notes_a_signal_and_the_second_is_not_noted(capsys: Capsys) -> None:
    """A line is printed at once. In this process, which is not a command's, the second raises."""
    with interruption() as stop, stop.held(True):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.came
        assert "interrupted" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt), stop.held(False):
            pass
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with interruption() as stop, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("most", "rule"), [(100, "precision"), (5, "fixed")])
def test_after_ctrl_c_nobody_waits_for_luck_or_for_the_tables_of_many_matches(
    sweep: Sweep,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    most: int,
    rule: str,
) -> None:
    """In UNO a match's luck takes as long as many matches. The same command takes it all up."""

    append, played = Log.append, count(1)

    def interrupting(*asked: Any) -> Outcome:
        if next(played) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return append(*asked)

    words = ("game=uno", "prompt=cloze", "baseline=auto", f"stop={rule}")
    with monkeypatch.context() as patch:
        patch.setattr(Log, "append", interrupting)
        patch.setattr(run_sweep, "HURRIED", most)
        patch.setattr(luck, "judged", lambda _, games, *__: games and pytest.fail("judged"))
        patch.setattr("gauntlet.pipeline.judging.stopping.SOON", 100)
        assert sweep(*words, f"deals={DEALS}") == INTERRUPTED
    assert 8 <= len(matches(folder)) < DEALS
    assert f"played {len(matches(folder)):,} of {DEALS:,} matches" in capsys.readouterr().out
    assert (Folder(folder).status or {})["state"] == "interrupted"
    assert (folder / "summary.csv").exists() == (most == 100)
    assert sweep(*words, f"deals={DEALS}") == 0
    assert set(pd.read_csv(folder / "summary.csv")["estimator"]) == {"adjusted"}
