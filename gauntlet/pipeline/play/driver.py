"""The driver's loop: lease matches to workers in deal order and collect the results.

A worker is anything that plays a lease and returns a future; `pipeline/launch/cluster.py` has two
kinds. If a worker dies, its leases go to others. A match that fails three times in the same way is
given up: it neither stops other matches nor counts as a loss. Matches of a stopped cell are not
retried.

When everything is leased, idle workers also play what others still hold, so that a slow or hanging
worker does not delay the run. The first result counts; later ones are dropped. A worker that holds
leases and is silent for longer than `patience` is restarted and loses them.
"""

from __future__ import annotations

import itertools
import logging
import queue
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from gauntlet.common.errors import Halted, UserError, WorkerLost
from gauntlet.pipeline.log.events import event
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.scheduler import Finished

TRIES = 3
AHEAD = 5
"""Leases that a worker holds at once: two fill its width even if three others each wait for a last
match."""
LOSSES = 10
"""A worker that loses this many leases in a row gets no more."""
TICK_SECONDS = 0.2


def leases(width: int, matches: int, workers: int) -> tuple[int, int]:
    """Matches per lease, and how many leases a worker holds.

    Two leases fill a worker's width. A sixth of the matches is not leased at first, so that the
    last ones go to whichever worker is free. If all of a worker's matches can be in progress at
    once, each is a lease of its own: none that could begin waits for the end of others.
    """
    share = -(-5 * matches // (6 * workers))
    if share <= width:
        return 1, max(AHEAD, share)
    return max(1, min(width // 2, matches // ((AHEAD + 1) * workers))), AHEAD


class Worker(Protocol):
    """Plays leases. Its futures resolve to the results or raise WorkerLost."""

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]: ...

    def restart(self) -> None:
        """Abort all work: its leases end with WorkerLost. It can then take new ones."""
        ...


class Arrivals:
    """The queue of finished futures; any thread may put."""

    def __init__(self) -> None:
        # Not SimpleQueue: if its timeout expires while a signal is handled, it blocks for ever.
        self._queue: queue.Queue[Future[list[Finished]]] = queue.Queue()

    def put(self, future: Future[list[Finished]]) -> None:
        self._queue.put(future)

    def wait(self, seconds: float) -> list[Future[list[Finished]]]:
        """All finished futures; wait at most `seconds` for the first."""
        arrivals = []
        try:
            arrivals.append(self._queue.get(timeout=seconds))
            while True:
                arrivals.append(self._queue.get_nowait())
        except queue.Empty:
            return arrivals


@dataclass(eq=False)
class WorkerState:
    """A worker, the leases it holds, how many it has lost since its last success, and when it was
    last heard from."""

    worker: Worker
    ahead: int = AHEAD
    lease_count: int = 0
    alone: bool = False
    lost_count: int = 0
    last_heard: float = 0.0

    @property
    def room(self) -> bool:
        """Whether it may hold another lease; after a loss, one at a time until one succeeds."""
        if self.alone or self.lost_count >= LOSSES:
            return False
        return self.lease_count < (1 if self.lost_count else self.ahead)


@dataclass(frozen=True)
class _Lease:
    state: WorkerState
    tasks: Sequence[Task]
    alone: bool


@dataclass
class _OpenMatch:
    """An unfinished match: how many workers hold it, how often each error occurred, and the last
    one."""

    holders: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    error: str = ""


@dataclass
class Driver:
    """Plays tasks on workers.

    lease: matches per lease.
    finished, give_up: called once at the end of each task. tick: called every TICK_SECONDS and at
    the end.
    patience: seconds that a worker with leases may be silent; None means for ever.
    ahead: most leases a worker may hold.
    failed: called at once for every failed attempt at a match.
    stopped, trying: cell keys, which `pipeline.play.admission` updates meanwhile: cells whose
    failed matches are not retried, and cells whose new matches each get their own lease.
    """

    workers: Sequence[Worker]
    lease: int
    finished: Callable[[Finished], None]
    give_up: Callable[[Task, str], None]
    tick: Callable[[], None]
    arrivals: Arrivals = field(default_factory=Arrivals)
    clock: Callable[[], float] = time.monotonic
    patience: float | None = None
    ahead: int = AHEAD
    failed: Callable[[Task, str], None] = lambda task, error: None
    stopped: Collection[str] = ()
    trying: Collection[str] = ()

    def __post_init__(self) -> None:
        self._states = [WorkerState(worker, self.ahead) for worker in self.workers]
        self._idle = dict.fromkeys(self._states)
        self._open: dict[str, _OpenMatch] = {}
        self._held: dict[Future[list[Finished]], _Lease] = {}
        self._duplicates: dict[Future[list[Finished]], Future[list[Finished]]] = {}
        self._unduplicated: OrderedDict[Future[list[Finished]], _Lease] = OrderedDict()
        self._again: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._all_leased = False
        self._halted: Halted | None = None

    def run(self, tasks: Iterator[Task | None]) -> None:
        """Play every task to a record or give it up; None among them means that the next task must
        wait for others to end. Raises Halted if a model stops answering, and UserError if all
        workers keep losing their leases."""
        ticked = self.clock()
        while True:
            self._give_up()
            self._supply(tasks)
            if self._all_leased and not self._open:
                self.tick()
                return
            if not self._held:
                raise UserError(
                    f"every worker was lost {LOSSES} times in a row; see Ray's logs for why, and "
                    "run the same command again to go on"
                )
            for future in self.arrivals.wait(TICK_SECONDS):
                self._take_in(future)
            if self._halted is not None:
                raise self._halted
            if self.clock() - ticked >= TICK_SECONDS:
                self._rouse()
                self.tick()
                ticked = self.clock()

    def _rouse(self) -> None:
        """Restart workers that have been silent for too long."""
        if self.patience is None:
            return
        for state in {lease.state: None for lease in self._held.values()}:
            silent = self.clock() - state.last_heard
            if silent > self.patience:
                event("worker restarted", logging.WARNING, silent_seconds=round(silent))
                state.last_heard = self.clock()
                state.worker.restart()

    def _give_up(self) -> None:
        """Give up the pending retries of stopped cells."""
        for waiting in (self._again, self._suspects):
            for task in [task for task in waiting if task.cell in self.stopped]:
                waiting.remove(task)
                self.give_up(task, self._open.pop(task.match).error)

    def _supply(self, tasks: Iterator[Task | None]) -> None:
        """Give leases to workers with room until either runs out."""
        given = list(self._idle)
        while given:
            given = [state for state in given if self._give(state, tasks)]
        self._idle = {state: None for state in self._idle if state.room}

    def _give(self, state: WorkerState, tasks: Iterator[Task | None]) -> bool:
        """Give the worker one more lease, if it has room and there is one; return whether it got
        one."""
        if not state.room:
            return False
        fresh = list(itertools.islice(self._next(tasks), self.lease))
        if fresh:
            self._grant(state, fresh)
        elif not state.lease_count and self._suspects and self._trusted(state):
            self._grant(state, [self._suspects.popleft()], alone=True)
        else:
            return not state.lease_count and self._copy(state)
        return True

    def _copy(self, state: WorkerState) -> bool:
        """Let an idle worker also play the rest of the oldest lease that only one worker holds."""
        while self._unduplicated:
            first, lease = self._unduplicated.popitem(last=False)
            left = [task for task in lease.tasks if self._may_be_copied(task)]
            if left:
                second = self._grant(state, left)
                del self._unduplicated[second]
                self._duplicates.update({first: second, second: first})
                return True
        return False

    def _next(self, tasks: Iterator[Task | None]) -> Iterator[Task]:
        """Retries first, then new tasks until one must wait."""
        while self._again:
            yield self._again.popleft()
        for task in tasks:
            if task is None:
                return
            self._open[task.match] = _OpenMatch()
            last = task.cell in self.trying
            yield task
            if last:
                return
        self._all_leased = True

    def _trusted(self, state: WorkerState) -> bool:
        """Whether a lost lease would point to the match rather than the worker: no other worker is
        more reliable."""
        return not state.lost_count or all(
            state.lost_count <= other.lost_count for other in self._states
        )

    def _may_be_copied(self, task: Task) -> bool:
        """Whether the match is unfinished, its cell is not stopped, and it has failed fewer than
        TRIES - 1 times: a suspect is leased alone."""
        match = self._open.get(task.match)
        if match is None or task.cell in self.stopped:
            return False
        return match.failures.total() < TRIES - 1

    def _grant(
        self, state: WorkerState, tasks: Sequence[Task], alone: bool = False
    ) -> Future[list[Finished]]:
        """Lease the tasks. A suspect, which has failed or lost its worker twice, is leased alone:
        if it kills the worker again, no other match is lost."""
        for task in tasks:
            self._open[task.match].holders += 1
        if not state.lease_count:
            state.last_heard = self.clock()
        state.lease_count += 1
        state.alone = alone
        future = state.worker.play(tasks)
        self._held[future] = _Lease(state, tasks, alone)
        if not alone:
            self._unduplicated[future] = self._held[future]
        future.add_done_callback(self.arrivals.put)
        return future

    def _take_in(self, future: Future[list[Finished]]) -> None:
        """Close a lease: end each task with its result, or with the loss of the worker."""
        lease = self._held.pop(future, None)
        if lease is None:
            return  # delivered twice
        self._unduplicated.pop(future, None)
        duplicate = self._duplicates.pop(future, None)
        if duplicate is not None:
            del self._duplicates[duplicate]
            self._unduplicated[duplicate] = self._held[duplicate]
        state = lease.state
        state.lease_count -= 1
        state.alone = False
        state.last_heard = self.clock()
        self._idle[state] = None
        try:
            results = {result.task.match: result for result in future.result()}
            lack, state.lost_count = "the worker's reply lacks this match", 0
        except WorkerLost as lost:
            results, lack = {}, str(lost)
            state.lost_count += 1
            event("worker lost", logging.WARNING, why=lack, matches=len(lease.tasks))
        for failed in results.values():
            if failed.error is not None:
                error = failed.error.strip().splitlines()[-1]
                event("match failed", logging.WARNING, match=failed.task.match, error=error)
                if failed.task.match in self._open and not failed.halts:
                    self.failed(failed.task, failed.error)
        for task in lease.tasks:
            self._finish(results.get(task.match, Finished(task, None, lack)), lease.alone)

    def _finish(self, result: Finished, alone: bool) -> None:
        """Report the match's first result; queue a failed match again or give it up."""
        task, match = result.task, self._open.get(result.task.match)
        if match is None:
            return  # another worker was faster
        match.holders -= 1
        if result.halts:
            self._halted = Halted(result.error)
            return
        if result.error is None:
            del self._open[task.match]
            self.finished(result)
            return
        reason = result.error.strip().splitlines()[-1]
        match.failures[reason] += 1
        match.error = result.error
        if match.holders:
            return  # another worker may still finish it
        if task.cell in self.stopped or (alone and match.failures[reason] >= TRIES):
            del self._open[task.match]
            self.give_up(task, result.error)
        elif match.failures[reason] >= TRIES - 1:
            self._suspects.append(task)
        else:
            self._again.append(task)
