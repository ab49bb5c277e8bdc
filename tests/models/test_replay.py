"""A log answers like the model that wrote it."""

from __future__ import annotations

import json
import math

import pytest

from gauntlet.common.disk import add_checksum
from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores
from gauntlet.models.replay import Replay

STATIC = "Rules.\n"
SCORE = Score((Prompt(STATIC, "Hand: red 1\nA) x", "Answer:"), Prompt(STATIC, "Hand: red 1\nB) x", "Answer:")), ("A", "B"))  # fmt: skip  # noqa: E501
SCORES = Scores(((-0.1, -math.inf), (-2.5, -0.30000001192092896)), (7, 8))
ASKED = {
    "kind": "score",
    "static": "ab12",
    "cue": "Answer:",
    "shared": "Hand: red 1\n",
    "branches": ["A) x", "B) x"],
    "choices": ["A", "B"],
    "logprobs": [[-0.1, None], [-2.5, -0.30000001192092896]],
    "tokens": [7, 8],
    "logical_tokens": 15,
}
WRITTEN = {
    "kind": "text",
    "static": "ab12",
    "cue": "",
    "shared": "Say.",
    "settings": [5, 0.5, ["\n"], 3],
    "text": "red",
    "tokens": [4, 1],
    "logical_tokens": 5,
}


def line(*exchanges, statics=None):
    told = {"statics": statics or {}, "decisions": [{"asked": list(exchanges)}]}
    return add_checksum(json.dumps(told).encode()).decode() + "\n"


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "cell.jsonl"
    file.write_text(line(ASKED, statics={"ab12": STATIC}) + line(WRITTEN))
    return file


@pytest.mark.parametrize("where", ["file", "folder"])
def test_what_was_asked_is_answered_again(where, log):
    model = Replay(str(log if where == "file" else log.parent)).load()
    write = Generate(Prompt(STATIC, "Say."), 5, 0.5, ("\n",), 3)
    assert model.answer([write, SCORE]) == [Generation("red", 4, 1), SCORES]


def test_what_was_not_asked_is_an_error_that_shows_the_prompt(log):
    model = Replay(str(log)).load()
    other = Score((Prompt(STATIC, "Hand: red 2\nBest?\n"),), ("A",))
    with pytest.raises(ModelError, match=r"holds no reply to the prompt ending 'Best\?'"):
        model.answer([other])


def test_identity_is_the_contents(log, tmp_path):
    before = Replay(str(log)).identity()
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    assert Replay(str(copy)).identity() == before
    copy.write_text(line(WRITTEN, statics={"ab12": STATIC}))
    assert Replay(str(copy)).identity() != before


def test_a_torn_last_line_is_left_out(log):
    with log.open("a") as file:
        file.write('{"statics": {}, "decis')
    assert len(Replay(str(log)).load().replies) == 2


def test_two_replies_to_one_request_are_refused(log):
    other = {**ASKED, "logprobs": [[-9.0, -9.0], [-9.0, -9.0]]}
    (log.parent / "other.jsonl").write_text(line(other, statics={"ab12": STATIC}))
    with pytest.raises(ModelError, match="answers one request in two ways; give the file of one"):
        Replay(str(log.parent)).load()


def test_no_records_is_an_error(tmp_path):
    with pytest.raises(ModelError, match="no records at"):
        Replay(str(tmp_path / "none")).identity()


def test_a_damaged_line_is_an_error_that_names_it(log):
    log.write_text(log.read_text() + line({**ASKED, "tokens": "seven"}))
    with pytest.raises(ModelError, match=r"line 3 of .*cell.jsonl is no record: "):
        Replay(str(log)).load()
