"""A command's streams and environment, and its end: all output is written, and the interpreter is
not torn down."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

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


SHOWN = "\u2501 \udce9"
"""A character that only Unicode has, and what Python makes of a byte that is no UTF-8."""


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "\u2501 ?".encode()),
        ("utf-8:surrogateescape", "\u2501 ?".encode()),
        *((encoding, b"? ?") for encoding in ("latin-1", "cp1252", "ascii")),
    ],
)
def test_characters_that_cannot_be_shown_are_replaced(encoding: str, shown: bytes) -> None:
    end = f"print({SHOWN!a}); print({SHOWN!a}, file=sys.stderr); return 3"
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=env, capture_output=True, timeout=30)
    assert done.stdout == b"written\n" + shown + b"\nwaited for\n"
    assert (done.returncode, done.stderr) == (3, shown + b"\ntold\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_the_null_device(closed: str, tmp_path: Path) -> None:
    """Not the next file that is opened, in this process or in one that it starts."""
    file = tmp_path / "file"
    child = "import os; [os.fstat(each) for each in range(3)]"
    end = (
        f"file = open({str(file)!r}, 'w'); import subprocess; "
        f"status = subprocess.run([sys.executable, '-c', {child!r}]).returncode; "
        "file.write(f'{file.fileno() > 2} {status}'); file.close(); return 3"
    )
    shell = f'exec "$0" -c "$1" {closed}'
    command = ["sh", "-c", shell, sys.executable, PROGRAM.format(end=end)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 3
    assert done.stdout == ("" if ">&-" in closed.replace("2>&-", "") else
                           "written\nwaited for\n")  # fmt: skip
    assert done.stderr == ("" if "2>&-" in closed else "told\n")
    assert file.read_text() == "True 0"


@pytest.mark.parametrize("printed", ["'x'", "10**6 * 'x'"])
def test_a_full_disk_names_the_stream(printed: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(end=f"print({printed}); return 0")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 2
    assert done.stderr == "gauntlet: standard output: No space left on device\ntold\n"


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
