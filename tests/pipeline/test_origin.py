"""What readers see about the runs that made one log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gauntlet.pipeline import report
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.tables.run_metadata import run_differences
from tests.pipeline.conftest import Capsys, Sweep

RUN: dict[str, Any] = {"host": "a", "commit": "c1", "versions": {"torch": "2.8.0", "numpy": "2.2"}}


def test_runs_that_differ_in_nothing_are_not_told() -> None:
    assert run_differences([]) == ""
    assert run_differences([RUN, RUN]) == ""
    assert run_differences([RUN, {**RUN, "commit": None}, {"versions": "?"}]) == "", "nobody knows"


def test_what_differs_is_told_with_its_values() -> None:
    other = {"host": "b", "commit": "c2", "versions": {"torch": "2.9.1", "numpy": "2.2"}}
    assert (
        run_differences([RUN, other])
        == "torch 2.8.0 and 2.9.1; commits c1 and c2; machines a and b"
    )
    many = [{**RUN, "host": name} for name in "abcde"]
    assert run_differences(many) == "machines a, b, c and 2 more"


def test_the_report_says_when_a_log_is_of_several_versions(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    given = ("game=tic_tac_toe", "prompt=cloze")
    assert sweep(*given, "deals=1") == 0
    assert "runs that differ" not in capsys.readouterr().out
    (run,) = map(json.loads, (folder / "runs.jsonl").read_text().splitlines())
    del run["crc32"]
    mine, run["versions"]["torch"] = run["versions"]["torch"], "1.0"
    with (folder / "runs.jsonl").open("ab") as runs:
        runs.write(line(run))
    assert report.main([str(folder)]) == 0
    told = f"The records are of runs that differ: torch {mine} and 1.0."
    assert told in capsys.readouterr().out
    assert told in (folder / "report.html").read_text()
