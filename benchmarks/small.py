"""Build a small network of any causal language model family, from its config with other sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

BORDER, LONGEST, MOST = 64, 512, 20_000_000
"""Tokens of a window or a chunk, maximum context, and maximum number of weights."""
LAYERS, HEADS, WIDTH, INNER, FEW = 4, 4, 64, 96, 4
VOCABULARY = ("vocab_size", "vocab_size_per_layer_input")
SIZES: Mapping[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embedding_size"), WIDTH),
    **dict.fromkeys(("word_embed_proj_dim", "attention_hidden_size", "embed_dim"), WIDTH),
    **dict.fromkeys(("intermediate_size", "d_ff", "dff", "n_inner", "dim_ff"), INNER),
    **dict.fromkeys(("ffn_hidden_size", "ffn_dim", "decoder_ffn_dim", "encoder_ffn_dim"), INNER),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers"), LAYERS),
    **dict.fromkeys(("decoder_layers", "encoder_layers", "depth", "num_blocks"), LAYERS),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads"), HEADS),
    **dict.fromkeys(("decoder_attention_heads", "encoder_attention_heads"), HEADS),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "multi_query_group_num"), 2),
    **dict.fromkeys(("head_dim", "kv_channels", "attention_head_dim", "v_head_dim"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), FEW),
    **dict.fromkeys(("moe_num_experts", "num_experts_per_tok", "num_experts_per_token"), 2),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace"), 1),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), LONGEST),
    **dict.fromkeys(("sliding_window", "attention_chunk_size", "window_size"), BORDER),
    **dict.fromkeys(("attention_window_size", "local_attention_window"), BORDER),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads"), 2 * HEADS),
    **dict.fromkeys(("linear_num_value_heads", "linear_num_key_heads"), 2),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 16),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "mamba_d_state", "state_size"), 16),
    **dict.fromkeys(("mamba_chunk_size", "chunk_size", "ssm_state_size"), 16),
    "mamba_d_ssm": 2 * WIDTH,
    **dict.fromkeys(("mamba_n_groups", "n_groups", "mamba_ngroups", "mamba_num_groups"), 1),
    "hidden_size_per_layer_input": 16,
    "initializer_range": 0.2,
    "rotary_dim": 8,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
"""Settings by the names that configs use for them."""
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "factor": LONGEST / BORDER,
    "original_max_position_embeddings": BORDER,
    "short_factor": [1.0] * 8,
    "long_factor": [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
}
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], LAYERS // 2]]},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "ministral": {"head_dim": 16},
    "mamba2": {"num_heads": 8, "head_dim": 16},
    "nemotron": {"head_dim": 16, "num_key_value_heads": 2},
    "gemma3n_text": {
        "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "activation_sparsity_pattern": [0.0] * LAYERS,
    },
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "bamba": {"attn_layer_indices": [1, 3]},
    "phi3": {"rope_parameters": LONGROPE, "original_max_position_embeddings": BORDER},
}
"""A family's further requirements, and settings that give it a border where sizes alone do not."""
FURTHER: Sequence[Mapping[str, Any]] = (
    {},
    {"num_key_value_heads": HEADS},
    {"num_key_value_heads": HEADS, "head_dim": None},
    {"num_hidden_layers": 2 * LAYERS, "num_key_value_heads": HEADS},
)
"""Tried in turn until the network runs; None keeps the family's own setting."""


WIDER: Mapping[str, Any] = {
    **{
        name: 256
        for name, size in SIZES.items()
        if size == WIDTH and name != "hidden_size_per_layer_input"
    },
    **{name: 2048 for name, size in SIZES.items() if size == LONGEST},
    **dict.fromkeys(("sliding_window", "attention_chunk_size", "window_size"), 1024),
    **{name: 512 for name, size in SIZES.items() if size == INNER},
    **dict.fromkeys(("head_dim", "kv_channels"), 64),
    "rotary_dim": 64,
}
"""Sizes at which a pass takes longer than its overhead, with windows beyond the prompts."""


def build_network(family: str, vocabulary: int, wider: Mapping[str, Any] | None = None) -> Any:
    """Return a small working network of the family. Raises the library's error for the first sizes
    tried, and ValueError if the network is too large."""
    error: Exception | None = None
    for further in FURTHER:
        sizes = {**SIZES, **(wider or {}), **dict.fromkeys(VOCABULARY, vocabulary), **further}
        special = {} if wider else SPECIAL.get(family)
        try:
            network = spread(small(CONFIG_MAPPING[family], sizes, special))
            network(input_ids=torch.arange(16)[None])
            return network
        except Exception as raised:  # any error, as above
            error = error or raised
    assert error is not None
    raise error


def spread(config: Any) -> Any:
    """Return the network of the config, with weights large enough for distinct predictions."""
    with torch.device("meta"):
        weights = AutoModelForCausalLM.from_config(config).num_parameters()
    if weights > MOST:
        raise ValueError(f"{weights:,} weights")
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False).float()
    for name, weight in network.named_parameters():
        if weight.dim() == 2 and name.endswith("weight") and weight.std() < 0.1:
            torch.nn.init.normal_(weight, std=0.2)
    return network


def small(kind: Any, sizes: Mapping[str, Any], special: Mapping[str, Any] | None = None) -> Any:
    """Return a config of a class with those of the sizes that it has, including its sub-configs."""
    usual = kind()
    parts = {
        name: small(type(getattr(usual, name)), sizes)
        for name in getattr(kind, "sub_configs", {})
        if getattr(usual, name, None) is not None
    }
    has = {name for name, value in usual.to_dict().items() if value is not None}
    own = {name: size for name, size in sizes.items() if name in has and size is not None}
    return kind(**{**own, **parts, **(special or {})})
