"""Time a small run, stage by stage: `python -m benchmarks.start --json F`.

    python -m benchmarks.start --tree ../before --rounds 5 --cpu

The command is `python -m pipeline.run model=fake deals=5`, each time in a fresh folder with a fresh
MLflow store, so only what Python and numba have compiled is reused. With `--tree` the same command
of another checkout alternates with it, for comparable numbers.

Stages are functions of the pipeline, by name; each has the time spent in it and in no nested stage.
`imports` is all module loading by the main thread. Moments are what a user waits for, in wall-clock
seconds since the command was issued.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import resource
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
COMMAND = ("model=fake", "deals=5")
IMPORTS, REST = "imports", "rest"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
"""Wall time, and this process's CPU time, which depends less on other load."""
STAGES: Mapping[str, Sequence[str]] = {
    "compose": ("pipeline.config.compose:composed",),
    "plan": ("pipeline.plan.build:build_cells", "pipeline.log.code:compare"),
    "baseline": ("pipeline.plan.baseline:measure",),
    "Ray": ("pipeline.launch.session:_start", "ray:shutdown"),
    "play": ("pipeline.play.driver:Driver.run",),
    "judge": ("pipeline.judging.luck:adjust",),
    "controls": ("pipeline.sweep.controls:play",),
    "tables": (
        "pipeline.tables.sweep.terminal:show",
        "pipeline.tables.registry:write_tables",
        "pipeline.tables.sweep.report:write_report",
    ),
    "figures": (
        "pipeline.tables.sweep.report:drawings",
        "pipeline.tables.media.plot_style:save_png",
        "pipeline.tables.media.plot_style:Drawing.html",
    ),
    "MLflow": ("pipeline.tracking.track:track",),
}
MOMENTS: Mapping[str, tuple[str, bool]] = {
    "first match begins": ("pipeline.play.driver:Driver.run", False),
    "tables are there": ("pipeline.tables.sweep.terminal:show", True),
}
"""When a function is first called, or first returns."""


class Stopwatch:
    """Seconds by stage; a nested stage stops the outer one."""

    def __init__(self, clock: Callable[[], float], typed: float) -> None:
        """typed: when the command was issued, by `time.perf_counter`."""
        self.seconds: dict[str, float] = dict.fromkeys((*STAGES, IMPORTS), 0.0)
        self.moments: dict[str, float] = {}
        self._typed = typed
        self._clock = clock
        self._open: list[str] = []
        self._since = clock()

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        self._take()
        self._open.append(stage)
        try:
            yield
        finally:
            self._take()
            self._open.pop()

    def _take(self) -> None:
        now = self._clock()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timing(*arguments: Any, **named: Any) -> Any:
            with self.timing(stage):
                return function(*arguments, **named)

        return timing

    def noted(self, moment: str, after: bool, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def noting(*arguments: Any, **named: Any) -> Any:
            if not after:
                self._note(moment)
            result = function(*arguments, **named)
            self._note(moment)
            return result

        return noting

    def _note(self, moment: str) -> None:
        self.moments.setdefault(moment, time.perf_counter() - self._typed)


def watch(stopwatch: Stopwatch) -> None:
    """Time imports from now on, and wrap the functions of STAGES as soon as their module is loaded:
    before another module imports them by name."""
    import importlib._bootstrap as bootstrap
    import threading

    wanted: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
    watched = [
        (place, partial(stopwatch.timed, stage)) for stage in STAGES for place in STAGES[stage]
    ]
    watched += [
        (place, partial(stopwatch.noted, name, after)) for name, (place, after) in MOMENTS.items()
    ]
    for place, wrapped in watched:
        module, _, path = place.partition(":")
        wanted.setdefault(module, []).append((path, wrapped))
    load, main = bootstrap._find_and_load, threading.main_thread()  # type: ignore[attr-defined]

    def loading(name: str, find: Any) -> Any:
        if threading.current_thread() is not main:
            return load(name, find)
        with stopwatch.timing(IMPORTS):
            module = load(name, find)
        for path, wrapped in wanted.pop(name.removeprefix("gauntlet."), ()):
            *inner, last = path.split(".")
            holder = getattr(module, inner[0], None) if inner else module
            if function := getattr(holder, last, None):  # another checkout may lack it
                setattr(holder, last, wrapped(function))
        return module

    bootstrap._find_and_load = loading  # type: ignore[attr-defined]


def inside(clock: str, typed: float, file: Path, words: Sequence[str]) -> None:
    """Run the command in this process, to its end, and write its seconds by stage."""
    stopwatch = Stopwatch(CLOCKS[clock], typed)
    watch(stopwatch)
    atexit.register(
        lambda: file.write_text(
            json.dumps({"stages": stopwatch.seconds, "moments": stopwatch.moments})
        )
    )
    sys.argv = ["pipeline.run", *words]
    runpy.run_module("pipeline.run", run_name="__main__", alter_sys=True)


def once(tree: Path, clock: str) -> dict[str, float]:
    """Return seconds by stage of one run of the checkout at `tree`, with `wall` and `cpu`, of all
    its child processes, and its moments. clock: one of CLOCKS, for the stages."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-start-") as folder:
        told = Path(folder) / "seconds.json"
        words = (*COMMAND, f"output_dir={folder}/out", f"tracking.store={folder}/mlflow")
        command = [
            sys.executable,
            "-P",
            str(Path(__file__).resolve()),
            "--inside",
            clock,
            str(time.perf_counter()),
            str(told),
        ]
        env = {**os.environ, "PYTHONPATH": str(tree)}
        used, since = _cpu(), time.perf_counter()
        done = subprocess.run(
            [*command, *words], cwd=folder, env=env, capture_output=True, text=True
        )
        wall = time.perf_counter() - since
        if done.returncode:
            raise SystemExit(f"{tree}: {done.stderr or done.stdout}")
        found: dict[str, dict[str, float]] = json.loads(told.read_text())
    seconds, whole = found["stages"], {"wall": wall, "cpu": _cpu() - used}
    return {**seconds, REST: whole[clock] - sum(seconds.values()), **whole, **found["moments"]}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["--inside"]:
        inside(given[1], float(given[2]), Path(given[3]), given[4:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.start", description="A small run's seconds, stage by stage."
    )
    parser.add_argument("--tree", type=Path, help="another checkout, which takes turns with this")
    parser.add_argument("--rounds", type=int, default=3, help="of each; default: %(default)s")
    parser.add_argument("--cpu", action="store_true", help="stages by the time that they compute")
    parser.add_argument("--json", type=Path, help="write all rounds to this file")
    options = parser.parse_args(given)
    clock = "cpu" if options.cpu else "wall"
    trees = [HERE, *([options.tree.resolve()] if options.tree else [])]
    for tree in trees:
        once(tree, clock)  # warm-up: Python and numba compile
    rounds: dict[str, list[dict[str, float]]] = {str(tree): [] for tree in trees}
    for _ in range(options.rounds):
        for tree in trees:
            rounds[str(tree)].append(once(tree, clock))
    if options.json:
        told = {"command": COMMAND, "load": os.getloadavg()[0], "rounds": rounds}
        options.json.write_text(json.dumps(told, indent=1))
    print(f"{'seconds, median of ' + str(options.rounds):24}", *[f"{t.name:>12}" for t in trees])
    for stage in next(iter(rounds.values()))[0]:
        medians = [statistics.median(one[stage] for one in own) for own in rounds.values()]
        print(f"{stage:24}", *[f"{seconds:12.2f}" for seconds in medians])
    return 0


if __name__ == "__main__":
    sys.exit(main())
