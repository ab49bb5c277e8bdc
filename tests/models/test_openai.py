"""An API model on a server with faults: scores, samples, keys, replies that are slightly wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tests.api
from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.dialects.base import reported
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.base import Finish, Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.models.replay import Replay
from gauntlet.pipeline.log.exchanges import exchange
from tests.api import KEY, POCKET, WRITE, Altered, Chat, Opened, PocketServer, Refused, Script
from tests.pipeline.records import decided, ended, write

pytestmark = pytest.mark.usefixtures("key")


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_scores_equal_those_of_the_model_itself(
    opened: Opened, uno_scores: list[Score], endpoint: str
) -> None:
    local = Checkpoint(POCKET).load().answer(uno_scores)
    with opened(endpoint=endpoint) as model:
        replies = model.answer(uno_scores)
    for mine, wanted in zip(replies, local, strict=True):
        assert mine.tokens == wanted.tokens
        for row, true in zip(mine.logprobs, wanted.logprobs, strict=True):
            for logprob, exact in zip(row, true, strict=True):
                assert math.isinf(logprob) or logprob == pytest.approx(exact, abs=1e-4)
    complete = [reply for reply in replies if not reply.ceilings]
    assert complete, "the server left something out of every reply"


def test_a_letter_that_is_not_reported_has_no_score_and_a_ceiling(
    opened: Opened, uno_scores: list[Score]
) -> None:
    local = Checkpoint(POCKET).load().answer(uno_scores)
    with opened(top=2) as model:
        replies = model.answer(uno_scores)
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
    opened: Opened, uno_scores: list[Score], tmp_path: Path
) -> None:
    with opened(top=2) as model:
        (reply,) = model.answer(uno_scores[:1])
    statics: dict[str, str] = {}
    logged = exchange(uno_scores[0], reply, statics)
    assert isinstance(logged, ScoreExchange)
    assert logged.unreported == sum(row.count(-math.inf) for row in reply.logprobs) > 0
    write(tmp_path / "cell.jsonl", [ended(decided(1, asked=(logged,)), statics=statics)])
    assert Replay(str(tmp_path / "cell.jsonl")).load().answer(uno_scores[:1]) == [reply]


def test_a_drawn_token_beside_the_likeliest_says_nothing_of_those_left_out() -> None:
    listed = reported([("A", -0.1), (" B", -3.0), ("x", -40.0)], sampled=["x"])
    assert listed.logprobs_of(("A", "B", "C")) == (-0.1, -3.0, -math.inf)
    assert listed.ceiling == -3.0
    assert reported([("A", -0.1), (" B", -3.0)], sampled=None).ceiling == -3.0
    assert reported([], sampled=None).ceiling == 0.0


@pytest.mark.parametrize("space", [" ", "Ġ", "▁"])
def test_tokens_are_read_as_vocabularies_spell_them(space: str) -> None:
    listed = reported([(f"{space}A", -0.1), ("B", -3.0), (f"{space}x", -9.0)], [f"{space}x"])
    assert listed.logprobs_of(("A", "B", "x")) == (-0.1, -3.0, -9.0)
    assert listed.ceiling == -3.0


@pytest.mark.parametrize("scores", ["logprobs", "sampled"])
def test_what_comes_instead_of_every_choice_is_said_once(
    opened: Opened,
    changed: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    uno_scores: list[Score],
    scores: str,
) -> None:
    def spell(chat: Chat, body: Mapping[str, Any]) -> Reply:
        reply = chat(body)
        for choice in reply["choices"]:
            choice["message"]["content"] = "token_id:7"
            for row in (choice["logprobs"] or {"content": []})["content"]:
                row["top_logprobs"] = [{"token": "token_id:7", "logprob": -0.1}]
        return reply

    changed(spell)
    with opened(scores=scores) as model:
        replies = model.answer(uno_scores[:2])
    assert {value for reply in replies for row in reply.logprobs for value in row} == {-math.inf}
    (record,) = caplog.records
    assert "'A'" in record.getMessage()
    assert "'token_id:7'" in record.getMessage()


@pytest.mark.parametrize(("counted", "warned"), [(2050, True), (5000, False)])
def test_a_prompt_that_a_server_cuts_is_said_once(
    opened: Opened,
    changed: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    counted: int,
    warned: bool,
) -> None:
    def cut(chat: Chat, body: Mapping[str, Any]) -> Reply:
        usage = {"prompt_tokens": counted, "completion_tokens": 1}
        return {**chat({**body, "messages": [{"content": "red"}]}), "usage": usage}

    with opened() as model:
        changed(cut)
        for text in ("one", "two"):
            model.answer([replace(WRITE, prompt=Prompt(f"{text}. " * 4000, "Say: "))])
    assert len(caplog.records) == warned
    assert all("counts 2050 tokens" in record.getMessage() for record in caplog.records)


def test_without_log_probabilities_drawn_answers_are_counted(
    opened: Opened, uno_scores: list[Score]
) -> None:
    requests = [Score(uno_scores[0].prompts[:2], uno_scores[0].choices)]
    local = Checkpoint(POCKET).load().answer(requests)
    with opened(scores="sampled", samples=200) as model:
        replies = model.answer(requests)
    assert replies[0].ceilings == ()
    for row, exact in zip(replies[0].logprobs, local[0].logprobs, strict=True):
        counts = [200 * math.exp(logprob) for logprob in row]
        assert counts == pytest.approx([round(count) for count in counts])
        for count, logprob in zip(counts, exact, strict=True):
            assert count / 200 == pytest.approx(math.exp(logprob), abs=0.14)  # 4 errors


def test_a_missing_key_is_said(
    opened: Opened, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    script.refuse = (401, "who are you?")
    with pytest.raises(Stopped, match="OPENAI_API_KEY is not set"), opened():
        pass


def test_an_unreachable_server_is_said_at_once(tmp_path: Path) -> None:
    source = OpenAI("pocket", "http://127.0.0.1:9/v1", cache=str(tmp_path / "c"))
    with pytest.raises(Stopped, match=r"it cannot be reached"):
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


# Keys that no header can carry, and replies that are slightly wrong.


SCORE = Score((WRITE.prompt,), ("A", "B"))
Reply = dict[str, Any]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " "])
def test_a_key_is_stripped(opened: Opened, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY + end)
    with opened(patience=0.1) as model:
        assert model.answer([WRITE])


@pytest.mark.parametrize(
    "key", [" ", "\r\n", "sk-secr\x00et", "sk-sécret", "sk secret", "sk\nsecret", "sk-secret\u200b"]
)
def test_a_key_that_cannot_be_sent_is_refused_at_once_and_not_told(
    opened: Opened, script: Script, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    if "\x00" in key:  # no environment can hold it
        monkeypatch.setattr("gauntlet.models.base.os.environ", {"OPENAI_API_KEY": key})
    else:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError, match="the variable OPENAI_API_KEY") as raised, opened():
        pass
    assert "\n" not in str(raised.value)
    assert "cret" not in str(raised.value)
    assert not script.arrivals


@pytest.mark.parametrize("before", [0, 270, 285, 295])
def test_a_key_that_a_server_prints_is_never_cut_in_two(
    opened: Opened, script: Script, before: int
) -> None:
    script.refuse = (401, "x" * before + " KEY is wrong")
    with pytest.raises(Stopped, match="is not accepted") as raised, opened():
        pass
    assert KEY[:6] not in str(raised.value)


def outside(thoughts: int, total: int | None) -> dict[str, Any]:
    """A hundred tokens read and five written, with thoughts that are perhaps not among them."""
    details = {"completion_tokens_details": {"reasoning_tokens": thoughts}}
    return {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": total, **details}


@pytest.mark.parametrize(
    ("counted", "read"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 0}, Tokens(3, 0)),
        (outside(3000, 3105), Tokens(100, 3005, thoughts=3000)),
        (outside(3000, 105), Tokens(100, 3005, thoughts=3000)),
        (outside(3000, None), Tokens(100, 3005, thoughts=3000)),
        (outside(4, 105), Tokens(100, 5, thoughts=4)),
        (outside(4, None), Tokens(100, 5, thoughts=4)),
        (outside(4, 109), Tokens(100, 9, thoughts=4)),
        (outside(0, 205), Tokens(100, 105)),
        (outside(0, 3), Tokens(100, 5)),
        (outside(0, 2**70), Tokens(100, 5)),
        ({"prompt_tokens": True, "completion_tokens": 0}, None),
        ({"prompt_tokens": 20, "completion_tokens": None}, None),
        ({"prompt_tokens": 20}, None),
        ({"prompt_tokens": 20, "completion_tokens": "1"}, None),
        ({"prompt_tokens": 20, "completion_tokens": 1.5}, None),
        ({"prompt_tokens": 20.0, "completion_tokens": 1.0}, Tokens(20, 1)),
        ({"prompt_tokens": float("inf"), "completion_tokens": 1}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": 1}, None),
        ({"prompt_tokens": -1, "completion_tokens": 1}, None),
        (None, None),
    ],
)
def test_only_counts_that_can_be_are_read(counted: object, read: Tokens | None) -> None:
    assert DIALECTS["chat"](name="m").usage({"usage": counted}) == read


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("eos", "stop"), ("eos_token", "stop"), ("model_length", "context"), ("bored", "unknown")],
)
def test_how_servers_say_that_a_reply_ended(reason: str, finish: Finish) -> None:
    choice = {"index": 0, "finish_reason": reason, "message": {"content": "ok"}}
    (text,) = DIALECTS["chat"](name="m").texts({"choices": [choice]})
    assert text.detail.finish == finish


def _without(reply: Reply, part: str, value: object) -> Reply:
    """Return the reply with part of its data on the first token replaced."""
    logprobs = reply["choices"][0]["logprobs"]
    if part == "top_logprobs" and logprobs:
        logprobs["content"][0]["top_logprobs"] = value
    elif part == "logprobs":
        reply["choices"][0]["logprobs"] = value
    elif logprobs:
        logprobs["content"] = value
    return reply


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("top_logprobs", None),
        ("top_logprobs", []),
        ("top_logprobs", [{"token": "A", "logprob": None}, {"token": "B", "logprob": -1.0}]),
        ("top_logprobs", [{"token": "A"}]),
        ("content", None),
        ("logprobs", None),
        ("logprobs", []),
    ],
)
def test_log_probabilities_that_are_not_told_are_advised_on(
    opened: Opened, changed: Callable[..., None], part: str, value: object
) -> None:
    changed(lambda chat, body: _without(chat(body), part, value))
    with opened() as model, pytest.raises(Stopped, match=r"set model\.scores=sampled"):
        model.answer([SCORE])


def test_a_server_that_asks_for_more_than_our_patience_ends_the_run_at_once(
    opened: Opened, served: PocketServer, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tests.api, "RETRY_AFTER", 20)
    asks = [replace(WRITE, seed=seed) for seed in range(24)]
    with opened(patience=2.0, in_flight=4) as model:
        script.faults = ("", "", "", "429")
        started = time.monotonic()
        with pytest.raises(Stopped, match=r"asks to wait \d+ s"):
            model.answer(asks)
        assert time.monotonic() - started < 15
        assert model.spending().replies == len(served.billed)
        assert model.spending().unsure == Tokens(0, 0)


def test_the_same_words_are_asked_once_however_they_are_parted(
    opened: Opened, served: PocketServer, script: Script
) -> None:
    script.seconds = (0.3,)
    parted = [Prompt(text[:cut], text[cut:]) for text in ["Say: "] for cut in range(5)]
    with opened() as model:
        (reply,) = model.answer([Score(tuple(parted), ("A", "B"))])
    assert len(set(reply.logprobs)) == 1
    assert set(served.billed.values()) == {1}
    assert [len(times) for times in script.arrivals.values()] == [1, 1]


# Several samples and a system text, on servers that support them or not.


SYSTEM = "You are player 1.\n\n"
DRAW = Generate(Prompt("Rules.\n\n", "Hand: red 1\nSay: "), 5, 1.5, ("Z",), seed=3)


def refusing(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    if "n" in body:
        raise Refused("n is not supported")
    return chat(body)


def starving(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    """Gives a first sample, and no others."""
    reply = chat({**body, "n": 1})
    return reply if body["seed"] <= DRAW.seed else {**reply, "choices": []}


def giving(count: Callable[[int], int]) -> Altered:
    """A server that gives another number of samples than asked for."""
    return lambda chat, body: chat({**body, "n": count(body.get("n", 1))})


def noting(alter: Altered, log: list[Mapping[str, Any]]) -> Altered:
    """The same, and notes what it answered."""

    def noted(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
        reply = alter(chat, body)
        log.append(body)
        return reply

    return noted


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_sample_is_the_same_whatever_their_number(opened: Opened, endpoint: str) -> None:
    with opened(endpoint=endpoint) as model:
        replies = model.answer([replace(DRAW, n=n) for n in (1, 2, 3, 4)])
    assert [reply.texts for reply in replies] == [replies[3].texts[:n] for n in (1, 2, 3, 4)]
    assert len(set(replies[3].texts)) > 1
    assert replies[0] == Checkpoint(POCKET).load().answer([DRAW])[0]
    assert {reply.prompt_tokens for reply in replies} == {replies[0].prompt_tokens}
    assert replies[3].tokens > replies[0].tokens


@pytest.mark.parametrize(
    ("alter", "requests"),
    [
        (giving(lambda n: n), [(3, 4)]),
        (refusing, [(3, 1), (4, 1), (5, 1), (6, 1)]),
        (giving(lambda n: 1), [(3, 4), (4, 3), (5, 2), (6, 1)]),
        (giving(lambda n: min(2, n)), [(3, 4), (5, 2)]),
        (giving(lambda n: n + 2), [(3, 4)]),
    ],
)
def test_a_server_that_gives_another_number_still_gives_the_same_samples(
    opened: Opened, served: PocketServer, changed, alter, requests: list[tuple[int, int]]
) -> None:
    seeds = [replace(DRAW, seed=seed) for seed in (3, 4, 5, 6)]
    right = [reply.text for reply in Checkpoint(POCKET).load().answer(seeds)]
    seen: list[Mapping[str, Any]] = []
    with opened() as model:
        changed(noting(alter, seen))
        (reply,) = model.answer([replace(DRAW, n=4)])
        assert list(reply.texts) == right
        assert [(body["seed"], body.get("n", 1)) for body in seen] == requests
        before = served.billed.copy()
        assert model.answer([replace(DRAW, n=4)]) == [reply]
    assert served.billed == before


def test_a_server_that_takes_no_number_is_asked_for_one_only_once(opened: Opened, changed) -> None:
    refusals = []

    def counting(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
        refusals.append("n" in body)
        return refusing(chat, body)

    changed(counting)
    with opened() as model:
        for seed in (3, 30, 300):
            assert len(model.answer([replace(DRAW, seed=seed, n=3)])[0].texts) == 3
        assert model.spending().unsure == Tokens(0, 0)
    assert refusals.count(True) == 1


def test_drawn_answers_are_counted_on_a_server_that_takes_no_number(
    opened: Opened, changed
) -> None:
    changed(refusing)
    with opened(scores="sampled", samples=5) as model:
        (reply,) = model.answer([Score((DRAW.prompt,), ("A", "B"))])
    assert len(reply.logprobs[0]) == 2


def test_a_server_that_never_gives_the_rest_is_one_line(opened: Opened, changed) -> None:
    with opened(patience=0.1) as model:
        changed(starving)
        with pytest.raises(Stopped, match=r"it has no choices") as raised:
            model.answer([replace(DRAW, n=3)])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_system_text_reaches_the_model(opened: Opened, endpoint: str) -> None:
    request = replace(DRAW, prompt=replace(DRAW.prompt, system=SYSTEM), max_tokens=12)
    local = Checkpoint(POCKET).load()
    with opened(endpoint=endpoint) as model:
        assert model.answer([request]) == local.answer([request])
        score = Score((request.prompt,), ("A", "B"))
        assert model.answer([score])[0].tokens == local.answer([score])[0].tokens
    untold = replace(request, prompt=DRAW.prompt)
    assert local.answer([request])[0].prompt_tokens > local.answer([untold])[0].prompt_tokens
