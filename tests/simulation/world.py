"""A clock that jumps from event to event, and workers driven by it."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from gauntlet.common.errors import WorkerLost
from gauntlet.pipeline.log.schema import MatchRecord, Preparation
from gauntlet.pipeline.plan.cells import Task, digest
from gauntlet.pipeline.play.driver import Arrivals
from gauntlet.pipeline.play.prepare import Ready
from gauntlet.pipeline.play.scheduler import Finished
from tests.pipeline.records import decided, ended, scored

HANGS_AFTER = 50_000.0
"""Simulated seconds in which any of the schedules ends many times over."""


class Violation(AssertionError):
    """A rule that every schedule must keep was broken."""


class World:
    """The time, pending events, and a line of history for each past one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.history: list[str] = []
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def say(self, line: str) -> None:
        self.history.append(f"{self.now:9.2f}  {line}")

    def clock(self) -> float:
        return self.now

    def after(self, seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._coming, (self.now + seconds, next(self._numbers), happens))

    def step(self, until: float) -> bool:
        """Run the next event, if there is one until then; else advance to then."""
        if self.now > HANGS_AFTER:
            raise Violation("the sweep never ends")
        if not self._coming or self._coming[0][0] > until:
            self.now = until
            return False
        self.now, _, happens = heapq.heappop(self._coming)
        happens()
        return True

    def forget(self) -> None:
        """Drop all pending events: their sources are gone."""
        self._coming.clear()


class SimulatedArrivals(Arrivals):
    """Waiting advances the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._found: list[Future[list[Finished]]] = []

    def put(self, future: Future[list[Finished]]) -> None:
        self._found.append(future)

    def wait(self, seconds: float) -> list[Future[list[Finished]]]:
        until = self._world.now + seconds
        while not self._found and self._world.step(until):
            pass
        found, self._found = self._found, []
        return found


@dataclass(frozen=True)
class Nature:
    """A worker's behaviour.

    pace: seconds per match; the other numbers are probabilities for the end of a lease. lost: it
    dies with its whole lease, and its finished matches arrive later, unrequested. doubled: its
    reply comes twice, now and later. late: it takes thirty times as long. hangs: it stops
    answering, for its whole lease, until it is restarted. short: its reply lacks a match. stumbles:
    a match fails once, through no fault of its own. gone_after: simulated seconds after which it
    loses all leases at once, for good.
    """

    pace: float = 0.1
    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    hangs: float = 0.0
    short: float = 0.0
    stumbles: float = 0.0
    gone_after: float = float("inf")


def record(task: Task) -> MatchRecord:
    """Return the record of the task: a function of the match alone."""
    number = int(hashlib.sha256(task.match.encode()).hexdigest()[:8], 16)
    text = f"The rules, number {number % 3}.\n"
    name = digest(text)
    asked = (scored(static=name, shared="x" * (number % 40)),)
    won = 1.0 if number % 2 else -1.0
    return ended(
        decided(0, forced=number % 5 == 0, tokens=number % 1000, asked=asked),
        match=task.match,
        cell=task.cell,
        deal=task.deal,
        rotation=task.rotation,
        subjects=(0,),
        measured=(0,),
        returns=(won, 0.0),
        statics={name: text},
    )


BEFORE = "Before the first match."
PREPARATION = [Preparation(0, (scored(static=digest(BEFORE)),))]


def ready(cell: str) -> Ready:
    """Return the prepared cell; only the requests in it are used."""
    any_cell: Any = cell
    return Ready(any_cell, PREPARATION, {digest(BEFORE): BEFORE})


@dataclass
class SimulatedWorker:
    """Plays its leases, one after the other, according to its behaviour. Its cells are prepared,
    each once, as by the scheduler.

    poison: matches that always fail. killers: matches that always take the worker down, or, half of
    them, make it hang.
    """

    name: str
    world: World
    rng: random.Random
    arrivals: SimulatedArrivals
    nature: Nature
    poison: frozenset[str]
    killers: frozenset[str]
    leases: list[list[str]] = field(default_factory=list)
    _held: dict[Future[list[Finished]], Sequence[Task]] = field(default_factory=dict)
    _stale: list[Finished] = field(default_factory=list)
    _free_at: float = 0.0
    _hangs: bool = False
    _ready: dict[str, Ready] = field(default_factory=dict)

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        future: Future[list[Finished]] = Future()
        self.leases.append([task.match for task in lease])
        self._held[future] = lease
        seconds = self.nature.pace * len(lease) * self.rng.uniform(0.5, 1.5)
        stuck = any(one.match in self.killers and int(one.match, 16) % 2 for one in lease)
        if self.rng.random() < self.nature.hangs or stuck:
            self.world.say(f"{self.name} hangs with {_named(lease)}")
            self._hangs = True
        if self.rng.random() < self.nature.late:
            self.world.say(f"{self.name} is late with {_named(lease)}")
            seconds *= 30
        self._free_at = max(self._free_at, self.world.now) + seconds
        delay = 0.01 if self._is_gone() else self._free_at - self.world.now
        self.world.after(delay, lambda: self._end(future))
        return future

    def restart(self) -> None:
        self.world.say(f"{self.name} is restarted")
        self.world.after(self.rng.uniform(0, 2), self._die)

    def _is_gone(self) -> bool:
        return self.world.now >= self.nature.gone_after

    def _end(self, future: Future[list[Finished]]) -> None:
        lease = self._held.get(future)
        if lease is None or self._hangs:
            return  # it died with another lease, or lives no more
        dies = any(task.match in self.killers for task in lease) or self._is_gone()
        if dies or self.rng.random() < self.nature.lost:
            self._die()
            return
        del self._held[future]
        results = [self._played(task) for task in lease]
        if self.rng.random() < self.nature.short:
            gone = results.pop(self.rng.randrange(len(results)))
            self.world.say(f"{self.name} forgets {gone.task.match} in its reply")
        if self.rng.random() < self.nature.doubled:
            self.world.say(f"{self.name} replies twice with {_named(lease)}")
            self._stale += results
            self.world.after(self.rng.uniform(0, 2), lambda: self.arrivals.put(future))
        future.set_result(results + self._late_results())

    def _late_results(self) -> list[Finished]:
        stale, self._stale = self._stale, []
        return stale

    def _die(self) -> None:
        """Loses all leases; the results of the first one arrive much later."""
        held, self._held, self._hangs = self._held, {}, False
        self._free_at = self.world.now
        for number, (future, lease) in enumerate(held.items()):
            self.world.say(f"{self.name} dies with {_named(lease)}")
            if number == 0 and not any(task.match in self.killers for task in lease):
                self._stale += [self._played(task) for task in lease]
            future.set_exception(WorkerLost("worker lost: simulated"))

    def _played(self, task: Task) -> Finished:
        if task.match in self.poison:
            return Finished(task, None, "Traceback\nValueError: bad card")
        if self.rng.random() < self.nature.stumbles:
            return Finished(task, None, "Traceback\nOSError: stumbled")
        told = self._ready.setdefault(task.cell, ready(task.cell)).with_preparation(record(task))
        return Finished(task, replace(told, seconds=round(self.rng.random(), 6)))


def _named(lease: Sequence[Task]) -> str:
    return " ".join(task.match for task in lease)
