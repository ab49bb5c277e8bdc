"""Models without a network: a log that answers like the model that wrote it, and the fake."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from gauntlet.common.disk import add_checksum
from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores
from gauntlet.models.fake import Fake
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
    record = {"statics": statics or {}, "decisions": [{"asked": list(exchanges)}]}
    return add_checksum(json.dumps(record).encode()).decode() + "\n"


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
    with pytest.raises(ModelError, match=r"'Best\?'"):
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
    with pytest.raises(ModelError, match="in two ways"):
        Replay(str(log.parent)).load()


def test_no_records_is_an_error(tmp_path):
    with pytest.raises(ModelError, match="no records at"):
        Replay(str(tmp_path / "none")).identity()


def test_a_damaged_line_is_an_error_that_names_it(log):
    log.write_text(log.read_text() + line({**ASKED, "tokens": "seven"}))
    with pytest.raises(ModelError, match=r"line 3 of .*cell.jsonl "):
        Replay(str(log)).load()


# The fake model: a seeded function of the prompt's text.


PROMPT = Prompt("Rules.\n", "Hand: red 1\n", "Answer:")
ASK = Score((PROMPT, Prompt("Rules.\n", "Hand: red 2\n")), ("A", "B"))


def test_answers_depend_on_seed_and_text_only():
    model = Fake().load()
    (reply,) = model.answer([ASK])
    assert Fake().load().answer([ASK, ASK]) == [reply, reply]
    assert Fake(seed=1).load().answer([ASK]) != [reply]
    joined = Score((Prompt("", PROMPT.text),), ("A", "B"))
    assert model.answer([joined])[0].logprobs == reply.logprobs[:1]
    assert reply.logprobs[0] != reply.logprobs[1]
    assert reply.tokens == (5, 4)


def test_probabilities_leave_room_for_other_words():
    (reply,) = Fake().load().answer([ASK])
    for row in reply.logprobs:
        assert 0 < sum(map(math.exp, row)) < 1


def test_another_process_answers_the_same():
    program = (
        "from gauntlet.models.base import Prompt, Score; from gauntlet.models.fake import Fake;"
        "import sys;"
        "print(Fake().load().answer([Score((Prompt('a', 'b'),), ('A',))])[0].logprobs[0][0]);"
        "assert 'torch' not in sys.modules"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    (here,) = Fake().load().answer([Score((Prompt("a", "b"),), ("A",))])
    assert float(out.stdout) == here.logprobs[0][0]


def test_it_says_one_of_its_texts():
    model = Fake(texts=("I play red 1. Done.", "no")).load()
    asks = [Generate(Prompt("", f"deal {i}"), max_tokens=4, stop=("Done",)) for i in range(20)]
    assert {reply.text for reply in model.answer(asks)} == {"I play red 1.", "no"}
    assert {reply.finishes for reply in model.answer(asks)} == {("length",), ("stop",)}
    (stopped,) = Fake(texts=("red. Done.",)).load().answer([Generate(PROMPT, 9, stop=("Done",))])
    assert stopped.finishes == ("stop_string",)
    warm = [Generate(PROMPT, 9, temperature=1.0, seed=seed) for seed in range(20)]
    assert len({reply.text for reply in model.answer(warm)}) == 2
    cold = [Generate(PROMPT, 9, temperature=0.0, seed=seed) for seed in range(20)]
    assert len({reply.text for reply in model.answer(cold)}) == 1


def test_identity_and_choices():
    assert Fake().identity() != Fake(seed=1).identity()
    Fake().check_choices(("A", "good"))
    with pytest.raises(ModelError, match="'two words'"):
        Fake().check_choices(("A", "two words"))


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Legal moves: C1R1\nAnswer in this form:\nMove: <one of the legal moves>\n", "<C1R1>"),
        ("Legal moves: C1R1\n1) a plan\nend with the line\nThe best choice is N\n", "choice is 1"),
        ('Options:\n1) C1R1\nReply with one JSON object: {"action": "number"}\n', '"action": "1"'),
        ("Options:\nA) C1R1\nWhich option is best? Reply with its letter.\n", "A"),
        ("Foretell it, between <state> and </state>.\n", "<state>as before</state>"),
    ],
)
def test_it_answers_in_the_form_that_is_asked_for(prompt: str, text: str):
    (reply,) = Fake().load().answer([Generate(Prompt("Rules.\n", prompt, "Answer:"), 50)])
    assert reply.text.endswith((text, text + "}"))
