"""Steps with weights laid out for few rows: the same texts, the same bits in any company."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from gauntlet.models.base import Generate
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import ragged_forward
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.ragged_forward import Flat, Product, Steps
from gauntlet.models.engine.tokens import load_tokens
from tests.models.conftest import MakeCheckpoint
from tests.models.test_generate import mixed_asks, watched_logits

FAMILIES = ("qwen2", "qwen3")
"""With biases, and with normed queries; the other tests here are on a llama."""


@pytest.fixture(autouse=True)
def every_network_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragged_forward, "LARGE", 0)


def writer(folder: Path, **settings: Any) -> Any:
    """A model whose steps are the fast ones."""
    local: Any = Checkpoint(str(folder), **settings).load()
    assert isinstance(local._scorer.engine._steps, Steps)
    return local


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_what_the_library_writes(family: str, make_checkpoint: MakeCheckpoint) -> None:
    folder = make_checkpoint(family)
    asks = mixed_asks()
    together = writer(folder).answer(asks)
    network = AutoModelForCausalLM.from_pretrained(folder)
    assert Generator(network, load_tokens(folder, "", False)).write(asks) == together


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_tiles(family: str, make_checkpoint: MakeCheckpoint) -> None:
    flat = writer(make_checkpoint(family))._scorer.engine
    rows = torch.arange(64)
    hidden, rotary = flat._base.embed_tokens(rows * 5), flat._rotary.at(rows, 64)
    tiled = flat._tiled_step(flat._base.layers, hidden, rotary, ragged_forward.unmixed)
    assert flat._steps(hidden, rotary, ragged_forward.unmixed) == pytest.approx(tiled, abs=1e-4)


def test_logits_of_a_step_are_the_same_bits_in_any_company(
    checkpoint_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = writer(checkpoint_folder)
    asks, seen = mixed_asks()[:9], watched_logits(local, monkeypatch)
    local.answer(asks)
    count = len(seen)
    for width, threads in ((1, 1), (4, 1), (9, 2)):
        torch.set_num_threads(threads)
        for start in range(0, len(asks), width):
            local.answer(asks[start : start + width])
    assert len(seen) == count > 100


def test_a_step_has_no_padding(checkpoint_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = writer(checkpoint_folder)
    rows: list[int] = []
    step = local._scorer.engine.step
    monkeypatch.setattr(
        local._scorer.engine,
        "step",
        lambda tokens, *rest: rows.append(len(tokens)) or step(tokens, *rest),
    )
    local.answer([Generate(ask.prompt, 4) for ask in mixed_asks()[:3]])
    assert rows == [3, 3, 3]


def test_products_whose_bits_depend_on_company_are_not_used(
    make_checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Product.__call__

    def uneven(self: Product, rows: torch.Tensor) -> torch.Tensor:
        return plain(self, rows) * (1 + 1e-6 * len(rows))

    monkeypatch.setattr(Product, "__call__", uneven)
    network = AutoModelForCausalLM.from_pretrained(make_checkpoint("llama"))
    assert Flat(network)._steps is None
    assert Flat(network, invariant=False)._steps is not None
    assert Flat(network).step_rows(3) == ragged_forward.ANSWERS


def test_products_that_are_wrong_are_not_used(
    make_checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Product.__call__
    monkeypatch.setattr(Product, "__call__", lambda self, rows: plain(self, rows.flip(-1)))
    network = AutoModelForCausalLM.from_pretrained(make_checkpoint("llama"))
    assert Flat(network, invariant=False)._steps is None


def test_small_networks_other_layers_and_little_memory_keep_tiles(
    make_checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(nn.Linear):
        pass

    network: Any = AutoModelForCausalLM.from_pretrained(make_checkpoint("llama"))
    assert ragged_forward.prepare_steps(network) is not None
    monkeypatch.setattr(ragged_forward, "total_bytes", lambda: 1000)
    assert ragged_forward.prepare_steps(network) is None
    monkeypatch.undo()
    assert ragged_forward.prepare_steps(network) is None, "it is small"
    monkeypatch.setattr(ragged_forward, "LARGE", 0)
    network.model.layers[1].mlp.up_proj = Other(48, 80, bias=False)
    assert ragged_forward.prepare_steps(network) is None
