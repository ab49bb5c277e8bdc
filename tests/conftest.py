"""Shared by all tests: parallelism, thread limits, and measurements shown at the end.

Tests can report measurements for a person to see; they are printed at the end of the run.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

pytest_plugins = ["tests.api"]

gc.set_threshold(50_000)  # thousands of modules and tests are loaded, and none is garbage
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is loaded, here and in children

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

FIGURE = "figure"


def pytest_configure(config: pytest.Config) -> None:
    """RLCard unpacks files on first import: do it before several workers do at the same time."""
    if not hasattr(config, "workerinput"):
        import rlcard.games.doudizhu.utils  # noqa: F401


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker per core that this process may use: pytest-xdist counts those of the machine."""
    return len(os.sched_getaffinity(0))


COMPILING = ("test_uno_luck.py", "test_holdem_luck.py")
LONGEST = (
    *("test_kill.py", "test_docs.py", "test_shards.py", "test_reproduce.py", "test_pocket.py"),
    *("test_track.py", "test_absent.py"),
)
"""A file's tests stay on one worker, so that its fixtures are made once. COMPILING come first, each
with an engine that others then find compiled; a long file at the end would leave workers idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (*COMPILING, *LONGEST, item.path.name).index(item.path.name))


def pytest_collection_finish() -> None:
    """Libraries and tests stay: no collection of garbage need look at their objects again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Fixture: call it with a line to print when all tests are done, even if they passed.

    It travels in the test's report, which is all that a worker of pytest-xdist sends back.
    """
    return lambda line: record_property(FIGURE, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = list(figures(terminalreporter))
    if found:
        terminalreporter.section("measured")
    for line in found:
        terminalreporter.write_line(line)


def figures(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """The lines of all tests by the tests' names, from the last report of each, which has all."""
    reports = [
        report
        for group in reporter.stats.values()
        for report in group
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
    ]
    for report in sorted(reports, key=lambda report: report.nodeid):
        yield from (str(line) for name, line in report.user_properties if name == FIGURE)
