"""Speed of the packed scorer on a small network of each common family.

    python -m benchmarks.scoring --families [--json F]

The networks have the same size (4 layers of width 256, as built by each family) and random weights;
methods and prompts are those of `benchmarks.scoring`. Llama is also run through its own modules and
the portable path, to show their cost on a network that the hand-written pass supports.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.decisions import turns
from benchmarks.networks import tokens_of
from benchmarks.small import WIDER, build_network
from benchmarks.timing import Way, compare, in_calls, prompts, rows_of, timed
from benchmarks.ways import Cached, Loop
from gauntlet.models.engine.general import General, Portable
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.reference import Reference

FAMILIES = (
    *("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "qwen3_moe"),
    *("mixtral", "gpt_oss", "olmo2", "olmo3", "smollm3", "granite", "glm4", "cohere2", "falcon"),
)
DECISIONS, SLOW = 24, 3

Figures = dict[str, float | str]


def measure_family(family: str, width: int) -> dict[str, Figures]:
    """Return the family's results by row name."""
    tokens = tokens_of("15m")
    network = build_network(family, len(tokens.tokenizer), WIDER)
    real = [turn.decision for turn in turns(DECISIONS) if turn.decision is not None]
    some = [real[i] for i in np.linspace(0, len(real) - 1, SLOW, dtype=int)]
    packers = {family: Packed(network, tokens)}
    if family == "llama":
        for way in (General, Portable):
            other = Packed(network, tokens)
            other.engine = way(network)
            packers[f"llama, {way.__name__.lower()}"] = other
    ways: dict[str, Way] = {
        name: partial(in_calls, packed, real, width) for name, packed in packers.items()
    }
    ways["loop"] = partial(Loop(network, tokens).score, some)
    ways["cached"] = Cached(network, tokens, some, 8).score
    seconds = timed(ways, network.device)
    exact = rows_of(Reference(network, tokens).score(some))
    of_all = prompts(real) / prompts(some)
    return {
        name: {
            "path": type(packed.engine).__name__.lower() if packed.engine else "reference",
            "decisions_per_second": len(real) / seconds[name],
            "decision_ratio": seconds["loop"] * of_all / seconds[name],
            "cached_ratio": seconds["cached"] * of_all / seconds[name],
            "max_abs_logprob_diff": compare(exact, rows_of(packed.score(some)))[
                "max_abs_logprob_diff"
            ],
        }
        for name, packed in packers.items()
    }


def row(name: str, figures: Figures) -> str:
    """Format a row of the table, in Markdown."""
    return (
        f"| {name} | {figures['path']} | {figures['decisions_per_second']:.3g} "
        f"| {figures['cached_ratio']:.2g} | {figures['decision_ratio']:.2g} "
        f"| {figures['max_abs_logprob_diff']:.1e} |"
    )


HEAD = "| family | path | decisions/s | x cached | x loop | max |\n|---|---|---|---|---|---|"
