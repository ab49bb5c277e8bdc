"""Logs of schema 1: read as what they would be today, and never written to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from models.exchanges import ScoreExchange, TextExchange
from models.replay import Replay
from pipeline import replay, report, status
from pipeline.log.folder import Folder
from pipeline.log.lines import line
from pipeline.log.outcomes import WINS
from tests.pipeline.conftest import Sweep

SCHEMA_1 = Path(__file__).parent / "data" / "schema1"
"""Three matches as schema 1 had them: two scored, one of conversations."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SCHEMA_1, tmp_path / "old"))


def lines_of_schema_1() -> list[dict[str, Any]]:
    files = sorted((SCHEMA_1 / "records").glob("*.jsonl"))
    return [json.loads(one) for file in files for one in file.read_text().splitlines()]


def test_records_of_schema_1_are_read_as_they_would_be_today() -> None:
    records, told = list(Folder(SCHEMA_1).matches()), lines_of_schema_1()
    assert len(records) == len(told) == 3
    for record, was in zip(records, told, strict=True):
        assert (record.subjects, record.measured) == ((was["subject"],), (was["measured"],))
        assert record.measures == {"win": tuple(float(worth > 0) for worth in was["returns"])}
        assert (record.match, record.deal, record.seconds) == (
            *(was["match"], was["deal"], was["seconds"]),
        )
        for decision, before in zip(record.decisions, was["decisions"], strict=True):
            assert [decision.seat, decision.move] == [
                *(before["seat"], before["options"][before["chosen"]]),
            ]
            assert decision.notes == before.get("notes", {})
            assert len(decision.asked) == len(before["asked"])
    asked = {type(one) for r in records for d in r.decisions for one in d.asked}
    assert asked == {ScoreExchange, TextExchange}


def test_an_exchange_of_schema_1_has_lost_nothing() -> None:
    """Written anew, it differs in its kind alone."""
    records, told = list(Folder(SCHEMA_1).matches()), lines_of_schema_1()
    for record, was in zip(records, told, strict=True):
        again = json.loads(line(record))
        for now, before in zip(again["decisions"], was["decisions"], strict=True):
            kinds = [one.pop("kind") for one in now["asked"]]
            assert kinds == ["score" if "branches" in one else "text" for one in before["asked"]]
            assert now == before


def test_a_folder_of_schema_1_is_reported_replayed_and_watched(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(old)]) == 0
    assert status.main([str(old)]) == 0
    for record in Folder(old).matches():
        if record.cell == "4d07f0079a9d1832":
            shown = replay.replay(record.match, [old])
            assert shown.returns == record.returns
    found = {key: len(outcomes) for key, outcomes in Folder(old).outcomes(WINS).items()}
    assert found == {"4d07f0079a9d1832": 2, "0b863c434d392244": 1}
    assert "Traceback" not in capsys.readouterr().err


def test_a_log_of_schema_1_still_answers_for_its_model() -> None:
    for record in Folder(SCHEMA_1).matches():
        (file,) = Folder(SCHEMA_1).record_files(f"*{record.cell}")
        model = Replay(str(file)).load()
        for decision in record.decisions:
            for asked in decision.asked:
                request, reply = asked.restored(record.statics)
                assert model.answer([request]) == [reply]


def test_nothing_is_added_to_a_folder_of_schema_1(
    old: Path, sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in old.rglob("*.json*")}
    assert sweep(f"output_dir={old}") == 2
    said = capsys.readouterr().err
    assert "holds matches of schema 1, not 2" in said
    assert "choose another output_dir" in said
    assert said.count("\n") == 1
    assert {path: path.read_bytes() for path in old.rglob("*.json*")} == before
