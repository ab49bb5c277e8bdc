"""Opening an output folder: its contents, and the effect of damage to its metadata files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline import compare, metrics, report, status
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import LOGS, to_bytes
from gauntlet.pipeline.log.outcomes import outcome
from gauntlet.pipeline.log.results import measures
from gauntlet.pipeline.plan.cells import match_id
from gauntlet.pipeline.tracking.judged import read_cells
from gauntlet.pipeline.verify import verify
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches


def test_a_folder_tells_what_a_sweep_left(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "deals=2") == 0
    place = Folder(folder)
    (about,) = place.abouts()
    assert place.seed == 1
    assert place.played
    assert not Folder(folder.parent / "none").played
    assert place.cell(about.key)["name"] == about.name
    assert len(place.lines("runs")) == 1
    assert place.failed_matches == []
    assert (place.status or {})["state"] == "finished"
    assert {told["event"] for told in place.events} >= {"start", "end"}
    assert {m.match for m in place.matches(about.stem)} == matches(folder).keys()
    (outcomes,) = place.outcomes(measures([about])).values()
    assert list(outcomes) == [outcome(m) for m in sorted(place.matches(), key=lambda m: m.deal)]


def test_damage_to_the_small_files_is_one_line(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "deals=1") == 0
    place = Folder(folder)
    place.status_file.write_text("{")
    assert place.status is None
    for file, read in (
        (place.claim, lambda: Folder(folder).seed),
        (place.stop_file, lambda: place.stop),
        (place.cell_file(place.abouts()[0].stem), place.abouts),
    ):
        file.write_text('{"half')
        with pytest.raises(UserError, match="damaged") as told:
            read()
        assert "\n" not in str(told.value)


ODD = {
    "status": ("state", [1]),
    "status ": ("process", 2**70),
    "status  ": ("cells", {"x": "seven"}),
    "stop": ("cells", {"x": {"deals": -1, "above": True}}),
    "stop ": ("rule", None),
    "sweep": ("seed", "one"),
    "sweep ": ("seed", []),
    "runs": ("versions", "3.11"),
    "runs ": ("matches", 2**70),
    "failed_matches": ("deal", 10**9),
    "failed_matches ": ("match", "0" * 16),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_types_in_the_small_files_are_damage(tmp_path: Path, name: str) -> None:
    """Also with a valid checksum; without one, everything is."""
    place, kind = Folder(tmp_path), name.strip()
    good = SMALL[kind]
    key, value = ODD[name]
    path = place.lines_file(kind) if kind in LOGS else tmp_path / f"{kind}.json"
    place.claim.write_bytes(to_bytes(SMALL["sweep"]))
    for told in (good, {**good, key: value}):
        path.write_bytes(to_bytes(told) + b"\n")
        assert (read(kind, Folder(tmp_path)) == good) == (told is good)
    path.write_text(json.dumps(good) + "\n")
    assert read(kind, Folder(tmp_path)) != good
    path.write_bytes(to_bytes(good).replace(b'"', b"'", 1) + b"\n")
    assert read(kind, Folder(tmp_path)) != good


SMALL: dict[str, dict[str, Any]] = {
    "sweep": {"seed": [1, 2], "schema": 2, "id": "x"},
    "status": {
        "state": "finished",
        "started": 1.5,
        "updated": 2.5,
        "host": "h",
        "process": 1,
        "cells": {"x": 3},
        "stopped": [],
        "workers": 1,
        "rate": None,
        "error": None,
    },
    "stop": {
        "rule": "sprt",
        "win_rate": 0.5,
        "half_width": 0.1,
        "cells": {"x": {"deals": 3, "above": True}, "y": None},
    },
    "runs": {
        "started": "s",
        "host": "h",
        "matches": 3,
        "commit": None,
        "command": "c",
        "versions": {"a": "1"},
    },
    "failed_matches": {
        "match": match_id("x", (1, 2), 3, 0),
        "cell": "x",
        "deal": 3,
        "rotation": 0,
        "error": "bad card",
    },
}


def read(kind: str, place: Folder) -> dict[str, Any] | None:
    """Return the folder's version of it, without the checksum; None if it is damaged."""
    try:
        if kind == "sweep":
            told = {"seed": list(place.seed), "schema": 2, "id": place.id}
        else:
            told = (place.lines(kind) or [None])[0] if kind in LOGS else getattr(place, kind)
    except UserError:
        return None
    return told


def test_views_that_are_garbled_are_made_again(
    sweep: Sweep, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = ("game=tic_tac_toe", "prompt=cloze", "deals=2", "controls=auto")
    assert sweep(*words) == 0
    before = (folder / "summary.csv").read_bytes()
    views = [*(folder / "luck").iterdir()]
    for path in views:
        path.write_text('{"advantages": {"x": "seven"}, "reason": 5}')
    (folder / "run.log").write_bytes(b'{"event": "end"}\n[[[\n\xff\n')
    (folder / "metrics").mkdir()
    (folder / "metrics" / "metrics.csv").write_bytes(b'key,fallbacks\n"\xff')
    assert report.main([str(folder)]) == 0
    assert status.main([str(folder)]) == 0
    assert all(f"{path} is damaged" in caplog.text for path in views)
    with pytest.raises(UserError, match=r"metrics\.csv is damaged"):
        read_cells(folder)
    assert sweep(*words) == 0
    assert (folder / "summary.csv").read_bytes() == before
    assert verify(folder).wrong == {}


@pytest.mark.parametrize("command", [compare, metrics, report, status])
def test_a_folder_without_a_sweep_is_one_line(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [str(tmp_path)] * (2 if command is compare else 1)
    assert command.main(both) == 2
    assert capsys.readouterr().err.count("\n") == 1
