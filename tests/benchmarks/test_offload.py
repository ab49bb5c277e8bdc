"""The benchmark of offloaded layers, rehearsed on a network of a megabyte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import offload


def test_it_reads_streams_and_decides_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offload, "READINGS", 1)
    monkeypatch.setattr(offload, "ROUNDS", 1)
    monkeypatch.setattr(offload, "decisions", lambda every=offload.decisions: every()[:3])
    monkeypatch.setattr(offload, "run_part", lambda part, folder: offload.part_of(part, folder))
    checkpoint = tmp_path / "random"
    checkpoint.mkdir()
    offload.write_checkpoint(checkpoint, layers=3, width=64, inner=176)
    found = offload.measured(checkpoint)
    json.dumps(found)
    assert found["exact"] is True
    assert 0 <= found["waited_share"] < 1
    for figure in ("stream_share", "offloaded_ratio", "pack_tokens", "offloaded_peak_bytes"):
        assert found[figure] > 0
