"""Overhead of a big sweep besides its matches: seconds before and after play, memory, page size.

    python -m benchmarks.sweeps [--cells 1000 ...] [--deals 20] [--one 100000] [--json FILE]

A sweep of tic-tac-toe with the fake model, over enough fakes times two prompting methods times five
lengths of the history in the prompt, is run as a user would: `python -m pipeline.run`, in one
process, with MLflow. For each number N of cells

    plan_N_s                      from the command until the workers are ready for the first match
    cells_N.seconds_after_play    from the last match on disk to the command's end: judging,
                                  controls, tables, figures, report, MLflow
    cells_N.peak_mb               peak memory of the process
    cells_N.report_mb             report.html
    cells_N.play_s                the matches, for comparison
    ..._cpu                       the process's own CPU time in each

and with --one the same for one cell with this many deals (0 skips it).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from gauntlet.pipeline.log.folder import Folder

ROOT = Path(__file__).parent.parent
METHODS = 10
SWEPT = ("prompt=cloze,counterfactual", "prompt.moves=1,2,3,4,5")
COMMON = ("game=tic_tac_toe", "model=fake", "launch=inline")
LOOK_SECONDS = 0.2
TICKS = os.sysconf("SC_CLK_TCK")


def measured(name: str, plan: str, typed: Sequence[str]) -> dict[str, float]:
    """Play one sweep in a fresh folder; return its results by name."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "sweep"
        command = [sys.executable, "-m", "pipeline.run", "-m", *COMMON, *typed]
        command += [f"output_dir={folder}", f"tracking.store={scratch}/mlflow"]
        begun = time.time()
        looks, peak = run_monitored(command, Path(scratch))
        place = Folder(folder)
        ready = next(one["time"] for one in place.events if one["event"] == "models loaded")
        started = datetime.fromisoformat(ready).timestamp()  # controls come later and load again
        files = [place.records_file(about.stem) for about in place.sweep_cells()]
        played = max(file.stat().st_mtime for file in files)
        ended = looks[-1][0]
        steps = {plan: (begun, started), f"{name}.seconds_after_play": (played, ended)}
        steps[f"{name}.play_s"] = (started, played)
        figures = {step: until - since for step, (since, until) in steps.items()}
        for step, (since, until) in steps.items():
            used = np.interp([since, until], *zip(*looks, strict=True))
            figures[f"{step}_cpu"] = used[1] - used[0]
        report = (folder / "report.html").stat().st_size
        return {**figures, f"{name}.peak_mb": peak, f"{name}.report_mb": report / 1e6}


def run_monitored(command: Sequence[str], scratch: Path) -> tuple[list[tuple[float, float]], float]:
    """Run a command to its end; return samples of its CPU time, (time, CPU seconds), and its peak
    memory in MB."""
    looks = []
    with (scratch / "said").open("w") as said:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=scratch, env=environment, stdout=said)
    while True:
        told = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        looks.append((time.time(), (int(told[11]) + int(told[12])) / TICKS))
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(LOOK_SECONDS)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    looks.append((time.time(), used.ru_utime + used.ru_stime))
    return looks, used.ru_maxrss * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cells", type=int, nargs="*", default=[1000], help=f"multiples of {METHODS}"
    )
    parser.add_argument("--deals", type=int, default=20, help="of each cell")
    parser.add_argument("--one", type=int, default=0, help="deals of a sweep of one cell; 0: none")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    sweeps: list[tuple[str, ...]] = []
    for cells in args.cells:
        fakes = f"model.seed=range(0,{cells // METHODS})"
        sweeps.append((f"cells_{cells}", f"plan_{cells}_s", fakes, *SWEPT, f"deals={args.deals}"))
    if args.one:
        name = f"deals_{args.one}"
        sweeps.append((name, f"{name}.plan_s", "prompt=cloze", f"deals={args.one}"))
    figures: dict[str, float] = {}
    for name, plan, *typed in sweeps:
        found = measured(name, plan, typed)
        for key, value in found.items():
            print(f"{key:34} {value:10.1f}", flush=True)
        figures |= found
        if args.json:
            args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
