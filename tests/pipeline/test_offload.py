"""A sweep with weights read from the disk: the same cells, and the same records."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gauntlet.models.engine import offload
from gauntlet.pipeline.log.schema import MatchRecord
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

ASKED = ("model=pocket", "prompt=cloze", "game=tic_tac_toe", "deals=2")


def played(folder: Path) -> dict[str, MatchRecord]:
    """Return the matches by id, without durations."""
    return {
        key: replace(match, seconds=0.0, device_seconds=0.0)
        for key, match in matches(folder).items()
    }


def test_records_are_those_of_a_run_with_all_weights_in_memory(
    sweep: Sweep, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offload, "free_bytes", lambda _: 4_000_000)  # of 2.6 MB half fits
    assert sweep(*ASKED, f"output_dir={tmp_path / 'whole'}") == 0
    assert sweep(*ASKED, "model.offload=disk") == 0
    assert len(played(folder)) == 2
    assert played(folder) == played(tmp_path / "whole")
