"""Shared by the scoring benchmarks: timing of alternating methods, and comparison of scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.limits import synchronize
from benchmarks.ways import Rows
from gauntlet.models.base import Score, Scores
from gauntlet.models.engine.packed import Packed

ROUNDS = 3

Way = Callable[[], Any]


def in_calls(packed: Packed, requests: Sequence[Score], width: int) -> None:
    for start in range(0, len(requests), width):
        packed.score(requests[start : start + width])


def prompts(requests: Sequence[Score]) -> int:
    return sum(len(request.prompts) for request in requests)


def rows_of(replies: Sequence[Scores]) -> Rows:
    """Return the log-probabilities of every prompt, decision after decision."""
    return [list(row) for reply in replies for row in reply.logprobs]


def timed(ways: dict[str, Way], device: torch.device) -> dict[str, float]:
    """Return each method's seconds, the fastest of a few rounds, which is the least disturbed by
    other load. The first method is warmed up once."""
    best = dict.fromkeys(ways, float("inf"))
    next(iter(ways.values()))()
    for _ in range(ROUNDS):
        for name, run in ways.items():
            synchronize(device)
            started = time.perf_counter()
            run()
            synchronize(device)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def compare(exact: Rows, other: Rows) -> dict[str, float]:
    """Return differences of log-probabilities, and the margins where the first choice differs."""
    pairs = [(np.array(a), np.array(b)) for a, b in zip(exact, other, strict=True)]
    differences = np.concatenate([np.abs(a - b) for a, b in pairs])
    flipped = [np.sort(a) for a, b in pairs if a.argmax() != b.argmax()]
    return {
        "max_abs_logprob_diff": float(differences.max()),
        "median_abs_logprob_diff": float(np.median(differences)),
        "p99_abs_logprob_diff": float(np.quantile(differences, 0.99)),
        "prompts_compared": len(pairs),
        "argmax_flips": len(flipped),
        "largest_margin_flipped": max((float(a[-1] - a[-2]) for a in flipped), default=0.0),
    }
