"""What a big sweep takes besides its matches: seconds until it plays, seconds from its last match to
its last table, memory, and the size of its page.

    python -m benchmarks.sweeps [--cells 1000 ...] [--deals 20] [--one 100000] [--json FILE]

A sweep of tic-tac-toe with the fake model, as many fakes as it takes times two prompting methods
times five lengths of the history that is told, is played as a user would: `python -m pipeline.run`,
in one process, with MLflow. Of each number N of cells

    plan_N_s                      from the command to the workers' being ready for the first match
    cells_N.seconds_after_play    from the last match on disk to the command's end: judging,
                                  controls, tables, figures, report, MLflow
    cells_N.peak_mb               the most memory that the process held at any time
    cells_N.report_mb             report.html
    cells_N.play_s                the matches, for comparison

and with --one the same of one cell of so many deals (0 leaves it out).
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

from pipeline.log.folder import Folder

ROOT = Path(__file__).parent.parent
METHODS = 10
SWEPT = ("prompt=cloze,counterfactual", "prompt.moves=1,2,3,4,5")
COMMON = ("game=tic_tac_toe", "model=fake", "launch=inline")


def measured(name: str, plan: str, typed: Sequence[str]) -> dict[str, float]:
    """Plays one sweep in a fresh folder; its figures under their names."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "sweep"
        command = [sys.executable, "-m", "pipeline.run", "-m", *COMMON, *typed]
        command += [f"output_dir={folder}", f"tracking.store={scratch}/mlflow"]
        begun = time.time()
        with (Path(scratch) / "said").open("w") as said:
            process = subprocess.Popen(
                command, cwd=scratch, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=said
            )
            _, status, used = os.wait4(process.pid, 0)
        ended = time.time()
        if status:
            raise SystemExit(f"{' '.join(command)} ended with status {status}")
        place = Folder(folder)
        (ready,) = (one["time"] for one in place.events if one["event"] == "models loaded")
        started = datetime.fromisoformat(ready).timestamp()
        played = max(file.stat().st_mtime for file in place.record_files())
        return {
            plan: started - begun,
            f"{name}.seconds_after_play": ended - played,
            f"{name}.peak_mb": used.ru_maxrss * 1024 / 1e6,
            f"{name}.report_mb": (folder / "report.html").stat().st_size / 1e6,
            f"{name}.play_s": played - started,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cells", type=int, nargs="*", default=[1000], help=f"multiples of {METHODS}"
    )
    parser.add_argument("--deals", type=int, default=20, help="of each cell")
    parser.add_argument("--one", type=int, default=0, help="deals of a sweep of one cell; 0: none")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    figures: dict[str, float] = {}
    for cells in args.cells:
        typed = [f"model.seed=range(0,{cells // METHODS})", *SWEPT, f"deals={args.deals}"]
        figures |= measured(f"cells_{cells}", f"plan_{cells}_s", typed)
    if args.one:
        name = f"deals_{args.one}"
        figures |= measured(name, f"{name}.plan_s", ["prompt=cloze", f"deals={args.one}"])
    for name, value in figures.items():
        print(f"{name:32} {value:10.1f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
