"""Unusable replies, from the record to the tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.pipeline.log.outcomes import outcome
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches
from tests.pipeline.records import decided, ended, scored

TEXTS = (
    '+model.texts=[\'{"thoughts": "So.", "action": "1"}\',\'{"action": "99"}\',\'Hm.\',\'Hm!\']',
    "model.seed=3",
)


def test_every_reply_of_the_subject_is_counted() -> None:
    """A conversation records each reply; another method's decision counts as one, by its status;
    players without a model have none."""
    found = outcome(
        ended(
            decided(1, notes={"answers": ["malformed", 2, "illegal"]}),
            decided(1, "malformed", notes={"answers": ["illegal", "illegal", "malformed"]}),
            decided(1, "malformed"),
            decided(1),
            decided(1, asked=()),
            decided(0, "illegal", notes={"answers": ["illegal"]}),
        )
    )
    assert (found.replies, found.malformed, found.illegal) == (8, 3, 3)


def test_choices_without_a_probability_are_counted() -> None:
    """Over all prompts of a decision, and only in the subject's decisions."""
    asked = (scored(unreported=2), scored(unreported=1), scored())
    other = decided(0, asked=(scored(unreported=2),))
    found = outcome(ended(decided(1, asked=asked), other))
    assert found.unreported == 3


def test_the_tables_tell_how_often_replies_were_unusable(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep("game=uno_arena", *TEXTS, "prompt=vanilla,tutri", "deals=3") == 0
    out = capsys.readouterr().out
    answers: dict[int, Counter[Any]] = {1: Counter(), 3: Counter()}
    for record in matches(folder).values():
        for decision in record.decisions:
            named = decision.notes.get("answers", ())
            if named:
                answers[len(named)].update(named)
    prompts = pd.read_csv(folder / "summary.csv")[["cell", "prompt"]]
    rows = pd.read_csv(folder / "parser.csv").merge(prompts, on="cell").set_index("prompt")
    for replies, prompt in ((1, "vanilla"), (3, "tutri")):
        told, row = answers[replies], rows.loc[prompt]
        assert row["replies"] == told.total() == replies * row["decisions"]
        assert (row["malformed"], row["illegal"]) == (told["malformed"], told["illegal"])
        assert 0 < row["illegal"] < row["malformed"] < row["replies"]
        assert f"{100 * row['malformed'] / row['replies']:.1f}%" in out
    assert (rows["unreported"] == 0).all()
    assert "What was wrong with replies" in out
    whole = ("preflight ", str(folder))  # lines that are never wrapped
    tables = [line for line in out.splitlines() if not any(one in line for one in whole)]
    assert max(map(len, tables)) <= 100
    assert "What was wrong with replies" in (folder / "report.html").read_text()


def test_where_nothing_was_wrong_nothing_is_said(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep("prompt=cloze", "deals=2") == 0
    assert "What was wrong" not in capsys.readouterr().out
    (row,) = pd.read_csv(folder / "parser.csv").to_dict("records")
    assert row["replies"] == row["decisions"] > 0
    assert row["malformed"] == row["illegal"] == row["unreported"] == 0
