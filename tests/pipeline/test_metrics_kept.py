"""An interrupted judging resumes where it stopped, with the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet.pipeline import metrics
from gauntlet.pipeline.judging import judge
from gauntlet.pipeline.judging.judgement_cache import most_deals, plies
from tests.pipeline.conftest import Capsys, Once
from tests.pipeline.logs import edited
from tests.pipeline.records import decided, ended


@pytest.fixture
def judged(once: Once, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the matches judged, one by one, in a folder of six."""
    once("game=uno_arena", "agent=rule", "deals=6")
    found: list[str] = []
    own = judge.judge

    def noted(game: Any, work: judge.JudgeSettings, record: Any) -> Any:
        found.append(record.match)
        return own(game, work, record)

    monkeypatch.setattr(metrics, "judge", noted)
    return found


def go(folder: Path, *options: str) -> dict[str, bytes]:
    base = ["--playouts", "20", "--threads", "1", "--store", str(folder / "none")]
    assert metrics.main([str(folder), *base, *options]) == 0
    return {path.name: path.read_bytes() for path in (folder / "metrics").iterdir()}


def test_what_is_judged_is_judged_once(judged: list[str], folder: Path) -> None:
    whole = go(folder)
    assert len(judged) == 6
    (kept,) = (folder / "judged").iterdir()
    lines = kept.read_bytes().splitlines(keepends=True)
    foreign = b'{"match": 1}\nno line at all\n'
    kept.write_bytes(foreign + b"".join(lines[:3]) + lines[3][:99])  # killed in the fourth
    assert go(folder) == whole
    assert len(judged) == 9
    go(folder, "--traces", "6")
    assert len(judged) == 11, "two of six had no trace yet; the torn line swallowed no other"
    go(folder, "--everybody")
    assert len(judged) == 17, "other players are judged anew"


def test_another_record_is_judged_anew(judged: list[str], folder: Path) -> None:
    go(folder)
    (path,) = (folder / "records").glob("*.jsonl")
    match = json.loads(path.read_text().splitlines()[2])["match"]

    def fallen(record: dict[str, Any]) -> dict[str, Any]:
        record["decisions"][0]["fallback"] = record["match"] == match
        return record

    edited(path, fallen)
    go(folder)
    assert judged[6:] == [match]


def test_the_first_deals_alone(
    judged: list[str], folder: Path, capsys: Capsys, monkeypatch: Any
) -> None:
    go(folder, "--deals", "2")
    assert len(judged) == 2
    assert "20 playouts an option, the first 2 of 6 deals" in capsys.readouterr().out
    monkeypatch.setattr(metrics, "PLIES", 1)
    monkeypatch.setattr(metrics, "PLAYOUTS", 5)
    assert metrics.main([str(folder), "--store", str(folder / "none")]) == 0
    assert len(judged) == 3, "one at the least, where nothing was asked for"


def test_a_budget_of_plies() -> None:
    costs = [(deal, 10) for deal in (0, 0, 1, 1, 2, 2)]
    assert [most_deals(costs, 5, budget) for budget in (0, 199, 200, 299, 300)] == [1, 1, 2, 2, 3]
    record = ended(decided(1), decided(0), decided(1, options=("a", "a")), decided(1))
    assert plies(record, everybody=False) == 2 * (2 * 4 + 2 * 1)
    assert plies(record, everybody=True) == 2 * (2 * 4 + 2 * 3 + 2 * 1)
