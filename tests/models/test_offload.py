"""Networks of which a part stays on the disk: the same bits from less memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerate  # type: ignore[import-untyped]
import pytest
import torch
from safetensors.torch import load_file, save_file

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.base import Generate, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import local as loading
from gauntlet.models.engine.general import General
from gauntlet.models.engine.memory import OFFLOADED_PACKS, PACK_MOST, WEIGHTS_SHARE, is_offloaded
from gauntlet.models.engine.ragged_forward import Flat, Unsupported
from tests.models.conftest import MakeCheckpoint, load

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"num_hidden_layers": 5, "tie_word_embeddings": True},
    "gemma2": {"sliding_window": 40, "query_pre_attn_scalar": 16},
    "mixtral": {"num_local_experts": 4, "num_hidden_layers": 4},
}
"""The experts of the last are separate in their files and are merged by the library."""


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, float], None]:
    """Leaves room for this share of a checkpoint's weights."""

    def room(folder: Path, share: float) -> None:
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        monkeypatch.setattr(loading, "free_bytes", lambda _: size * share / WEIGHTS_SHARE)

    return room


@pytest.fixture(scope="module")
def few(decisions: list[Score]) -> list[Score]:
    return sorted(decisions, key=lambda score: len(score.prompts))[:3]


@pytest.fixture(scope="module")
def folder(make_checkpoint: MakeCheckpoint) -> Path:
    return make_checkpoint("llama", **FAMILIES["llama"])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_bits_as_with_all_weights_in_memory(
    family: str,
    make_checkpoint: MakeCheckpoint,
    few: list[Score],
    scarce: Callable[[Path, float], None],
) -> None:
    folder = make_checkpoint(family, **FAMILIES[family])
    scarce(folder, 0.7)
    resident, offloaded = load(folder), load(folder, offload="disk")
    network = offloaded._writer.network
    on_disk = [name for name, weight in network.named_parameters() if weight.is_meta]
    assert on_disk
    assert len(on_disk) < len(list(network.parameters()))
    assert isinstance(offloaded._scorer.engine, General)
    assert offloaded._scorer.pack_tokens == OFFLOADED_PACKS * PACK_MOST["cpu"]
    requests = [*few, *(Generate(s.prompts[0], 4, temperature=0.7, seed=9) for s in few[:2])]
    assert offloaded.answer(requests) == resident.answer(requests)


def test_the_reference_engine_and_other_dtypes_keep_their_bits_too(
    folder: Path, few: list[Score], scarce: Callable[[Path, float], None]
) -> None:
    scarce(folder, 0.7)
    for settings in ({"engine": "reference"}, {"dtype": "bfloat16", "batch_invariant": True}):
        resident, offloaded = load(folder, **settings), load(folder, **settings, offload="disk")
        assert offloaded.answer(few[:1]) == resident.answer(few[:1]), settings


def test_what_fits_stays_in_memory(make_checkpoint: MakeCheckpoint, few: list[Score]) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=3)
    local = load(folder, offload="disk")
    assert not is_offloaded(local._writer.network)
    assert local.answer(few[:1]) == load(folder).answer(few[:1])


def test_a_file_that_is_overwritten_changes_nothing_that_is_in_memory(
    make_checkpoint: MakeCheckpoint, few: list[Score]
) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=2)
    local = load(folder, offload="disk", engine="reference")
    before = local.answer(few[:1])
    size = (folder / "model.safetensors").stat().st_size
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"\1" * (size - size // 2))
    assert local.answer(few[:1]) == before


def test_weights_offloaded_to_the_hosts_memory_count_too(make_checkpoint: MakeCheckpoint) -> None:
    """As accelerate offloads from a GPU whose memory is full."""
    network = load(make_checkpoint("llama", num_hidden_layers=3))._writer.network
    Flat(network)
    accelerate.cpu_offload(network, execution_device=torch.device("cpu"))
    assert is_offloaded(network)
    with pytest.raises(Unsupported, match="module by module"):
        Flat(network)


def test_files_that_are_gone_end_the_run(
    make_checkpoint: MakeCheckpoint, few: list[Score], scarce: Callable[[Path, float], None]
) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=4)
    scarce(folder, 0.7)
    local = load(folder, offload="disk", engine="reference")
    (folder / "config.json").unlink()
    with pytest.raises(Stopped, match="changed while"):
        local.answer(few[:1])


def test_files_that_are_written_to_end_the_run(
    make_checkpoint: MakeCheckpoint, few: list[Score], scarce: Callable[[Path, float], None]
) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=4)
    scarce(folder, 0.7)
    local = load(folder, offload="disk", engine="reference")
    local.answer(few[:1])
    file = folder / "model.safetensors"
    with file.open("r+b") as stream:
        stream.seek(-8, os.SEEK_END)
        stream.write(b"\1" * 8)
    with pytest.raises(Stopped, match="changed while"):
        local.answer(few[:1])


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"offload": "layers"}, "allowed are none, disk"),
        ({"offload": "disk", "shards": 2}, "not for 2 shards"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Checkpoint("some/model", **settings)


def test_it_is_in_no_identity(folder: Path) -> None:
    assert Checkpoint(str(folder), offload="disk").identity() == Checkpoint(str(folder)).identity()


def test_what_cannot_be_run_so_is_one_line(
    make_checkpoint: MakeCheckpoint, scarce: Callable[[Path, float], None]
) -> None:
    folder = make_checkpoint("llama", num_hidden_layers=2)
    scarce(folder, 0.05)
    with pytest.raises(ModelError, match="embeddings do not fit"):
        load(folder, offload="disk")
    scarce(folder, 0.7)
    weights = load_file(folder / "model.safetensors")
    weights.pop("model.layers.1.mlp.up_proj.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"model.layers.1.mlp.up_proj"):
        load(folder, offload="disk")
