"""Ending a thread that computes for long."""

from __future__ import annotations

import ctypes
import threading


def interrupt(thread: threading.Thread) -> None:
    """Raise SystemExit in the thread at its next bytecode."""
    exception = ctypes.py_object(SystemExit)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), exception)
