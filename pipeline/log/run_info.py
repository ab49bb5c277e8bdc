"""Who plays now: what a reader of the records may want to know, and no match depends on."""

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

from gauntlet.pipeline.log.events import cleaned, redact
from gauntlet.pipeline.plan.cells import Plan

PACKAGES = ("torch", "transformers", "ray", "numpy", "numba")


def about_this_run(plan: Plan, matches: int, command: str = "") -> dict[str, Any]:
    """When, where, by which command and versions, and how many matches are to be played."""
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
            **{name: importlib.metadata.version(name) for name in PACKAGES},
        },
    }


def typed(program: str, words: Sequence[str]) -> str:
    """A command line as one can type it again; secrets in it are cut out."""
    return shlex.join([*program.split(), *map(_without_secrets, words)])


def _without_secrets(word: str) -> str:
    key, equals, value = word.partition("=")
    (kept,) = cleaned({key: value}).values()
    return redact(f"{key}={kept}" if equals else word)


def _commit() -> str | None:
    """The project's git commit, where it is a git checkout: one around an installed package is
    somebody else's."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True
        )
    except OSError:
        return None
    return found.stdout.strip() or None
