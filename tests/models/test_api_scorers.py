"""Scores from endpoints for given options: OpenAI's decisions, and tokens of vLLM."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.api.remote import Remote
from gauntlet.models.base import Prompt, Score
from tests.hostile import Talk
from tests.vendors import VENDORS, Body, Canned, Piece, Seen, vendor_server

PROMPTS = (
    Prompt("Rules.\n\n", "Which? ", "Answer: "),
    Prompt("Rules.\n\n", "And now? ", "Answer: "),
)
SCORE = Score(PROMPTS, ("A", "B", "C"))
DECISION: Body = {
    "answers": [
        {
            "type": "choice",
            "name": None,
            "choice": "B",
            "confidence": 0.6,
            "probabilities": [
                {"value": "A", "probability": 0.4},
                {"value": "B", "probability": 0.6},
                {"value": "C", "probability": 0.0},
            ],
        }
    ],
    "model": "gpt-6-luna",
    "usage": {
        "input_tokens": 20,
        "output_tokens": 1,
        "total_tokens": 21,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
IDS = {"A": [1], " A": [11], "B": [2], " B": [12], "C": [3, 4], " C": [13]}
"""The tokens of a made-up tokenizer."""
LOGPROBS = {" A": -0.5, "A": -3.0, "B": -2.0, " B": -2.5, " C": -9.0}
SPELT = {1: "A", 11: " A", 2: "B", 12: " B", 13: " C"}


def decide(talk: Talk) -> None:
    talk.reply(json.dumps(DECISION).encode())


def vllm(talk: Talk) -> None:
    head, _, data = talk.request.partition(b"\r\n\r\n")
    body = json.loads(data)
    if head.startswith(b"POST /tokenize "):
        tokens = IDS[body["prompt"]]
        talk.reply(
            json.dumps({"count": len(tokens), "max_model_len": 9, "tokens": tokens}).encode()
        )
        return
    assert head.startswith(b"POST /v1/chat/completions ")
    listed = [SPELT[token] for token in body["logprob_token_ids"]]
    top = [{"token": token, "logprob": LOGPROBS[token], "bytes": None} for token in listed]
    reply = VENDORS["chat"].reply(Piece(("x",), "length"))
    sampled = {"token": "x", "logprob": -1.0, "bytes": None, "top_logprobs": top}
    reply["choices"][0]["logprobs"] = {"content": [sampled]}
    talk.reply(json.dumps(reply).encode())


@contextmanager
def scoring(folder: Path, behaviour: Any, **settings: Any) -> Iterator[tuple[Remote, Seen]]:
    with vendor_server(VENDORS[settings["endpoint"]], [behaviour]) as (url, seen):
        waits = {"timeout": 5.0, "patience": 1.0, "cache": str(folder / "replies")}
        model = OpenAI("gpt-6-luna", url, **waits, **settings).load()
        try:
            yield model, seen
        finally:
            model.close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0c1d2e3f4a5b6978")


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
def test_a_decision_gives_a_probability_for_every_option(tmp_path: Path, endpoint: str) -> None:
    settings = {"endpoint": endpoint, "scores": "decisions"}
    with scoring(tmp_path, decide, **settings) as (model, seen):
        (reply,) = model.answer([SCORE])
        assert model.answer([SCORE]) == [reply], "from the cache"
        assert model.spending().replies == 3
    assert reply.logprobs == ((math.log(0.4), math.log(0.6), -math.inf),) * 2
    assert (reply.tokens, reply.ceilings) == ((20, 20), ())
    assert [path for path, _, _ in seen.requests[1:]] == ["decisions"] * 2
    sent = next(body for body in seen.bodies if "Which?" in json.dumps(body))
    assert sent == {
        "model": "gpt-6-luna",
        "input": [{"role": "user", "content": "Rules.\n\nWhich? Answer: "}],
        "questions": [
            {
                "type": "choice",
                "instructions": "Which option is the answer?",
                "choices": [{"value": "A"}, {"value": "B"}, {"value": "C"}],
            }
        ],
    }


def test_a_decision_is_of_openais_type() -> None:
    types = pytest.importorskip("openai.types")
    types.Decision.model_validate(DECISION)
    fields = get_type_hints(types.DecisionCreateParams)
    assert {"model", "input", "questions"} <= set(fields)


def test_a_refused_decision_is_one_line(tmp_path: Path) -> None:
    refused = {**DECISION, "answers": [{"type": "refusal", "name": None}]}
    settings = {"endpoint": "chat", "scores": "decisions"}
    with (
        scoring(tmp_path, Canned(refused), **settings) as (model, _),
        pytest.raises(ModelError, match=r"a refusal$"),
    ):
        model.answer([SCORE])


def test_vllm_reports_every_option(tmp_path: Path) -> None:
    settings = {"endpoint": "chat", "scores": "vllm", "in_flight": 1}
    with scoring(tmp_path, vllm, **settings) as (model, seen):
        (reply,) = model.answer([SCORE])
        paid = model.spending().paid
    assert reply.logprobs == ((-0.5, -2.0, -9.0),) * 2
    assert reply.ceilings == ()
    sent = [body for body in seen.bodies if "messages" in body]
    assert [body["logprob_token_ids"] for body in sent] == [[1, 2, 11, 12, 13]] * 2
    assert all(body["logprobs"] is True and body["max_tokens"] == 1 for body in sent)
    assert len(seen.bodies) == len(IDS) + 2, "the tokenizer is asked once for each spelling"
    assert paid.prompt == 3 * 20, "tokenizing costs nothing"


def sglang(talk: Talk) -> None:
    head, _, data = talk.request.partition(b"\r\n\r\n")
    body = json.loads(data)
    if head.startswith(b"POST /tokenize "):
        tokens = IDS[body["prompt"]]
        talk.reply(json.dumps({"tokens": tokens, "count": len(tokens)}).encode())
        return
    assert head.startswith(b"POST /v1/score ")
    logprobs = [LOGPROBS[SPELT[token]] for token in body["label_token_ids"]]
    answer = {"scores": [[math.exp(logprob) for logprob in logprobs]], "token_logprobs": [logprobs]}
    answer |= {"model": "m", "object": "scoring"}
    usage = {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}
    talk.reply(json.dumps({**answer, "usage": usage}).encode())


def test_sglang_reports_every_option(tmp_path: Path) -> None:
    settings = {"endpoint": "completions", "scores": "sglang", "in_flight": 1}
    with scoring(tmp_path, sglang, **settings) as (model, seen):
        (reply,) = model.answer([SCORE])
    assert reply.logprobs == ((-0.5, -2.0, -9.0),) * 2
    assert (reply.tokens, reply.ceilings) == ((7, 7), ())
    sent = [body for body in seen.bodies if "query" in body]
    assert sent[0] == {
        "model": "gpt-6-luna",
        "query": "Rules.\n\nWhich? Answer: ",
        "items": [""],
        "label_token_ids": [1, 11, 2, 12, 13],
        "return_token_logprobs": True,
    }


def test_an_old_sglang_without_logprobs_is_one_line(tmp_path: Path) -> None:
    def old(talk: Talk) -> None:
        scored = b"/v1/score " in talk.request
        talk.reply(json.dumps({"scores": [[0.1]]} if scored else {"tokens": [1]}).encode())

    with (
        scoring(tmp_path, old, endpoint="completions", scores="sglang") as (model, _),
        pytest.raises(ModelError, match="token_logprobs"),
    ):
        model.answer([SCORE])


def test_a_server_that_ignores_the_tokens_is_told_on(tmp_path: Path) -> None:
    def other(talk: Talk) -> None:
        if talk.request.startswith(b"POST /tokenize "):
            talk.reply(json.dumps({"tokens": [1]}).encode())
        else:
            talk.reply(json.dumps(VENDORS["chat"].reply(Piece())).encode())

    with (
        scoring(tmp_path, other, endpoint="chat", scores="vllm") as (model, _),
        pytest.raises(Stopped, match=r"set model\.scores=sampled"),
    ):
        model.answer([SCORE])


@pytest.mark.parametrize(
    ("text", "share"), [("**B**) red", 1.0), ("B.", 1.0), ("C", 0.0), ("", 0.0)]
)
def test_a_model_that_thinks_is_sampled_by_its_first_word(
    tmp_path: Path, text: str, share: float
) -> None:
    canned = Canned(VENDORS["responses"].reply(Piece((text,), thoughts="I weigh.")))
    settings = {"endpoint": "responses", "scores": "sampled", "samples": 2, "thinking_room": 500}
    with scoring(tmp_path, canned, **settings) as (model, seen):
        (reply,) = model.answer([SCORE])
    assert reply.logprobs[0][1] == (0.0 if share else -math.inf)
    assert {body["max_output_tokens"] for body in seen.bodies} == {501}
