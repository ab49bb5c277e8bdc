"""Speed of batched generation, against the library's own loop, one text at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from gauntlet.models.base import Generate, Score
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.tokens import Tokens

TEXTS, ALONE = 64, 8
LENGTH = 48
ROUNDS = 3


def measure_writing(network: Any, tokens: Tokens, decisions: Sequence[Score]) -> dict[str, float]:
    """Return tokens per second and the ratio to `generate`, greedy, after the decisions' first
    prompts. Both must generate the same texts. Texts that end early end early in both."""
    prompts = [decision.prompts[0] for decision in decisions]
    # Without the cue, after which an answer would begin and soon end.
    asks = [
        Generate(type(prompt)(prompt.static, prompt.changing[: -1 - i // len(prompts)]), LENGTH)
        for i, prompt in enumerate(prompts * -(-TEXTS // len(prompts)))
    ][:TEXTS]
    writer = Generator(network, tokens, Packed(network, tokens))
    together = writer.write(asks)
    best = {"together": float("inf"), "alone": float("inf")}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        writer.write(asks)
        middle = time.perf_counter()
        texts = [write_alone(network, tokens, ask) for ask in asks[:ALONE]]
        ended = time.perf_counter()
        best["together"] = min(best["together"], middle - started)
        best["alone"] = min(best["alone"], ended - middle)
    if texts != [reply.text for reply in together[:ALONE]]:
        raise SystemExit("texts written together are not those that `generate` writes")
    many = sum(reply.tokens for reply in together)
    few = sum(reply.tokens for reply in together[:ALONE])
    return {
        "generation_tokens_per_second": many / best["together"],
        "generation_ratio": (best["alone"] / few) / (best["together"] / many),
        "generation_tokens": many,
    }


@torch.inference_mode()
def write_alone(network: Any, tokens: Tokens, ask: Generate) -> str:
    ids = torch.tensor([tokens.encode(ask.prompt)], device=network.device)
    out = network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=ask.max_tokens,
        do_sample=False,
        pad_token_id=0,
    )
    return tokens.decode(out[0, ids.shape[1] :].tolist())
