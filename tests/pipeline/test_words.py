"""Moves with free text, from the model to the log and back into the game."""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from gauntlet.pipeline import replay
from gauntlet.pipeline.viewer import match as viewed
from tests.agents.hints import HINT, Hints
from tests.pipeline.conftest import Sweep

HINTS = (
    *("game=rock_paper_scissors", "game._target_=tests.agents.hints.Hints", "~game.rounds"),
    *("~game.react", "~game.legacy_D", "+game.forced=true", "packages=[tests]"),
    "seats.0.agent=llm",
)
SKY = r"""+model.texts=['{"text": "sky"}']"""


def lines(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the raw lines of the log, by match."""
    files = (folder / "records").glob("*.jsonl")
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return {record["match"]: record for record in found}


@pytest.fixture(autouse=True)
def known_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log is read with the project's own packages only; the tests' game is in none of them."""
    monkeypatch.setattr(viewed, "recorded_game", lambda _: Hints(forced=True))


@pytest.mark.parametrize("prompt", ["cloze", "vanilla"])
def test_a_models_words_are_recorded_and_played_again(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str], prompt: str
) -> None:
    assert sweep(*HINTS, f"prompt={prompt}", SKY) == 0
    assert len(lines(folder)) == 6
    for match, record in lines(folder).items():
        hint, guess = record["decisions"]
        assert (hint["text"], hint["fallback"], hint["attempts"]) == ("sky", False, 1)
        assert "text" not in guess
        shown = replay.replay(match, [folder])
        assert shown.returns == tuple(record["returns"])
        assert shown.plies[0].decisions[0].move == "give a hint: sky"
        assert '[7 "sky"' in shown.plies[1].text
    capsys.readouterr()
    assert replay.main([next(iter(lines(folder))), "--in", str(folder)]) == 0
    assert "player 0 plays give a hint: sky" in capsys.readouterr().out


def test_words_that_never_do_are_counted_as_a_fallback(sweep: Sweep, folder: Path) -> None:
    assert sweep(*HINTS, "prompt=cloze", "+model.texts=[Well.]") == 0
    said = set()
    for match, record in lines(folder).items():
        hint = record["decisions"][0]
        assert (hint["status"], hint["fallback"], hint["attempts"]) == ("malformed", True, 3)
        assert len(hint["asked"]) == 3
        said.add(hint["text"])
        assert replay.replay(match, [folder]).returns == tuple(record["returns"])
    assert said <= set(HINT.examples)
    assert len(said) > 1


def test_a_player_without_words_of_its_own_says_an_example(sweep: Sweep, folder: Path) -> None:
    assert sweep(*HINTS, "seats.0.agent=random", "agent=random") == 0
    said = {record["decisions"][0]["text"] for record in lines(folder).values()}
    assert said <= set(HINT.examples)
    assert len(said) > 1


def test_a_log_with_words_answers_as_the_model_did(
    sweep: Sweep, folder: Path, tmp_path: Path
) -> None:
    assert sweep(*HINTS, "prompt=cloze", SKY, f"output_dir={tmp_path / 'first'}") == 0
    again = (f"+model.records={tmp_path / 'first' / 'records'}", "~model.seed")
    target = "model._target_=models.replay.Replay"
    assert sweep(*HINTS, "prompt=cloze", target, *again) == 0
    told, first = (
        [record["decisions"] for record in sorted(lines(where).values(), key=itemgetter("deal"))]
        for where in (folder, tmp_path / "first")
    )
    assert told == first
    assert {decisions[0]["text"] for decisions in told} == {"sky"}
