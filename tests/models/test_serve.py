"""The server of our own: what it tells through the `openai` client is what the model says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
import torch
from transformers import AutoTokenizer

from models.base import Generate, Prompt, Score, Scores
from models.checkpoint import Checkpoint
from models.engine.local import Local, load_network
from models.engine.reference import Reference
from models.engine.tokens import load_tokens
from models.server.batches import Batches, Ticket
from models.server.serve import POCKET, _options, main
from models.server.served import Refused, Served
from tests.api import Script, serving

TEXT = "You are player 1 in a game of UNO.\n\nHand: red 1, blue 2\nA) red 1\nB) blue 2\nAnswer:"
WEIGHTS = Path("models/pocket/weights").resolve()


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[openai.OpenAI]:
    with (
        serving(served, Script()) as url,
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def next_token() -> torch.Tensor:
    """The plain scorer's log-probabilities of every token after TEXT."""
    tokens = load_tokens(WEIGHTS, POCKET, False)
    network = load_network(WEIGHTS, POCKET, "float32", "cpu")
    return Reference(network, tokens).next_token(tokens.encode(Prompt("", TEXT)))


def chat(client: openai.OpenAI, **more: object) -> openai.types.chat.ChatCompletion:
    settings = {"model": "pocket", "messages": [{"role": "user", "content": TEXT}], **more}
    return client.chat.completions.create(**settings)


def complete(client: openai.OpenAI, **more: object) -> openai.types.Completion:
    return client.completions.create(**{"model": "pocket", "prompt": TEXT, **more})


def test_it_lists_its_model(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["pocket"]
    assert client.models.retrieve("pocket").id == "pocket"


def test_reported_probabilities_are_those_of_the_plain_scorer(
    client: openai.OpenAI, next_token: torch.Tensor
) -> None:
    best = torch.topk(next_token, 20).values.tolist()
    (choice,) = chat(client, max_tokens=1, logprobs=True, top_logprobs=20, temperature=0).choices
    (place,) = choice.logprobs.content
    assert [one.logprob for one in place.top_logprobs] == pytest.approx(best, abs=1e-4)
    assert place.logprob == pytest.approx(best[0], abs=1e-4)
    assert place.token == place.top_logprobs[0].token == choice.message.content
    (choice,) = complete(client, max_tokens=1, logprobs=5, temperature=0).choices
    (listed,) = choice.logprobs.top_logprobs
    assert sorted(listed.values(), reverse=True) == pytest.approx(best[:5], abs=1e-4)


def test_text_is_what_the_model_writes(client: openai.OpenAI) -> None:
    model = Checkpoint(POCKET).load()
    for temperature, stop in ((0.0, ()), (1.0, ()), (0.0, ("e",))):
        request = Generate(Prompt("", TEXT), 12, temperature, stop, seed=5)
        (wanted,) = model.answer([request])
        settings = {"max_tokens": 12, "temperature": temperature, "stop": list(stop), "seed": 5}
        told = chat(client, **settings)
        assert told.choices[0].message.content == wanted.text
        assert told.usage.prompt_tokens == wanted.prompt_tokens
        assert told.usage.completion_tokens == wanted.tokens
        assert complete(client, **settings).choices[0].text == wanted.text


def test_several_answers_to_several_prompts(client: openai.OpenAI) -> None:
    told = complete(client, prompt=[TEXT, "Rules: "], n=3, max_tokens=4, temperature=2.0, seed=1)
    assert [choice.index for choice in told.choices] == list(range(6))
    again = complete(client, prompt="Rules: ", n=1, max_tokens=4, temperature=2.0, seed=2)
    assert told.choices[4].text == again.choices[0].text
    assert len({choice.text for choice in told.choices[:3]}) > 1


def test_drawn_first_tokens_follow_their_probabilities(
    client: openai.OpenAI, next_token: torch.Tensor
) -> None:
    told = chat(client, max_tokens=1, n=1000, seed=1, temperature=1.0, logprobs=True)
    drawn = [choice.logprobs.content[0].token for choice in told.choices]
    (best,) = torch.topk(next_token, 1).indices.tolist()
    likeliest = AutoTokenizer.from_pretrained(WEIGHTS).decode([best])
    expected = float(next_token[best].exp())
    assert drawn.count(likeliest) / 1000 == pytest.approx(expected, abs=0.06)  # 3.8 errors at most


def test_a_few_samples_are_the_first_of_many(client: openai.OpenAI) -> None:
    settings = {"max_tokens": 6, "temperature": 1.5, "seed": 4}
    texts = [choice.message.content for choice in chat(client, n=4, **settings).choices]
    for n in (1, 2, 3):
        told = chat(client, n=n, **settings).choices
        assert [choice.message.content for choice in told] == texts[:n]
    assert len(set(texts)) > 1


def test_a_system_message_is_read_first(client: openai.OpenAI) -> None:
    model = Checkpoint(POCKET).load()
    (wanted,) = model.answer([Generate(Prompt("", TEXT, system="Be brief.\n"), 12)])
    messages = [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": TEXT}]
    told = chat(client, messages=messages, max_tokens=12, temperature=0)
    assert told.choices[0].message.content == wanted.text
    assert told.usage.prompt_tokens == wanted.prompt_tokens
    assert told.usage.prompt_tokens > chat(client, max_tokens=1).usage.prompt_tokens


def test_json_may_be_asked_for(client: openai.OpenAI) -> None:
    for kind in ("json_object", "text"):
        told = chat(client, max_tokens=4, response_format={"type": kind})
        assert told.choices[0].message.content


REFUSALS = {
    "response_format is of type 'json_schema'; it can be text or json_object": {
        "extra_body": {"response_format": {"type": "json_schema", "json_schema": {}}}
    },
    "response_format is of type 'json'": {"extra_body": {"response_format": "json"}},
    "stream is not supported": {"stream": True},
    "told of one token: set max_tokens to 1": {"logprobs": True, "top_logprobs": 3},
    "0 to 20 can be": {"max_tokens": 1, "logprobs": True, "top_logprobs": 21},
    "temperature is 3": {"temperature": 3},
    "n is 0": {"n": 0},
    "messages must be a list": {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
    "are more than the 2048": {"max_tokens": 3000},
    "stop is 5; it must be text or a list of texts": {"extra_body": {"stop": 5}},
    "top_logprobs is 'x'; it must be a whole number": {"logprobs": True, "top_logprobs": "x"},
    "the prompt is empty": {"messages": [{"role": "user", "content": ""}]},
}
COMPLETION_REFUSALS = {
    "logprobs is 'x'; it must be a whole number": {"logprobs": "x"},
    "logprobs is -1; it must be a whole number": {"logprobs": -1},
    "stop is": {"stop": ["a", 5]},
    "prompt is empty": {"prompt": ""},
    "the prompt is empty; a model needs some text": {"prompt": []},
    "some text to go on from": {"prompt": ["a", ""]},
}


@pytest.mark.parametrize("line", REFUSALS)
def test_what_it_cannot_do_is_said(client: openai.OpenAI, line: str) -> None:
    with pytest.raises(openai.BadRequestError, match=line):
        chat(client, **{"max_tokens": 4, **REFUSALS[line]})


@pytest.mark.parametrize("line", COMPLETION_REFUSALS)
def test_what_a_completion_cannot_do_is_said(client: openai.OpenAI, line: str) -> None:
    with pytest.raises(openai.BadRequestError, match=line):
        complete(client, **{"max_tokens": 1, **COMPLETION_REFUSALS[line]})


def test_an_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="the model 'gpt' does not exist"):
        chat(client, model="gpt")


def test_a_chat_template_wraps_the_messages(checkpoint_folder: Path, tmp_path: Path) -> None:
    network = load_network(checkpoint_folder, "tiny", "float32", "cpu")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_folder)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    )
    tokenizer.save_pretrained(tmp_path)
    network.save_pretrained(tmp_path)
    model = Served(str(tmp_path), "tiny")
    messages = [{"role": "user", "content": "red 1"}, {"role": "assistant", "content": "I"}]
    settings = {"max_tokens": 6, "temperature": 0}
    (wanted,) = (
        Checkpoint(str(tmp_path), chat=True).load().answer([Generate(Prompt("", "red 1"), 6)])
    )
    told = model.chat({"messages": messages[:1], **settings})
    assert told["choices"][0]["message"]["content"] == wanted.text
    assert told["usage"]["prompt_tokens"] == wanted.prompt_tokens
    on = model.chat({"messages": messages, **settings})["usage"]["prompt_tokens"]
    assert on == len(
        tokenizer("[user] red 1\n[assistant] I", add_special_tokens=False)["input_ids"]
    )
    model.close()


def test_a_template_without_a_system_role_opens_the_user_s_message_with_it(
    checkpoint_folder: Path, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_folder)
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
        "{% endif %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    )
    tokenizer.save_pretrained(tmp_path)
    load_network(checkpoint_folder, "tiny", "float32", "cpu").save_pretrained(tmp_path)
    model = Served(str(tmp_path), "tiny")
    system, user = ({"role": role, "content": f"{role}\n"} for role in ("system", "user"))
    (wanted,) = (
        Checkpoint(str(tmp_path), chat=True)
        .load()
        .answer([Generate(Prompt("", "user\n", system="system\n"), 6)])
    )
    told = model.chat({"messages": [system, user], "max_tokens": 6, "temperature": 0})
    assert told["choices"][0]["message"]["content"] == wanted.text
    assert told["usage"]["prompt_tokens"] == wanted.prompt_tokens
    with pytest.raises(Refused, match="the model's chat template: no system"):
        model.chat({"messages": [user, system]})
    model.close()


class Slow(Local):
    """Waits in its first call until it may go on; notes what each call was asked."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.started, self.go = threading.Event(), threading.Event()

    def while_wanted(self, wanted: object) -> None:
        """All of it is."""

    def answer(self, requests: list[Score]) -> list[Scores]:
        self.calls.append(len(requests))
        self.started.set()
        assert self.go.wait(60)
        if any(request.choices == ("bad",) for request in requests):
            raise ValueError("bad")
        return [Scores(((0.0,),), (1,)) for _ in requests]


def test_what_waits_together_is_answered_together() -> None:
    model, batches = Slow(), Batches()
    asked = [Score((Prompt("", str(n)),), ("a",)) for n in range(20)]
    first = batches.ask(model, asked[0], Ticket())
    assert model.started.wait(60)
    others = [batches.ask(model, request, Ticket()) for request in asked[1:]]
    model.go.set()
    assert [future.result(60) for future in [first, *others]] == [Scores(((0.0,),), (1,))] * 20
    assert model.calls == [1, 19]
    batches.close()


def test_a_request_that_fails_fails_alone() -> None:
    model, batches = Slow(), Batches()
    first = batches.ask(model, Score((Prompt("", "0"),), ("a",)), Ticket())
    assert model.started.wait(60)
    bad = batches.ask(model, Score((Prompt("", "1"),), ("bad",)), Ticket())
    good = batches.ask(model, Score((Prompt("", "2"),), ("a",)), Ticket())
    model.go.set()
    assert good.result(60) == first.result(60)
    with pytest.raises(ValueError, match="bad"):
        bad.result(60)
    batches.close()


def test_it_listens_to_this_machine_only_unless_told_otherwise() -> None:
    assert _options([]).host == "127.0.0.1"


def test_a_model_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no/such/folder/anywhere"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "no/such/folder/anywhere" in line
