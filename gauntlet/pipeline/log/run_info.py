"""Facts about the current run for readers of the log; no match depends on them."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gauntlet.common.errors import installed
from gauntlet.pipeline.log.events import redact, redact_data
from gauntlet.pipeline.plan.cells import Plan

PACKAGES = ("torch", "transformers", "ray", "numpy", "numba")


def run_entry(plan: Plan, matches: int, command: str = "") -> dict[str, Any]:
    """Start time, host, command, versions and the number of matches to be played."""
    return {
        **({"command": command} if command else {}),
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
        "host": socket.gethostname(),
        "machine": f"{platform.system()} {platform.machine()}",
        "matches": matches,
        "cells": [cell.key for cell in plan.cells],
        "commit": _commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in PACKAGES if installed(name)},
        },
    }


def command_line(program: str, words: Sequence[str]) -> str:
    """A shell-quoted command line with secrets cut out."""
    return shlex.join([*program.split(), *map(_without_secrets, words)])


def _without_secrets(word: str) -> str:
    key, equals, value = word.partition("=")
    (kept,) = redact_data({key: value}).values()
    return redact(f"{key}={kept}" if equals else word)


def _commit() -> str | None:
    """The project's git commit, or None outside its own checkout: a repository around an installed
    package is someone else's."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        process = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True
        )
    except OSError:
        return None
    return process.stdout.strip() or None
