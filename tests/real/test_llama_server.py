"""SmolLM2 behind llama.cpp's own server, asked in all of its protocols.

The test servers of `tests/models/test_api_conformance.py` follow the vendors' references; this is
one that nobody here wrote. Tests have the numbers of the rows in docs/servers.md.
"""

from __future__ import annotations

from contextlib import closing
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


@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_a_dialogue_goes_on(server: Any, tmp_path: Path, dialect: str) -> None:
    """With a system text, and the model's own words. Of responses this server takes no such words
    as text."""
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
def test_22_a_prompt_beyond_the_context_is_refused_in_a_line(
    server: Any, tmp_path: Path, dialect: str
) -> None:
    with (
        closing(source(server, tmp_path, dialect).load()) as model,
        pytest.raises(ModelError, match="context") as error,
    ):
        model.answer([Generate(Prompt("", "far " * 3 * CONTEXT), 8)])
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
