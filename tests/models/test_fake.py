"""The fake model: a seeded function of the prompt's text."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.fake import Fake

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


def test_every_choice_is_favoured_sometimes():
    asks = [Score((Prompt("", f"deal {i}"),), ("A", "B", "C")) for i in range(60)]
    firsts = [
        reply.logprobs[0].index(max(reply.logprobs[0])) for reply in Fake().load().answer(asks)
    ]
    assert all(firsts.count(place) > 8 for place in range(3))


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
    with pytest.raises(ModelError, match="'two words' is not a single token"):
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
