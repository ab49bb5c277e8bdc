"""A command as a process of its own: started light and ended at once."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

OBJECTS = 50_000
"""New objects after which Python looks for unreachable ones. By its own 700 it would go through all
that thousands of modules hold eight times while they are loaded, and find nothing."""


def collect_seldom() -> None:
    """From now on Python looks for unreachable objects after OBJECTS new ones."""
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


def _status(main: Callable[[], int]) -> int:
    """What `main` returns; 2 where the system lets it start no further thread."""
    try:
        return main()
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
    print(
        "gauntlet: the system lets this process start no further thread: ulimit -u, or the limit "
        "of the container or job, is reached; what was played is safe",
        file=sys.stderr,
    )
    return 2


def as_process(main: Callable[[], int]) -> NoReturn:
    """Runs `main` and ends the process with the status that it returns.

    Whoever waits to be told of the end is told, and what was written is written. But what was
    loaded is left to the system: Python would take it apart object by object, for a second or two.
    """
    collect_seldom()
    status = _status(main)
    running: Any = threading
    running._shutdown()  # as Python does: waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever read it has gone
            stream.flush()
    os._exit(status)
