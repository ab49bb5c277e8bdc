"""Reports of failed matches: how many, why, and whether the sweep failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.pipeline import report, status
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.play.match import Table
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import control_matches

Told = pytest.CaptureFixture[str]
ALL = {0: "no [jack]", **dict.fromkeys(range(1, 6), "no [queen]\nor king")}


def fail(monkeypatch: pytest.MonkeyPatch, errors: Mapping[int, str]) -> None:
    """The matches of these deals fail."""
    turn = Table.turn

    def failing(self: Table, state: Any, seat: int) -> Any:
        if self.task.deal in errors:
            raise RuntimeError(errors[self.task.deal])
        return turn(self, state, seat)

    monkeypatch.setattr(Table, "turn", failing)


def one_line(text: str) -> str:
    return " ".join(text.split())


def summary(folder: Path) -> Any:
    return pd.read_csv(folder / "summary.csv", keep_default_na=False)


def test_a_run_without_a_match_is_no_success(
    sweep: Sweep, folder: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 1 and one line with the cause; the tables are there all the same."""
    fail(monkeypatch, ALL)
    assert sweep("prompt=cloze,counterfactual", "controls=auto") == 1
    said = capsys.readouterr()
    assert said.err == (
        "gauntlet: no match was played: all 12 failed, "
        "most often (10) RuntimeError: no [queen]; "
        f"see {folder / 'failed_matches.jsonl'}\n"
    )
    assert list(summary(folder)["matches"]) == [0, 0]
    assert list(summary(folder)["failed"]) == [6, 6]
    warned = "6 of 6 matches failed, most often (5) RuntimeError: no [queen]"
    assert list(summary(folder)["warning"]) == [warned] * 2
    assert f"WARNING fake cloze: {warned}" in one_line(said.out)
    assert "Traceback" not in said.out
    assert (folder / "report.html").exists()
    assert not control_matches(folder), "there is nothing to compare them with"
    found = Folder(folder).status
    assert found is not None
    assert found["state"] == "failed"
    assert status.main([str(folder)]) == 0
    assert "no match was played: all 12 failed" in one_line(capsys.readouterr().out)


def test_a_cell_tells_how_many_and_why(
    sweep: Sweep, folder: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of six matches fail: a success, with one line that says so."""
    fail(monkeypatch, {1: "no [jack]", 4: "no [jack]"})
    assert sweep("prompt=cloze") == 0
    line = "2 of 6 matches failed, always (2) RuntimeError: no [jack]"
    said = capsys.readouterr()
    assert f"WARNING fake cloze: {line}" in one_line(said.out)
    assert said.err == ""
    assert summary(folder)["warning"][0].startswith(line)
    assert report.main([str(folder)]) == 0
    assert line in one_line(capsys.readouterr().out)
    assert line in (folder / "report.html").read_text()


def test_what_a_later_run_plays_counts_as_failed_no_more(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, ALL)
        assert sweep("prompt=cloze", "deals=2") == 1
    with monkeypatch.context() as patched:
        fail(patched, {0: "no ace"})
        assert sweep("prompt=cloze") == 0
    line = "1 of 6 matches failed, always (1) RuntimeError: no ace"
    assert summary(folder)["warning"][0].startswith(line)
    assert sweep("prompt=cloze", "deals=6") == 0
    assert list(summary(folder)["failed"]) == [0]
    assert "failed" not in summary(folder)["warning"][0]
