"""A model behind an API, asked through the `openai` client, on a server of our own that fails."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

from agents.base import Goal, Turn
from agents.prompting.cloze import Cloze
from agents.prompting.counterfactual import Counterfactual
from games.uno.game import Uno
from models.asking import retry_after
from models.base import Generate, ModelError, Prompt, Score, Stopped
from models.checkpoint import Checkpoint
from models.ledger import Ledger, Prices, Tokens
from models.openai import OpenAI, Remote
from models.replay import Replay
from models.serve import POCKET
from models.wire import Wire, reported
from pipeline.match import exchange
from tests.api import FAULTS, RETRY_AFTER, Counting, Script, serving

KEY = "sk-test-4f7c1b9d8e2a6053"
WRITE = Generate(Prompt("Rules.\n\n", "Hand: red 1\nSay: "), 5, 0.7, ("Z",), seed=3)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(scope="module")
def served() -> Iterator[Counting]:
    model = Counting()
    yield model
    model.close()


@pytest.fixture
def script(served: Counting) -> Script:
    served.billed.clear()
    return Script()


@pytest.fixture
def url(served: Counting, script: Script) -> Iterator[str]:
    with serving(served, script) as address:
        yield address


Opened = Callable[..., contextmanager]


@pytest.fixture
def opened(url: str, tmp_path: Path) -> Opened:
    """The model over the server, closed on leaving; keywords change its settings."""

    @contextmanager
    def loaded(**settings: object) -> Iterator[Remote]:
        usual = {"base_url": url, "cache": str(tmp_path / "replies.sqlite"), "timeout": 20.0}
        model = OpenAI("pocket", **{**usual, **settings}).load()
        try:
            yield model
        finally:
            model.close()

    return loaded


@pytest.fixture(scope="module")
def decisions() -> list[Score]:
    """What cloze and counterfactual prompting ask in a game of UNO."""
    game, rng = Uno(num_seats=2), np.random.default_rng(1)
    state, asked = game.deal(rng), []
    methods = itertools.cycle([Cloze(), Counterfactual()])
    while len(asked) < 6 and game.to_move(state):
        (seat,) = game.to_move(state)
        options = game.legal(state, seat)
        if len(options) > 1:
            observation = game.observe(state, seat)
            turn = Turn(game, options, Goal(), lambda seen=observation: seen)
            asked.append(next(next(methods).ask(turn, rng)))
        state = game.play(state, [options[0]])
    return asked


# What it answers.


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_scores_equal_those_of_the_model_itself(
    opened: Opened, decisions: list[Score], endpoint: str
) -> None:
    local = Checkpoint(POCKET).load().answer(decisions)
    with opened(endpoint=endpoint) as model:
        replies = model.answer(decisions)
    for mine, wanted in zip(replies, local, strict=True):
        assert mine.tokens == wanted.tokens
        for row, true in zip(mine.logprobs, wanted.logprobs, strict=True):
            for logprob, exact in zip(row, true, strict=True):
                assert math.isinf(logprob) or logprob == pytest.approx(exact, abs=1e-4)
    whole = [reply for reply in replies if not reply.ceilings]
    assert whole, "the server left something out of every reply"


def test_a_letter_that_is_not_reported_has_no_score_and_a_ceiling(
    opened: Opened, decisions: list[Score]
) -> None:
    local = Checkpoint(POCKET).load().answer(decisions)
    with opened(top=2) as model:
        replies = model.answer(decisions)
    missing = 0
    for mine, wanted in zip(replies, local, strict=True):
        for number, true in enumerate(wanted.logprobs):
            for logprob, exact in zip(mine.logprobs[number], true, strict=True):
                if math.isinf(logprob):
                    missing += 1
                    assert exact <= mine.ceilings[number] + 1e-4
                else:
                    assert logprob == pytest.approx(exact, abs=1e-4)
    assert missing > 10


def test_the_log_keeps_what_was_not_reported(
    opened: Opened, decisions: list[Score], tmp_path: Path
) -> None:
    import orjson

    with opened(top=2) as model:
        (reply,) = model.answer(decisions[:1])
    statics: dict[str, str] = {}
    asked = exchange(decisions[0], reply, statics)
    assert asked["unreported"] == sum(row.count(-math.inf) for row in reply.logprobs) > 0
    record = {"statics": statics, "decisions": [{"asked": [asked]}]}
    (tmp_path / "cell.jsonl").write_bytes(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    assert Replay(str(tmp_path / "cell.jsonl")).load().answer(decisions[:1]) == [reply]


def test_a_drawn_token_beside_the_likeliest_says_nothing_of_those_left_out() -> None:
    listed = reported([("A", -0.1), (" B", -3.0), ("x", -40.0)], drawn=["x"])
    assert listed.of(("A", "B", "C")) == (-0.1, -3.0, -math.inf)
    assert listed.ceiling == -3.0
    assert reported([("A", -0.1), (" B", -3.0)], drawn=None).ceiling == -3.0
    assert reported([], drawn=None).ceiling == 0.0


def test_text_equals_that_of_the_model_itself(opened: Opened) -> None:
    with opened() as model:
        assert model.answer([WRITE]) == Checkpoint(POCKET).load().answer([WRITE])


def test_what_a_request_says_goes_over_the_wire() -> None:
    body = Wire("gpt", "chat", "max_completion_tokens").writing(WRITE)
    assert body == {
        "model": "gpt",
        "messages": [{"role": "user", "content": "Rules.\n\nHand: red 1\nSay: "}],
        "max_completion_tokens": 5,
        "temperature": 0.7,
        "seed": 3,
        "stop": ["Z"],
    }
    raw = Wire("gpt", "completions", "max_tokens").writing(WRITE)
    assert raw["prompt"] == WRITE.prompt.text
    assert raw["max_tokens"] == 5


def test_without_log_probabilities_drawn_answers_are_counted(
    opened: Opened, decisions: list[Score]
) -> None:
    asked = [Score(decisions[0].prompts[:2], decisions[0].choices)]
    local = Checkpoint(POCKET).load().answer(asked)
    with opened(scores="sampled", samples=200) as model:
        replies = model.answer(asked)
    assert replies[0].ceilings == ()
    for row, exact in zip(replies[0].logprobs, local[0].logprobs, strict=True):
        counts = [200 * math.exp(logprob) for logprob in row]
        assert counts == pytest.approx([round(count) for count in counts])
        for count, logprob in zip(counts, exact, strict=True):
            assert count / 200 == pytest.approx(math.exp(logprob), abs=0.14)  # 4 errors


def test_a_server_that_gives_one_answer_at_a_time_is_asked_again(
    opened: Opened, served: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = served.chat
    monkeypatch.setattr(served, "chat", lambda body: chat({**body, "n": 1}))
    with opened(scores="sampled", samples=4) as model:
        (reply,) = model.answer([Score((WRITE.prompt,), ("A",))])
    assert reply.logprobs[0][0] in {math.log(n / 4) if n else -math.inf for n in range(5)}
    seeds = [json.loads(body)["seed"] for body in served.billed]
    assert sorted(seeds) == [0, 0, 1, 2, 3]  # the first is the question whether it answers


# What it pays.


def test_nothing_is_asked_twice(opened: Opened, served: Counting, decisions: list[Score]) -> None:
    with opened() as model:
        first = model.answer([*decisions, WRITE, *decisions])
        assert model.answer([WRITE]) == [first[len(decisions)]]
    before = served.billed.copy()
    assert set(before.values()) == {1}
    with opened() as model:
        assert model.answer([*decisions, WRITE, *decisions]) == first
    assert served.billed == before


def test_every_fault_ends_in_the_right_reply_paid_once(
    opened: Opened, served: Counting, script: Script, decisions: list[Score]
) -> None:
    with serving(served, Script()) as calm, opened(base_url=calm) as model:
        right = model.answer(decisions)
    served.billed.clear()
    script.faults = FAULTS
    with opened(timeout=4.0) as model:
        assert model.answer(decisions) == right
        spending = model.spending()
    assert set(script.kinds.values()) >= set(FAULTS)
    assert set(served.billed.values()) == {1}
    assert spending.replies == len(served.billed)
    for key, times in script.arrivals.items():
        if script.kinds[key] in FAULTS:
            assert len(times) > 1
        if script.kinds[key] == "429":
            assert times[1] - times[0] >= RETRY_AFTER
    assert spending.unsure.prompt > 0, "replies that were lost may have been billed"


def test_a_server_that_asks_to_wait_too_long_ends_the_run(opened: Opened, script: Script) -> None:
    with opened(patience=0.1) as model:
        script.faults = ("429",)
        with pytest.raises(Stopped, match=r"\(429: slower, and asks to wait 0\.4 s.*is kept"):
            model.answer([WRITE])


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "300"}, 300),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_server_says_until_when_to_wait() -> None:
    wait = retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert wait is not None
    assert 3000 < wait <= 3600


def test_the_cap_is_never_passed_and_what_was_answered_is_free(
    opened: Opened, served: Counting
) -> None:
    asks = [replace(WRITE, seed=seed) for seed in range(40)]
    prices = {"price_in": 1e6, "price_out": 1e6, "in_flight": 4}  # a token costs 1
    with opened(**prices, cap=450.0) as model:
        with pytest.raises(Stopped, match=r"pocket at http.*the spending cap of 450 is reached"):
            model.answer(asks)
        with pytest.raises(Stopped):
            model.answer(asks)
        spending = model.spending()
    assert 0 < spending.paid.prompt + spending.paid.written <= 450
    assert spending.unsure == Tokens(0, 0)
    before = served.billed.copy()
    assert 5 < spending.replies == len(before) < 40
    with opened(**prices, cap=1e6) as model:
        replies = model.answer(asks)
    assert replies == Checkpoint(POCKET).load().answer(asks)
    assert set(served.billed.values()) == {1}
    assert len(served.billed) == 41  # and the question whether it answers


KILLED = """
import os, sys
from pathlib import Path
from models.ledger import Ledger, Prices, Tokens
ledger = Ledger(Path(sys.argv[1]), "m", Prices(1e6, 1e6, 100.0), 1000.0)
assert ledger.claim(b"kept", Tokens(3, 4))
ledger.keep(b"kept", "reply", Tokens(1, 2))
assert ledger.claim(b"sent", Tokens(5, 6))
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_kill_loses_no_reply_and_forgets_no_request(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        ledger = Ledger(path, "m", Prices(1e6, 1e6, 25.0), timeout=1000.0)
        assert ledger.find(b"kept") == "reply"
        assert not ledger.claim(b"kept", Tokens(3, 4)), "it is answered"
        assert not ledger.claim(b"sent", Tokens(5, 6)), "another process asks it"
        other.send_signal(signal.SIGKILL)
    assert ledger.spending().paid == Tokens(1, 2)
    assert ledger.spending().unsure == Tokens(5, 6)
    assert ledger.claim(b"sent", Tokens(5, 6)), "nobody asks it any more"
    assert not ledger.claim(b"next", Tokens(0, 1)), "no room if what is under way takes its most"
    with pytest.raises(Stopped, match="cap of 25 is reached"):
        ledger.claim(b"next", Tokens(20, 3))
    ledger.keep(b"sent", "late", Tokens(1, 1))
    assert ledger.spending().unsure == Tokens(5, 6), "the first may have been billed too"
    ledger.close()


def test_a_reply_is_on_the_disk_before_it_is_used(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", "m", Prices(0, 0), 1.0)
    said: list[str] = []
    ledger._base.set_trace_callback(said.append)
    ledger.claim(b"k", Tokens(1, 1))
    ledger.keep(b"k", "reply", Tokens(1, 1))
    ledger.close()
    written = next(n for n, line in enumerate(said) if "INTO replies" in line)
    levels = [line for line in said[:written] if "synchronous" in line]
    assert levels[-1] == "PRAGMA synchronous = FULL"
    assert said[-1] == "COMMIT"
    with sqlite3.connect(tmp_path / "ledger") as base:
        assert base.execute("SELECT reply FROM replies").fetchall() == [("reply",)]
    base.close()


# What goes wrong.


@pytest.mark.parametrize(
    ("status", "said", "line"),
    [
        (401, "bad key KEY", r"the key in the variable OPENAI_API_KEY is not accepted \(401"),
        (403, "no", r"is not accepted \(403: .*no"),
        (400, "no seed here", r"refused \(400: .*no seed here"),
    ],
)
def test_a_refusal_before_the_first_match_is_one_line_without_the_key(
    opened: Opened, script: Script, status: int, said: str, line: str
) -> None:
    script.refuse = (status, said)
    with pytest.raises(Stopped, match=line) as raised, opened():
        pass
    assert "\n" not in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_missing_key_is_said(
    opened: Opened, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    script.refuse = (401, "who are you?")
    with pytest.raises(Stopped, match="OPENAI_API_KEY is not set"), opened():
        pass


def test_an_unknown_model_is_told_with_those_there_are(url: str, tmp_path: Path) -> None:
    source = OpenAI("pokcet", url, cache=str(tmp_path / "c"))
    with pytest.raises(Stopped, match=r"model 'pokcet' at .*not found .*; it has: pocket$"):
        source.load()


def test_an_unreachable_server_is_said_at_once(tmp_path: Path) -> None:
    source = OpenAI("pocket", "http://127.0.0.1:9/v1", cache=str(tmp_path / "c"))
    with pytest.raises(Stopped, match=r"at http://127\.0\.0\.1:9/v1: it cannot be reached"):
        source.load()


def test_one_prompt_that_is_refused_is_that_prompts_own_fault(opened: Opened) -> None:
    long = Generate(Prompt("", "red " * 3000), 5, 0.0)
    with opened() as model:
        short = Generate(Prompt("", "red"), 5, 0.0)
        model.answer([short])
        with pytest.raises(ModelError, match="refused") as raised:
            model.answer([long])
        assert not isinstance(raised.value, Stopped)
        model.answer([Generate(Prompt("", "blue"), 5, 0.0)])


def test_a_server_without_log_probabilities_is_told_apart(
    opened: Opened, served: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = served.chat
    monkeypatch.setattr(served, "chat", lambda body: chat({**body, "logprobs": False}))
    with opened() as model, pytest.raises(Stopped, match=r"set model\.scores=sampled"):
        model.answer([Score((WRITE.prompt,), ("A", "B"))])


def test_hanging_up_ends_the_waiting(opened: Opened, script: Script) -> None:
    with opened() as model:
        script.refuse = (500, "broken")
        model.hang_up()
        with pytest.raises(ModelError, match="the run ends"):
            model.answer([WRITE])


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"endpoint": "responses"}, "allowed are chat, completions"),
        ({"scores": "votes"}, "allowed are logprobs, sampled"),
        ({"top": 1}, "top 1 of model 'm': at least 2"),
        ({"in_flight": 0}, "in_flight 0"),
        ({"cap": 5.0}, "needs prices"),
        ({"cap": -1.0, "price_in": 1.0}, "cap -1"),
        ({"timeout": 0.0}, "timeout 0"),
        ({"base_url": "localhost:8000"}, "base_url of model 'm' must be"),
        ({"base_url": "https://me:secret@host/v1"}, "without a key or password"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError, match=line) as raised:
        OpenAI("m", **settings)
    assert "secret" not in str(raised.value)


def test_identity_is_who_is_asked_and_how() -> None:
    one = OpenAI("m", "http://a/v1")
    assert OpenAI("m", "http://a/v1", in_flight=1, cache="x", cap=1, price_in=1).identity() == (
        one.identity()
    )
    others = [
        OpenAI("m", "http://b/v1"),
        OpenAI("n", "http://a/v1"),
        OpenAI("m", "http://a/v1", endpoint="completions"),
        OpenAI("m", "http://a/v1", top=5),
        OpenAI("m", "http://a/v1", scores="sampled"),
    ]
    assert all(other.identity() != one.identity() for other in others)
    assert os.environ["OPENAI_API_KEY"] not in repr(one)
