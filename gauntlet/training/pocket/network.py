"""The pocket model's network: a small transformers Llama, and its forward pass over packed trees.

The pass uses the Llama's own weights, so the trained model is the one that ships. It saves work:
the prompts of a tree share their common tokens, and the last layer is computed only where answers
are read.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM


def build(
    vocabulary: int,
    width: int,
    layers: int,
    heads: int,
    hidden: int,
    end: int,
    pad: int,
    positions: int,
) -> LlamaForCausalLM:
    """Return a Llama with random weights.

    The large initial weights (0.1 instead of the usual 0.02) are necessary for a network of this
    width to learn to match words.
    """
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            max_position_embeddings=positions,
            initializer_range=0.1,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=end,
            pad_token_id=pad,
        )
    )


def hidden_states(
    model: LlamaForCausalLM,
    ids: Tensor,
    positions: Tensor,
    visible: Tensor,
    places: Tensor,
    early: Tensor | None = None,
) -> Tensor:
    """Return final hidden states, (batch, answers, width), at the given tokens.

    ids, positions: (batch, length). visible: (batch, length, length), True where the token of the
    first index may attend to that of the second. places: (batch, answers), indices of tokens.
    early: (batch, answers), True to use the state before the last layer instead of the final one.
    """
    body: Any = model.model
    cos, sin = rotary(model.config, positions)
    bias = torch.zeros(visible.shape).masked_fill_(~visible, float("-inf"))
    x = body.embed_tokens.weight[ids]
    for layer in body.layers[:-1]:
        x = feed(layer, x + attend(layer, x, x, cos, sin, cos, sin, bias))
    rows = torch.arange(len(ids))[:, None]
    few = rows, places
    last = body.layers[-1]
    y = x[few]
    z = feed(last, y + attend(last, y, x, cos[few], sin[few], cos, sin, bias[few]))
    return norm(body.norm, z if early is None else torch.where(early[..., None], y, z))


def rotary(config: Any, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of shape (*positions, head width), halves repeated as in Llama."""
    width = config.hidden_size // config.num_attention_heads
    rates = config.rope_parameters["rope_theta"] ** (-torch.arange(0, width, 2) / width)
    angles = positions[..., None] * rates
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x: (batch, length, heads, head width)."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos[:, :, None] + turned * sin[:, :, None]


def norm(module: Any, x: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), module.weight, module.variance_epsilon)


def attend(
    layer: Any,
    y: Tensor,
    x: Tensor,
    cos_y: Tensor,
    sin_y: Tensor,
    cos: Tensor,
    sin: Tensor,
    bias: Tensor,
) -> Tensor:
    """Return the attention of tokens y over tokens x."""
    attention = layer.self_attn
    hx = norm(layer.input_layernorm, x)
    hy = hx if y is x else norm(layer.input_layernorm, y)
    shape = (len(x), -1, attention.config.num_attention_heads, attention.head_dim)
    q = rotate(attention.q_proj(hy).view(shape), cos_y, sin_y).transpose(1, 2)
    k = rotate(attention.k_proj(hx).view(shape), cos, sin).transpose(1, 2)
    v = attention.v_proj(hx).view(shape).transpose(1, 2)
    read = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None])
    read = read.transpose(1, 2).flatten(2)
    return functional.linear(read, attention.o_proj.weight)


def feed(layer: Any, x: Tensor) -> Tensor:
    h = norm(layer.post_attention_layernorm, x)
    mlp = layer.mlp
    inner = functional.silu(mlp.gate_proj(h)) * mlp.up_proj(h)
    return x + functional.linear(inner, mlp.down_proj.weight)


def logprobs(model: LlamaForCausalLM, states: Tensor) -> Tensor:
    """Return log-probabilities over the vocabulary, (..., vocabulary), from final hidden states."""
    return functional.linear(states, model.lm_head.weight).log_softmax(-1)
