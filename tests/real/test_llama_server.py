"""SmolLM2 behind llama.cpp's own server, asked in all of its protocols.

The test servers of `tests/models/test_api_conformance.py` follow the vendors' references; this is
one that nobody here wrote. Tests have the numbers of the rows in docs/servers.md.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.base import Dialogue, Generate, Prompt, Score, Scores
from tests.real.smollm2 import MARKS, NAME, served

DIALECTS = ("chat", "completions", "responses", "messages")
KEY = "sk-only-of-this-test-5f1c"
ASKED = Prompt("Rules: name a colour.\n", "Say a colour and why.\n")
CONTEXT = 1024

pytestmark = MARKS


@pytest.fixture(scope="module")
def server() -> Any:
    return served(2 * CONTEXT, 2, api_keys=[KEY])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", KEY)


def source(server: Any, cache: Path, dialect: str, **settings: Any) -> OpenAI:
    return OpenAI(
        NAME,
        base_url=f"{server.listening_address}/v1",
        endpoint=dialect,
        key_env="KEY_OF_THIS_TEST",
        temperature="send",
        cache=str(cache / f"{dialect}-{sorted(settings.items())}.sqlite".replace("/", "-")),
        **settings,
    )


def reply(server: Any, cache: Path, dialect: str, asked: Generate, **settings: Any) -> Any:
    with closing(source(server, cache, dialect, **settings).load()) as model:
        (found,) = model.answer([asked])
        return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_13_a_stream_is_the_whole_reply(server: Any, tmp_path: Path, dialect: str) -> None:
    asked = Generate(ASKED, 24, 0.0)
    whole = reply(server, tmp_path, dialect, asked)
    streamed = reply(server, tmp_path, dialect, asked, stream=True)
    assert streamed.text == whole.text != ""
    assert (streamed.prompt_tokens, streamed.tokens) == (whole.prompt_tokens, whole.tokens)
    assert whole.prompt_tokens > 10
    assert 0 < whole.tokens <= 24


@pytest.mark.parametrize("dialect", DIALECTS)
def test_12_a_stop_string_ends_the_text(server: Any, tmp_path: Path, dialect: str) -> None:
    asked = Generate(ASKED, 24, 0.0)
    whole = reply(server, tmp_path, dialect, asked)
    middle = whole.text[len(whole.text) // 2 :][:3]
    cut = reply(server, tmp_path, dialect, Generate(ASKED, 24, 0.0, (middle,)))
    assert cut.text == whole.text[: whole.text.index(middle)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_16_a_text_cut_by_the_limit_says_so(
    server: Any, tmp_path: Path, dialect: str, stream: bool
) -> None:
    cut = reply(server, tmp_path, dialect, Generate(ASKED, 4, 0.0), stream=stream)
    assert cut.detail().finish == "length"
    assert cut.tokens == 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_10_several_samples_are_all_kept(server: Any, tmp_path: Path, dialect: str) -> None:
    many = reply(server, tmp_path, dialect, Generate(ASKED, 8, 1.0, n=3, seed=4))
    texts = {many.text, *many.others}
    assert len(many.others) == 2
    assert len(texts) > 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_09_cached_tokens_are_counted(server: Any, tmp_path: Path, dialect: str) -> None:
    reply(server, tmp_path, dialect, Generate(ASKED, 3, 0.0))
    again = reply(server, tmp_path, dialect, Generate(ASKED, 5, 0.0))
    assert 0 < again.cached_tokens <= again.prompt_tokens


def test_11_json_is_json(server: Any, tmp_path: Path) -> None:
    asked = Generate(Prompt("", "Reply with a JSON object that gives a colour."), 12, json=True)
    assert reply(server, tmp_path, "chat", asked).text.lstrip().startswith("{")


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_a_dialogue_goes_on(server: Any, tmp_path: Path, dialect: str) -> None:
    """With a system text, and the model's own words."""
    first = Prompt("Rules.\n", "Say a word.\n", system="Be brief.\n")
    turns = (("Blue.", "Say another one.\n"),)
    said = Dialogue(first.static, first.changing, system=first.system, turns=turns)
    longer = reply(server, tmp_path, dialect, Generate(said, 4, 0.0))
    short = reply(server, tmp_path, dialect, Generate(first, 4, 0.0))
    assert longer.prompt_tokens > short.prompt_tokens


@pytest.mark.parametrize("dialect", ["chat", "completions"])
def test_36_log_probabilities_are_those_of_the_next_token(
    server: Any, tmp_path: Path, dialect: str
) -> None:
    with closing(source(server, tmp_path, dialect).load()) as model:
        (found,) = model.answer([Score((Prompt("", "A B C A B C A B"),), ("A", "B", "C"))])
    assert isinstance(found, Scores)
    assert len(found.logprobs[0]) == 3
    if dialect == "completions":
        assert max(found.logprobs[0]) == found.logprobs[0][2]


@pytest.mark.parametrize("dialect", ["responses", "messages"])
def test_36_where_there_are_none_the_setting_is_named(
    server: Any, tmp_path: Path, dialect: str
) -> None:
    with (
        closing(source(server, tmp_path, dialect).load()) as model,
        pytest.raises(Stopped, match=r"set model\.scores=sampled"),
    ):
        model.answer([Score((ASKED,), ("A", "B"))])
    with closing(source(server, tmp_path, dialect, scores="sampled", samples=2).load()) as model:
        (found,) = model.answer([Score((ASKED,), ("A", "B"))])
    assert isinstance(found, Scores)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_22_a_prompt_beyond_the_context_has_that_status(
    server: Any, tmp_path: Path, dialect: str
) -> None:
    long = Prompt("", "far " * 3 * CONTEXT)
    found = reply(server, tmp_path, dialect, Generate(long, 8, n=2))
    assert found.texts == ("", "")
    assert found.finishes == ("context", "context")


@pytest.mark.parametrize("dialect", ["chat", "completions"])
def test_22_a_score_beyond_the_context_is_refused_in_a_line(
    server: Any, tmp_path: Path, dialect: str
) -> None:
    with (
        closing(source(server, tmp_path, dialect).load()) as model,
        pytest.raises(ModelError, match="context") as error,
    ):
        model.answer([Score((Prompt("", "far " * 3 * CONTEXT),), ("A", "B"))])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_33_a_wrong_key_names_its_variable(
    server: Any, tmp_path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "sk-another-one-81d2")
    with pytest.raises(ModelError, match="KEY_OF_THIS_TEST is not accepted") as error:
        source(server, tmp_path, dialect).load()
    assert "81d2" not in str(error.value)


def test_26_a_server_that_is_not_there_is_one_line(server: Any, tmp_path: Path) -> None:
    gone = source(server, tmp_path, "chat")
    nobody = OpenAI(NAME, base_url="http://127.0.0.1:9/v1", cache=gone.cache, patience=1)
    with pytest.raises(ModelError, match="cannot be reached"):
        nobody.load()


def test_35_a_wrong_address_is_one_line(server: Any, tmp_path: Path) -> None:
    found = source(server, tmp_path, "chat")
    wrong = replace(found, base_url=f"{server.listening_address}/v7")
    with pytest.raises(ModelError, match="not found") as error:
        wrong.load()
    assert "\n" not in str(error.value)


def test_37_a_stream_without_an_end_is_given_up(server: Any, tmp_path: Path) -> None:
    endless = {"stream": True, "extra_body": {"grammar": 'root ::= ("on and " )*', "n_predict": -1}}
    asked = source(server, tmp_path, "chat", patience=2.0, **endless)
    with (
        closing(asked._opened(batch=False)) as model,
        pytest.raises(ModelError, match=r"did not answer in time|broken off"),
    ):
        model.answer([Generate(ASKED, 900, 0.0)])


def test_39_without_a_count_the_most_is_counted(server: Any, tmp_path: Path) -> None:
    untold = {"stream": True, "extra_body": {"stream_options": None}}
    with closing(source(server, tmp_path, "chat", **untold).load()) as model:
        before = model.spending().paid.written
        model.answer([Generate(ASKED, 9, 0.0)])
        assert model.spending().paid.written == before + 9


# Thoughts: the template opens a thought in the model's turn, and a grammar ends it.

THINKS = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['reasoning_content'] %}<think>\n{{ message['reasoning_content'] }}\n</think>\n"
    "{% endif %}{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
ENDS = {"extra_body": {"grammar": 'root ::= "The sky is.\\n" "</think>\\n\\n" "Blue"'}}
WHOLE = {"extra_body": {"grammar": 'root ::= "<think>\\nThe sky is.\\n</think>\\n\\nBlue"'}}
THINKING = ("chat", "responses", "messages")


@pytest.fixture(scope="module")
def thinker() -> Any:
    return served(2 * CONTEXT, 2, api_keys=[KEY], chat_template=THINKS, use_jinja=True)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_01_thoughts_are_kept_apart(
    thinker: Any, tmp_path: Path, dialect: str, stream: bool
) -> None:
    """Messages drop the grammar on this server."""
    found = reply(thinker, tmp_path, dialect, Generate(ASKED, 30, 0.0), stream=stream, **ENDS)
    assert found.text.strip() == "Blue"
    assert found.detail().thoughts.strip() == "The sky is."
    assert found.detail().finish == "stop"


@pytest.mark.parametrize(("case", "extra"), [("02", WHOLE), ("03", ENDS)])
def test_tags_in_the_text_are_split_off(
    thinker: Any, tmp_path: Path, case: str, extra: Any
) -> None:
    """Cases 2 and 3."""
    found = reply(thinker, tmp_path, "completions", Generate(ASKED, 40, 0.0), **extra)
    assert found.text.strip() == "Blue"
    assert found.detail().thoughts.strip() == "The sky is."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", THINKING)
def test_15_and_8_only_thoughts_is_cut_and_counted(
    thinker: Any, tmp_path: Path, dialect: str, stream: bool
) -> None:
    found = reply(thinker, tmp_path, dialect, Generate(ASKED, 12, 0.0), stream=stream)
    assert found.text == ""
    assert found.detail().thoughts
    assert found.detail().finish == "length"
    assert found.tokens == 12


@pytest.mark.parametrize("dialect", ["responses", "messages"])
def test_06_and_7_thoughts_go_back_as_they_came(thinker: Any, tmp_path: Path, dialect: str) -> None:
    """The server itself takes what it sent."""
    extra = ENDS if dialect == "responses" else {}
    first = reply(thinker, tmp_path, dialect, Generate(ASKED, 30, 0.0), **extra)
    assert "The sky is." in first.detail().returned or dialect == "messages"
    assert first.detail().returned
    turns = ((first.text or "-", "Another one.\n"),)
    said = Dialogue(ASKED.static, ASKED.changing, turns=turns, returned=(first.detail().returned,))
    again = reply(thinker, tmp_path, dialect, Generate(said, 8, 0.0))
    assert again.prompt_tokens > first.prompt_tokens
    assert again.detail().thoughts
