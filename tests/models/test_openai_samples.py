"""Several samples, JSON and a system text, requested from servers that support them or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gauntlet.common.errors import Stopped
from gauntlet.models.api.dialects import DIALECTS
from gauntlet.models.api.ledger import Tokens
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from tests.api import POCKET, Altered, Chat, Opened, PocketServer, Refused

SYSTEM = "You are player 1.\n\n"
WRITE = Generate(Prompt("Rules.\n\n", "Hand: red 1\nSay: "), 5, 1.5, ("Z",), seed=3)


def giving(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    return chat(body)


def refusing(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    if "n" in body:
        raise Refused("n is not supported")
    return chat(body)


def ignoring(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    return chat({**body, "n": 1})


def giving_two(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    return chat({**body, "n": min(2, body.get("n", 1))})


def giving_more(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    return chat({**body, "n": body.get("n", 1) + 2})


def starving(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
    """Gives a first sample, and no others."""
    reply = chat({**body, "n": 1})
    return reply if body["seed"] <= WRITE.seed else {**reply, "choices": []}


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
        replies = model.answer([replace(WRITE, n=n) for n in (1, 2, 3, 4)])
    assert [reply.texts for reply in replies] == [replies[3].texts[:n] for n in (1, 2, 3, 4)]
    assert len(set(replies[3].texts)) > 1
    assert replies[0] == Checkpoint(POCKET).load().answer([WRITE])[0]
    assert {reply.prompt_tokens for reply in replies} == {replies[0].prompt_tokens}
    assert replies[3].tokens > replies[0].tokens


@pytest.mark.parametrize(
    ("alter", "requests"),
    [
        (giving, [(3, 4)]),
        (refusing, [(3, 1), (4, 1), (5, 1), (6, 1)]),
        (ignoring, [(3, 4), (4, 3), (5, 2), (6, 1)]),
        (giving_two, [(3, 4), (5, 2)]),
        (giving_more, [(3, 4)]),
    ],
)
def test_a_server_that_gives_another_number_still_gives_the_same_samples(
    opened: Opened, served: PocketServer, changed, alter, requests: list[tuple[int, int]]
) -> None:
    seeds = [replace(WRITE, seed=seed) for seed in (3, 4, 5, 6)]
    right = [reply.text for reply in Checkpoint(POCKET).load().answer(seeds)]
    seen: list[Mapping[str, Any]] = []
    with opened() as model:
        changed(noting(alter, seen))
        (reply,) = model.answer([replace(WRITE, n=4)])
        assert list(reply.texts) == right
        assert [(body["seed"], body.get("n", 1)) for body in seen] == requests
        before = served.billed.copy()
        assert model.answer([replace(WRITE, n=4)]) == [reply]
    assert served.billed == before


def test_a_server_that_takes_no_number_is_asked_for_one_only_once(opened: Opened, changed) -> None:
    refusals = []

    def counting(chat: Chat, body: Mapping[str, Any]) -> dict[str, Any]:
        refusals.append("n" in body)
        return refusing(chat, body)

    changed(counting)
    with opened() as model:
        for seed in (3, 30, 300):
            assert len(model.answer([replace(WRITE, seed=seed, n=3)])[0].texts) == 3
        assert model.spending().unsure == Tokens(0, 0)
    assert refusals.count(True) == 1


def test_drawn_answers_are_counted_on_a_server_that_takes_no_number(
    opened: Opened, changed
) -> None:
    changed(refusing)
    with opened(scores="sampled", samples=5) as model:
        (reply,) = model.answer([Score((WRITE.prompt,), ("A", "B"))])
    assert len(reply.logprobs[0]) == 2


def test_a_server_that_never_gives_the_rest_is_one_line(opened: Opened, changed) -> None:
    with opened(patience=0.1) as model:
        changed(starving)
        with pytest.raises(Stopped, match=r"cannot be read \(it has no choices\)") as raised:
            model.answer([replace(WRITE, n=3)])
    assert "\n" not in str(raised.value)


def test_json_is_asked_for_in_chat_alone(opened: Opened, served: PocketServer) -> None:
    wanted = replace(WRITE, json=True)
    chat, raw = (DIALECTS[one](name="m") for one in ("chat", "completions"))
    assert chat.writing(wanted) == {
        **chat.writing(WRITE),
        "response_format": {"type": "json_object"},
    }
    assert raw.writing(wanted) == raw.writing(WRITE)
    with opened() as model:
        model.answer([wanted])
    assert sum("json_object" in body for body in served.billed) == 1


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_system_text_reaches_the_model(opened: Opened, endpoint: str) -> None:
    told = replace(WRITE, prompt=replace(WRITE.prompt, system=SYSTEM), max_tokens=12)
    local = Checkpoint(POCKET).load()
    with opened(endpoint=endpoint) as model:
        assert model.answer([told]) == local.answer([told])
        score = Score((told.prompt,), ("A", "B"))
        assert model.answer([score])[0].tokens == local.answer([score])[0].tokens
    untold = replace(told, prompt=WRITE.prompt)
    assert local.answer([told])[0].prompt_tokens > local.answer([untold])[0].prompt_tokens
