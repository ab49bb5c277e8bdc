"""The driver against workers that die, fail and stall; no model, no game, no Ray."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pytest

from gauntlet.common.errors import UserError, WorkerLost
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.driver import LOSSES, Arrivals, Driver, leases
from gauntlet.pipeline.play.scheduler import Finished

TASKS = [Task("cell", deal, 0, f"match{deal}") for deal in range(100)]


@dataclass
class Flaky:
    """Loses a lease with the given probability; fails the matches in `poison`."""

    rng: random.Random
    losing: float = 0.0
    poison: frozenset[str] = frozenset()
    leases: list[list[str]] = field(default_factory=list)

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        self.leases.append([task.match for task in lease])
        done: Future[list[Finished]] = Future()
        if self.rng.random() < self.losing:
            done.set_exception(WorkerLost("worker lost"))
        else:
            done.set_result([self._played(task) for task in lease])
        return done

    def restart(self) -> None:
        raise AssertionError("it was never silent")

    def _played(self, task: Task) -> Finished:
        if task.match in self.poison:
            return Finished(task, None, "Traceback\nValueError: bad card")
        return Finished(task, {"match": task.match})


def drive(*workers: Flaky, lease: int = 8) -> tuple[Counter[str], dict[str, str]]:
    played: Counter[str] = Counter()
    aside: dict[str, str] = {}
    driver = Driver(
        workers,
        lease,
        finished=lambda result: played.update([result.task.match]),
        give_up=lambda task, error: aside.update({task.match: error}),
        tick=lambda: None,
    )
    driver.run(iter(TASKS))
    return played, aside


def test_a_match_that_fails_three_times_is_given_up_alone() -> None:
    worker = Flaky(random.Random(0), poison=frozenset({"match13"}))
    played, aside = drive(worker)
    assert set(aside) == {"match13"}
    assert aside["match13"].endswith("ValueError: bad card")
    assert len(played) == 99
    assert sum("match13" in lease for lease in worker.leases) == 3


@dataclass
class Mortal:
    """Plays its leases together, oldest first; a killer takes down all its leases."""

    killers: frozenset[str]
    futures: list[tuple[list[Task], Future[list[Finished]]]] = field(default_factory=list)

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        done: Future[list[Finished]] = Future()
        self.futures.append((list(lease), done))
        return done

    def work(self) -> None:
        if any(task.match in self.killers for lease, _ in self.futures for task in lease):
            for _, done in self.futures:
                done.set_exception(WorkerLost("worker lost"))
            self.futures.clear()
        elif self.futures:
            lease, done = self.futures.pop(0)
            done.set_result([Finished(task, {}) for task in lease])


def test_a_worker_is_kept_supplied_and_deals_are_leased_in_order() -> None:
    worker = Flaky(random.Random(0))
    drive(worker, lease=10)
    assert worker.leases == [[f"match{n}" for n in range(at, at + 10)] for at in range(0, 100, 10)]


@pytest.mark.parametrize(("width", "matches", "workers"), [(8, 2_000, 1), (64, 5_000, 2)])
def test_three_leases_that_wait_for_a_last_match_leave_a_worker_its_width(
    width: int, matches: int, workers: int
) -> None:
    """However long the oldest matches take, there are always as many others as can run at once."""
    crew = [Mortal(frozenset()) for _ in range(workers)]
    at_hand: list[int] = []
    tasks = iter([Task("cell", deal, 0, f"match{deal}") for deal in range(matches)])

    class Lagging(Arrivals):
        def wait(self, seconds: float) -> list[Future[list[Finished]]]:
            for worker in crew:
                if tasks.__length_hint__():
                    at_hand.append(sum(len(lease) for lease, _ in worker.futures[3:]))
                worker.work()
            return super().wait(0)

    played: Counter[str] = Counter()
    driver = Driver(
        crew,
        leases(width, matches, workers)[0],
        finished=lambda result: played.update([result.task.match]),
        give_up=lambda task, error: None,
        tick=lambda: None,
        arrivals=Lagging(),
    )
    driver.run(tasks)
    assert len(at_hand) > 50
    assert min(at_hand) >= width
    assert set(played.values()) == {1}
    assert len(played) == matches


@pytest.mark.parametrize(("matches", "workers"), [(40, 2), (120, 2), (140, 2), (500, 3), (7, 1)])
def test_few_matches_are_not_all_leased_at_first(matches: int, workers: int) -> None:
    lease, ahead = leases(64, matches, workers)
    assert lease * ahead * workers < matches or matches < 20


def test_what_can_all_be_in_progress_is_leased_match_by_match() -> None:
    assert leases(64, 40, 2) == (1, 17)
    assert leases(64, 10_000, 2) == (32, 5)
    assert leases(64, 3, 2) == (1, 5)
    assert leases(1, 10_000, 2) == (1, 5)


def test_a_worker_that_loses_every_lease_takes_no_match_with_it() -> None:
    """It answers at once, so it would be used again and again before the other."""
    dead, well = Flaky(random.Random(0), losing=1.0), Flaky(random.Random(0))
    played, aside = drive(dead, well)
    assert len(dead.leases) <= LOSSES
    assert played == Counter(task.match for task in TASKS)
    assert not aside


def test_where_all_workers_are_lost_the_run_ends_and_sets_nothing_aside() -> None:
    told: list[object] = []
    workers = [Flaky(random.Random(seed), losing=1.0) for seed in range(2)]
    driver = Driver(workers, 8, told.append, lambda *of: told.append(of), lambda: None)
    with pytest.raises(UserError, match="every worker was lost"):
        driver.run(iter(TASKS))
    assert not told


@dataclass
class Stuck(Flaky):
    """Stops answering once it is leased one of `poison`, until it is restarted."""

    held: list[Future[list[Finished]]] = field(default_factory=list)
    restarts: int = 0

    def play(self, lease: Sequence[Task]) -> Future[list[Finished]]:
        if not self.held and not self.poison & {task.match for task in lease}:
            return super().play(lease)
        self.leases.append([task.match for task in lease])
        self.held.append(Future())
        return self.held[-1]

    def restart(self) -> None:
        self.restarts += 1
        held, self.held = self.held, []
        for future in held:
            future.set_exception(WorkerLost("worker lost"))


def test_a_worker_that_hangs_is_restarted_and_a_match_that_hangs_it_given_up() -> None:
    """In the end it is alone with the match, so no other worker may play it meanwhile."""
    now = 0.0

    class Passing(Arrivals):
        def wait(self, seconds: float) -> list[Future[list[Finished]]]:
            nonlocal now
            now += seconds
            assert now < 10_000, "the sweep never ends"
            return super().wait(0)

    worker = Stuck(random.Random(0), poison=frozenset({"match13"}))
    played, aside = Counter[str](), Counter[str]()
    driver = Driver(
        [worker],
        8,
        finished=lambda result: played.update([result.task.match]),
        give_up=lambda task, error: aside.update([task.match]),
        tick=lambda: None,
        arrivals=Passing(),
        clock=lambda: now,
        patience=60,
    )
    driver.run(iter(TASKS))
    assert aside == Counter(["match13"])
    assert played == Counter(task.match for task in TASKS if task.match != "match13")
    assert worker.leases.count(["match13"]) == 1
    assert worker.restarts == 3
    assert 180 < now < 200


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
