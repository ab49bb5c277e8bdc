"""`chat` and `thinking`: what "auto" makes of a folder is what its tokenizer does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from gauntlet.common.errors import ModelError
from gauntlet.models import checkpoint
from gauntlet.models.base import Dialogue, Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint, Choice
from gauntlet.models.engine.files import (
    CHAT_TEMPLATE,
    CHAT_TEMPLATES,
    TOKENIZER_CONFIG,
    chat_template,
)
from tests.models.conftest import CHAT

OTHER = "{% for m in messages %}{{ m.content }}{% endfor %}"
THINKING = CHAT + "{% if enable_thinking is defined and not enable_thinking %}<t></t>{% endif %}"
PROMPT = Prompt("Rules.\n", "Hand: red 1\n", "Answer:")


def own_file(folder: Path, text: str = CHAT) -> None:
    (folder / CHAT_TEMPLATE).write_text(text)


def further(folder: Path, name: str, text: str = OTHER) -> None:
    (folder / CHAT_TEMPLATES).mkdir(exist_ok=True)
    (folder / CHAT_TEMPLATES / f"{name}.jinja").write_text(text)


def configured(folder: Path, template: Any) -> None:
    config = json.loads((folder / TOKENIZER_CONFIG).read_text())
    (folder / TOKENIZER_CONFIG).write_text(json.dumps({**config, "chat_template": template}))


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "template": f"{name}: {CHAT}"} for name in names]


WAYS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda folder: None, False),
    "a file": (own_file, True),
    "an empty file": (lambda folder: own_file(folder, ""), False),
    "text in the config": (lambda folder: configured(folder, CHAT), True),
    "null in the config": (lambda folder: configured(folder, None), False),
    "a list": (lambda folder: configured(folder, named("tool_use", "default")), True),
    "a list without default": (lambda folder: configured(folder, named("tool_use")), False),
    "a mapping": (lambda folder: configured(folder, {"default": CHAT}), True),
    "a file before the config": (lambda f: (own_file(f), configured(f, OTHER)), True),
    "an empty file before the config": (lambda f: (own_file(f, ""), configured(f, OTHER)), False),
    "further ones alone": (lambda f: (further(f, "rag"), configured(f, CHAT)), False),
    "further ones, a default": (lambda folder: further(folder, "default"), True),
    "a file and further ones": (lambda f: (own_file(f), further(f, "rag")), True),
    "two defaults": (lambda f: (own_file(f), further(f, "default")), True),
    "a processor's file": (
        lambda folder: (folder / "chat_template.json").write_text(
            json.dumps({"chat_template": CHAT})
        ),
        False,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_files_say_what_the_tokenizer_does(way: str, folder: Path) -> None:
    write, has = WAYS[way]
    write(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    try:
        used = tokenizer.get_chat_template() or None
    except ValueError:  # no template, or several and no default
        used = None
    assert chat_template(folder, "test") == used
    assert (used is not None) is has
    assert Checkpoint(str(folder)).load().tokens.chat is has
    assert Checkpoint(str(folder)).identity()["chat"] is has


def test_auto_is_the_same_player_as_what_it_resolves_to(
    folder: Path, checkpoint_folder: Path
) -> None:
    own_file(folder)
    auto, true, false = (Checkpoint(str(folder), chat=c).identity() for c in ("auto", True, False))
    assert auto == true != false
    plain = str(checkpoint_folder)
    assert Checkpoint(plain).identity() == Checkpoint(plain, chat=False).identity()


@pytest.mark.parametrize("model", ["pocket", "pocket_duel", "pocket_gamebench", "pocket_observer"])
def test_the_models_in_the_box_keep_their_identity(model: str) -> None:
    identity = Checkpoint(f"pkg:models/{model}/weights").identity()
    assert identity["chat"] is False
    assert set(identity) == {"content", "dtype", "chat"}


@pytest.mark.parametrize("template", [7, [{"name": "default"}], ["text"], {"default": 7}])
def test_a_template_that_is_none(template: Any, folder: Path) -> None:
    configured(folder, template)
    with pytest.raises(ModelError, match=f"the chat_template of {TOKENIZER_CONFIG} is no templ"):
        Checkpoint(str(folder)).identity()


@pytest.mark.parametrize("field", ["chat", "thinking"])
@pytest.mark.parametrize("value", ["true", "on", None, 1])
def test_another_value(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field} .*: allowed are auto, true, false$"):
        Checkpoint("some/model", **{field: value})


@pytest.mark.parametrize(("thinking", "end"), [("auto", ""), (True, ""), (False, "<t></t>")])
def test_thinking_reaches_the_template(thinking: Choice, end: str, folder: Path) -> None:
    own_file(folder, THINKING)
    source = Checkpoint(str(folder), thinking=thinking)
    text = source.load().tokens.text(PROMPT)
    assert text == f"<s>user\nRules.\nHand: red 1</s>\n<s>assistant\n{end}Answer:"
    changed = {} if thinking == "auto" else {"thinking": thinking}
    assert source.identity() == {**Checkpoint(str(folder)).identity(), **changed}


@pytest.mark.parametrize(
    ("template", "why"),
    [(CHAT, "its chat template has no enable_thinking"), ("", "it is asked raw text")],
)
def test_thinking_that_no_template_can_switch(template: str, why: str, folder: Path) -> None:
    own_file(folder, template)
    for step in ("identity", "load"):
        with pytest.raises(ModelError, match=f"{why}; set thinking to auto$"):
            getattr(Checkpoint(str(folder), thinking=False), step)()


PARTS = (
    "{% for m in messages %}<s>{{ m.role }}\n{% for p in m['content'] %}"
    "{% if p['type'] == 'text' %}{{ p['text'] }}{% endif %}{% endfor %}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def test_a_template_of_parts_shows_the_question(folder: Path) -> None:
    own_file(folder, PARTS)
    model = Checkpoint(str(folder)).load()
    system = replace(PROMPT, system="Be brief.\n")
    assert model.tokens.text(system) == (
        "<s>system\nBe brief.\n</s>\n<s>user\nRules.\nHand: red 1\n</s>\n<s>assistant\nAnswer:"
    )
    other = replace(PROMPT, changing="Hand: blue 2\n")
    red, blue = model.answer([Score((prompt,), ("A", "B")) for prompt in (PROMPT, other)])
    assert red.logprobs != blue.logprobs
    own_file(folder, CHAT.replace(" | trim", ""))
    assert Checkpoint(str(folder)).load().answer([Score((PROMPT,), ("A", "B"))]) == [red]


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages[0].role }}",
        "{{ messages[0].content[0] }}",
        "{{ raise_exception('no text') }}",
        "{% for m in messages %}{{ m.content }",
        "{{ messages[0].content + 1 }}",
    ],
)
def test_a_template_that_loses_the_question_is_refused_in_planning(
    template: str, folder: Path
) -> None:
    own_file(folder, template)
    with pytest.raises(ModelError, match=r"; set chat to false$") as error:
        Checkpoint(str(folder)).check_choices(())
    assert "\n" not in str(error.value)


def test_a_template_that_loses_a_conversation_is_refused_for_one(folder: Path) -> None:
    own_file(folder, "{{ messages[-1].content }}")
    model = Checkpoint(str(folder)).load()
    assert model.tokens.text(PROMPT) == "Rules.\nHand: red 1\nAnswer:"
    talk = Dialogue(PROMPT.static, PROMPT.changing, PROMPT.cue, turns=((" red", "Sure?\n"),))
    with pytest.raises(ModelError, match="does not show a conversation"):
        model.answer([Generate(talk, 3)])


DATED = "  {{ strftime_now('%A, %d %B %Y; %-d/%m/%y %H:%M') }}\n" + CHAT


@pytest.mark.parametrize("template", [DATED, f"\n{DATED}", DATED.replace("'", '"')])
def test_a_template_that_prints_today_prints_a_day_that_stays(template: str, folder: Path) -> None:
    own_file(folder, template)
    source = Checkpoint(str(folder))
    text = source.load().tokens.text(PROMPT)
    start = template.partition("{{")[0]
    assert text.startswith(f"{start}Friday, 26 July 2024; 26/07/24 00:00\n<s>user\nRules.")
    assert source.identity()["date"] == "2024-07-26"
    assert "date" not in Checkpoint(str(folder), chat=False).identity()


@pytest.mark.parametrize(
    "template",
    [
        CHAT,
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}"
        "{% endif %}{{ date_string }}" + CHAT,
        "{% if tools %}{{ strftime_now('%d') }}{% endif %}" + CHAT,
    ],
)
def test_a_date_that_no_prompt_shows_is_in_no_identity(template: str, folder: Path) -> None:
    own_file(folder, template)
    assert "date" not in Checkpoint(str(folder)).identity()


def test_a_template_that_calls_for_the_date_in_a_macro(folder: Path) -> None:
    head = "{% macro day() %}{{ strftime_now('%Y-%m-%d') }}{% endmacro %}{{ day() }}\n"
    own_file(folder, head + CHAT)
    assert Checkpoint(str(folder)).load().tokens.text(PROMPT).startswith("2024-07-26\n<s>user")
    assert Checkpoint(str(folder)).identity()["date"] == "2024-07-26"


def test_of_a_hub_model_that_is_not_here_only_its_templates_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = []

    def download(name: str, revision: str, allow_patterns: list[str]) -> str:
        downloads.append((name, revision, allow_patterns))
        own_file(tmp_path)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    monkeypatch.setattr(checkpoint, "cached_folder", lambda name, revision: None)
    monkeypatch.setattr(checkpoint, "_ask", lambda name, revision: "c" * 40)
    identity = Checkpoint("some/model").identity()
    assert identity == {"commit": "c" * 40, "dtype": "float32", "chat": True}
    templates = [TOKENIZER_CONFIG, CHAT_TEMPLATE, f"{CHAT_TEMPLATES}/*.jinja"]
    assert downloads == [("some/model", "c" * 40, templates)]
