"""What tests measured, shown at the end of the run: counts and figures a person wants to see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

pytest_plugins = ["tests.api"]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with a line; the line is printed when all tests are done, also if they passed."""
    lines: list[str] = request.config.stash.setdefault(FIGURES, [])
    return lines.append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash.get(FIGURES, [])
    if lines:
        terminalreporter.section("measured")
    for line in lines:
        terminalreporter.write_line(line)
