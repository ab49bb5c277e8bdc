"""Conversational players in a sweep: recorded, counted, and replayed from the log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.models.fake import FakeModel
from tests.pipeline.conftest import Sweep

SETTINGS = ("game=uno_arena", "seats=solo", "deals=3")
TEXTS = (
    '+model.texts=[\'{"thoughts": "So.", "action": "1"}\',\'{"action": "99"}\',\'Hm.\',\'Hm!\']',
    "model.seed=3",
)


def decisions(folder: Path) -> list[dict[str, Any]]:
    """Return the decisions made by a model."""
    lines = [
        json.loads(line)
        for path in sorted((folder / "records").glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    lines.sort(key=lambda record: record["deal"])  # in whatever order the matches ended
    made = [decision for record in lines for decision in record["decisions"]]
    return [decision for decision in made if decision["asked"]]


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [("vanilla", 1), ("tutri", 3), ("tutri_no_history", 2), ("tutri_no_strategy", 2)],
)
def test_every_reply_is_recorded_and_every_fallback_counted(
    sweep: Sweep, folder: Path, prompt: str, calls: int
) -> None:
    assert sweep(*SETTINGS, *TEXTS, f"prompt={prompt}") == 0
    made = decisions(folder)
    answers: Counter[Any] = Counter()
    for decision in made:
        named = decision["notes"]["answers"]
        answers.update(named)
        assert len(named) == len(decision["asked"]) == decision["attempts"] == calls
        valid = [answer for answer in named if isinstance(answer, int)]
        assert decision["fallback"] == (not valid)
        assert decision["status"] == ("ok" if valid else named[-1])
        if valid:
            assert decision["chosen"] == valid[-1]
        talked = [(one["text"], len(one.get("turns", ()))) for one in decision["asked"]]
        assert [count for _, count in talked] == list(range(calls))
        last = decision["asked"][-1].get("turns", ())
        assert [reply for reply, _ in last] == [text for text, _ in talked[:-1]]
    assert answers.keys() == {0, "malformed", "illegal"}
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert row["fallbacks"] == sum(decision["fallback"] for decision in made) > 0


def test_a_conversation_is_played_again_without_its_model(
    sweep: Sweep, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep(*SETTINGS, *TEXTS, "prompt=tutri") == 0
    (path,) = (folder / "records").glob("*.jsonl")
    monkeypatch.delattr(FakeModel, "_write")
    replayed = (
        *("model._target_=models.replay.Replay", "~model.seed", f"+model.records={path}"),
        *("prompt=tutri", f"output_dir={tmp_path / 'again'}"),
    )
    assert sweep(*SETTINGS, *replayed) == 0
    assert decisions(tmp_path / "again") == decisions(folder)
