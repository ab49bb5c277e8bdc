"""Choosing the next token, seeding, and where an answer begins and ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gauntlet.models.thoughts import Pair, Thoughts


def stream(seed: int, sample: int) -> np.random.Generator:
    """The random stream of one sample; the first sample uses the seed itself."""
    key = (sample,) if sample else ()
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def choose(logits: torch.Tensor, temperature: float, rng: np.random.Generator) -> int:
    """The argmax at temperature 0, else a sample from softmax(logits / temperature)."""
    if temperature <= 0:
        return int(logits.argmax())
    below = logits.double() - logits.max()  # divided afterwards, so that nothing overflows to nan
    chances = torch.softmax(below / temperature, dim=-1).cumsum(dim=-1).cpu().numpy()
    return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))


def cut_at(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before its first stop string, and whether there was one."""
    found = [place for place in map(text.find, stops) if place >= 0]
    return (text[: min(found)], True) if found else (text, False)


def cut_answer(
    text: str, stops: Sequence[str], thoughts: Thoughts, opened: Pair | None
) -> tuple[str, bool]:
    """`cut_at` that leaves thoughts alone; opened: the tags that the prompt has opened."""
    start = thoughts.answer_start(text, opened)
    if start is None:
        return text, False
    answer, stopped = cut_at(text[start:], stops)
    return text[:start] + answer, stopped
