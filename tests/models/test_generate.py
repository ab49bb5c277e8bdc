"""Free text: against the library's own loop, and the same in any batch."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.sampling import choose, cut_at
from gauntlet.models.engine.tokens import load_tokens

COLOURS = ("red", "green", "blue", "yellow")
PROMPT = Prompt("Rules: draw.\n", "Hand: red 1\n", "Answer:")


@pytest.fixture(scope="module")
def local(checkpoint_folder):
    return Checkpoint(str(checkpoint_folder)).load()


def test_greedy_text_is_what_the_library_writes(local, checkpoint_folder, tokenizer):
    network = AutoModelForCausalLM.from_pretrained(checkpoint_folder)
    ids = tokenizer(PROMPT.text, return_tensors="pt")["input_ids"]
    expected = network.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=1)[0]
    (reply,) = local.answer([Generate(PROMPT, max_tokens=12)])
    written = expected[ids.shape[1] :]
    assert reply.text == tokenizer.decode(written, skip_special_tokens=True)
    assert reply.prompt_tokens == ids.shape[1]
    assert reply.tokens == int((written != tokenizer.eos_token_id).sum())


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
def test_many_at_once_write_what_each_writes_alone(family, make_checkpoint):
    folder = make_checkpoint(family)
    asks = mixed_asks()
    together = Checkpoint(str(folder)).load().answer(asks)
    network = AutoModelForCausalLM.from_pretrained(folder)
    one_by_one = Generator(network, load_tokens(folder, "", False))
    assert one_by_one.write(asks) == together
    assert len({reply.text for reply in together}) > len(asks) // 2


def mixed_asks() -> list[Generate]:
    """Prompts and texts of many lengths, greedy and sampled, with and without stop strings."""
    rng = random.Random(5)
    return [
        Generate(
            Prompt("Rules: draw.\n", f"Hand: {' '.join(rng.choices(COLOURS, k=number))}\n", ":"),
            max_tokens=rng.randint(1, 70),
            temperature=rng.choice([0.0, 0.7]),
            stop=rng.choice([(), ("e", "\n\n")]),
            seed=number,
        )
        for number in range(40)
    ]


def test_a_text_does_not_depend_on_company_order_or_threads(local):
    asks = mixed_asks()
    together = local.answer(asks)
    assert [local.answer([ask])[0] for ask in reversed(asks)] == together[::-1]
    for threads in (2, 3):
        torch.set_num_threads(threads)
        assert local.answer(asks) == together
    torch.set_num_threads(1)


def test_logits_of_a_step_are_the_same_bits_in_any_company(local, monkeypatch):
    """Equal texts could hide unequal rounding, so this looks at the logits themselves."""
    asks, seen = mixed_asks()[:9], {}
    extend = local._writer._extend

    def watch(active, logits):
        for text, row in zip(active, logits, strict=True):
            if text.reply is None:
                key = (text.request, len(text.written))
                assert torch.equal(seen.setdefault(key, row), row)
        extend(active, logits)

    monkeypatch.setattr(local._writer, "_extend", watch)
    local.answer(asks)
    count = len(seen)
    for width in (1, 4):
        for start in range(0, len(asks), width):
            local.answer(asks[start : start + width])
    assert len(seen) == count > 100


def test_a_sample_depends_on_its_own_seed_only(local):
    asks = [Generate(PROMPT, 6, temperature=1.0, seed=seed) for seed in range(6)]
    together = local.answer(asks)
    assert [local.answer([ask])[0] for ask in reversed(asks)] == together[::-1]
    assert len({reply.text for reply in together}) > 1


def test_a_shared_static_part_is_read_once(local, monkeypatch):
    asks = [Generate(Prompt("Shared rules.\n", f"Hand {n}\n"), 2) for n in range(5)]
    read = []
    keys_values = local._scorer.engine.keys_values
    monkeypatch.setattr(
        local._scorer.engine, "keys_values", lambda text: read.append(text) or keys_values(text)
    )
    local.answer(asks)
    local.answer([Score((asks[0].prompt,), ("A", "B"))])
    assert len(read) == 1


def test_out_of_memory_halves_what_is_written_at_once(local, monkeypatch, caplog):
    asks = mixed_asks()
    expected = local.answer(asks)
    step = local._scorer.engine.step

    def small(tokens, places, furthest, mixing):
        if (places > 0).sum() > 9:
            raise torch.OutOfMemoryError("out of memory")
        return step(tokens, places, furthest, mixing)

    monkeypatch.setattr(local._scorer.engine, "step", small)
    assert local.answer(asks) == expected
    assert "out of memory" in caplog.text


def test_scores_and_texts_may_be_asked_together(local):
    write, score = Generate(PROMPT, 3), Score((PROMPT,), ("A", "B"))
    assert local.answer([write, score, write]) == [
        *local.answer([write]), *local.answer([score]), *local.answer([write])
    ]  # fmt: skip


def test_a_stop_string_ends_the_text_and_is_left_off(local):
    (whole,) = local.answer([Generate(PROMPT, 12)])
    stop = whole.text[4:6]
    (stopped,) = local.answer([Generate(PROMPT, 12, stop=(stop,))])
    assert stopped.text == whole.text[: whole.text.index(stop)]
    assert stopped.tokens < whole.tokens


def test_cut_at_takes_the_first_stop_string():
    assert cut_at("one two three", ("three", "two")) == ("one ", True)
    assert cut_at("one", ("two",)) == ("one", False)


def test_tokens_are_drawn_by_their_chances():
    logits = torch.tensor([0.0, -torch.inf, 1.0, 2.0])
    rng = np.random.default_rng(0)
    drawn = np.bincount([choose(logits, 0.5, rng) for _ in range(4000)], minlength=4) / 4000
    chances = torch.softmax(logits / 0.5, dim=-1).numpy()
    assert drawn == pytest.approx(chances, abs=0.02)
    assert choose(logits, 0.0, rng) == 3


def test_more_than_the_model_can_hold_is_an_error(local):
    with pytest.raises(ModelError, match="600 to write exceed the context of 512"):
        local.answer([Generate(PROMPT, 600)])
