"""A paid sweep that stops, by its cap or by Ctrl-C, under the default launch: the real command.

Answers received by then are kept, and the resumed sweep does not request them again.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.api import PocketServer, Script
from tests.pipeline.logs import matches

MIXED = ("seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=cloze")


class Stopping:
    """Runs the command over the server and checks what was answered and kept."""

    def __init__(self, url: str, folder: Path, served: PocketServer) -> None:
        self.folder, self._served = folder, served
        self._cache = folder.parent / "replies.sqlite"
        self._command = [
            *(sys.executable, "-m", "pipeline.run", "model=openai", "model.name=pocket"),
            *(f"model.base_url={url}", "model.endpoint=completions", "model.in_flight=4"),
            *("model.price_in=1", "model.price_out=300", f"model.cache={self._cache}"),
            *("game=tic_tac_toe", "prompt=cloze", "deals=12", "baseline=null", "tracking=none"),
            *("launch.workers=2", f"output_dir={folder}"),
        ]

    def start(self, *overrides: str) -> subprocess.Popen[str]:
        """In a separate process group, as under a terminal."""
        return subprocess.Popen(
            [*self._command, *overrides],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, *overrides: str) -> tuple[int, str, str]:
        with self.start(*overrides) as run:
            out, err = run.communicate(timeout=180)
        return run.returncode, out, err

    def answered(self) -> int:
        """Count the distinct requests that the server has answered; each once."""
        assert set(self._served.billed.values()) <= {1}, "a request was answered twice"
        return len(self._served.billed)

    def stored(self) -> tuple[int, int]:
        """Count the replies kept, and the requests that may be billed without one."""
        with sqlite3.connect(self._cache) as base:
            counts = base.execute(
                "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM sent)"
            ).fetchone()
        base.close()
        return counts


@pytest.fixture
def stopping(url: str, folder: Path, served: PocketServer, script: Script) -> Stopping:
    script.seconds = (0.3, 0.4, 0.5)  # long enough to be under way, and sure to be waited for
    return Stopping(url, folder, served)


@pytest.mark.slow
def test_a_sweep_stopped_by_its_cap_keeps_every_answer(stopping: Stopping, script: Script) -> None:
    status, out, err = stopping.end("model.cap=0.009")
    assert status == 2, out + err
    assert "the spending cap of 0.009 is reached" in err
    assert "the same command again" not in out, "a larger cap is needed"
    assert stopping.stored() == (stopping.answered(), 0)
    assert stopping.answered() > 5, err
    script.seconds = (0.0,)
    status, out, err = stopping.end("model.cap=10")
    assert status == 0, out + err
    assert len(matches(stopping.folder)) == 12
    assert stopping.stored() == (stopping.answered(), 0)


@pytest.mark.parametrize(
    "players",
    [pytest.param((), marks=pytest.mark.slow, id="paid"), pytest.param(MIXED, id="mixed")],
)
def test_a_sweep_stopped_by_ctrl_c_keeps_every_answer(
    stopping: Stopping, script: Script, players: tuple[str, ...]
) -> None:
    with stopping.start(*players) as run:
        while stopping.answered() < 10:  # only the server's count shows how far the command is
            assert run.poll() is None, "".join(run.communicate())
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130, out + err
    assert "running the same command again continues" in " ".join(out.split())
    assert stopping.answered() >= 10
    assert stopping.stored() == (stopping.answered(), 0)
    script.seconds = (0.0,)
    status, out, err = stopping.end(*players, "launch=inline")
    assert status == 0, out + err
    assert stopping.stored() == (stopping.answered(), 0)
