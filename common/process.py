"""A command as a process of its own: started light and ended at once."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from gauntlet.common.sanitize import visible

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = 50_000
"""New objects after which Python looks for unreachable ones. By its own 700 it would go through all
that thousands of modules hold eight times while they are loaded, and find nothing."""


def leave_current_folder() -> None:
    """`python -m` imports from the current folder first, where people have a models.py or a folder
    hydra/. Unless Gauntlet itself lies there, only the modules that `packages=` names are looked
    for in it, after all others (`config/nodes.py`)."""
    if sys.argv[0] == "-m" and sys.path[0] == os.getcwd() != str(ROOT):
        del sys.path[0]


def collect_seldom() -> None:
    """From now on Python looks for unreachable objects after OBJECTS new ones."""
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


def refuse_pipes(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: to open a named pipe raises OSError in place of waiting for a writer for ever.
    Those under /dev, which a shell makes of `<(...)`, are meant."""
    if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    path = os.fsdecode(arguments[0])
    if _is_pipe(path) and not path.startswith("/dev/"):
        raise OSError(errno.EINVAL, "it is a named pipe, and should be a file", path)


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


class Outlasting(io.FileIO):
    """A stream whose reader may stop early, as `head` does: further output is discarded and the
    writer carries on."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
            return len(data)


def outlasting(stream: TextIO) -> TextIO:
    """The same stream, in which a reader that leaves is no error."""
    assert isinstance(stream, io.TextIOWrapper), stream
    stream.flush()
    raw = Outlasting(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _status(main: Callable[[], int]) -> int:
    """What `main` returns; 2 where the system fails it in a way that no command expects."""
    try:
        return main()
    except OSError as error:
        told = f"{error.filename or 'the system'}: {error.strerror or error}"
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        told = (
            "the system lets this process start no further thread: ulimit -u, or the limit of the "
            "container or job, is reached; what was played is safe"
        )
    print(visible(f"gauntlet: {told}"), file=sys.stderr)
    return 2


def as_process(main: Callable[[], int]) -> NoReturn:
    """Runs `main` and ends the process with the status that it returns.

    Whoever waits to be told of the end is told, and what was written is written. But what was
    loaded is left to the system: Python would take it apart object by object, for a second or two.
    """
    collect_seldom()
    sys.stdout, sys.stderr = outlasting(sys.stdout), outlasting(sys.stderr)
    sys.addaudithook(refuse_pipes)
    status = _status(main)
    running: Any = threading
    running._shutdown()  # as Python does: waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a full disk, where it goes to a file
            stream.flush()
    os._exit(status)
