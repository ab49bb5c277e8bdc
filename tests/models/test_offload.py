"""Networks whose layers stay in their files: the same bits, and never more than two in memory."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.base import Generate, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import memory, packed, streamed
from gauntlet.models.engine.general import General
from gauntlet.models.engine.memory import GIB, budget
from gauntlet.models.engine.portable import Portable
from gauntlet.models.engine.ragged_forward import Flat, Unsupported
from gauntlet.models.engine.streamed import Reader, Stream, stream_of

MakeCheckpoint = Callable[..., Path]

FAMILIES: dict[str, tuple[type, dict[str, Any]]] = {
    "llama": (Flat, {"num_hidden_layers": 5, "tie_word_embeddings": True}),
    "gemma2": (General, {"sliding_window": 40, "query_pre_attn_scalar": 16}),
    "mixtral": (General, {"num_local_experts": 4, "num_hidden_layers": 4}),
}
"""Layers even and odd in number; the experts of the last lie apart in their files and are put
together by the library."""


def load(folder: Path, **settings: object) -> Any:
    return Checkpoint(str(folder), **settings).load()  # type: ignore[arg-type]


def stream(local: Any) -> Stream:
    found = stream_of(local._writer.network)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def few(decisions: list[Score]) -> list[Score]:
    return sorted(decisions, key=lambda score: len(score.prompts))[:3]


@pytest.fixture(scope="module")
def folder(make_checkpoint: MakeCheckpoint) -> Path:
    return make_checkpoint("llama", **FAMILIES["llama"][1])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_bits_as_with_all_layers_in_memory(
    family: str, make_checkpoint: MakeCheckpoint, few: list[Score]
) -> None:
    way, settings = FAMILIES[family]
    folder = make_checkpoint(family, **settings)
    whole, offloaded = load(folder), load(folder, offload="layers")
    assert type(offloaded._scorer.engine) is type(whole._scorer.engine) is way
    asked = [*few, *(Generate(s.prompts[0], 4, temperature=0.7, seed=9) for s in few[:2])]
    assert offloaded.answer(asked) == whole.answer(asked)


def test_the_same_bits_by_the_slow_ways(
    folder: Path, few: list[Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [load(folder, engine="reference", offload=how) for how in ("none", "layers")]
    assert pair[0].answer(few[:1]) == pair[1].answer(few[:1])

    def unknown(*_: object) -> None:
        raise Unsupported("anything")

    monkeypatch.setattr(packed, "Flat", unknown)
    monkeypatch.setattr(packed, "General", unknown)
    pair = [load(folder, offload=how) for how in ("none", "layers")]
    assert isinstance(pair[1]._scorer.engine, Portable)
    assert pair[0].answer(few) == pair[1].answer(few)


def test_no_more_than_two_layers_are_in_memory(folder: Path, few: list[Score]) -> None:
    """What a layer's weights are views of is memory of two layers, all told, and each layer is
    there when its turn comes."""
    local = load(folder, offload="layers")
    network, going = local._writer.network, stream(local)
    weights = [weight for lying in going.layers for weight in lying.weights.values()]
    held = {w.untyped_storage().data_ptr(): w.untyped_storage().nbytes() for w in weights}
    one = sum(weight.nbytes for weight in going.layers[0].weights.values())
    assert len(going.layers) == 5
    assert len(held) == 2
    assert sum(held.values()) < 2 * one + 2 * 64 * len(going.layers[0].weights)
    files = load_file(folder / "model.safetensors")
    for number, layer in enumerate(network.model.layers):
        key = f"model.layers.{number}.mlp.up_proj.weight"
        assert torch.equal(layer.mlp.up_proj.weight, files[key])
        former = {3} if number == 0 else set()  # until the thread begins to read the next one
        assert set(going.held) <= {None, number, number - 1, number + 1, *former}
    read = going.bytes
    local._scorer._plain.next_token([5, 7, 9])
    assert (going.bytes - read) / sum(lying.bytes for lying in going.layers) <= 6 / 5


def test_a_layer_that_stays_for_the_next_is_found(
    folder: Path, few: list[Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted slip: the second layer of each block is never read."""
    right = load(folder, engine="reference").answer(few[:1])
    fill = Reader.fill

    def slip(self: Reader, lying: Any) -> None:
        if not any(key.startswith("model.layers.2.") for key in lying.weights):
            fill(self, lying)

    monkeypatch.setattr(Reader, "fill", slip)
    gc.collect()
    wrong = load(folder, engine="reference", offload="layers")
    assert wrong.answer(few[:1]) != right


def test_a_pass_that_breaks_off_leaves_the_next_one_right(folder: Path) -> None:
    local = load(folder, offload="layers", engine="reference")
    network = local._writer.network
    before = local._scorer.next_token([5, 7, 9])
    for number, _ in enumerate(network.model.layers):
        if number == 3:
            break
    assert torch.equal(local._scorer.next_token([5, 7, 9]), before)
    first = iter(network.model.layers)
    next(first)
    local._scorer.next_token([5])
    with pytest.raises(RuntimeError, match="twice at a time"):
        next(first)
    with pytest.raises(RuntimeError, match="out of turn"):
        network.model.layers[1]


def test_files_that_are_written_to_end_the_run(
    make_checkpoint: MakeCheckpoint, few: list[Score]
) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=4)
    local = load(folder, offload="layers", engine="reference")
    local.answer(few[:1])
    file = folder / "model.safetensors"
    with file.open("r+b") as stream:
        stream.seek(-8, os.SEEK_END)
        stream.write(b"\1" * 8)
    with pytest.raises(Stopped, match="changed while its layers were read"):
        local.answer(few[:1])


def test_a_type_of_its_own_is_kept_while_layers_come(folder: Path, few: list[Score]) -> None:
    """Stored in float32, asked for in bfloat16: read by way of other memory."""
    settings = {"dtype": "bfloat16", "batch_invariant": True}
    whole, offloaded = load(folder, **settings), load(folder, **settings, offload="layers")
    assert offloaded.answer(few[:1]) == whole.answer(few[:1])


def test_packs_grow_with_what_reading_takes_and_memory_allows(folder: Path) -> None:
    network = load(folder)._writer.network
    assert budget(network, 64 * GIB).pack_tokens == memory.PACK_MOST["cpu"]
    assert budget(network, 64 * GIB, hiding=40).pack_tokens == memory.PACK_MOST["cpu"]
    assert budget(network, 64 * GIB, hiding=9000).pack_tokens == 9000 * memory.SPARE
    assert budget(network, 0, hiding=9000).pack_tokens == memory.PACK_LEAST


def test_waiting_is_told_once(
    folder: Path, few: list[Score], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    local = load(folder, offload="layers", engine="reference")
    monkeypatch.setattr(streamed, "LONG", 0.05)
    fill = Reader.fill

    def slow(self: Reader, lying: Any) -> None:
        time.sleep(0.02)
        fill(self, lying)

    monkeypatch.setattr(Reader, "fill", slow)
    for _ in range(2):
        local.answer(few[:1])
    assert caplog.text.count("waited for its layers") == 1


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"offload": "disk"}, "allowed are none, layers"),
        ({"offload": "layers", "shards": 2}, "not for 2 shards"),
        ({"offload": "layers", "quantization": "fp8", "dtype": "bfloat16"}, "not for quantization"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Checkpoint("some/model", **settings)


def test_it_is_in_no_identity(folder: Path) -> None:
    assert (
        Checkpoint(str(folder), offload="layers").identity() == Checkpoint(str(folder)).identity()
    )


def test_what_cannot_be_run_so_is_one_line(make_checkpoint: MakeCheckpoint) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=2)
    weights = load_file(folder / "model.safetensors")
    lost = weights.pop("model.layers.1.mlp.up_proj.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights, such as model.layers.1.mlp.up_proj"):
        load(folder, offload="layers")
    weights["model.layers.1.mlp.up_proj.weight"] = lost.t().contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="by its config"):
        load(folder, offload="layers")
