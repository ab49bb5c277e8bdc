"""Records as pandas tables, and the page that says what they hold."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from gauntlet import frames
from gauntlet.common.errors import UserError
from gauntlet.models.exchanges import ScoreExchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from tests.pipeline.conftest import Sweep
from tests.test_layers import ROOT


def test_every_match_and_every_decision_is_a_row(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "measure=win", "prompt=cloze,counterfactual", "deals=4") == 0
    matches, decisions = frames.matches(folder), frames.decisions(str(folder))
    summary = pd.read_csv(folder / "summary.csv")
    won = matches.groupby("prompt")["win"].agg(["sum", "size"])
    assert list(won["sum"]) == list(summary["raw"] * 4)
    assert list(won["size"]) == [4, 4]
    own = decisions.query("subject and not forced").groupby("prompt").size()
    assert list(own) == list(summary["decisions"])
    first = decisions.iloc[0]
    assert first["move"] == first["options"][first["chosen"]]
    assert set(decisions["match"]) == set(matches["match"])


def test_a_folder_without_a_sweep_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no sweep"):
        frames.matches(tmp_path)


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    told = set(re.findall(r"`(\w+)`", page))
    kinds = (MatchRecord, DecisionRecord, ScoreExchange, TextExchange)
    assert {name for kind in kinds for name in kind.__struct_fields__} <= told
