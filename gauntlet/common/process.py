"""Running a command as a process: fast start-up and exit."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from gauntlet.common.errors import UserError, extra
from gauntlet.common.sanitize import visible

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""
OBJECTS = 50_000
"""Garbage collection threshold. The default of 700 would scan everything that thousands of modules
allocate eight times during import, without finding garbage."""
SHOW_CURSOR = b"\x1b[?25h"


def leave_current_folder() -> None:
    """Remove the current folder from `sys.path`, unless it holds Gauntlet itself.

    `python -m` imports from it first, where people may have a models.py or a folder hydra/. Only
    modules named by `packages=` are looked up there, after all others (`config/nodes.py`).
    """
    if sys.argv[0] == "-m" and sys.path[0] == os.getcwd() != str(ROOT):
        del sys.path[0]


def require_extra(module: str, name: str) -> None:
    """For code that cannot be imported without `module`, which the extra `name` installs: without
    it a command ends here, in one line. Raises UserError in other processes."""
    try:
        extra(module, name)
    except UserError as error:
        if sys.argv[0] != "-m":
            raise
        print(f"gauntlet: {error}", file=sys.stderr)
        sys.exit(2)


def invocation(module: str, *words: object) -> str:
    """How the user calls the command of this module, with these words: `gauntlet report DIR`, or in
    a checkout whose modules they run, `python -m pipeline.report DIR`. A path that would be taken
    for an option becomes ./-x."""
    command = f"gauntlet {module.rpartition('.')[2]}"
    if not sys.argv[0].startswith("gauntlet ") and (ROOT / "pyproject.toml").exists():
        command = f"python -m {'' if module.startswith('pipeline.') else 'gauntlet.'}{module}"
    paths = (isinstance(word, Path) and str(word).startswith("-") for word in words)
    texts = (f"./{word}" if path else str(word) for word, path in zip(words, paths, strict=True))
    return " ".join((command, *map(shlex.quote, texts)))


def raise_gc_threshold() -> None:
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


def refuse_pipes(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: opening a named pipe raises OSError instead of waiting for a writer forever.
    Pipes under /dev, which a shell makes of `<(...)`, are allowed."""
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


class Output(io.FileIO):
    """A stream whose reader may stop early, as `head` does: further output is discarded. Other
    errors name the stream."""

    def __init__(self, descriptor: int, title: str) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.title = title

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
            return len(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.title) from error


def output(stream: TextIO | None, title: str) -> TextIO:
    """The stream, where any text can be printed: characters that its encoding lacks are replaced.
    A stream that was closed (`>&-`) is the null device."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8", errors="replace")
    assert isinstance(stream, io.TextIOWrapper), stream
    stream.flush()
    raw: Any = Output(stream.fileno(), title)
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if isinstance(stream.buffer, io.BufferedIOBase) else raw,
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def set_up_streams() -> None:
    """Make standard input, output and error usable, whatever the shell did to them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: the next file opened would become standard output
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = output(sys.stdout, "standard output")
    sys.stderr = output(sys.stderr, "standard error")


_running_command = threading.Event()


def abandon() -> NoReturn:
    """End the process at once, without any cleaning up. Raises KeyboardInterrupt instead in a
    process that does not run a command and so is not ours, such as a notebook's."""
    if not _running_command.is_set():
        raise KeyboardInterrupt
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), SHOW_CURSOR)  # which progress bars hide
    os._exit(INTERRUPTED)


def _status(main: Callable[[], int]) -> int:
    """The status of `main`; 2 for system failures that no command handles, INTERRUPTED for Ctrl-C
    outside of what handles it."""
    try:
        status = main()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        message = f"{error.filename or 'the system'}: {error.strerror or error}"
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        message = (
            "the system lets this process start no further thread: ulimit -u, or the limit of the "
            "container or job, is reached"
        )
    print(visible(f"gauntlet: {message}"), file=sys.stderr)
    return 2


def as_process(main: Callable[[], int]) -> NoReturn:
    """Run `main` and exit with its status. Exit handlers run and output is flushed, but loaded
    modules are not torn down, which saves a second or two."""
    raise_gc_threshold()
    set_up_streams()
    os.environ["MPLBACKEND"] = "agg"  # figures are files; a notebook's shell names its own
    sys.addaudithook(refuse_pipes)
    _running_command.set()
    status = _status(main)
    signal.signal(signal.SIGINT, lambda *_: abandon())
    if status != INTERRUPTED:
        running: Any = threading
        running._shutdown()  # as Python does: waits for non-daemon threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a full disk, if redirected to a file
            stream.flush()
    os._exit(status)
