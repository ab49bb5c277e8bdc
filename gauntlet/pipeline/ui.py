"""The MLflow UI: `python -m pipeline.ui`, for the runs of outputs/mlflow or another store."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process, invocation
from gauntlet.pipeline.tracking.store import STORE, tracking_uri


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal arrives. Returns the exit status: 2 if there are no runs."""
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.ui"), description="The MLflow UI, on this machine alone."
    )
    parser.add_argument("store", nargs="?", default=str(STORE), help="default: %(default)s")
    parser.add_argument("--port", type=int, default=5000, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if not (Path(options.store) / "mlflow.db").exists():
        print(f"gauntlet: {options.store} has no mlflow.db: no sweep was tracked", file=sys.stderr)
        return 2
    try:
        for package in ("mlflow", "flask"):  # mlflow-skinny logs runs but has no UI
            require(package, "ui")
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    place = f"http://127.0.0.1:{options.port}"
    print(f'{place}: choose "Model training", top left, for runs; "GenAI" for traces', flush=True)
    words = ("ui", "--host", "127.0.0.1", "--port", str(options.port))
    command = [sys.executable, "-m", "mlflow", *words, "--backend-store-uri"]
    try:
        with subprocess.Popen([*command, tracking_uri(options.store)]) as server:
            signal.signal(signal.SIGTERM, lambda *_: server.terminate())
            return max(0, server.wait())
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    as_process(main)
