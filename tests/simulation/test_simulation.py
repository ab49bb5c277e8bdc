"""Ten thousand storms and one log: nothing lost, duplicated or changed; planted bugs are found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from unittest.mock import patch

import pytest

from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.driver import Driver
from gauntlet.pipeline.play.scheduler import Finished
from tests.simulation.bugs import BUGS
from tests.simulation.schedule import simulate
from tests.simulation.world import Nature, SimulatedArrivals, SimulatedWorker, World

FEW, MANY = 250, 10_000


def live_through(seeds: Iterable[int], figure: Callable[[str], None]) -> None:
    started, faults, count = time.perf_counter(), Counter[str](), 0
    for seed in seeds:
        schedule, violation = simulate(seed)
        assert violation is None, f"{violation}\nagain: python -m tests.simulation {seed}"
        faults += schedule.faults
        count += 1
    took = time.perf_counter() - started
    figure(f"simulation: {count:,} schedules in {took:.1f} s; storms: {dict(faults)}")
    assert len(faults) == 6


def test_some_schedules_keep_every_rule(figure: Callable[[str], None]) -> None:
    live_through(range(FEW), figure)


@pytest.mark.slow
def test_ten_thousand_schedules_keep_every_rule(figure: Callable[[str], None]) -> None:
    live_through(range(FEW, FEW + MANY), figure)


def test_a_slow_worker_does_not_hold_the_others(figure: Callable[[str], None]) -> None:
    """Three workers, and a fourth that is a hundred times as slow: no slower than three alone."""
    three, four = [Nature()] * 3, [*[Nature()] * 3, Nature(pace=10.0)]
    alone, together = seconds_of(three), seconds_of(four)
    with patch.object(Driver, "_copy", lambda self, hand: False):
        held_up = seconds_of(four)
    figure(
        f"simulated sweep: three workers {alone:.0f} s, with a slow fourth {together:.0f} s, "
        f"if nobody took its leases {held_up:.0f} s"
    )
    assert together <= 1.1 * alone
    assert held_up > 2 * alone


def seconds_of(natures: list[Nature]) -> float:
    """Simulated seconds that 600 matches take."""
    world = World()
    arrivals = SimulatedArrivals(world)
    nobody = frozenset[str]()
    workers = [
        SimulatedWorker(f"w{n}", world, Random(n), arrivals, nature, nobody, nobody)
        for n, nature in enumerate(natures)
    ]
    done: list[Finished] = []
    driver = Driver(workers, 8, done.append, lambda *_: None, lambda: None, arrivals, world.clock)
    driver.run(Task("cell", deal, 0, f"match{deal}") for deal in range(600))
    assert len(done) == 600
    return world.now


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str, figure: Callable[[str], None]) -> None:
    with BUGS[name]():
        found = next((seed for seed in range(FEW // 2) if simulate(seed)[1]), None)
    assert found is not None
    assert simulate(found)[1] is None, "the seed breaks a rule without the bug too"
    figure(f"simulation: {name} is found by seed {found}")


def test_a_seed_settles_the_whole_history() -> None:
    with BUGS["torn_line_kept"]():
        first, second = simulate(5), simulate(5)
    assert first[0].world.history == second[0].world.history
    assert len(first[0].world.history) > 10
