"""Decisions per second scored by vLLM or SGLang, if installed.

    python -m benchmarks.engines vllm|sglang SIZE     prints one line of JSON

The decisions are those of `benchmarks.scoring` at that size: every prompt is sent as tokens, all at
once, with prefix caching; one token is generated and returned with log-probabilities. Weights are
random (`dummy`), which does not change the work. An engine keeps the GPU's memory, so each runs in
a separate process, started by `benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks import apart
from benchmarks.decisions import turns
from benchmarks.networks import SIZES, config_of, tokens_of
from gauntlet.models.base import Score

ROUNDS = 3
MEMORY = 0.85
"""Share of the GPU's memory that an engine may use."""

Prompts = Sequence[Sequence[int]]
Run = Callable[[], int]
"""Scores all prompts; returns the number of replies."""


def vllm(folder: str, dtype: str, prompts: Prompts, wanted: Sequence[int]) -> Run:
    """Score with vLLM (0.33 can return the log-probabilities of given tokens)."""
    library: Any = import_module("vllm")
    engine = library.LLM(
        model=folder,
        skip_tokenizer_init=True,
        load_format="dummy",
        dtype=dtype,
        enable_prefix_caching=True,
        gpu_memory_utilization=MEMORY,
    )
    asked = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
    how = library.SamplingParams(
        max_tokens=1, temperature=0.0, logprob_token_ids=list(wanted), detokenize=False
    )
    return lambda: len(engine.generate(asked, how, use_tqdm=False))


def sglang(folder: str, dtype: str, prompts: Prompts, wanted: Sequence[int]) -> Run:
    """Score with SGLang."""
    library: Any = import_module("sglang")
    engine = library.Engine(
        model_path=folder,
        skip_tokenizer_init=True,
        load_format="dummy",
        dtype=dtype,
        mem_fraction_static=MEMORY,
    )
    asked, tokens = [list(prompt) for prompt in prompts], [list(wanted)] * len(prompts)
    how = {"max_new_tokens": 1, "temperature": 0.0}
    return lambda: len(
        engine.generate(
            input_ids=asked, sampling_params=how, return_logprob=True, token_ids_logprob=tokens
        )
    )


ENGINES = {"vllm": vllm, "sglang": sglang}


def installed() -> list[str]:
    return [name for name in ENGINES if find_spec(name)]


def measured(engine: str, size: str) -> dict[str, float]:
    """Run `measure` in a separate process. Raises RuntimeError."""
    found = apart.run_part("benchmarks.engines", engine, size)
    return {f"{size}.{engine}_{figure}": value for figure, value in found.items()}


def measure(engine: str, size: str) -> dict[str, float]:
    """Return decisions per second: the fastest of a few rounds, after a warm-up round."""
    tokens = tokens_of(size)
    asked = [turn.decision for turn in turns(SIZES[size].decisions) if turn.decision is not None]
    prompts = [tokens.encode(prompt) for decision in asked for prompt in decision.prompts]
    with tempfile.TemporaryDirectory() as folder:
        config_of(size).save_pretrained(folder)
        dtype = str(SIZES[size].dtype).removeprefix("torch.")
        run = ENGINES[engine](folder, dtype, prompts, letters(tokens, asked))
        seconds = [timed(run, len(prompts)) for _ in range(1 + ROUNDS)]
    return {"decisions_per_second": len(asked) / min(seconds[1:])}


def letters(tokens: Any, decisions: Sequence[Score]) -> list[int]:
    """Return all tokens that spell an answer of any decision."""
    spelt = (tokens.spellings(decision.choices) for decision in decisions)
    return sorted({token for choices in spelt for ids in choices for token in ids})


def timed(run: Run, wanted: int) -> float:
    started = time.perf_counter()
    replies = run()
    if replies != wanted:
        raise SystemExit(f"{wanted} prompts were sent, {replies} replies came")
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("size", choices=sorted(size for size in SIZES if SIZES[size].shape))
    options = parser.parse_args()
    if not find_spec(options.engine):
        parser.error(f"{options.engine} is not installed")
    print(json.dumps(measure(options.engine, options.size)))


if __name__ == "__main__":
    main()
