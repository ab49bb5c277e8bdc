"""The packed scorer on real decisions: whole UNO games, the shipped model and random networks.

The fast test scores some hundreds of decisions, the slow one ten thousand on each network; both
print the figures (`pytest -s`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from benchmarks.decisions import played, stored
from gauntlet.models.base import Score, Scores
from gauntlet.models.engine.files import PROJECT
from gauntlet.models.engine.local import load_network
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.tokens import Tokens, load_tokens

POCKET = PROJECT / "models" / "pocket" / "weights"
NETWORKS = ("pocket", "llama", "mistral", "qwen3")
CLOSE = 1e-4
"""Allowed deviation of a log-probability from the reference scorer's, and the margin above which
the first choice must be the same."""


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return load_tokens(POCKET, "pocket", False)


def network_of(name: str, tokens: Tokens, dtype: str = "float32") -> Any:
    """Return the shipped model, or a small one of the family with large random weights."""
    if name == "pocket":
        return load_network(POCKET, "pocket", dtype, "cpu")
    torch.manual_seed(NETWORKS.index(name))
    config = AutoConfig.for_model(
        name,
        vocab_size=len(tokens.tokenizer),
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        initializer_range=0.35,
        sliding_window=None,
    )
    network = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    return network.to(getattr(torch, dtype))


@dataclass
class Figures:
    """Comparison of two scorers: one entry of `margins` and `same` per prompt."""

    differences: np.ndarray
    margins: np.ndarray
    same: np.ndarray

    def __str__(self) -> str:
        middle, high = np.quantile(self.differences, [0.5, 0.99])
        most = self.margins[~self.same].max(initial=0)
        return (
            f"{len(self.same)} prompts: |difference| median {middle:.2g}, 99% {high:.2g}, "
            f"largest {self.differences.max():.2g}; first choice differs in "
            f"{int((~self.same).sum())} (largest margin there {most:.2g}), margin below {CLOSE} "
            f"in {int((self.margins < CLOSE).sum())}"
        )


def compared(exact: list[Scores], scores: list[Scores]) -> Figures:
    rows = [
        (np.array(a), np.array(b))
        for x, y in zip(exact, scores, strict=True)
        for a, b in zip(x.logprobs, y.logprobs, strict=True)
    ]
    ordered = [np.sort(a) for a, _ in rows]
    return Figures(
        np.concatenate([np.abs(a - b) for a, b in rows]),
        np.array([a[-1] - a[-2] for a in ordered]),
        np.array([a.argmax() == b.argmax() for a, b in rows]),
    )


def check(name: str, tokens: Tokens, decisions: list[Score]) -> None:
    network = network_of(name, tokens)
    packed, plain = Packed(network, tokens), Reference(network, tokens)
    assert isinstance(packed.engine, Flat)
    figures = compared(plain.score(decisions), packed.score(decisions))
    tops = [plain.next_token(tokens.encode(d.prompts[0])).exp().max() for d in decisions[:200]]
    print(f"\n{name}, {len(decisions)} decisions, {figures}; mean top {np.mean(tops):.2f}")
    assert np.mean(tops) > 0.1, "agreement on near-uniform probabilities would show little"
    assert figures.differences.max() < CLOSE
    assert figures.same[figures.margins > CLOSE].all()


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_the_plain_scorer_s(name, tokens):
    check(name, tokens, [turn.decision for turn in stored() if turn.decision][:60])


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_the_plain_scorer_s_on_ten_thousand_decisions(name, tokens):
    decisions = [turn.decision for turn in played(10_000, seed=1) if turn.decision]
    check(name, tokens, decisions[:10_000])


@pytest.mark.parametrize("name", ["pocket", "llama"])
def test_in_bfloat16_the_packed_scorer_is_no_further_from_the_truth(name, tokens):
    """Rounding is coarse, so both scorers differ from float32; neither may be the worse by far."""
    decisions = [turn.decision for turn in stored() if turn.decision][60:120]
    exact = Reference(network_of(name, tokens), tokens).score(decisions)
    half = network_of(name, tokens, "bfloat16")
    plain = compared(exact, Reference(half, tokens).score(decisions))
    print(f"\n{name} in bfloat16, from float32: plain, {plain}")
    for invariant in (False, True):
        packed = compared(exact, Packed(half, tokens, invariant).score(decisions))
        print(f"packed, batch_invariant={invariant}, {packed}")
        assert packed.differences.mean() < 1.25 * plain.differences.mean()
