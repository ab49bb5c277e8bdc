"""A folder as Parquet and as data frames: the log's contents, and nothing is half written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gauntlet
from gauntlet.models.exchanges import ScoreExchange, TextExchange
from gauntlet.pipeline import export as command
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.tables.media import parquet_export
from gauntlet.pipeline.tables.media.parquet_export import DECISIONS, MATCHES, column_list
from tests.pipeline.conftest import Capsys, Once, Refusal, Sweep
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


# --- public API


SMALL = ("game=tic_tac_toe", "model=fake", "launch=inline", "tracking=none", "controls=[]")


def test_a_sweep_is_played_from_python_and_loaded_again(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    prompts = ["cloze", "counterfactual"]
    played = gauntlet.run(*SMALL, deals=2, prompt=prompts, output_dir=folder)
    assert list(played.summary["prompt"]) == prompts
    assert len(played.pairs) == 1
    first = set(played.matches["match"])
    assert len(first) == 4
    more = gauntlet.run(*SMALL, deals=3, prompt=prompts, output_dir=folder)
    assert first < set(more.matches["match"])
    again = gauntlet.load(folder)
    pd.testing.assert_frame_equal(again.summary, more.summary)
    written = pd.read_csv(folder / "summary.csv")
    assert list(again.summary["deals"]) == list(written["deals"]) == [3, 3]


def test_every_match_and_every_decision_is_a_row(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "measure=win", "prompt=cloze,counterfactual", "deals=4") == 0
    results = gauntlet.load(folder)
    matches, decisions = results.matches, results.decisions
    won = matches.groupby("prompt")["win"].agg(["mean", "size"])
    assert list(won["mean"]) == pytest.approx(list(results.summary["raw"]))
    assert list(won["size"]) == [4, 4]
    own = decisions.query("subject and not forced").groupby("prompt").size()
    assert list(own) == list(results.summary["decisions"])
    first = decisions.iloc[0]
    assert first["move"] == first["options"][first["chosen"]]
    assert set(decisions["match"]) == set(matches["match"])


def test_mistakes_are_errors_with_one_line(sweep: Sweep, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(gauntlet.UserError, match="holds no sweep"):
        gauntlet.load(tmp_path)
    with pytest.raises(gauntlet.UserError, match="deals"):
        gauntlet.run(*SMALL, deals=-1, output_dir=tmp_path / "none")
    assert sweep("game=tic_tac_toe", "prompt=cloze", "deals=1") == 0
    with pytest.raises(gauntlet.UserError, match=r"no table 'sumary'; there are .*summary"):
        gauntlet.load(folder).table("sumary")


def test_the_package_is_light_and_names_what_it_has() -> None:
    """Every command imports it."""
    program = "import gauntlet, sys; print({'pandas', 'numpy', 'torch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
    assert all(hasattr(gauntlet, name) for name in gauntlet.__all__)
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = gauntlet.runn  # type: ignore[attr-defined]


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    named = set(re.findall(r"`(\w+)`", page))
    kinds = (MatchRecord, DecisionRecord, ScoreExchange, TextExchange)
    assert {name for kind in kinds for name in kind.__struct_fields__} <= named
