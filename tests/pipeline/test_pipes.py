"""A named pipe in place of a file: every command reports it, and none waits for a writer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.pipeline.conftest import FAST, Sweep

PROGRAM = """
import json, os, sys
from pathlib import Path
from gauntlet.common.process import refuse_pipes
from gauntlet.pipeline import replay, report, run, status, verify

sys.addaudithook(refuse_pipes)
folder, *words = sys.argv[1:]
kinds = ("sweep.json", "status.json", "cells/*.json", "records/*.jsonl")
for file in [next(Path(folder).glob(kind)) for kind in kinds]:
    content = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    for command in (verify, status, replay, report, run):
        sys.argv = ["gauntlet", *(words if command is run else [folder])]
        try:
            command.main()
        except OSError as error:
            print(error, file=sys.stderr)
        print(json.dumps([file.name, command.__name__]), flush=True)
    file.unlink()
    file.write_bytes(content)
"""


def test_no_command_waits_for_a_pipe(sweep: Sweep, folder: Path) -> None:
    assert sweep("deals=2") == 0
    words = [*FAST, "deals=2", f"output_dir={folder}"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), *words],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(ended) == 4 * 5
    assert "named pipe" in done.stderr
