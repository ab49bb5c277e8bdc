"""The flat pass through a network's own modules, against one prompt at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gauntlet.models.base import Score
from gauntlet.models.engine import general
from gauntlet.models.engine.general import General, Portable
from gauntlet.models.engine.packed import Packed
from tests.models.conftest import MakeCheckpoint, load, numbers

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma 2": ("gemma2", {"sliding_window": 40, "query_pre_attn_scalar": 16}),
    "gemma 3": ("gemma3_text", {"sliding_window": 40, "num_hidden_layers": 6}),
    "phi 3": ("phi3", {"sliding_window": 50}),
    "phi 3, longrope": (
        "phi3",
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10000.0,
                "factor": 2.0,
                "original_max_position_embeddings": 256,
                "short_factor": [1.1] * 6,
                "long_factor": [2.0] * 6,
            },
            "original_max_position_embeddings": 256,
            "head_dim": 12,
        },
    ),
    "qwen 3 moe": (
        "qwen3_moe",
        {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    ),
    "mixtral": ("mixtral", {"num_local_experts": 4}),
    "gpt-oss": ("gpt_oss", {"num_local_experts": 4, "sliding_window": 40}),
    "olmo 2": ("olmo2", {}),
    "olmo 3": ("olmo3", {"sliding_window": 40, "num_hidden_layers": 4}),
    "smollm 3": ("smollm3", {}),
    "granite": ("granite", {"attention_bias": True, "tie_word_embeddings": True}),
    "glm 4": ("glm4", {"attention_bias": True}),
    "cohere 2": ("cohere2", {"sliding_window": 40, "num_hidden_layers": 4}),
    "gpt-2": ("gpt2", {"n_embd": 48, "n_layer": 3, "n_head": 4}),
    "gpt-neox": ("gpt_neox", {"hidden_size": 64}),
    "llama, yarn": (
        "granite",
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 128,
            }
        },
    ),
}
"""Checkpoints of this project's users, small: windows and soft caps that the prompts exceed."""


@pytest.mark.parametrize("name", FAMILIES)
def test_it_scores_as_one_prompt_at_a_time_and_alike_in_any_company(
    name: str,
    make_checkpoint: MakeCheckpoint,
    decisions: list[Score],
    caplog: pytest.LogCaptureFixture,
) -> None:
    family, settings = FAMILIES[name]
    folder = make_checkpoint(family, **settings)
    local = load(folder)
    scored = local.answer(decisions)
    assert isinstance(local._scorer.engine, General)
    assert local._scorer.proof.objection is None
    assert "is scored" not in caplog.text
    plain = load(folder, engine="reference").answer(decisions)
    difference = np.abs(numbers(scored) - numbers(plain)).max()
    print(f"{name}: max |difference| {difference:.2g}")
    assert difference < 1e-4
    for ours, other in zip(scored, plain, strict=True):
        assert np.argmax(ours.logprobs, 1).tolist() == np.argmax(other.logprobs, 1).tolist()
    assert [local.answer([decision])[0] for decision in reversed(decisions)] == scored[::-1]


def without(argument: str) -> Callable[..., Any]:
    """The attention of this pass, ignoring one argument from the library."""
    plain = general.attention
    return lambda *args, **options: plain(*args, **{**options, argument: None})


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("gemma 2", "softcap"),
        ("gemma 2", "sliding_window"),
        ("gemma 3", "sliding_window"),
        ("gpt-oss", "s_aux"),
        ("olmo 3", "sliding_window"),
        ("granite", "scaling"),
    ],
)
def test_an_attention_that_ignores_an_argument_is_noticed(
    name: str,
    argument: str,
    make_checkpoint: MakeCheckpoint,
    decisions: list[Score],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pass that ignores a window, a cap, a sink or a scale is detected, and the fallback's
    answers are right."""
    family, settings = FAMILIES[name]
    if argument == "softcap":
        settings = {**settings, "attn_logit_softcapping": 1.0}
    if argument == "scaling":
        settings = {**settings, "attention_multiplier": 0.6}
    folder = make_checkpoint(family, **settings)
    deaf = without(argument)
    monkeypatch.setitem(general.ALL_ATTENTION_FUNCTIONS._local_mapping, general.NAME, deaf)
    local = load(folder)
    scored = local.answer(decisions)
    engine, proof = local._scorer.engine, local._scorer.proof
    assert isinstance(engine, Portable) or proof.objection is not None
    plain = load(folder, engine="reference").answer(decisions)
    assert np.abs(numbers(scored) - numbers(plain)).max() < 1e-4


def test_bits_that_depend_on_the_batch_are_noticed(
    make_checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without tiles a product's loops hang on the number of rows."""
    network = load(make_checkpoint("mixtral", num_local_experts=4))._writer.network
    monkeypatch.setattr(General, "_steady", lambda self: False)
    with pytest.raises(general.Unsupported, match="bits"):
        General(network)
    General(network, invariant=False)


def test_the_copy_shares_its_weights_and_leaves_the_network_as_it_was(
    make_checkpoint: MakeCheckpoint, decisions: list[Score]
) -> None:
    local = load(make_checkpoint("gemma2"))
    network = local._writer.network
    other = local._scorer.engine._network
    pairs = list(zip(network.parameters(), other.parameters(), strict=True))
    assert pairs
    assert all(mine is theirs for mine, theirs in pairs)
    assert network.config._attn_implementation != general.NAME
    assert other.config._attn_implementation == general.NAME
    before = network(input_ids=torch.arange(9)[None]).logits
    local.answer(decisions[:3])
    assert torch.equal(network(input_ids=torch.arange(9)[None]).logits, before)


def test_it_stays_near_the_plain_scorer_in_16_bits(
    make_checkpoint: MakeCheckpoint, decisions: list[Score]
) -> None:
    folder = make_checkpoint("gemma2", initializer_range=0.1)
    local = load(folder, dtype="bfloat16")
    packed = numbers(local.answer(decisions))
    assert isinstance(local._scorer.engine, General)
    plain = numbers(load(folder, dtype="bfloat16", engine="reference").answer(decisions))
    exact = numbers(load(folder).answer(decisions))
    assert np.abs(packed - exact).max() < 2 * np.abs(plain - exact).max()


def test_a_network_in_parts_is_left_to_the_portable_path(make_checkpoint: MakeCheckpoint) -> None:
    local = load(make_checkpoint("gemma2"))
    scorer = Packed(local._writer.network, local.tokens, least=lambda number: number)
    assert isinstance(scorer.engine, Portable)
