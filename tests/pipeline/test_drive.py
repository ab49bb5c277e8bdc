"""What the driver leases, how it waits; tests/simulation has workers that die, fail and stall."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from gauntlet.common.errors import UserError, WorkerLost
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.driver import LOSSES, Arrivals, Driver, leases
from gauntlet.pipeline.play.scheduler import Finished


@dataclass
class Worker:
    """Plays its leases oldest first, one whenever it is told to."""

    futures: list[tuple[list[Task], Future[list[Finished]]]] = field(default_factory=list)
    leases: list[list[str]] = field(default_factory=list)

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        done: Future[list[Finished]] = Future()
        self.leases.append([task.match for task in lease])
        self.futures.append((list(lease), done))
        return done

    def restart(self) -> None:
        raise AssertionError("it was never silent")

    def work(self) -> None:
        if self.futures:
            lease, done = self.futures.pop(0)
            done.set_result([Finished(task, {}) for task in lease])


class Working(Arrivals):
    """Whoever waits lets these workers work."""

    def __init__(self, workers: Sequence[Worker], look: Callable[[], object] = int) -> None:
        super().__init__()
        self.workers, self.look = workers, look

    def wait(self, seconds: float) -> list[Future[list[Finished]]]:
        self.look()
        for worker in self.workers:
            worker.work()
        return super().wait(0)


def drive(workers: Sequence[Worker], lease: int, tasks: Iterator[Task], look: Any = int) -> None:
    """Every task is played once."""
    played: Counter[str] = Counter()
    Driver(
        workers,
        lease,
        finished=lambda result: played.update([result.task.match]),
        give_up=lambda task, error: None,
        tick=lambda: None,
        arrivals=Working(workers, look),
    ).run(tasks)
    assert set(played.values()) == {1}


def tasks(count: int) -> Iterator[Task]:
    return iter([Task("cell", deal, 0, f"match{deal}") for deal in range(count)])


def test_a_worker_is_kept_supplied_and_deals_are_leased_in_order() -> None:
    worker = Worker()
    drive([worker], 10, tasks(100))
    assert worker.leases == [[f"match{n}" for n in range(at, at + 10)] for at in range(0, 100, 10)]


class Dead(Worker):
    """Loses every lease at once."""

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        done = super().play(lease)
        self.futures.pop()[1].set_exception(WorkerLost("worker lost"))
        return done


def test_a_worker_that_loses_every_lease_takes_no_match_with_it() -> None:
    """It answers at once, so it would be used again and again before the other."""
    dead = Dead()
    drive([dead, Worker()], 8, tasks(100))
    assert len(dead.leases) <= LOSSES
    with pytest.raises(UserError, match="every worker was lost"):
        drive([Dead(), Dead()], 8, tasks(100))


@pytest.mark.parametrize(("width", "matches", "workers"), [(8, 2_000, 1), (64, 5_000, 2)])
def test_three_leases_that_wait_for_a_last_match_leave_a_worker_its_width(
    width: int, matches: int, workers: int
) -> None:
    """However long the oldest matches take, there are always as many others as can run at once."""
    crew, waiting = [Worker() for _ in range(workers)], tasks(matches)
    at_hand: list[int] = []

    def look() -> None:
        if waiting.__length_hint__():  # type: ignore[attr-defined]
            at_hand.extend(sum(len(lease) for lease, _ in one.futures[3:]) for one in crew)

    drive(crew, leases(width, matches, workers)[0], waiting, look)
    assert len(at_hand) > 50
    assert min(at_hand) >= width


@pytest.mark.parametrize(("matches", "workers"), [(40, 2), (120, 2), (140, 2), (500, 3), (7, 1)])
def test_few_matches_are_not_all_leased_at_first(matches: int, workers: int) -> None:
    lease, ahead = leases(64, matches, workers)
    assert lease * ahead * workers < matches or matches < 20


def test_what_can_all_be_in_progress_is_leased_match_by_match() -> None:
    assert leases(64, 40, 2) == (1, 17)
    assert leases(64, 10_000, 2) == (32, 5)
    assert leases(64, 3, 2) == (1, 5)
    assert leases(1, 10_000, 2) == (1, 5)


# --- arrivals


@pytest.fixture
def late_signal() -> Iterator[list[float]]:
    """A signal after 20 ms, whose handling takes 200."""
    handled: list[float] = []

    def handle(*_: object) -> None:
        assert not handled, "it waits for ever"
        time.sleep(0.2)
        handled.append(time.monotonic())

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 5.0)
    try:
        yield handled
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_does_not_stop_the_clock(late_signal: list[float]) -> None:
    """Handled for longer than the wait: some of Python's locks then wait forever."""
    started = time.monotonic()
    assert Arrivals().wait(0.1) == []
    assert late_signal, "no signal came"
    assert time.monotonic() - started < 5
