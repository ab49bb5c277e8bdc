"""Decisions per second of the packed scorer, against other ways to score the same prompts.

    python -m benchmarks.scoring [--device cpu] [--threads 1] [--sizes pocket,15m,120m] [--json F]
    python -m benchmarks.scoring --families [--json F]

Methods, on the same network, threads and cloze prompts of real UNO turns, alternating in one run:

- packed: `models.engine.packed`, many decisions per call, as from many concurrent matches;
- loop: as published, `generate(max_new_tokens=1)` per prompt, batch 1, softmax over the vocabulary;
- forward: a bare forward pass per prompt with logits at the last position only;
- cached: plain transformers at its best, static part cached, many prompts per padded batch.

A decision ratio compares decisions that all methods score. A game ratio includes the other calls of
a game: the published loop also scores turns with a single option, and a card held twice twice. The
slow methods are timed on evenly spaced turns and scaled by the number of prompts. All methods are
checked against the reference scorer before timing. Networks other than the pocket model have random
weights, which does not change the work.

Needs torch, transformers and numpy (numba for fresh decisions), no network. docs/measurements.md
explains the columns of the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.by_family import FAMILIES, HEAD, measure_family, row
from benchmarks.decisions import turns
from benchmarks.limits import SERVER, matmul_rate, work
from benchmarks.networks import SIZES, USUAL, network_of, tokens_of
from benchmarks.timing import Way, compare, in_calls, prompts, rows_of, timed
from benchmarks.ways import Cached, Forward, Loop, Rows
from benchmarks.writing import measure_writing
from gauntlet.models.base import Score
from gauntlet.models.engine.attention import Piece, lay_out
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.tokens import Tokens

WIDTH = {"cpu": 64, "cuda": 512}
"""Decisions per call of the packed scorer."""
BATCH = {"cpu": 8, "cuda": 128}
"""Prompts per padded batch of the cached method."""
LOOSE = {torch.float32: 1e-4, torch.bfloat16: 1.0}
"""Allowed deviation of log-probabilities from the reference scorer's, to ensure equal work."""


def measure(name: str, device: str, width: int) -> dict[str, float]:
    """Return all results of one network, by name."""
    size = SIZES[name]
    tokens = tokens_of(name)
    network = network_of(name, device)
    asked = turns(size.decisions)
    real = [turn.decision for turn in asked if turn.decision is not None]
    some = [real[i] for i in np.linspace(0, len(real) - 1, size.slow, dtype=int)]
    published = [turn.published for turn in asked]
    few = [published[i] for i in np.linspace(0, len(asked) - 1, size.slow, dtype=int)]
    invariant = size.dtype == torch.float32
    packed, loop = Packed(network, tokens, invariant), Loop(network, tokens)
    forward = Forward(network, tokens, some)
    cached = Cached(network, tokens, some if device == "cpu" else real, BATCH[device])
    ways: dict[str, Way] = {
        "packed": lambda: in_calls(packed, real, width),
        "loop": lambda: loop.score(some),
        "loop_game": lambda: loop.score(few),
        "forward": forward.score,
        "cached": cached.score,
    }
    if not invariant:
        steady = Packed(network, tokens, invariant=True)
        ways["steady"] = lambda: in_calls(steady, real, width)
    exact = rows_of(Reference(network, tokens).score(some))
    figures = compare(exact, rows_of(packed.score(some)))
    near = {"loop": loop.score(some), "forward": forward.score()}
    near["cached"] = Cached(network, tokens, some, BATCH[device]).score()
    check(name, exact, near, LOOSE[size.dtype])
    seconds = timed(ways, network.device)
    # Seconds per decision, from seconds per prompt.
    each = {
        "packed": seconds["packed"] / len(real),
        "loop": seconds["loop"] * prompts(real) / prompts(some) / len(real),
        "loop_game": seconds["loop_game"] * prompts(published) / prompts(few) / len(real),
        "forward": seconds["forward"] * prompts(real) / prompts(some) / len(real),
        "cached": seconds["cached"] / (len(some) if device == "cpu" else len(real)),
    }
    if device == "cpu":
        each["cached"] *= prompts(real) / len(real) / (prompts(some) / len(some))
    cost, rate = work(network, tokens, real), matmul_rate(network)
    host = host_seconds(packed, tokens, real, width) / len(real)
    figures |= {
        "decisions_per_second": 1 / each["packed"],
        "cached_ratio": each["cached"] / each["packed"],
        "decision_ratio": each["loop"] / each["packed"],
        "game_ratio": each["loop_game"] / each["packed"],
        "forward_ratio": each["forward"] / each["packed"],
        "pages_ratio": cost.pages_operations / (SERVER * rate) / each["packed"],
        "limit_share": cost.tree_operations / rate / each["packed"],
        "matmul_teraflops": rate / 1e12,
        "tokens_per_second": cost.tree / each["packed"],
        "sent_tokens_per_second": cost.sent / each["packed"],
        "prompts_per_decision": cost.prompts,
        "tokens_per_decision": cost.tree,
        "sent_tokens_per_decision": cost.sent,
        "host_share": host / each["packed"],
    }
    if not invariant:
        figures["batch_invariant_cost"] = seconds["steady"] / seconds["packed"] - 1
    if name == "pocket":
        figures |= measure_writing(network, tokens, some)
    return {f"{name}.{figure}": value for figure, value in figures.items()}


def host_seconds(packed: Packed, tokens: Tokens, requests: Sequence[Score], width: int) -> float:
    """The seconds spent outside the network: tokens, trees, masks, and transfer to the device."""
    engine: Any = packed.engine

    class Idle:
        span, dtype = engine.span, engine.dtype

        def logprobs(self, pieces: Sequence[Piece], columns: Sequence[int]) -> torch.Tensor:
            lay_out(pieces, engine.tiles, engine._like, engine._at_once)
            return torch.zeros(sum(len(piece.tree.ends) for piece in pieces), len(columns))

        def keys_values(self, text: Sequence[int]) -> Any:
            return engine.keys_values(text)

    idle: Any = Idle()
    packed.engine = idle
    try:
        return timed({"packed": lambda: in_calls(packed, requests, width)}, engine.device)["packed"]
    finally:
        packed.engine = engine


def check(name: str, exact: Rows, ways: dict[str, Rows], allowed: float) -> None:
    """Stop the benchmark if a method's scores differ from the reference scorer's."""
    for way, rows in ways.items():
        difference = compare(exact, rows)["max_abs_logprob_diff"]
        if not difference <= allowed:
            raise SystemExit(f"{name}: the {way} is off by {difference:.2g}, over {allowed:.2g}")


COLUMNS = {
    "dec/s": "decisions_per_second",
    "x cached": "cached_ratio",
    "x loop": "decision_ratio",
    "x game": "game_ratio",
    "x forward": "forward_ratio",
    "x pages": "pages_ratio",
    "of limit": "limit_share",
    "host": "host_share",
    "max": "max_abs_logprob_diff",
    "flips": "argmax_flips",
}


def table(figures: dict[str, float], names: Sequence[str]) -> str:
    """Format the table, most important column first: the ratio to transformers at its best."""
    rows = [["", *COLUMNS]]
    for name in names:
        rows.append([name, *(f"{figures[f'{name}.{it}']:.3g}" for it in COLUMNS.values())])
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return "\n".join(
        "".join(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True)) for row in rows
    )


def by_families(width: int, file: Path | None) -> None:
    """Print one row per family as it comes, and write all results."""
    figures: dict[str, float | str] = {}
    print(HEAD, flush=True)
    for family in FAMILIES:
        for name, found in measure_family(family, width).items():
            print(row(name, found), flush=True)
            figures |= {f"{name}.{figure}": value for figure, value in found.items()}
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", help=f"any of {', '.join(SIZES)}, joined by commas")
    parser.add_argument("--width", type=int, help="decisions a call of the packed scorer")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--families", action="store_true", help="small networks, a row a family")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.families:
        by_families(options.width or WIDTH["cpu"], options.json)
        return
    names = options.sizes.split(",") if options.sizes else list(USUAL[options.device])
    if unknown := set(names) - set(SIZES):
        parser.error(f"no size {', '.join(sorted(unknown))}; there are {', '.join(SIZES)}")
    figures: dict[str, float] = {}
    for name in names:
        measured = measure(name, options.device, options.width or WIDTH[options.device])
        figures.update(measured)
        for key, value in measured.items():
            print(f"{key:36} {value:.4g}", flush=True)
    # Exactness is guaranteed in float32; bfloat16 rounds differently in any other order.
    exact = [name for name in names if SIZES[name].dtype == torch.float32]
    for figure in ("max_abs_logprob_diff", "argmax_flips"):
        figures[figure] = max((figures[f"{name}.{figure}"] for name in exact), default=0.0)
    print(table(figures, names))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
