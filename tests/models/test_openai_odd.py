"""Keys that no header can carry, and replies that are slightly wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

import tests.api
from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.dialects.chat import Chat
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.api.refusals import Failure, failure
from gauntlet.models.api.retry import key_in
from gauntlet.models.base import Prompt, Score
from tests.api import KEY, WRITE, Opened, PocketServer, Script

SCORE = Score((WRITE.prompt,), ("A", "B"))
Reply = dict[str, Any]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " "])
def test_a_key_is_stripped(opened: Opened, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY + end)
    with opened(patience=0.1) as model:
        assert model.answer([WRITE])


def test_no_key_is_a_key_that_is_not_set() -> None:
    assert key_in({}, "KEY") == key_in({"KEY": ""}, "KEY") == ""


@pytest.mark.parametrize(
    "key", [" ", "\r\n", "sk-secr\x00et", "sk-sécret", "sk secret", "sk\nsecret", "sk-secret\u200b"]
)
def test_a_key_that_cannot_be_sent_is_refused_at_once_and_not_told(
    opened: Opened, script: Script, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    if "\x00" in key:  # no environment can hold it
        monkeypatch.setattr("gauntlet.models.api.openai.os.environ", {"OPENAI_API_KEY": key})
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


@pytest.mark.parametrize(
    "counted",
    [
        {"prompt_tokens": 20, "completion_tokens": None},
        {"prompt_tokens": None, "completion_tokens": 1},
        {"prompt_tokens": 20},
        {"prompt_tokens": 20, "completion_tokens": "1"},
        {"prompt_tokens": 20, "completion_tokens": 1.5},
        {"prompt_tokens": -1, "completion_tokens": 1},
        None,
    ],
)
def test_a_reply_without_counts_is_kept_and_booked_as_the_most_it_can_be(
    opened: Opened,
    served: PocketServer,
    changed: Callable[..., None],
    counted: Mapping[str, Any] | None,
) -> None:
    with opened() as model:
        before = model.spending().paid
        changed(lambda chat, body: {**chat(body), "usage": counted})
        first = model.answer([WRITE])
        assert model.answer([WRITE]) == first
        after = model.spending()
    wire = Chat(name="pocket")
    most = wire.most(wire.writing(WRITE))
    assert after.paid == Tokens(before.prompt + most.prompt, before.written + most.written)
    assert after.unsure == Tokens(0, 0)
    assert set(served.billed.values()) == {1}


def test_counts_that_are_there_are_read() -> None:
    assert Chat(name="m").usage({"usage": {"prompt_tokens": 3, "completion_tokens": 0}}) == Tokens(
        3, 0
    )
    assert Chat(name="m").usage({"usage": {"prompt_tokens": True, "completion_tokens": 0}}) is None


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


def test_an_error_under_a_status_of_success_is_told_and_costs_nothing(
    opened: Opened, changed: Callable[..., None]
) -> None:
    with opened(patience=0.2) as model:
        changed(lambda chat, body: {"error": {"message": "upstream is overloaded", "code": 502}})
        with pytest.raises(Stopped, match=r"goes on failing \(502: upstream is overloaded\)"):
            model.answer([WRITE])
        assert model.spending().unsure == Tokens(0, 0)


def test_an_error_under_a_status_of_success_means_what_its_own_status_means(
    opened: Opened, script: Script, changed: Callable[..., None]
) -> None:
    with opened() as model:
        changed(lambda chat, body: {"error": {"message": "who are you?", "code": 401}})
        with pytest.raises(Stopped, match=r"is not accepted \(401: who are you\?\)"):
            model.answer([WRITE])
    assert len(script.arrivals) == 2, "the question whether it answers, and one more"


def test_what_counts_as_an_error() -> None:
    assert failure({"error": "no"}) == Failure("no")
    assert failure({"error": {"message": "no", "code": "busy"}}) == Failure("no", kind="busy")
    assert failure({"error": {"message": "no", "code": 7}}) == Failure("no")
    assert failure({"error": None, "choices": []}) is None
    assert failure({"error": {"message": "late"}, "choices": [{}]}) is None
    assert failure([]) is None


def test_a_server_that_asks_for_more_than_our_patience_ends_the_run_at_once(
    opened: Opened, served: PocketServer, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tests.api, "RETRY_AFTER", 20)
    asks = [replace(WRITE, seed=seed) for seed in range(24)]
    with opened(patience=2.0, in_flight=4) as model:
        script.faults = ("", "", "", "429")
        started = time.monotonic()
        with pytest.raises(Stopped, match=r"asks to wait \d+ s.*is kept; the same command"):
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
