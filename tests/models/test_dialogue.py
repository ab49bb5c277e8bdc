"""Conversations of several turns: as raw text, in a chat template, over the wire, in a log."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from gauntlet.models.api.dialects.base import TEMPLATE_TOKENS
from gauntlet.models.api.dialects.chat import Chat, Completions
from gauntlet.models.base import Dialogue, Generate, Generation, Prompt, Score, Scores
from gauntlet.models.engine.tokens import Tokens
from gauntlet.models.replay import Replay
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.viewer.match import decision_view
from tests.models.conftest import CHAT
from tests.pipeline.records import decided, ended, write

FIRST = Prompt("Rules.\n\n", "Hand: red 1\n", "Say:")
TALK = Dialogue(
    FIRST.static,
    FIRST.changing,
    FIRST.cue,
    turns=((" red", "\nSure?\n"), (" blue", "\nOh?\n")),
)


def test_raw_text_is_what_was_read_and_said_in_turn() -> None:
    assert TALK.text == ("Rules.\n\nHand: red 1\nSay: red\nSure?\nSay: blue\nOh?\nSay:")
    assert TALK.text.startswith(FIRST.text + " red")
    assert Dialogue(FIRST.static, FIRST.changing, FIRST.cue).text == FIRST.text


def test_a_chat_template_gets_a_message_a_turn(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = CHAT
    tokens = Tokens(tokenizer, "test", chat=True)
    assert tokens.text(TALK) == (
        "<s>user\nRules.\n\nHand: red 1</s>\n"
        "<s>assistant\nSay: red</s>\n"
        "<s>user\nSure?</s>\n"
        "<s>assistant\nSay: blue</s>\n"
        "<s>user\nOh?</s>\n"
        "<s>assistant\nSay:"
    )
    head = tokens.head(TALK)
    assert tokens.encode(TALK)[: len(head)] == head == tokens.head(FIRST)
    assert tokens.encode_all([TALK, FIRST]) == [tokens.encode(TALK), tokens.encode(FIRST)]


def test_a_server_gets_a_message_a_turn() -> None:
    wire = Chat(name="gpt")
    body = wire.writing(Generate(TALK, 7))
    assert body["messages"] == [
        {"role": "user", "content": "Rules.\n\nHand: red 1\nSay:"},
        {"role": "assistant", "content": " red"},
        {"role": "user", "content": "\nSure?\nSay:"},
        {"role": "assistant", "content": " blue"},
        {"role": "user", "content": "\nOh?\nSay:"},
    ]
    joined = "".join(message["content"] for message in body["messages"])
    assert joined == TALK.text, "so a server without a template reads what a checkpoint reads"
    most = wire.most(body)
    assert (most.prompt, most.written) == (len(TALK.text) + 5 * TEMPLATE_TOKENS, 7)
    raw = Completions(name="gpt")
    assert raw.writing(Generate(TALK, 7))["prompt"] == TALK.text
    assert raw.most(raw.writing(Generate(TALK, 7))).prompt == len(TALK.text) + TEMPLATE_TOKENS


@pytest.mark.parametrize("prompt", [FIRST, TALK])
def test_a_log_knows_what_was_said(prompt: Prompt, tmp_path: Path) -> None:
    other = Dialogue(FIRST.static, FIRST.changing, FIRST.cue, turns=((" blue", "\nSure?\n"),))
    asked = [Generate(prompt, 7), Generate(other, 7), Score((prompt,), ("A", "B"))]
    replies = [Generation("yes", 9, 1), Generation("no", 8, 1), Scores(((-1.0, -2.0),), (9,))]
    statics: dict[str, str] = {}
    written = [exchange(*pair, statics) for pair in zip(asked, replies, strict=True)]
    made = decided(1, asked=tuple(written))
    write(tmp_path / "log.jsonl", [ended(made, statics=statics)])
    assert Replay(str(tmp_path)).load().answer(asked) == replies
    shown = decision_view(made, statics).prompts
    assert [one.text for one in shown] == [prompt.text, other.text, prompt.text]


def test_a_log_knows_the_system_text_the_samples_and_the_form(tmp_path: Path) -> None:
    told = Prompt("Rules.\n\n", "Hand: red 1\n", "Say:", "You play.\n")
    asked = Generate(told, 7, 0.5, ("Z",), seed=3, n=2, json=True)
    reply = Generation("{}", 9, 4, ('{"a": 1}',))
    statics: dict[str, str] = {}
    made = decided(1, asked=(exchange(asked, reply, statics),))
    assert sorted(statics.values()) == ["Rules.\n\n", "You play.\n"]
    write(tmp_path / "log.jsonl", [ended(made, statics=statics)])
    assert Replay(str(tmp_path)).load().answer([asked]) == [reply]
    shown = decision_view(made, statics).prompts
    assert [(one.text, one.reply) for one in shown] == [
        (told.text, "{}"),
        (told.text, '{"a": 1}'),
    ]
