"""A benchmark's part in a process of its own, whose memory and device are its own."""

from __future__ import annotations

import json
import subprocess
import sys


def figures(module: str, *words: str) -> dict[str, float]:
    """What the module tells in its last line, as JSON. Raises RuntimeError with the last line of
    its errors where it fails."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it wrote nothing"])[-1])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
