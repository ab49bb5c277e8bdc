"""Upper bounds for a device: the operations required, and its measured matmul rate.

For a decision of K prompts that share P tokens of static part and S of situation, each followed by
b tokens of options and question:

- tree:  T = S + K b tokens, with the static part cached; what the packed scorer computes.
- pages: S + (P mod 16) + K b + (K - 1) r tokens, r = 7.5, what prefix caching in pages of 16
  computes: a partial page is recomputed for every prompt.

A token costs 2 N + 4 L d c operations (N parameters of the layers, L layers, d the width of the
queries, c the tokens before it), a prompt another 2 d V for the head.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.networks import layer_parameters
from benchmarks.ways import encoded
from gauntlet.models.base import Score
from gauntlet.models.engine.tokens import Tokens, grow, shared_length

PAGE = 16
WASTED = (PAGE - 1) / 2
"""Mean number of tokens in a partial page."""
SERVER = 0.75
"""Share of the device's rate that a good paged server reaches."""


@dataclass(frozen=True)
class Work:
    """Means over decisions: tokens as sent, of the tree and by pages, and operations."""

    prompts: float
    sent: float
    tree: float
    pages: float
    tree_operations: float
    pages_operations: float


def work(network: Any, tokens: Tokens, requests: Sequence[Score]) -> Work:
    """Return the work of the requests on the network."""
    config = network.config
    wide = config.num_attention_heads * config.head_dim
    rows = []
    for request in requests:
        texts = encoded(tokens, request)
        static = shared_length(tokens.head(request.prompts[0]), min(texts))
        tree = len(grow([text[static:] for text in texts]).tokens)
        again = static % PAGE + (len(texts) - 1) * WASTED
        context = sum(map(len, texts)) / len(texts)
        token = 2 * layer_parameters(network) + 4 * config.num_hidden_layers * wide * context
        head = 2 * len(texts) * config.hidden_size * config.vocab_size
        pages = tree + again
        rows.append(
            (len(texts), sum(map(len, texts)), tree, pages, tree * token + head,
             pages * token + head)
        )  # fmt: skip
    return Work(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


@torch.inference_mode()
def matmul_rate(network: Any) -> float:
    """Return operations per second of the network's widest matmul, in its dtype, on its device."""
    config, device = network.config, network.device
    rows = 16384 if device.type == "cuda" else 1024
    left = torch.randn(rows, config.hidden_size, device=device, dtype=network.dtype)
    right = torch.randn(
        config.hidden_size, config.intermediate_size, device=device, dtype=network.dtype
    )
    best, repeats = float("inf"), 10
    for _ in range(4):
        synchronize(device)
        started = time.perf_counter()
        for _ in range(repeats):
            left @ right
        synchronize(device)
        best = min(best, (time.perf_counter() - started) / repeats)
    return float(2 * rows * config.hidden_size * config.intermediate_size / best)


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
