"""How fast the packed scorer is on a small network of each common family.

    python -m benchmarks.scoring --families [--json F]

Networks of one size (4 layers of width 256, as each family builds them) with random weights; the
ways and the prompts are those of `benchmarks.scoring`. Llama is also run by its own modules and by
the portable path, which shows what these cost on a network that the hand-written pass knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.decisions import turns
from benchmarks.networks import tokens_of
from benchmarks.small import WIDER, built
from benchmarks.ways import Cached, Loop
from models.base import Score
from models.engine.general import General
from models.engine.packed import Packed
from models.engine.portable import Portable
from models.engine.reference import Reference

FAMILIES = (
    *("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "qwen3_moe"),
    *("mixtral", "gpt_oss", "olmo2", "olmo3", "smollm3", "granite", "glm4", "cohere2", "falcon"),
)
DECISIONS, SLOW = 24, 3

Figures = dict[str, float | str]


def measure_family(family: str, width: int, timed: Any, compare: Any) -> dict[str, Figures]:
    """The figures of a family by the name of its row; `timed` and `compare` of the benchmark."""
    tokens = tokens_of("15m")
    network = built(family, len(tokens.tokenizer), WIDER)
    real = [turn.decision for turn in turns(DECISIONS) if turn.decision is not None]
    some = [real[i] for i in np.linspace(0, len(real) - 1, SLOW, dtype=int)]
    loop, cached = Loop(network, tokens), Cached(network, tokens, some, 8)
    packers = {family: Packed(network, tokens)}
    if family == "llama":
        for way in (General, Portable):
            other = Packed(network, tokens)
            other.engine = way(network)
            packers[f"llama, {way.__name__.lower()}"] = other
    ways = {name: packing(packed, real, width) for name, packed in packers.items()}
    seconds = timed(
        {**ways, "loop": lambda: loop.score(some), "cached": cached.score, "packed": ways[family]},
        network.device,
    )
    exact = [
        list(row) for reply in Reference(network, tokens).score(some) for row in reply.logprobs
    ]
    of_all = prompts(real) / prompts(some)
    found: dict[str, Figures] = {}
    for name, packed in packers.items():
        scored = [list(row) for reply in packed.score(some) for row in reply.logprobs]
        found[name] = {
            "path": type(packed.engine).__name__.lower() if packed.engine else "reference",
            "decisions_per_second": len(real) / seconds[name],
            "decision_ratio": seconds["loop"] * of_all / seconds[name],
            "cached_ratio": seconds["cached"] * of_all / seconds[name],
            "max_abs_logprob_diff": compare(exact, scored)["max_abs_logprob_diff"],
        }
    return found


def packing(packed: Packed, requests: list[Score], width: int) -> Any:
    def run() -> None:
        for start in range(0, len(requests), width):
            packed.score(requests[start : start + width])

    return run


def prompts(requests: list[Score]) -> int:
    return sum(len(request.prompts) for request in requests)


def row(name: str, figures: Figures) -> str:
    """A row of the table, in Markdown."""
    return (
        f"| {name} | {figures['path']} | {figures['decisions_per_second']:.3g} "
        f"| {figures['decision_ratio']:.2g} | {figures['cached_ratio']:.2g} "
        f"| {figures['max_abs_logprob_diff']:.1e} |"
    )


HEAD = "| family | path | decisions/s | x loop | x cached | max |\n|---|---|---|---|---|---|"
