"""Devices of networks when there is more than one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from gauntlet.models.engine import local
from gauntlet.models.engine.local import choose_device


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
