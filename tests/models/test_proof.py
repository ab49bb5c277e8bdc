"""Networks with limited attention windows, or position encodings that change for long texts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.equivalence_check import EquivalenceCheck, class_ends, lengths
from gauntlet.models.engine.general import General, Portable
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.local import Local
from gauntlet.models.engine.memory import Memory
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.tokens import load_tokens

BORDER = 100
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "factor": 5.0,
    "original_max_position_embeddings": BORDER,
    "short_factor": [1.0] * 6,
    "long_factor": [1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 20.48,
    "original_max_position_embeddings": BORDER,
}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt-neo's local window": (
        "gpt_neo",
        {
            "window_size": BORDER,
            "attention_types": [[["global", "local"], 2]],
            "num_layers": 4,
            "num_hidden_layers": 4,
        },
    ),
    "phi 3's longrope": (
        "phi3",
        {
            "rope_parameters": LONGROPE,
            "original_max_position_embeddings": BORDER,
            "head_dim": 12,
        },
    ),
    "llama 4's chunks": (
        "llama4_text",
        {
            "attention_chunk_size": BORDER,
            "num_hidden_layers": 4,
            "num_local_experts": 2,
            "intermediate_size_mlp": 80,
        },
    ),
}


def largest(packed: Any, plain: Any, decisions: list[Score]) -> float:
    """Return the largest difference between log-probabilities, checking that first choices are the
    same."""
    pairs = [
        (np.array(a), np.array(b))
        for x, y in zip(packed.score(decisions), plain.score(decisions), strict=True)
        for a, b in zip(x.logprobs, y.logprobs, strict=True)
    ]
    assert all(a.argmax() == b.argmax() for a, b in pairs)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def engines(folder: Any) -> tuple[Packed, Reference]:
    scorer: Any = Checkpoint(str(folder)).load()._scorer
    return scorer, scorer._plain


def on_both_sides(plain: Reference, decisions: list[Score]) -> bool:
    sizes = [
        len(plain.tokens.encode(prompt)) for decision in decisions for prompt in decision.prompts
    ]
    return min(sizes) < BORDER < max(sizes)


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_on_both_sides_of_a_border_are_scored_as_one_at_a_time(
    shape, make_checkpoint, decisions, caplog
):
    family, settings = SHAPES[shape]
    packed, plain = engines(make_checkpoint(family, **settings))
    assert on_both_sides(plain, decisions[:4])
    assert largest(packed, plain, decisions[:4]) < 1e-4
    kind = Portable if family == "gpt_neo" else General
    assert isinstance(packed.engine, kind), "short texts need not go the slow way"
    assert packed.proof.proven == BORDER
    assert f"texts of more than {BORDER} tokens of model" in caplog.text


@pytest.fixture
def planted():
    """An attention whose window is in no config: it drops rows further back than that."""

    def attention(module, query, key, value, attention_mask, scaling, **_):
        asks, sees = query.shape[-2], key.shape[-2]
        back = torch.arange(sees - asks, sees)[:, None] - torch.arange(sees)
        groups = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(groups, 1).transpose(2, 3) * scaling
        if attention_mask is not None:
            scores = scores + attention_mask[..., :sees]
        scores = scores.masked_fill(back >= BORDER, -torch.inf)
        mixed = torch.softmax(scores, dim=-1) @ value.repeat_interleave(groups, 1)
        return mixed.transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS.register("planted", attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register("planted", eager_mask)
    return "planted"


@pytest.mark.parametrize(("family", "engine"), [("llama", Flat), ("olmo2", General)])
def test_a_window_that_no_config_names_is_caught(
    family, engine, planted, make_checkpoint, decisions
):
    packed, plain = engines(make_checkpoint(family))
    packed._plain.network.set_attn_implementation(planted)
    assert BORDER not in lengths(plain.network.config.to_dict())
    assert on_both_sides(plain, decisions[:4])
    assert largest(packed, plain, decisions[:4]) < 1e-4
    assert isinstance(packed.engine, engine)
    assert packed.proof.proven == 16, "the class up to 256 holds the window"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_is_caught_in_16_bits_too(dtype, planted, make_checkpoint):
    folder = make_checkpoint("llama", initializer_range=0.1)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    for hidden, proven in ((False, 512), (True, 16)):
        network.set_attn_implementation(planted if hidden else "sdpa")
        packed = Packed(network, load_tokens(folder, "", False))
        assert packed.proof.covers(512) is not hidden
        assert packed.proof.proven == proven


def test_an_exact_first_class_leaves_room_for_the_rounding_of_longer_texts(make_checkpoint):
    """As measured on a GPU, with SmolLM2 in bfloat16."""
    network = AutoModelForCausalLM.from_pretrained(make_checkpoint("llama"), dtype=torch.bfloat16)
    errors = {16: 0.0, 256: 0.034, 512: 0.027}
    check = EquivalenceCheck(network, lambda _, high: errors[high], Memory(network), "x")
    assert check.covers(512)


def test_the_way_of_a_text_does_not_depend_on_what_came_before(make_checkpoint, decisions):
    family, settings = SHAPES["phi 3's longrope"]
    folder = make_checkpoint(family, **settings)
    together, _ = engines(folder)
    expected = together.score(decisions[:8])
    order = random.Random(1).sample(range(8), 8)
    alone, _ = engines(folder)
    assert [alone.score([decisions[i]])[0] for i in order] == [expected[i] for i in order]


@pytest.mark.parametrize("family", ["bloom", "mpt", "mamba"])
def test_models_that_name_no_longest_text_play(family, make_checkpoint, decisions):
    folder = make_checkpoint(family, max_position_embeddings=None)
    local = Checkpoint(str(folder)).load()
    write = Generate(decisions[0].prompts[0], 6)
    *scores, text = local.answer([*decisions[:3], write])
    slow: Local = Checkpoint(str(folder), engine="reference").load()
    for fast, plain in zip(scores, slow.answer(decisions[:3]), strict=True):
        assert np.array(fast.logprobs) == pytest.approx(np.array(plain.logprobs), abs=1e-4)
    assert text == anew(local._writer.network, folder).write([write])[0]


def anew(network: Any, folder: Any) -> Generator:
    """Generate by rereading the whole text for each token."""
    writer = Generator(network, load_tokens(folder, "", False))
    writer.cached = lambda room: False  # type: ignore[method-assign]
    return writer


@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_that_crosses_a_border_is_written_as_if_read_anew(shape, make_checkpoint, decisions):
    family, settings = SHAPES[shape]
    folder = make_checkpoint(family, **settings)
    local = Checkpoint(str(folder)).load()
    prompts = [prompt for decision in decisions for prompt in decision.prompts]
    length = local._scorer.tokens.encode
    prompt = max((p for p in prompts if len(length(p)) < BORDER - 2), key=lambda p: len(length(p)))
    ask = Generate(prompt, BORDER + 8 - len(length(prompt)), seed=1, temperature=1.0)
    assert local.answer([ask]) == anew(local._writer.network, folder).write([ask])


def test_a_network_that_reads_no_text_is_refused_in_one_line(make_checkpoint, monkeypatch):
    folder = make_checkpoint("gpt2")

    def broken(*_, **__):
        raise TypeError("this network wants pictures\nand says so at length")

    monkeypatch.setattr("transformers.GPT2Model.forward", broken)
    with pytest.raises(ModelError, match=r"16 tokens: .* pictures$"):
        Checkpoint(str(folder)).load()


def test_lengths_are_found_wherever_the_config_names_them():
    config = AutoConfig.for_model("llama", rope_parameters=YARN)
    config.text = {"attention_chunk_size": 300, "block": [{"local_window": [700, 20]}], "wide": 50}
    assert {BORDER, 300, 700, 20} <= set(lengths(config.to_dict()))
    assert 50 not in lengths(config.to_dict())


def test_classes_double_and_end_where_the_config_names_a_length():
    config = AutoConfig.for_model("llama", max_position_embeddings=9000, window=300)
    ends = [16, 256, 300, 600, 1200, 2400, 4800, 8896, 9000]
    assert list(class_ends(config)) == ends
