"""An API model, called through the `openai` client, on a failing server."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.dialects.chat import Chat, Completions
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.scoring import reported
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.exchanges import ScoreExchange
from gauntlet.models.replay import Replay
from gauntlet.pipeline.log.exchanges import exchange
from tests.api import KEY, POCKET, WRITE, Opened, PocketServer, Script
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
    whole = [reply for reply in replies if not reply.ceilings]
    assert whole, "the server left something out of every reply"


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
    asked = exchange(uno_scores[0], reply, statics)
    assert isinstance(asked, ScoreExchange)
    assert asked.unreported == sum(row.count(-math.inf) for row in reply.logprobs) > 0
    write(tmp_path / "cell.jsonl", [ended(decided(1, asked=(asked,)), statics=statics)])
    assert Replay(str(tmp_path / "cell.jsonl")).load().answer(uno_scores[:1]) == [reply]


def test_a_drawn_token_beside_the_likeliest_says_nothing_of_those_left_out() -> None:
    listed = reported([("A", -0.1), (" B", -3.0), ("x", -40.0)], sampled=["x"])
    assert listed.logprobs_of(("A", "B", "C")) == (-0.1, -3.0, -math.inf)
    assert listed.ceiling == -3.0
    assert reported([("A", -0.1), (" B", -3.0)], sampled=None).ceiling == -3.0
    assert reported([], sampled=None).ceiling == 0.0


def test_what_a_request_says_goes_over_the_wire() -> None:
    body = Chat(name="gpt", limit="max_completion_tokens").writing(WRITE)
    assert body == {
        "model": "gpt",
        "messages": [{"role": "user", "content": "Rules.\n\nHand: red 1\nSay: "}],
        "max_completion_tokens": 5,
        "temperature": 0.7,
        "seed": 3,
        "stop": ["Z"],
    }
    raw = Completions(name="gpt").writing(WRITE)
    assert raw["prompt"] == WRITE.prompt.text
    assert raw["max_tokens"] == 5


def test_without_log_probabilities_drawn_answers_are_counted(
    opened: Opened, uno_scores: list[Score]
) -> None:
    asked = [Score(uno_scores[0].prompts[:2], uno_scores[0].choices)]
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
    opened: Opened, served: PocketServer, changed: Callable[..., None]
) -> None:
    changed(lambda chat, body: chat({**body, "n": 1}))
    with opened(scores="sampled", samples=4) as model:
        (reply,) = model.answer([Score((WRITE.prompt,), ("A",))])
    assert reply.logprobs[0][0] in {math.log(n / 4) if n else -math.inf for n in range(5)}
    seeds = [json.loads(body)["seed"] for body in served.billed]
    assert sorted(seeds) == [0, 0, 1, 2, 3]  # the first is the question whether it answers


@pytest.mark.parametrize(
    ("status", "message", "line"),
    [
        (401, "bad key KEY", r"the key in the variable OPENAI_API_KEY is not accepted \(401"),
        (403, "no", r"is not accepted \(403: .*no"),
        (400, "no seed here", r"refused \(400: .*no seed here"),
    ],
)
def test_a_refusal_before_the_first_match_is_one_line_without_the_key(
    opened: Opened, script: Script, status: int, message: str, line: str
) -> None:
    script.refuse = (status, message)
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


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"endpoint": "replies"}, "allowed are chat, completions, responses, messages, gemini"),
        ({"scores": "votes"}, "allowed are logprobs, sampled, decisions, vllm, sglang"),
        ({"scores": "decisions", "endpoint": "gemini"}, "it needs endpoint chat or responses"),
        ({"top": 1}, "top 1 of model 'm': at least 2"),
        ({"in_flight": 0}, "in_flight 0"),
        ({"cap": 5.0}, "needs prices"),
        ({"cap": -1.0, "price_in": 1.0}, "cap -1"),
        ({"timeout": 0.0}, "timeout 0"),
        ({"base_url": "localhost:8000"}, "base_url of model 'm' must be"),
        ({"base_url": "https://me:secret@host/v1"}, "without a key, password"),
        ({"base_url": "https://host/v1?api-key=secret"}, r"without a key, password, \? or #"),
        ({"base_url": "https://host/v1#secret"}, r"without a key, password, \? or #"),
        ({"base_url": "https://host:secret/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://host:99999/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://:8000/secret"}, r"host\[:port\]/path"),
        ({"base_url": "https://[secret/v1"}, r"host\[:port\]/path"),
        ({"base_url": "https://host/v1\r"}, r"host\[:port\]/path"),
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
    assert one.identity()["temperature"] == Chat(name="m").scoring(WRITE.prompt, 5)["temperature"]
    assert os.environ["OPENAI_API_KEY"] not in repr(one)
