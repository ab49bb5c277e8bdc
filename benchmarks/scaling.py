"""Scaling with workers: two on this machine, and a thousand simulated ones with one driver.

python -m benchmarks.scaling [--json FILE] [--part NAME] [--matches N]

speedup         a CPU-bound sweep with two Ray workers, against one worker pinned to one thread
                and one with two threads
slots           utilisation of the slots of API models (benchmarks/slots.py)
decision        the scheduler's overhead per decision, with a model that answers at once
simulation      1,000 fake workers, 1,000,000 fake matches (--matches), one driver with a real log:
                memory and matches per second
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.slots import REPLY, REQUEST, slots
from gauntlet.agents.base import Agent, Decision, Turn
from gauntlet.games.base import Game
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Model, Reply, Request
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Player, Task
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.driver import Arrivals, Driver
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.scheduler import Finished, Scheduler

Figures = dict[str, float]

DEALS = 300
WORKERS, MATCHES, LEASE = 1_000, 1_000_000, 8
SHOWN = (0.01, 0.25, 0.5, 1)
"""Shares of the matches after which the driver's memory is measured."""
DECIDED = 2_000
"""Matches of tic-tac-toe that the scheduler plays."""
REPEATS = 3


def speedup() -> Figures:
    """Return playing seconds of the same sweep with one thread, two threads and two workers.

    Only the sweep's own time counts, without the start of Ray and the models.
    """
    with tempfile.TemporaryDirectory() as folder:
        one = sweep_seconds(Path(folder) / "one", 1, 1)
        threads = sweep_seconds(Path(folder) / "threads", 1, 2)
        two = sweep_seconds(Path(folder) / "two", 2, 1)
    print(f"one worker {one:.1f} s; with two threads {threads:.1f} s; two workers {two:.1f} s")
    return {"speedup_2": one / two, "speedup_2_against_two_threads": threads / two}


def sweep_seconds(folder: Path, workers: int, threads: int) -> float:
    """Return the time from the first to the last match in the log, scaled to all matches."""
    command = [sys.executable, "-m", "pipeline.run", "model=pocket", f"deals={DEALS}"]
    command += ["tracking=none", "baseline=null", "prompt=cloze", f"output_dir={folder}"]
    command += ["launch=local", f"launch.workers={workers}", "concurrent_matches=16"]
    pinned = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    run = subprocess.Popen(command, env={**os.environ, **pinned}, stdout=subprocess.DEVNULL)
    began, at_first = 0.0, 0
    while run.poll() is None:
        if not began and (at_first := lines(folder)):
            began = time.perf_counter()
        if began and lines(folder) >= DEALS:
            break
        time.sleep(0.05)
    took = time.perf_counter() - began
    if run.wait():
        raise SystemExit(f"the sweep failed: {' '.join(command)}")
    return took * DEALS / (DEALS - at_first)


def lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in Folder(folder).record_files())


def decision() -> Figures:
    """Return CPU time per decision excluding the game, the agent and the model.

    The same matches are played by the scheduler, and by a bare loop that sends each agent its
    reply. The difference is the scheduler's: its queues, batches, threads and futures. The fastest
    of REPEATS passes counts for both: other programs on the machine only add to them.
    """
    cell = asking_cell()
    tasks = [Task(cell.key, deal, 0, f"m{deal}") for deal in range(DECIDED)]
    passes = [(scheduled(cell, tasks), bare(cell, tasks)) for _ in range(REPEATS)]
    with_it, decisions = min(timed for timed, _ in passes)
    without = min(seconds for _, seconds in passes)
    cost = 1e6 * (with_it - without) / decisions
    print(
        f"{decisions:,} decisions: {1e6 * with_it / decisions:.0f} us each with the scheduler, "
        f"{1e6 * without / decisions:.0f} us without; its own cost {cost:.0f} us"
    )
    return {"scheduler_us_per_decision": cost}


@dataclass(frozen=True)
class Instant:
    """A model source whose model immediately rates all choices as equally likely."""

    def identity(self) -> Mapping[str, Any]:
        return {"instant": 0}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any."""

    def load(self) -> Model:
        return InstantModel()


class InstantModel:
    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [REPLY] * len(requests)

    def close(self) -> None:
        """Nothing to free."""


@dataclass(frozen=True)
class Asking:
    """Calls the model, and then takes the first option."""

    def decide(self, turn: Turn, rng: Any) -> Iterator[Any]:
        yield REQUEST
        return Decision(0)


def asking_cell() -> Cell:
    game: Game[Any] = TicTacToe()
    agent: Agent = Asking()  # type: ignore[assignment]
    players = tuple(Player("asking", agent, Instant(), None) for _ in range(game.num_seats))
    labels = {"game": "tic_tac_toe", "seats": "asking"}
    return Cell("scaling", labels, game, players, (0,), (0,), "win", False, False, None, {})


def scheduled(cell: Cell, tasks: Sequence[Task]) -> tuple[float, int]:
    """Return CPU seconds and number of decisions for playing the tasks, 64 at a time."""
    scheduler = Scheduler({cell.key: cell}, 1, {Instant(): InstantModel()}, 64)
    started = time.process_time()
    results = [future.result() for future in scheduler.submit(tasks)]
    took = time.process_time() - started
    scheduler.close()
    records = [result.record for result in results if result.record is not None]
    return took, sum(bool(turn.asked) for record in records for turn in record.decisions)


def bare(cell: Cell, tasks: Sequence[Task]) -> float:
    """Return CPU seconds for playing the tasks one by one, each request answered at once."""
    started = time.process_time()
    for task in tasks:
        run(play(cell, task, 1), lambda ask: REPLY)
    return time.process_time() - started


class FakeArrivals(Arrivals):
    """Replies arrive when the driver waits, from the workers that have waited longest."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[tuple[Future[list[Finished]], Sequence[Task]]] = []

    def wait(self, seconds: float) -> list[Future[list[Finished]]]:
        due, self.due = self.due[: WORKERS // 4], self.due[WORKERS // 4 :]
        for future, lease in due:
            future.set_result([Finished(task, fake_record(task)) for task in lease])
        return super().wait(0) if due else []


@dataclass(eq=False)
class FakeWorker:
    arrivals: FakeArrivals

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        future: Future[list[Finished]] = Future()
        self.arrivals.due.append((future, lease))
        return future


def fake_record(task: Task) -> MatchRecord:
    """Return a minimal record."""
    return MatchRecord(
        match=task.match,
        cell=task.cell,
        deal=task.deal,
        rotation=0,
        subjects=(0,),
        measured=(0,),
        returns=(1.0, -1.0),
        measures={"win": (1.0, 0.0)},
        plies=0,
        decisions=(),
        statics={},
        seconds=0.25,
    )


def simulation(matches: int) -> Figures:
    """Run one driver with a real log, and a thousand workers without cost."""
    shown = [round(share * matches) for share in SHOWN]
    with tempfile.TemporaryDirectory() as folder, Log(Path(folder), 1) as log:
        cell: Any = SimpleNamespace(stem="cell")
        done, started, before = 0, time.perf_counter(), memory_mb()
        shown_mb: dict[int, float] = {}

        def finished(result: Finished) -> None:
            nonlocal done
            if result.record is None:
                raise SystemExit(f"{result.task.match} failed")
            log.append(cell, result.record)
            done += 1
            if done in shown:
                rate = done / (time.perf_counter() - started)
                shown_mb[done] = memory_mb()
                print(f"{done:9,} matches: {shown_mb[done]:.0f} MB, {rate:,.0f} matches/s")

        arrivals = FakeArrivals()
        workers = [FakeWorker(arrivals) for _ in range(WORKERS)]
        aside: Callable[[Task, str], None] = lambda task, error: None  # noqa: E731
        Driver(workers, LEASE, finished, aside, log.sync, arrivals).run(
            Task("cell", deal, 0, f"{deal:016x}") for deal in range(matches)
        )
        took = time.perf_counter() - started
    if done != matches:
        raise SystemExit(f"{done:,} of {matches:,} matches ended")
    kept = 2**20 * (shown_mb[matches] - shown_mb[shown[0]]) / (matches - shown[0])
    print(
        f"started with {before:.0f} MB; {matches:,} matches in {took:.1f} s; what grows is the "
        f"log's outcome of every match, {kept:.0f} bytes each"
    )
    print(
        "beyond this, or where full records (50 kB a match in UNO) outrun the one writer: give "
        "each driver its own cells and output_dir, one job a model, and compare them afterwards"
    )
    return {
        "simulated_workers": WORKERS,
        "simulated_matches_per_s": matches / took,
        **{f"driver_mb_at_{done // 1000}k": mb for done, mb in shown_mb.items()},
        "driver_bytes_per_match": kept,
        "driver_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def memory_mb() -> float:
    """Return the current memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


PARTS = ("simulation", "decision", "slots", "speedup")
"""The simulation is first: it reports the peak of the whole process."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--matches", type=int, default=MATCHES, help="of the simulation")
    given = parser.parse_args()
    parts = {"simulation": partial(simulation, given.matches), "decision": decision,
             "slots": slots, "speedup": speedup}  # fmt: skip
    figures: Figures = {}
    for name in [given.part] if given.part else PARTS:
        figures.update(parts[name]())
    for name, value in figures.items():
        print(f"{name:32} {value:,.2f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
