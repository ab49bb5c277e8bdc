"""Run part of a benchmark in a separate process, with its own memory and device."""

from __future__ import annotations

import json
import subprocess
import sys


def run_part(module: str, *words: str) -> dict[str, float]:
    """Return the module's last output line, parsed as JSON. Raises RuntimeError with the last line
    of its error output if it fails."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it wrote nothing"])[-1])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
