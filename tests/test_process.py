"""The end of a command: all output is written, and the interpreter is not torn down."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path


import time

import pytest

PROGRAM = """
import atexit, sys, threading, time
from gauntlet.common.process import as_process

class Taken:
    def __del__(self):
        print("taken apart")

kept, late = Taken(), threading.Thread(target=lambda: (time.sleep(0.2), print("waited for")))
atexit.register(lambda: print("told", file=sys.stderr))

def main():
    print("written")
    late.start()
    threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
    {end}

as_process(main)
"""


def ended(end: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_it_ends_with_its_status_and_is_not_taken_apart() -> None:
    done = ended("return 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "written\nwaited for\n", "told\n")


def test_a_command_that_breaks_off_ends_as_any_process() -> None:
    done = ended("sys.exit(2)")
    assert (done.returncode, done.stderr) == (2, "told\n")
    assert ended("raise ValueError('x')").returncode == 1


@pytest.mark.parametrize(
    "end", ["return 3", "print(10**6 * 'x'); print('more', flush=True); return 3"]
)
def test_who_reads_no_further_is_no_error(end: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    env = {**os.environ, "PYTHONUNBUFFERED": ""}  # what is written waits for the end
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, **both) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == "told\n"
        assert running.wait(30) == 3


PRINTING = r"""
import os, sys
from gauntlet.common.process import as_process

def main():
    print("poker \u2660 \udcff", os.environ["MPLBACKEND"])
    print("warned \u2660", file=sys.stderr)
    with open(sys.argv[1], "w") as file:
        file.write(str(file.fileno()))
    return 0

as_process(main)
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_what_an_encoding_lacks_is_replaced(encoding: str, tmp_path: Path) -> None:
    """And no figure needs the screen of the notebook around the shell."""
    inline = "module://matplotlib_inline.backend_inline"
    env = {**os.environ, "PYTHONIOENCODING": encoding, "MPLBACKEND": inline}
    command = [sys.executable, "-c", PRINTING, str(tmp_path / "file")]
    done = subprocess.run(command, env=env, capture_output=True, timeout=30)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert done.stdout.decode(encoding).split()[::3] == ["poker", "agg"]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_the_null_device(closed: str, tmp_path: Path) -> None:
    """And no file gets its number, into which libraries would print."""
    command = f'exec "$0" -c "$1" "$2" {closed}'
    words = ["bash", "-c", command, sys.executable, PRINTING, str(tmp_path / "file")]
    assert subprocess.run(words, timeout=30).returncode == 0
    assert int((tmp_path / "file").read_text()) > 2


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_outside_of_what_handles_it_is_a_line_and_waits_for_no_thread(signals: int) -> None:
    """The second, which comes during exit handlers that hang, ends the process at once."""
    hang = "atexit.register(lambda: (print('hanging', flush=True), time.sleep(60)))"
    busy = "threading.Thread(target=lambda: time.sleep(60)).start()"
    steps = [*[hang] * (signals - 1), busy, "print('up', flush=True)", "time.sleep(60)"]
    command = [sys.executable, "-c", PROGRAM.format(end="; ".join(steps))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in ("up\n", "hanging\n")[:signals]:
            while running.stdout.readline() != line:
                assert running.poll() is None
            running.send_signal(signal.SIGINT)
            began = time.monotonic()
        _, told = running.communicate(timeout=30)
    assert running.returncode == 130
    assert time.monotonic() - began < 10
    assert "Traceback" not in told
    assert told.startswith("\ninterrupted\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_is_seen_while_the_command_goes_on(unbuffered: str) -> None:
    end = "print('wrong', file=sys.stderr); time.sleep(60)"
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        seen = select.select([running.stderr], [], [], 20)[0] and running.stderr.readline()
        running.kill()
    assert seen == "wrong\n"
