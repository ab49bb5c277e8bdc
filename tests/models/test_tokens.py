"""Prompts to tokens: cached lines equal the whole encoding; spellings; chat templates."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Prompt
from gauntlet.models.engine.files import PROJECT, SHIPPED
from gauntlet.models.engine.tokens import Tokens, has_local_words, load_tokens
from tests.models.conftest import CHAT

# The word patterns that Llama 3, Qwen and Mistral's tekken use, in outline: letters with one
# character before them, short numbers, punctuation with the line breaks that follow, blanks.
MODERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# Phrases that run over line breaks, cut only where something varies, as in the pocket model.
PHRASES = r"\n\n|\n[A-Z]\)|(?<=[:,)]|Is) (?:red|green|A|B)|(?<=red|green) \d"
WORDS = {"gpt2": None, "modern": MODERN, "phrases": PHRASES}
TEXT = st.text(st.sampled_from("aB9 .:,)\n\r\tü🂡"), max_size=30)


def with_words(tokenizer: PreTrainedTokenizerFast, kind: str) -> PreTrainedTokenizerFast:
    """The same vocabulary with another word pattern."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    if WORDS[kind] is None:
        return copy.deepcopy(tokenizer)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS[kind]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


def sentencepiece() -> PreTrainedTokenizerFast:
    """A tokenizer that opens text with a blank and has no words: lines cannot be cut."""
    vocabulary = {piece: i for i, piece in enumerate(["<unk>", "▁", "A", "▁A", "B", "\n", ":"])}
    backend = Tokenizer(models.BPE(vocabulary, [("▁", "A")], unk_token="<unk>"))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("chat", [False, True])
def test_joined_lines_equal_the_whole_encoding(kind, chat, tokenizer, decisions):
    tokenizer = copy.deepcopy(with_words(tokenizer, kind))
    tokenizer.chat_template = CHAT
    tokens = Tokens(tokenizer, "test", chat)
    assert tokens._cuts, "the fast way is taken"
    prompts = [prompt for decision in decisions for prompt in decision.prompts]
    assert tokens.encode_all(prompts) == [tokens.encode(prompt) for prompt in prompts]
    lines = sum(tokens.text(prompt).count("\n") for prompt in prompts)
    assert len(tokens._fragments) < lines / 3, "lines are remembered across prompts"


@pytest.mark.parametrize("kind", WORDS)
def test_joined_lines_equal_the_whole_encoding_of_any_text(kind, tokenizer):
    tokens = Tokens(with_words(tokenizer, kind), "test", chat=False)

    @settings(max_examples=300, deadline=None)
    @given(TEXT, TEXT, TEXT)
    def check(static, changing, cue):
        prompt = Prompt(static, changing, cue)
        assert tokens.encode_all([prompt]) == [tokens.encode(prompt)]

    check()


def test_a_cut_that_changes_tokens_is_noticed(tokenizer):
    """A tokenizer whose words run over line breaks: joined lines would be wrong, so none are."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    merged = Tokenizer(models.BPE({"a": 0, "Ċ": 1, "b": 2, "Ċb": 3, "0": 4}, [("Ċ", "b")]))
    merged.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\S+\n\S+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    merged.decoder = backend.decoder
    tokens = Tokens(PreTrainedTokenizerFast(tokenizer_object=merged), "test", chat=False)
    assert tokens._cuts
    assert tokens.encode_all([Prompt("a\n", "b")]) == [[0, 3]]


def test_tokenizers_without_words_are_never_cut(tokenizer):
    assert has_local_words(tokenizer)
    assert not has_local_words(sentencepiece())
    looking_back = Tokenizer(models.BPE())
    looking_back.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?<=\n)\S+|\s"), "isolated")
    assert not has_local_words(PreTrainedTokenizerFast(tokenizer_object=looking_back))
    prompt = Prompt("A\n", "B", ":")
    tokens = Tokens(sentencepiece(), "test", chat=False)
    assert tokens.encode_all([prompt]) == [tokens.encode(prompt)]


def test_a_letter_is_spelt_with_and_without_a_space(tokenizer):
    tokens = Tokens(tokenizer, "test", chat=False)
    (spelt,) = tokens.spellings(("A",))
    assert {tokenizer.decode([token]) for token in spelt} == {"A", " A"}


def test_spellings_are_of_the_middle_of_a_text():
    """Alone, `A` would be read as `▁A`, and the spelling without a space would be missed."""
    tokens = Tokens(sentencepiece(), "test", chat=False)
    assert tokens.spellings(("A",)) == ((2, 3),)
    assert tokens.spellings(("B",)) == ((4,),), "▁B is two tokens, so it does not count"


def test_a_choice_is_not_spelt_without_the_beginning_that_a_line_break_takes():
    """Of `\\nY` and `es`, the second is not `Yes`."""
    pieces = ["<unk>", "\n", "Y", "e", "s", ":", "es", "\nY", "Yes", "N", "o", "\nN"]
    merges = [("e", "s"), ("\n", "Y"), ("Y", "es"), ("\n", "N")]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    joining = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    tokens = Tokens(joining, "test", chat=False)
    assert tokens.spellings(("Yes",)) == ((vocabulary["Yes"],),)
    with pytest.raises(ModelError, match="'No' is not a single token"):
        tokens.spellings(("No",))


@pytest.mark.parametrize("choice", ["reversible", "red 1", "", "🂡"])
def test_a_choice_of_several_tokens_is_named(choice, tokenizer):
    tokens = Tokens(tokenizer, "my/model", chat=False)
    with pytest.raises(ModelError, match="'my/model'") as error:
        tokens.spellings(("A", choice))
    assert repr(choice) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_chat_template_wraps_static_and_changing_part(tokenizer):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = CHAT
    tokens = Tokens(tokenizer, "test", chat=True)
    prompt = Prompt("Rules.\n", "Hand: red 1\n", "Answer:")
    wrapped = "<s>user\nRules.\nHand: red 1</s>\n<s>assistant\nAnswer:"
    assert tokens.text(prompt) == wrapped
    ids = tokens.encode(prompt)
    assert ids.count(tokenizer.bos_token_id) == 2, "the template's own, and no further one"
    assert tokenizer.decode(ids) == wrapped
    head = tokens.head(prompt)
    assert tokenizer.decode(head) == "<s>user\nRules.\n"


def test_a_template_that_prints_the_date_prints_one_that_stays(tokenizer):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = (
        "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}"
        "{% endif %}{{ date_string }}: {{ messages[0].content }}"
    )
    assert Tokens(tokenizer, "t", chat=True).text(Prompt("a", "b")) == "26 Jul 2024: ab"


@pytest.mark.parametrize("form", ["<s> $A </s>", "$A </s>", "<s> <s> $A </s> </s>"])
@pytest.mark.parametrize("cut", [True, False])
def test_tokens_that_end_a_text_are_left_out(form, cut, tokenizer, monkeypatch, decisions):
    """After them a model would be asked what follows a text that has ended."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    special = [(mark, backend.token_to_id(mark)) for mark in ("<s>", "</s>")]
    backend.post_processor = processors.TemplateProcessing(single=form, special_tokens=special)
    ending = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")
    if not cut:
        monkeypatch.setattr("gauntlet.models.engine.tokens.has_local_words", lambda _: False)
    tokens = Tokens(ending, "test", chat=False)
    prompt = decisions[0].prompts[0]
    opening = [ending.bos_token_id] * form.count("<s>")
    bare = list(ending(prompt.text, add_special_tokens=False)["input_ids"])
    assert tokens.encode(prompt) == [*opening, *bare]
    assert tokens.encode_all([prompt]) == [tokens.encode(prompt)]
    assert tokens.head(prompt) == tokens.encode(prompt)[: len(tokens.head(prompt))]


def test_memory_for_lines_is_bounded(tokenizer, monkeypatch, decisions):
    monkeypatch.setattr("gauntlet.models.engine.tokens.FRAGMENTS", 40)
    tokens = Tokens(tokenizer, "test", chat=False)
    for decision in decisions:
        assert tokens.encode_all(decision.prompts) == [tokens.encode(p) for p in decision.prompts]
    assert len(tokens._fragments) <= 40


def test_tokens_of_a_checkpoint_are_those_of_its_tokenizer(checkpoint_folder: Path, tokenizer):
    tokens = load_tokens(checkpoint_folder, "test", False)
    prompt = Prompt("Rules: draw.\n", "Hand: red 1\n", "Answer:")
    assert tokens.encode(prompt) == tokenizer(prompt.text)["input_ids"]
    assert tokens.encode(prompt)[0] == tokenizer.bos_token_id


@pytest.mark.parametrize("model", sorted(one.name for one in (PROJECT / "models").glob("pocket*")))
def test_a_tokenizer_in_the_box_is_the_one_that_the_library_would_find(model: str) -> None:
    folder = PROJECT / "models" / model / "weights"
    loaded = load_tokens(folder, f"{SHIPPED}models/{model}/weights", chat=False).tokenizer
    tokenizer = AutoTokenizer.from_pretrained(str(folder))

    assert type(loaded) is type(tokenizer)
    assert loaded.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    assert loaded.special_tokens_map == tokenizer.special_tokens_map
    assert loaded.init_kwargs.keys() == tokenizer.init_kwargs.keys()
