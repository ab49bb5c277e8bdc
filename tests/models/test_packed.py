"""The packed scorer against the reference and against itself in other batches; its tree."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Prompt, Score, Scores
from gauntlet.models.engine import attention, general
from gauntlet.models.engine.general import Portable
from gauntlet.models.engine.local import Local
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.tokens import grow, shared_length
from tests.models.conftest import load, numbers

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


def prove(local: Local) -> None:
    """Before breaking something on purpose: what is proven is not checked again."""
    assert local._scorer.proof.covers(512)


def flips(left: list[Scores], right: list[Scores]) -> int:
    """Count the prompts in which the two have different first choices."""
    rows = [
        (a, b)
        for x, y in zip(left, right, strict=True)
        for a, b in zip(x.logprobs, y.logprobs, strict=True)
    ]
    return sum(np.argmax(a) != np.argmax(b) for a, b in rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_log_probabilities_are_those_of_one_prompt_at_a_time(family, make_checkpoint, decisions):
    folder = make_checkpoint(family)
    packed = load(folder).answer(decisions)
    plain = load(folder, engine="reference").answer(decisions)
    difference = np.abs(numbers(packed) - numbers(plain)).max()
    print(f"{family}: max |difference| {difference:.2g}, argmax flips {flips(packed, plain)}")
    assert difference < 1e-4
    assert flips(packed, plain) == 0
    assert [reply.tokens for reply in packed] == [reply.tokens for reply in plain]


@pytest.mark.parametrize(
    "settings",
    [
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0,
                             "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 128}},
        {"num_key_value_heads": 4, "head_dim": 12, "attention_bias": True, "mlp_bias": True},
        {"num_key_value_heads": 1, "tie_word_embeddings": True, "num_hidden_layers": 1},
    ],
    ids=["llama3-rope", "biases-and-odd-heads", "one-layer-one-key-head"],
)  # fmt: skip
def test_variants_of_llama_agree(settings, make_checkpoint, decisions):
    folder = make_checkpoint("llama", **settings)
    packed = load(folder)
    assert packed._scorer.engine is not None
    plain = load(folder, engine="reference").answer(decisions[:8])
    assert np.abs(numbers(packed.answer(decisions[:8])) - numbers(plain)).max() < 1e-4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_bits_do_not_depend_on_company_order_or_threads(dtype, make_checkpoint, decisions):
    local = load(make_checkpoint("llama"), dtype=dtype)
    together = local.answer(decisions)
    assert [local.answer([decision])[0] for decision in decisions] == together
    for width in (2, 7):
        parts = [decisions[i : i + width] for i in range(0, len(decisions), width)]
        assert [reply for part in parts for reply in local.answer(part)] == together
    order = random.Random(1).sample(range(len(decisions)), len(decisions))
    shuffled = local.answer([decisions[i] for i in order])
    assert shuffled == [together[i] for i in order]
    for threads in (2, 3):
        torch.set_num_threads(threads)
        assert local.answer(decisions) == together
    torch.set_num_threads(1)
    local._scorer.pack_tokens = 300
    local._scorer.resident.limit = 0
    local._scorer.resident.clear()
    assert local.answer(decisions) == together


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_of_all_pieces_at_once_agrees(family, make_checkpoint, decisions):
    """The behaviour of a GPU where bits need not be reproducible."""
    folder = make_checkpoint(family)
    local = load(folder)
    expected = numbers(local.answer(decisions))
    local._scorer.engine = Flat(local._writer.network, invariant=False)
    local._scorer.engine._at_once = True
    other = Score((Prompt("Other rules.\n", "Hand: red 1\n"), Prompt("", "B")), ("A", "B"))
    plain = load(folder, engine="reference").answer([other])
    replies = local.answer([*decisions, other])
    assert np.abs(numbers(replies) - np.append(expected, numbers(plain))).max() < 1e-4


@pytest.mark.parametrize(
    "prompts",
    [
        [("", "Hand: red 1\n", "")],
        [("Rules: draw.\n", "", "")],
        [("Rules: draw.\n", "A", ""), ("Rules: draw.\n", "A", "")],
        [("Rules: draw.\n", "A", ""), ("Rules: draw.\n", "AB) red", ""), ("Other", "A", "")],
        [("Rules: draw.", "\n\n\nA) red 1 \n  B", "Answer: ")],
        [("Ünïcödé 🂡\n", "Ü\n\nred\r\nblue\n9", "")],
    ],
    ids=["no-static", "static-only", "twice", "one-begins-another", "blank-lines", "unicode"],
)
def test_odd_prompts_agree(prompts, checkpoint_folder):
    request = Score(tuple(Prompt(*parts) for parts in prompts), ("A", "B"))
    packed = load(checkpoint_folder).answer([request])
    plain = load(checkpoint_folder, engine="reference").answer([request])
    assert np.abs(numbers(packed) - numbers(plain)).max() < 1e-4
    assert packed[0].tokens == plain[0].tokens


def shift_mask(mask):
    return lambda *piece: np.roll(mask(*piece), 1, axis=1)


def see_everything(mask):
    return lambda *piece: np.zeros_like(mask(*piece))


def next_place(places):
    return lambda piece: places(piece) + (np.arange(len(places(piece))) > 3)


def forget_past(places):
    return lambda piece: places(piece) - piece.past_length


@pytest.mark.parametrize(
    ("seam", "mutation"),
    [
        ("mask_of", shift_mask),
        ("mask_of", see_everything),
        ("places_of", next_place),
        ("places_of", forget_past),
    ],
)
def test_a_wrong_mask_or_position_is_found(
    seam, mutation, checkpoint_folder, decisions, monkeypatch
):
    """The exactness check can fail: each slip moves log-probabilities far beyond its bound."""
    local = load(checkpoint_folder)
    plain = numbers(load(checkpoint_folder, engine="reference").answer(decisions[:4]))
    prove(local)
    monkeypatch.setattr(attention, seam, mutation(getattr(attention, seam)))
    assert np.abs(numbers(local.answer(decisions[:4])) - plain).max() > 1e-2


@pytest.mark.parametrize("family", ["codegen", "gptj"])
def test_other_architectures_take_the_portable_path(family, make_checkpoint, decisions, caplog):
    folder = make_checkpoint(family, rotary_dim=8)
    local = load(folder)
    assert isinstance(local._scorer.engine, Portable)
    assert caplog.text.count("by the portable path") == 1
    packed, plain = local.answer(decisions), load(folder, engine="reference").answer(decisions)
    assert np.abs(numbers(packed) - numbers(plain)).max() < 1e-4
    assert flips(packed, plain) == 0
    assert [local.answer([decision])[0] for decision in decisions] == packed
    assert caplog.text.count("by the portable path") == 1


def test_a_packed_pass_that_disagrees_is_not_used(
    checkpoint_folder, decisions, monkeypatch, caplog
):
    monkeypatch.setattr(attention, "mask_of", see_everything(attention.mask_of))
    local = load(checkpoint_folder)
    assert isinstance(local._scorer.engine, Portable)
    assert "the flat pass is off by" in caplog.text
    plain = load(checkpoint_folder, engine="reference").answer(decisions)
    assert np.abs(numbers(local.answer(decisions)) - numbers(plain)).max() < 1e-4


def test_where_all_passes_disagree_the_plain_scorer_answers(
    checkpoint_folder, decisions, monkeypatch, caplog
):
    for module in (attention, general):
        monkeypatch.setattr(module, "mask_of", see_everything(attention.mask_of))
    local = load(checkpoint_folder)
    assert "one prompt at a time" in caplog.text
    plain = load(checkpoint_folder, engine="reference").answer(decisions[:2])
    assert local.answer(decisions[:2]) == plain


def test_texts_beyond_a_sliding_window_go_to_the_plain_scorer(make_checkpoint, decisions):
    folder = make_checkpoint("mistral", sliding_window=90)
    packed = load(folder)
    short = Score((Prompt("", "Hand: red 1\n"),), ("A", "B"))
    lengths = [length for reply in packed.answer(decisions) for length in reply.tokens]
    assert min(lengths) < 90 < max(lengths)
    plain = load(folder, engine="reference").answer([*decisions, short])
    assert np.abs(numbers(packed.answer([*decisions, short])) - numbers(plain)).max() < 1e-4


def test_a_pack_that_does_not_fit_is_halved(checkpoint_folder, decisions, monkeypatch, caplog):
    local = load(checkpoint_folder)
    together = local.answer(decisions)
    logprobs = local._scorer.engine.logprobs

    def small(pieces, columns):
        if len(pieces) > 3:
            raise torch.OutOfMemoryError("out of memory")
        return logprobs(pieces, columns)

    monkeypatch.setattr(local._scorer.engine, "logprobs", small)
    assert local.answer(decisions) == together
    assert "out of memory" in caplog.text


def test_one_decision_that_does_not_fit_is_an_error(checkpoint_folder, decisions, monkeypatch):
    local = load(checkpoint_folder)
    prove(local)

    def full(pieces, columns):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(local._scorer.engine, "logprobs", full)
    with pytest.raises(ModelError, match=r"\d+ tokens does not fit"):
        local.answer(decisions[:2])


def test_static_parts_stay_resident_up_to_the_limit(checkpoint_folder, decisions, monkeypatch):
    local = load(checkpoint_folder)
    prove(local)
    computed = []
    keys_values = local._scorer.engine.keys_values
    monkeypatch.setattr(
        local._scorer.engine, "keys_values", lambda text: computed.append(text) or keys_values(text)
    )
    local.answer(decisions)
    local.answer(decisions)
    assert len(computed) == 1
    other = Score((Prompt("Rules: draw.\n", "Hand: red 1\n"),), ("A", "B"))
    local._scorer.resident.limit = local._scorer.resident._bytes
    local.answer([other, decisions[0]])
    assert len(computed) == 3, "the larger static part pushed out the smaller, or the reverse"


def test_a_prompt_longer_than_the_model_reads_is_an_error(checkpoint_folder):
    request = Score((Prompt("", "red " * 600),), ("A", "B"))
    with pytest.raises(ModelError, match=r"context of 512"):
        load(checkpoint_folder).answer([request])


# The tree of a decision's prompts.


TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=6)


@given(TEXTS)
def test_each_end_sees_exactly_its_own_text(texts):
    tree = grow(texts)
    for text, end in zip(texts, tree.ends, strict=True):
        seen = np.flatnonzero(tree.sees[end])
        assert tree.tokens[seen].tolist() == text
        assert tree.depths[seen].tolist() == list(range(len(text)))


@given(TEXTS)
def test_each_shared_beginning_is_there_once(texts):
    beginnings = {tuple(text[: i + 1]) for text in texts for i in range(len(text))}
    assert len(grow(texts).tokens) == len(beginnings)


@given(TEXTS)
def test_a_token_sees_what_its_parent_sees_and_itself(texts):
    tree = grow(texts)
    for node, row in enumerate(tree.sees):
        seen = np.flatnonzero(row)
        assert seen[-1] == node, "no token sees a later one"
        if len(seen) > 1:
            assert np.flatnonzero(tree.sees[seen[-2]]).tolist() == seen[:-1].tolist()


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)))
def test_shared_length(left, right):
    length = shared_length(left, right)
    assert left[:length] == right[:length]
    assert left[length : length + 1] != right[length : length + 1] or length == len(left)
