"""One seed, one schedule: a sweep of a few dozen matches that goes through a storm of faults.

The driver's loop and the log are the project's own. Workers, clock and disk are simulated, so a
seed determines everything, and a seed that breaks a rule reproduces the failure.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.json import encode

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import key_of
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.plan.cells import Task, match_id
from gauntlet.pipeline.play.admission import Admission
from gauntlet.pipeline.play.driver import Driver
from gauntlet.pipeline.play.scheduler import Finished
from tests.pipeline.made import about
from tests.simulation.disk import Killed, SimulatedDisk
from tests.simulation.world import (
    PREPARATION,
    Nature,
    SimulatedArrivals,
    SimulatedWorker,
    Violation,
    World,
    record,
)

FOLDER, SEED = Path("/simulated"), 1
CALM = Nature()
PATIENCE = 20.0
MAX_FAILURES = 3
"""Storms may stop a cell; in the calm no three matches of one fail alike."""
EXPECTED_ENDS = ("cannot be written", "every worker was lost")


class Schedule:
    """A sweep, its storms, and the invariants after each of them and at the end."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = World()
        self.disk = SimulatedDisk(self.rng, self.world.say)
        deals, cells = self.rng.randint(3, 9), [f"cell{n}" for n in range(self.rng.randint(1, 3))]
        self.tasks = [
            Task(cell, deal, 0, match_id(cell, SEED, deal, 0))
            for deal in range(deals)
            for cell in cells
        ]
        self.abouts = {cell: about(cell) for cell in cells}
        names = [task.match for task in self.tasks]
        self.rng.shuffle(names)
        bad = self.rng.choice((0, 0, 1, 2))
        self.poison, self.killers = frozenset(names[:bad]), frozenset(names[bad : 2 * bad : 2])
        self.safe: set[str] = set()
        self.told_aside: set[str] = set()
        self.faults: Counter[str] = Counter()

    def run(self) -> None:
        """Storms, then a calm run to the end. Raises Violation."""
        for _ in range(self.rng.randint(1, 4)):
            self._storm()
            self._check_log()
        self.world.say("--- calm")
        aside = self._live([CALM] * 2)
        self._check_log()
        self._check_end(aside)

    def _storm(self) -> None:
        """One run of the driver, with bad workers and an end that may come at any moment."""
        end = self.rng.choice(("", "killed", "killed writing", "power cut", "full", "broken"))
        self.faults[end or "workers only"] += 1
        self.world.say(f"--- storm: {end or 'workers only'}")
        if end in ("killed", "power cut") and self.rng.random() < 0.5:
            self.world.after(self.rng.uniform(0, 8), self._strike)
        elif end in ("killed writing", "killed", "power cut"):
            self.disk.killed_in = self.rng.randint(0, 60)
        elif end == "full":
            self.disk.room = self.rng.randint(0, 6000)
        elif end == "broken":
            self.disk.broken = 0.2
        try:
            self._live([self._nature() for _ in range(self.rng.randint(1, 4))])
        except Killed:
            pass
        except UserError as error:
            self.world.say(f"the run ends: {error}")
            if not any(expected in str(error) for expected in EXPECTED_ENDS):
                raise Violation(f"an end that no fault explains: {error}") from error
        self.world.forget()
        self.disk.restart()
        if end == "power cut":
            self.disk.power_cut()

    def _strike(self) -> None:
        self.world.say("killed")
        raise Killed

    def _nature(self) -> Nature:
        def chance(most: float) -> float:
            return self.rng.choice((0.0, 0.0, self.rng.uniform(0, most)))

        gone = self.rng.choice((float("inf"),) * 5 + (self.rng.uniform(0, 10),))
        return Nature(
            pace=self.rng.choice((0.05, 0.1, 0.1, 1.0)),
            lost=chance(0.3),
            doubled=chance(0.5),
            late=chance(0.2),
            hangs=chance(0.1),
            short=chance(0.2),
            stumbles=chance(0.2),
            gone_after=self.world.now + gone,
        )

    def _live(self, natures: list[Nature]) -> set[str]:
        """Use driver and log like `sweep/play.py`. Return the failures."""
        arrivals = SimulatedArrivals(self.world)
        workers = [
            SimulatedWorker(
                f"w{n}", self.world, self.rng, arrivals, nature, self.poison, self.killers
            )
            for n, nature in enumerate(natures)
        ]
        done: set[str] = set()
        aside: set[str] = set()
        abouts = [*self.abouts.values()]
        with Log(FOLDER, SEED, self.disk, self.world.clock, infos=abouts) as log:
            missing = [task for task in self.tasks if not log.has(task)]
            new = {cell for cell in self.abouts if not len(log.outcomes_of(cell))}
            queues = [iter([task for task in missing if task.cell == cell]) for cell in self.abouts]
            admission = Admission(queues, new, MAX_FAILURES)

            def failed(task: Task, error: str) -> None:
                if admission.failed(task, error.splitlines()[-1]):
                    self.world.say(f"stopped: {task.cell}")

            def finished(result: Finished) -> None:
                self._once(result.task, done, aside)
                done.add(result.task.match)
                admission.played(result.task.cell)
                assert result.record is not None
                cell: Any = SimpleNamespace(stem=self.abouts[result.task.cell].stem)
                log.append(cell, result.record)

            def give_up(task: Task, error: str) -> None:
                self._once(task, done, aside)
                log.append_line("failed_matches", {**vars(task), "error": error})
                aside.add(task.match)
                self.told_aside.add(task.match)
                failed(task, error)
                self.world.say(f"failed: {task.match}")

            def tick() -> None:
                log.sync()
                if done - self.safe:
                    self.world.say(f"safe: {' '.join(sorted(done - self.safe))}")
                self.safe.update(done)

            lease = self.rng.randint(1, 4)
            Driver(
                workers,
                lease,
                finished,
                give_up,
                tick,
                arrivals,
                self.world.clock,
                PATIENCE,
                failed=failed,
                stopped=admission.stopped,
                trying=admission.trying,
            ).run(admission.tasks())
        return aside

    def _once(self, task: Task, done: set[str], aside: set[str]) -> None:
        if task.match in done | aside:
            raise Violation(f"{task.match} was told of twice")

    def _check_log(self) -> None:
        """Check what readers may rely on: nothing safe is lost, nothing duplicated or changed."""
        found, prepared = Counter[str](), Counter[str]()
        for stem, content in self.disk.content(FOLDER / "records", ".jsonl").items():
            cell = key_of(stem)
            lines = [line for line in map(_parse_line, content.splitlines(keepends=True)) if line]
            statics = {name: text for line in lines for name, text in line["statics"].items()}
            for line in lines:
                found[line["match"]] += 1
                _check_line(cell, line, statics)
            prepared[cell] = sum("preparation" in line for line in lines)
            if prepared[cell] > 1:
                raise Violation(f"the log holds the preparation of {cell} twice")
        if doubled := [match for match, times in found.items() if times > 1]:
            raise Violation(f"{doubled} are in the log twice")
        if lost := self.safe - found.keys():
            raise Violation(f"{sorted(lost)} were told of as safe and are lost")
        written = self.disk.content(FOLDER, ".jsonl").get("failed_matches", b"")
        there = {
            line["match"] for line in map(_parse_line, written.splitlines(keepends=True)) if line
        }
        if lost := self.told_aside - there:
            raise Violation(f"{sorted(lost)} failed and are forgotten")
        self.found, self.prepared = set(found), +prepared

    def _check_end(self, aside: set[str]) -> None:
        bad = self.poison | self.killers
        if counted := bad & self.found:
            raise Violation(f"{sorted(counted)} cannot be played and are counted")
        if missing := {task.match for task in self.tasks} - self.found - bad:
            raise Violation(f"{sorted(missing)} are missing at the end")
        played = {task.cell for task in self.tasks if task.match in self.found}
        if played != self.prepared.keys():
            raise Violation(f"prepared in the log: {set(self.prepared)}, played: {played}")
        if aside != bad:
            raise Violation(f"set aside at the end: {sorted(aside)}, not {sorted(bad)}")


PREPARED = json.loads(encode(PREPARATION))
"""As a line has it."""


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Return a line as any reader would: JSON and a line break, or nothing."""
    if not line.endswith(b"\n"):
        return None
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) and "match" in data else None


def _check_line(cell: str, line: Mapping[str, Any], statics: Mapping[str, str]) -> None:
    played = record(Task(line["cell"], line["deal"], 0, line["match"]))
    expected = json.loads(encode(played))
    expected.pop("seconds")
    used = expected.pop("statics")
    varies = ("statics", "seconds", "preparation", "crc32")
    got = {key: value for key, value in line.items() if key not in varies}
    if line.get("preparation", PREPARED) != PREPARED:
        raise Violation(f"the preparation of {cell} has changed")
    if got != expected or cell != line["cell"]:
        raise Violation(f"{line['match']} has changed: {got}, not {expected}")
    if any(statics.get(name, text) != text for name, text in used.items()):
        raise Violation(f"the texts of {line['match']} have changed")


def simulate(seed: int) -> tuple[Schedule, Violation | None]:
    """Run the seed's schedule. Return it with the rule that it broke, if any."""
    schedule = Schedule(seed)
    try:
        schedule.run()
    except Violation as violation:
        return schedule, violation
    return schedule, None
