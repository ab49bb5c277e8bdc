"""A folder as Parquet: pandas reads back the log's contents, and nothing is half written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.pipeline import export as command
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables import parquet_export
from gauntlet.pipeline.tables.parquet_export import DECISIONS, MATCHES, column_list
from tests.pipeline.conftest import Capsys, Once, Refusal
from tests.test_layers import ROOT


@pytest.fixture
def played(once: Once) -> Path:
    """Two prompts, one scored and one written; the first cell lacks a deal."""
    folder = once("game=tic_tac_toe", "prompt=cloze,direct", "deals=4")
    cloze = next((folder / "records").glob("*cloze*"))
    lines = cloze.read_bytes().splitlines(keepends=True)
    cloze.write_bytes(b"".join(line for line in lines if json.loads(line)["deal"] != 2))
    return folder


def test_what_is_read_back_is_what_the_log_holds(
    played: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setattr(parquet_export, "ROWS", 5)
    assert command.main([str(played), "--to", str(played / "out")]) == 0
    assert "7 matches" in capsys.readouterr().out
    matches = pd.read_parquet(played / "out" / "matches.parquet")
    decisions = pd.read_parquet(played / "out" / "decisions.parquet")
    log = {one.match: one for one in Folder(played).matches()}
    made = [(one, each) for one in log.values() for each in one.decisions]
    assert sorted(matches["match"]) == sorted(log)
    assert matches["plies"].sum() == sum(one.plies for one in log.values())
    assert matches["tokens"].sum() == decisions["tokens"].sum() == sum(d.tokens for _, d in made)
    assert len(decisions) == len(made)
    assert matches["fallbacks"].sum() == sum(d.fallback and d.seat in m.subjects for m, d in made)
    wins = {one.match: one.measures["win"][one.measured[0]] for one in log.values()}
    assert dict(zip(matches["match"], matches["win"], strict=True)) == wins
    assert set(matches.query("not counted")["deal"]) == {3}, "the deal behind the gap"
    assert set(matches.query("prompt == 'cloze'")["deal"]) == {0, 1, 3}
    for row in decisions.itertuples():
        record = log[str(row.match)]
        decision = record.decisions[int(str(row.turn))]
        assert (row.move, list(row.options)) == (decision.move, list(decision.options))
        asked = [one.restored(record.statics)[0] for one in decision.asked]
        assert list(row.prompts) == _texts(asked)
        assert len(row.replies) >= len(decision.asked)
        assert list(row.scores) == list(decision.scores)


def _texts(requests: list[Any]) -> list[str]:
    return [
        prompt.text
        for one in requests
        for prompt in (one.prompts if hasattr(one, "prompts") else (one.prompt,))
    ]


def test_the_card_and_the_page_have_every_column(played: Path) -> None:
    assert command.main([str(played)]) == 0
    card = (played / "export" / "README.md").read_text()
    page = (ROOT / "docs" / "export.md").read_text()
    for table in (MATCHES, DECISIONS):
        assert column_list(table) in card
        assert column_list(table) in page
    assert "| cloze | 2 | match_score |" in card, "what counts of the cell with a gap"
    for names, columns_ in (("matches", MATCHES), ("decisions", DECISIONS)):
        frame = pd.read_parquet(played / "export" / f"{names}.parquet")
        assert list(frame.columns) == [*columns_]


@pytest.mark.parametrize("slip", ["column", "card"])
def test_an_export_that_fails_leaves_what_was_there(
    played: Path, monkeypatch: pytest.MonkeyPatch, slip: str
) -> None:
    assert command.main([str(played)]) == 0
    before = {file.name: file.read_bytes() for file in (played / "export").iterdir()}
    assert len(before) == 3

    def fail(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    if slip == "card":
        monkeypatch.setattr(parquet_export, "card", fail)
    else:
        monkeypatch.setattr(parquet_export, "decision_row", fail)
    assert command.main([str(played)]) == 2
    assert {file.name: file.read_bytes() for file in (played / "export").iterdir()} == before


def test_what_cannot_be_exported_is_told_in_a_line(
    tmp_path: Path, played: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'gauntlet[export]'" in refusal(command.main([str(played)]))
    assert not list((played / "export").glob("*"))
