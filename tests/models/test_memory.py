"""The share of free memory that the scorer uses, and devices where there is more than one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from gauntlet.models.engine import local, memory
from gauntlet.models.engine.local import choose_device
from gauntlet.models.engine.memory import GIB, Memory, free_bytes, state_bytes

LLAMA_8B = SimpleNamespace(
    get_text_config=lambda decoder: LLAMA_8B,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    head_dim=128,
)


def test_keys_and_values_of_a_token_of_llama_8b_are_128_kib():
    assert state_bytes(LLAMA_8B, itemsize=2) == 128 * 1024


def test_layers_may_differ_or_have_no_keys():
    wide = SimpleNamespace(num_attention_heads=8, num_key_value_heads=1, head_dim=512)
    narrow = SimpleNamespace(num_attention_heads=8, num_key_value_heads=2, head_dim=256)
    layers = SimpleNamespace(is_heterogeneous=True, per_layer_config=[wide, narrow])
    assert state_bytes(layers, itemsize=2) == 2 * 2 * (512 + 2 * 256)
    mamba = SimpleNamespace(num_hidden_layers=2, hidden_size=64)
    assert state_bytes(mamba, itemsize=2) == 0


@pytest.mark.parametrize(
    ("free", "resident", "pack"),
    [(64 * GIB, GIB, 1024), (4 * GIB, GIB, 1024), (GIB // 8, GIB // 32, 256), (0, 0, 256)],
)
def test_both_caps_shrink_with_the_free_memory(free, resident, pack, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)
    network = SimpleNamespace(
        device=torch.device("cpu"), dtype=torch.float32, config=LLAMA_8B, parameters=tuple
    )
    allowed = Memory(network).budget()
    assert (allowed.resident, allowed.pack_tokens) == (resident, pack)


def test_a_container_s_own_limit_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    machine = free_bytes(torch.device("cpu"))
    assert machine > 0
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    assert free_bytes(torch.device("cpu")) == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes(torch.device("cpu")) > 3000


@pytest.mark.parametrize(
    ("held", "index"), [((), 0), ((0,), 1), ((0, 1), 2), ((2, 0, 1), 0), ((None, 0), 1)]
)
def test_several_models_spread_over_the_gpus(held, index, monkeypatch):
    """A worker with three GPUs; None is a network on the CPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    networks = [SimpleNamespace(device=SimpleNamespace(index=number)) for number in held]
    monkeypatch.setattr(local, "_LOADED", dict(enumerate(networks)))
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda", index)
    assert choose_device("cpu") == torch.device("cpu")
