"""Folders may have any name; no terminal executes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet.pipeline import compare, export, metrics, replay, report, status, track, verify
from tests.pipeline.conftest import Sweep

NAME = "out\x1b[2J\x1b]0;title\x07\u202e"


def test_a_name_that_a_terminal_would_obey_is_shown_by_its_numbers(
    sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / NAME
    assert sweep(f"output_dir='{folder}'", "deals=2") == 0
    missing = [str(tmp_path / f"{NAME}-2")]
    for command in (report, verify, status, export, track, metrics, replay, compare):
        given = [str(folder)] * (1 + (command is compare))
        if command is not track:
            command.main(given)
        command.main(missing * len(given))
    said = "".join(capsys.readouterr())
    assert said.count(r"out\x1b[2J\x1b]0;title\x07\u202e") > 10
    assert not [line for line in said.splitlines() if {"\x1b", "\x07", "\u202e"} & set(line)]
