"""Conversations and system texts: as raw text, in a chat template, over the wire, in a log."""

from __future__ import annotations

import copy
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from gauntlet.models.api.dialects.base import TEMPLATE_TOKENS
from gauntlet.models.api.dialects.chat import Chat, Completions
from gauntlet.models.base import Dialogue, Generate, Generation, Prompt, Score, Scores
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.local import Local
from gauntlet.models.engine.tokens import Tokens
from gauntlet.models.human import TerminalModel
from gauntlet.models.replay import Replay
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.viewer.match import decision_view
from tests.models.conftest import CHAT, MakeCheckpoint, decision, numbers
from tests.pipeline.records import decided, ended, write

FIRST = Prompt("Rules.\n\n", "Hand: red 1\n", "Say:")
TURNS = Dialogue(
    FIRST.static,
    FIRST.changing,
    FIRST.cue,
    turns=((" red", "\nSure?\n"), (" blue", "\nOh?\n")),
)


def test_raw_text_is_what_was_read_and_said_in_turn() -> None:
    assert TURNS.text == ("Rules.\n\nHand: red 1\nSay: red\nSure?\nSay: blue\nOh?\nSay:")
    assert TURNS.text.startswith(FIRST.text + " red")
    assert Dialogue(FIRST.static, FIRST.changing, FIRST.cue).text == FIRST.text


def test_a_chat_template_gets_a_message_a_turn(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = CHAT
    tokens = Tokens(tokenizer, "test", chat=True)
    assert tokens.text(TURNS) == (
        "<s>user\nRules.\n\nHand: red 1</s>\n"
        "<s>assistant\nSay: red</s>\n"
        "<s>user\nSure?</s>\n"
        "<s>assistant\nSay: blue</s>\n"
        "<s>user\nOh?</s>\n"
        "<s>assistant\nSay:"
    )
    head = tokens.head(TURNS)
    assert tokens.encode(TURNS)[: len(head)] == head == tokens.head(FIRST)
    assert tokens.encode_all([TURNS, FIRST]) == [tokens.encode(TURNS), tokens.encode(FIRST)]


def test_a_server_gets_a_message_a_turn() -> None:
    wire = Chat(name="gpt")
    body = wire.writing(Generate(TURNS, 7))
    assert body["messages"] == [
        {"role": "user", "content": "Rules.\n\nHand: red 1\nSay:"},
        {"role": "assistant", "content": " red"},
        {"role": "user", "content": "\nSure?\nSay:"},
        {"role": "assistant", "content": " blue"},
        {"role": "user", "content": "\nOh?\nSay:"},
    ]
    joined = "".join(message["content"] for message in body["messages"])
    assert joined == TURNS.text, "so a server without a template reads what a checkpoint reads"
    most = wire.most(body)
    assert (most.prompt, most.written) == (len(TURNS.text) + 5 * TEMPLATE_TOKENS, 7)
    raw = Completions(name="gpt")
    assert raw.writing(Generate(TURNS, 7))["prompt"] == TURNS.text
    assert raw.most(raw.writing(Generate(TURNS, 7))).prompt == len(TURNS.text) + TEMPLATE_TOKENS


@pytest.mark.parametrize("prompt", [FIRST, TURNS])
def test_a_log_knows_what_was_said(prompt: Prompt, tmp_path: Path) -> None:
    other = Dialogue(FIRST.static, FIRST.changing, FIRST.cue, turns=((" blue", "\nSure?\n"),))
    requests = [Generate(prompt, 7), Generate(other, 7), Score((prompt,), ("A", "B"))]
    replies = [Generation("yes", 9, 1), Generation("no", 8, 1), Scores(((-1.0, -2.0),), (9,))]
    statics: dict[str, str] = {}
    written = [exchange(*pair, statics) for pair in zip(requests, replies, strict=True)]
    record = decided(1, asked=tuple(written))
    write(tmp_path / "log.jsonl", [ended(record, statics=statics)])
    assert Replay(str(tmp_path)).load().answer(requests) == replies
    shown = decision_view(record, statics).prompts
    assert [shown_prompt.text for shown_prompt in shown] == [prompt.text, other.text, prompt.text]


def test_a_log_knows_the_system_text_the_samples_and_the_form(tmp_path: Path) -> None:
    prompt = Prompt("Rules.\n\n", "Hand: red 1\n", "Say:", "You play.\n")
    request = Generate(prompt, 7, 0.5, ("Z",), seed=3, n=2, json=True)
    reply = Generation("{}", 9, 4, ('{"a": 1}',))
    statics: dict[str, str] = {}
    record = decided(1, asked=(exchange(request, reply, statics),))
    assert sorted(statics.values()) == ["Rules.\n\n", "You play.\n"]
    write(tmp_path / "log.jsonl", [ended(record, statics=statics)])
    assert Replay(str(tmp_path)).load().answer([request]) == [reply]
    shown = decision_view(record, statics).prompts
    assert [(shown_prompt.text, shown_prompt.reply) for shown_prompt in shown] == [
        (prompt.text, "{}"),
        (prompt.text, '{"a": 1}'),
    ]


# A system text: a separate message if the model supports it, else before all other text.


SYSTEM = "You are a careful player.\nYou like red.\n"
PROMPT = Prompt("Rules.\n", "Hand: red 1\n", "Answer:", SYSTEM)
TALK = Dialogue(PROMPT.static, PROMPT.changing, PROMPT.cue, SYSTEM, ((" red", "Sure?\n"),))
REFUSING = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + CHAT
)
SILENT = CHAT.replace("messages %}", "messages if m.role != 'system' %}")
OPENING = "<s>user\nYou are a careful player.\nYou like red.\nRules.\nHand: red 1</s>\n"
OWN = "<s>system\nYou are a careful player.\nYou like red.</s>\n<s>user\nRules.\nHand: red 1</s>\n"
MODES = {"raw": None, "own": CHAT, "opening": REFUSING}


def with_template(tokenizer: PreTrainedTokenizerFast, template: str) -> Tokens:
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = template
    return Tokens(tokenizer, "test", chat=True)


@pytest.mark.parametrize(
    ("template", "wrapped"), [(CHAT, OWN), (REFUSING, OPENING), (SILENT, OPENING)]
)
def test_a_template_shows_it_as_it_can(
    template: str, wrapped: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    tokens = with_template(tokenizer, template)
    assert tokens.text(PROMPT) == wrapped + "<s>assistant\nAnswer:"
    assert tokens.text(TALK) == (
        wrapped + "<s>assistant\nAnswer: red</s>\n<s>user\nSure?</s>\n<s>assistant\nAnswer:"
    )
    assert tokens.text(replace(PROMPT, system="")) == (
        "<s>user\nRules.\nHand: red 1</s>\n<s>assistant\nAnswer:"
    )


def test_raw_text_begins_with_it(tokenizer: PreTrainedTokenizerFast) -> None:
    tokens = Tokens(tokenizer, "test", chat=False)
    assert tokens.text(PROMPT) == SYSTEM + "Rules.\nHand: red 1\nAnswer:"
    assert tokens.text(TALK).startswith(SYSTEM + "Rules.\n")


@pytest.mark.parametrize("template", [None, CHAT, REFUSING])
def test_it_is_part_of_what_prompts_share(
    template: str | None, tokenizer: PreTrainedTokenizerFast
) -> None:
    tokens = with_template(tokenizer, template) if template else Tokens(tokenizer, "test", False)
    heads = [tokens.decode(tokens.head(replace(PROMPT, system=s))) for s in (SYSTEM, "", SYSTEM)]
    assert "You like red." in heads[0]
    assert heads[0].rstrip("\n").endswith("Rules.")
    assert heads[0] == heads[2] != heads[1]
    assert tokens.encode_all([PROMPT, TALK]) == [tokens.encode(PROMPT), tokens.encode(TALK)]


def decisions_with_system() -> list[Score]:
    rng = random.Random(8)
    decisions = [decision(rng) for _ in range(9)]
    systems = (SYSTEM, "", "You like blue.\n")
    return [
        Score(
            tuple(replace(prompt, system=systems[number % 3]) for prompt in scored.prompts),
            scored.choices,
        )
        for number, scored in enumerate(decisions)
    ]


@pytest.mark.parametrize("mode", MODES)
def test_the_packed_scorer_stays_exact_and_reads_it_once(
    mode: str, make_checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_checkpoint("llama", max_position_embeddings=1024)
    if MODES[mode] is not None:
        (folder / "chat_template.jinja").write_text(MODES[mode])
    packed = Checkpoint(str(folder), chat=mode != "raw").load()
    plain = Checkpoint(str(folder), chat=mode != "raw", engine="reference").load()
    read = heads_read(packed, monkeypatch)
    scored, exact = packed.answer(decisions_with_system()), plain.answer(decisions_with_system())
    assert np.abs(numbers(scored) - numbers(exact)).max() < 1e-4
    assert [reply.tokens for reply in scored] == [reply.tokens for reply in exact]
    assert len(read) == 3, "a static part for each system text"
    assert sum("You like red." in text for text in read) == 1


def heads_read(local: Local, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the static parts computed from now on, as text."""
    assert local._scorer.proof.covers(512)
    engine, read = local._scorer.engine, []
    plain = engine.keys_values
    decode = local._scorer.tokens.decode
    monkeypatch.setattr(
        engine, "keys_values", lambda head: read.append(decode(head)) or plain(head)
    )
    return read


def test_a_person_reads_it_first(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"red\nblue\n")
    model = TerminalModel(reading)
    model.answer([Generate(PROMPT, 5), Generate(replace(PROMPT, changing="Hand: blue 2\n"), 5)])
    os.close(reading)
    os.close(writing)
    assert capsys.readouterr().out == (
        SYSTEM + "Rules.\nHand: red 1\nAnswer: Hand: blue 2\nAnswer: "
    )
