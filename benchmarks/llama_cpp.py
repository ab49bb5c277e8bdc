"""Scoring and writing with one checkpoint, against llama.cpp's server.

    python -m benchmarks.llama_cpp FOLDER FILE.gguf [--threads 1] [--clock wall] [--json F]

Both have the same weights, as a folder of safetensors and as a GGUF file, the same tokens and the
same number of threads. Scoring: UNO's cloze prompts (`benchmarks.decisions`); the server keeps the
prefix of the prompts before. Writing: 1, 16 and 64 texts at once, of which the server runs four;
the time of reading prompts, measured with texts of one token, is subtracted on both sides. The two
alternate in one run, and the fastest round of each counts. `load_cold_s` and `load_warm_s` are the
seconds from the loaded libraries to the first four decisions, without and with kept results of
equivalence checks.

With `--clock cpu` seconds are those of the processor, which a busy machine disturbs less; that says
how fast a run is only with one thread.

Needs the package xllamacpp, no network.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.decisions import turns
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.tokens import Tokens

DTYPES = ("float32", "bfloat16")
SLOTS, CONTEXT = 4, 16384
WRITTEN = (1, 16, 64)
"""Numbers of texts written at once."""
PROBS = 200
"""Likeliest tokens that the server reports."""
TIMEOUT = 600.0
"""Seconds that the server may take for one request."""
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
FIRST = 4
"""Decisions that count as part of loading."""


class LlamaCpp:
    """llama.cpp's server in this process, asked over HTTP with token ids."""

    def __init__(self, file: Path, threads: int) -> None:
        library: Any = import_module("xllamacpp")
        settings = library.CommonParams()
        settings.model.path = str(file)
        settings.port = 0
        settings.n_ctx, settings.n_parallel = CONTEXT, SLOTS
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
        settings.verbosity = -1
        self._server = library.Server(settings)
        self._pool = ThreadPoolExecutor(64)

    def score(self, tokens: Tokens, decisions: Sequence[Score]) -> list[list[float]]:
        """The log-probabilities of every prompt; minus infinity where one is not reported."""
        rows = []
        for decision in decisions:
            spellings = tokens.spellings(decision.choices)
            for prompt in decision.prompts:
                reply = self._ask(tokens.encode(prompt), n_predict=1, n_probs=PROBS)
                listed = reply["completion_probabilities"][0]["top_logprobs"]
                found = {one["id"]: float(one["logprob"]) for one in listed}
                rows.append([max(found.get(t, -np.inf) for t in ids) for ids in spellings])
        return rows

    def write(self, tokens: Tokens, asks: Sequence[Generate]) -> int:
        """The number of tokens written."""
        texts = [(tokens.encode(ask.prompt), ask.max_tokens) for ask in asks]
        replies = self._pool.map(lambda text: self._ask(text[0], n_predict=text[1]), texts)
        return sum(int(reply["tokens_predicted"]) for reply in replies)

    def _ask(self, prompt: Sequence[int], **options: Any) -> dict[str, Any]:
        content = {"prompt": list(prompt), "temperature": 0, "cache_prompt": True, **options}
        request = urllib.request.Request(
            f"{self._server.listening_address}/completion",
            json.dumps(content).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            answer: dict[str, Any] = json.load(reply)
        return answer


@dataclass(frozen=True)
class Bench:
    """What is measured, and how."""

    folder: Path
    server: LlamaCpp
    clock: str
    decisions: Sequence[Score]
    prompts: Sequence[Prompt]
    length: int
    rounds: int

    def fastest(self, *runs: Callable[[], Any]) -> list[float]:
        """Seconds of each, the fastest of alternating rounds."""
        now, best = CLOCKS[self.clock], [float("inf")] * len(runs)
        for _ in range(self.rounds):
            for number, run in enumerate(runs):
                started = now()
                run()
                best[number] = min(best[number], now() - started)
        return best

    def measure(self, dtype: str) -> dict[str, float]:
        """Return the figures of one dtype, by name."""
        cold, warm = self.load_seconds(dtype)
        model: Any = Checkpoint(str(self.folder), dtype=dtype, chat=True).load()  # type: ignore[arg-type]
        tokens, count = model.tokens, len(self.decisions)
        ours = [list(row) for scores in model.answer(self.decisions) for row in scores.logprobs]
        theirs = self.server.score(tokens, self.decisions)
        seconds = self.fastest(
            lambda: model.answer(self.decisions),
            lambda: self.server.score(tokens, self.decisions),
        )
        figures = {
            "ours_decisions_per_s": count / seconds[0],
            "llama_cpp_decisions_per_s": count / seconds[1],
            "ratio": seconds[1] / seconds[0],
            **compare(ours, theirs),
        }
        for texts in WRITTEN:
            rates = self.writing_rates(model, tokens, texts)
            (
                figures[f"ours_write_{texts}_tokens_per_s"],
                figures[f"llama_cpp_write_{texts}_tokens_per_s"],
            ) = rates
            figures[f"write_{texts}_ratio"] = rates[0] / rates[1]
        return {**figures, "load_cold_s": cold, "load_warm_s": warm}

    def writing_rates(self, model: Any, tokens: Tokens, texts: int) -> tuple[float, float]:
        """Tokens per second after the first token of each text, ours and the server's."""
        prompts = self.prompts[:texts]
        # With a stop string of their own, so that the longer ones do not go on from them.
        asks = [[Generate(p, 1, stop=("\0",)) for p in prompts]]
        asks += [[Generate(p, self.length) for p in prompts]]
        written = [
            sum(reply.tokens for reply in model.answer(asks[1])) - texts,
            self.server.write(tokens, asks[1]) - texts,
        ]
        short, long, server_short, server_long = self.fastest(
            lambda: model.answer(asks[0]),
            lambda: model.answer(asks[1]),
            lambda: self.server.write(tokens, asks[0]),
            lambda: self.server.write(tokens, asks[1]),
        )
        return written[0] / (long - short), written[1] / (server_long - server_short)

    def load_seconds(self, dtype: str) -> list[float]:
        """Seconds of two processes that share an empty cache folder."""
        part = [sys.executable, "-m", "benchmarks.llama_cpp", str(self.folder), "--load", dtype]
        part += ["--clock", self.clock, "--threads", str(torch.get_num_threads())]
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "XDG_CACHE_HOME": cache}
            runs = [subprocess.run(part, env=env, capture_output=True, text=True, check=True)
                    for _ in range(2)]  # fmt: skip
        return [float(run.stdout.splitlines()[-1]) for run in runs]


def load(folder: Path, dtype: str, clock: str) -> float:
    """Seconds to load a checkpoint and to answer the first decisions."""
    decisions = questions(FIRST)
    now = CLOCKS[clock]
    import gauntlet.models.engine.local

    assert gauntlet.models.engine.local
    started = now()
    Checkpoint(str(folder), dtype=dtype, chat=True).load().answer(decisions)  # type: ignore[arg-type]
    return now() - started


def questions(count: int) -> list[Score]:
    return [turn.decision for turn in turns(count) if turn.decision is not None][:count]


def beginnings(decisions: Sequence[Score], count: int) -> list[Prompt]:
    """Different prompts to write after, cut before the question, so that no short answer fits."""
    prompts = [prompt for decision in decisions for prompt in decision.prompts]
    cut = [Prompt(p.static, p.changing[: len(p.changing) // 2 + i]) for i, p in enumerate(prompts)]
    distinct = list(dict.fromkeys(cut))
    further = (Prompt(p.static, p.changing[:-1]) for p in distinct)
    return list(dict.fromkeys([*distinct, *further]))[:count]


def compare(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the median difference of what both report, and the share of equal first choices."""
    pairs = [(np.array(a), np.array(b)) for a, b in zip(ours, theirs, strict=True)]
    differences = np.concatenate([np.abs(a - b)[np.isfinite(b)] for a, b in pairs])
    return {
        "median_abs_logprob_diff": float(np.median(differences)),
        "same_first_choice": float(np.mean([a.argmax() == b.argmax() for a, b in pairs])),
    }


def table(figures: dict[str, float]) -> str:
    """Format one row per figure, one column per dtype."""
    names = list(dict.fromkeys(name.partition(".")[2] for name in figures))
    rows = [["", *DTYPES]]
    rows += [[name, *(f"{figures[f'{dtype}.{name}']:.3g}" for dtype in DTYPES)] for name in names]
    return "\n".join(
        f"{name:34}" + "".join(f"{cell:>10}" for cell in cells) for name, *cells in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="the checkpoint, with a chat template")
    parser.add_argument("gguf", type=Path, nargs="?", help="the same weights for llama.cpp")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--decisions", type=int, default=32)
    parser.add_argument("--length", type=int, default=48, help="tokens of a written text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--load", choices=DTYPES, help="only load the checkpoint; print seconds")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.load:
        print(load(options.folder, options.load, options.clock))
        return
    if options.gguf is None:
        parser.error("a GGUF file with the same weights is needed")
    decisions = questions(options.decisions)
    prompts = beginnings(decisions, 64)
    if len(prompts) < 64:
        parser.error(f"{options.decisions} decisions have {len(prompts)} prompts; 64 are needed")
    server = LlamaCpp(options.gguf, options.threads)
    bench = Bench(options.folder, server, options.clock, decisions, prompts, options.length,
                  options.rounds)  # fmt: skip
    figures: dict[str, float] = {}
    for dtype in DTYPES:
        figures |= {f"{dtype}.{name}": value for name, value in bench.measure(dtype).items()}
    print(table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
