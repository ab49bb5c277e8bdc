"""Thoughts within a text are no part of its answer, whatever tags a model puts around them."""

from __future__ import annotations

import pytest

from gauntlet.models.chat import HARMONY, KNOWN, Pair, Tags, thoughts_of
from gauntlet.models.engine.text import cut_answer

THINK, THOUGHT = KNOWN[:2]
THOUGHTS = thoughts_of(None)


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("2", "", "2"),
        (" as it is \n", "", " as it is \n"),
        ("<think>a</think>2", "a", "2"),
        ("[THINK]a[/THINK]2", "a", "2"),
        ("<seed:think>a</seed:think>2", "a", "2"),
        ("a</think>\n\n2", "a", "2"),
        ("<think>a</think>b<think>c</think>2", "a\nc", "b2"),
        ("<think>a", "a", ""),
        ('<thought>could play {"action":"2"} but no</thought>{"action":"1"}',
         'could play {"action":"2"} but no', '{"action":"1"}'),
        ("<reasoning>a</reasoning>\n<answer>2</answer>", "a", "<answer>2</answer>"),
        ("◁think▷a◁/think▷2", "a", "2"),
        ("<|begin_of_thought|>a<|end_of_thought|>2", "a", "2"),
        ("<|START_THINKING|>a<|END_THINKING|>2", "a", "2"),
        ("<|channel>thought\na\n<channel|>2", "a", "2"),
        ("<think>I write <thought>x</thought> later.</think>2",
         "I write <thought>x</thought> later.", "2"),
        ("I weigh.</thought>2", "I weigh.", "2"),
        # harmony, whole, without thoughts, cut, with two channels of thoughts, and as words
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>2"
         "<|return|>", "a", "2"),
        ("<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>2", "a", "2"),
        ("<|channel|>final<|message|>2<|return|>", "", "2"),
        ("<|channel|>analysis<|message|>a <|channel", "a <|channel", ""),
        ("<|start|>assistant<|channel|>commentary to=functions.play <|constrain|>json<|message|>"
         '{"n": 3}<|call|>', '{"n": 3}', ""),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>b"
         "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>2",
         "a<|end|><|start|>assistant<|channel|>commentary<|message|>b", "2"),
        ('analysisWe could play {"action": 2}.assistantfinal{"action": 1}',
         'We could play {"action": 2}.', '{"action": 1}'),
        ("analysis2 is bad.assistantcommentaryso 1assistantfinal1",
         "2 is bad.assistantcommentaryso 1", "1"),
        ("analysisWe are cut her", "We are cut her", ""),
        ("analysis: 2 is best. Move: 2", "", "analysis: 2 is best. Move: 2"),
    ],
)  # fmt: skip
def test_thoughts_and_answer(text: str, thoughts: str, answer: str) -> None:
    assert THOUGHTS.split(text) == (thoughts, answer)


def test_a_models_own_tags() -> None:
    ours = thoughts_of(("<|inner|>", "<|outer|>"))
    assert ours.split("<|inner|>2?<|outer|>1") == ("2?", "1")
    assert ours.split("<think>2?</think>1") == ("2?", "1"), "beside the known ones"
    assert ours.is_tag("<|inner|>")
    assert not THOUGHTS.is_tag("<|inner|>")
    prompt = "<user>Go.<model><|inner|>"
    assert ours.closed(prompt) == f"{prompt}\n<|outer|>\n\n"
    assert THOUGHTS.closed(prompt) == prompt


@pytest.mark.parametrize("tags", [("", "<x>"), ("<x>", " "), ("<x>", "<x>")])
def test_tags_that_cannot_be_told_apart(tags: Tags) -> None:
    with pytest.raises(ValueError, match=r"^thought_tags \["):
        thoughts_of(tags)


@pytest.mark.parametrize(
    ("prompt", "opened", "closed"),
    [
        ("Go.<think>\n", True, "Go.<think>\n</think>\n\n"),
        ("<|im_start|>assistant\n<think>\n", True,
         "<|im_start|>assistant\n<think>\n</think>\n\n"),
        ("Go.[THINK]", True, "Go.[THINK]\n[/THINK]\n\n"),
        ("Go.<seed:think>\n", True, "Go.<seed:think>\n</seed:think>\n\n"),
        ("<|turn>model\n<|channel>thought\n", True, "<|turn>model\n<|channel>thought\n<channel|>"),
        ("Go.<think></think>\n", False, "Go.<think></think>\n"),
        ("<think>\n\n</think>\n\n", False, "<think>\n\n</think>\n\n"),
        ("<think>Go.", False, "<think>Go."),
        ("Do not write <think>. <|assistant|>", False, "Do not write <think>. <|assistant|>"),
        ("Go.", False, "Go."),
        ("<|end|><|start|>assistant", False,
         "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)  # fmt: skip
def test_a_prompt_may_open_the_thoughts(prompt: str, opened: bool, closed: str) -> None:
    assert (THOUGHTS.opened_by(prompt) is not None) is opened
    assert THOUGHTS.closed(prompt) == closed
    assert THOUGHTS.opened_by(closed) is None


def test_thoughts_that_a_prompt_has_opened_end_at_their_own_tag() -> None:
    text = "I write </thought>.</think>2"
    assert THOUGHTS.split(text, THINK) == ("I write </thought>.", "2")
    assert THOUGHTS.split("all of it", THOUGHT) == ("all of it", "")


@pytest.mark.parametrize(
    ("text", "opened", "cut"),
    [
        ("a\nb", None, "a"),
        ("a\nb", THINK, "a\nb"),
        ("a\nb</think>\n\nc\nd", THINK, "a\nb</think>\n\nc"),
        ("<think>a\nb</think>c", None, "<think>a\nb</think>c"),
        ("a</think>b <think>c\n", None, "a</think>b <think>c\n"),
        ("<|channel|>analysis<|message|>a\nb", None, "<|channel|>analysis<|message|>a\nb"),
        ("<|channel|>final<|message|>\nc\nd", HARMONY, "<|channel|>final<|message|>\nc"),
    ],
)
def test_stop_strings_are_sought_in_the_answer(text: str, opened: Pair | None, cut: str) -> None:
    assert cut_answer("one two three", ("three", "two"), THOUGHTS, None) == ("one ", True)
    assert cut_answer(text, ("\n",), THOUGHTS, opened) == (cut, cut != text)
