"""An output folder, opened: what it tells, and what damage to its small files comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from pipeline import compare, metrics, report, status
from pipeline.log.folder import Folder
from pipeline.log.outcomes import WINS, outcome
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
    assert place.set_aside == []
    assert (place.status or {})["state"] == "finished"
    assert {told["event"] for told in place.events} >= {"start", "end"}
    assert {m.match for m in place.matches(about.stem)} == matches(folder).keys()
    (outcomes,) = place.outcomes(WINS).values()
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


@pytest.mark.parametrize("command", [compare, metrics, report, status])
def test_a_folder_without_a_sweep_is_one_line(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [str(tmp_path)] * (2 if command is compare else 1)
    assert command.main(both) == 2
    assert capsys.readouterr().err.count("\n") == 1
