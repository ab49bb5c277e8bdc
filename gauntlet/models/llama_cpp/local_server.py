"""Starts llama.cpp's server for one GGUF file in a child process, and ends it."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from gauntlet.common.errors import ModelError, require
from gauntlet.common.sanitize import one_line

PROGRAM = Path(__file__).with_name("serve.py")
SAME_BITS = {"n_ubatch": 31, "no_extra_bufts": True}
"""On CPUs llama.cpp multiplies matrices another way from 32 tokens a step on, or if it repacks the
weights; scores would then depend on how much of a prompt was cached (docs/servers.md)."""
WAITING = {"OMP_WAIT_POLICY": "passive"}
"""Threads that wait for each other sleep: on a busy machine spinning is many times slower."""
CACHE_MIB = 1024
"""Memory for prompts that have left their slot; llama.cpp's own default is 8 GiB."""
REASON = re.compile(r"error loading model: (.+)")
ERROR = re.compile(r"^\S+ E (.+)", re.MULTILINE)


class LocalServer:
    """llama.cpp's server in a child process that ends with this one.

    address, key: where it listens, on the loopback interface, and what it wants as a key, so that
        nobody else on this machine can ask it.
    """

    def __init__(self, path: str, threads: int, context: int, slots: int, **further: Any) -> None:
        """Return once the model is loaded. Raises ModelError with llama.cpp's reason."""
        require("xllamacpp", "gguf")
        self.key = secrets.token_hex(16)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**WAITING, **os.environ},
            start_new_session=True,  # a terminal's Ctrl-C reaches only the parent
        )
        file = str(Path(path).expanduser().absolute())
        settings = {"path": file, "threads": threads, "n_ctx": context * slots, "port": 0}
        settings |= {"n_parallel": slots, "verbosity": 1, **SAME_BITS}
        settings |= {"cache_ram_mib": CACHE_MIB, "ui": False, "api_keys": [self.key], **further}
        try:
            self.address = self._start(settings)
        except BaseException:  # Ctrl-C too
            self.close()
            raise
        if not self.address:
            why = self.reason()
            self.close()
            raise ModelError(f"model {path!r} cannot be loaded by llama.cpp: {why}")

    def _start(self, settings: dict[str, Any]) -> str:
        """The address; "" if the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline().decode().strip()

    def reason(self) -> str:
        """The reason for its end, from its log, as one line."""
        self._log.seek(0)
        log = self._log.read().decode("utf-8", "replace")
        said = REASON.findall(log) or ERROR.findall(log) or log.strip().splitlines()[-1:]
        return one_line(said[0]) if said else "it ended without a word"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):  # of what it never read
                    stream.close()
