"""`python -m pipeline.run`, killed in the middle of the n-th write to the log.

    python -m tests.pipeline.torn_run N [overrides of pipeline.run]

The process writes half of its data, never up to the very end of a line, and then sends itself
SIGKILL: the effect of a power cut or the kernel's out-of-memory killer.
"""

from __future__ import annotations

import os
import signal
import sys

from gauntlet.common import disk
from gauntlet.common.disk import Disk
from gauntlet.pipeline import run


def tear_write(number: int) -> None:
    """Make the write of this number of matches (from 1) stop half-way, for good."""
    real, left = disk.write_all, number

    def write(on: Disk, descriptor: int, data: bytes) -> None:
        nonlocal left
        left -= _is_match(data)
        if left > 0:
            real(on, descriptor, data)
        else:
            on.write(descriptor, data[: len(data) // 2].removesuffix(b"\n"))
            os.kill(os.getpid(), signal.SIGKILL)

    disk.write_all = write


def _is_match(data: bytes) -> bool:
    return b'"decisions":' in data


if __name__ == "__main__":
    tear_write(int(sys.argv.pop(1)))
    sys.exit(run.main())
