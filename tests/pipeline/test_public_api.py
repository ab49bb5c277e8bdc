"""The public API: sweeps from Python, results as data frames."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import gauntlet
from gauntlet.models.exchanges import ScoreExchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from tests.pipeline.conftest import Sweep
from tests.test_layers import ROOT

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
