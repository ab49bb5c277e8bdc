"""An output folder, opened and verified: what it tells, and every damage with its place and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.disk import add_checksum
from gauntlet.common.errors import UserError
from gauntlet.models.fake import FakeModel
from gauntlet.pipeline import compare, export, metrics, ratings, report, status, track, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import LOGS, to_bytes
from gauntlet.pipeline.log.outcomes import outcome
from gauntlet.pipeline.log.results import measures
from gauntlet.pipeline.tracking.judged import read_metrics
from tests.pipeline.conftest import Capsys, Edit, Once, Refusal, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.test_records import only_file


def test_a_folder_tells_what_a_sweep_left(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "deals=2") == 0
    place = Folder(folder)
    (about,) = place.sweep_cells()
    assert place.seed == 1
    assert place.has_sweep
    assert not Folder(folder.parent / "none").has_sweep
    assert place.cell(about.key)["name"] == about.name
    assert len(place.lines("runs")) == 1
    assert place.failed_matches == []
    assert (place.status or {})["state"] == "finished"
    assert {told["event"] for told in place.events} >= {"start", "end"}
    assert {m.match for m in place.matches(about.stem)} == matches(folder).keys()
    (outcomes,) = place.outcomes(measures([about])).values()
    assert list(outcomes) == [outcome(m) for m in sorted(place.matches(), key=lambda m: m.deal)]


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
        read_metrics(folder)
    assert sweep(*words) == 0
    assert (folder / "summary.csv").read_bytes() == before
    assert verify.verify(folder).problems == {}


@pytest.mark.parametrize(
    "command", [compare, export, metrics, ratings, report, status, track, verify]
)
def test_a_folder_without_a_sweep_is_one_line(
    command: Any, tmp_path: Path, refusal: Refusal
) -> None:
    folders = [str(tmp_path)] * (2 if command is compare else 1)
    assert "holds no sweep" in refusal(command.main(folders))


# --- verify


WORDS = (
    "game=tic_tac_toe",
    "prompt=cloze",
    "deals=3",
    "concurrent_matches=1",
)  # so that deals end in order


@pytest.fixture
def verified(once: Once, folder: Path, capsys: Capsys) -> Callable[[int], str]:
    """Verify a sweep of three matches; check the status, and that nothing is written."""
    once(*WORDS)

    def say(status: int) -> str:
        capsys.readouterr()
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert verify.main([str(folder)]) == status
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return capsys.readouterr().out

    return say


def test_a_record_that_differs_is_told_in_few_words(
    verified: Callable[[int], str], folder: Path, capsys: Capsys
) -> None:
    """A long value is truncated. No run moves the line aside, so the advice differs."""
    path = only_file(folder)
    first, *others = path.read_bytes().splitlines(keepends=True)
    record = json.loads(first)
    del record["crc32"]
    record["decisions"][0]["options"][0] = "x" * 10**6
    path.write_bytes(b"".join([add_checksum(json.dumps(record).encode()) + b"\n", *others]))
    assert verified(0).endswith("all is well\n")
    assert verify.main([str(folder), "--replay", "all"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert max(map(len, told)) < 400
    assert "line 1, match" in told[1]
    assert "decisions.0.options.0 is 'C1R1', not 'xxx" in told[1]
    assert told[-1].startswith("a run keeps such a line")
    path.write_bytes(b"".join(others))
    assert verified(1).endswith("moves damaged lines aside and plays their matches anew\n")


def test_all_is_well_only_if_every_match_was_played_again_and_is_equal(
    verified: Callable[[int], str],
    folder: Path,
    edit: Edit,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
) -> None:
    """One of three comes out otherwise after a change of code; then none can be played again."""
    path = only_file(folder)
    first, *others = path.read_bytes().splitlines(keepends=True)
    record = json.loads(first)
    record["decisions"][0]["options"][0] = "x"
    del record["crc32"]
    path.write_bytes(b"".join([add_checksum(json.dumps(record).encode()) + b"\n", *others]))
    edit("games/tic_tac_toe/__init__.py", "size: int = 3", "size: int = 4")
    capsys.readouterr()
    assert verify.main([str(folder), "--replay", "all"]) == 1
    told = capsys.readouterr().out
    assert f"{folder}: 5 lines read, 2 of 3 matches played again as recorded, 1 not\n" in told
    assert "moves damaged lines aside" not in told

    def gone(*_: object) -> None:
        raise UserError("its class is gone")

    monkeypatch.setattr(verify, "recorded_cell", gone)
    assert verify.main([str(folder), "--replay", "2"]) == 1
    told = capsys.readouterr().out
    assert "2 matches not played again: its class is gone\n" in told
    assert "0 of 2 matches played again as recorded, 2 not\n" in told


def test_a_gap_is_wrong_once_the_run_has_finished(
    verified: Callable[[int], str], folder: Path, capsys: Capsys
) -> None:
    """The tables count only the matches before the gap, and say so."""
    path, state = only_file(folder), folder / "status.json"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert "1 match missing; the same sweep again plays them" in verified(1)
    assert report.main([str(folder)]) == 0
    words = "1 of 2 finished matches count: the others follow a match that is missing"
    assert words in capsys.readouterr().out
    assert words in (folder / "report.html").read_text()
    assert status.main([str(folder)]) == 0
    assert "without 1 that follow a missing match" in capsys.readouterr().out
    state.write_bytes(to_bytes({**(Folder(folder).status or {}), "state": "interrupted"}))
    assert "1 match yet to be played" in verified(0)
    path.write_bytes(lines[0])
    assert "2 matches yet to be played" in verified(0)
    path.unlink()
    assert "3 matches yet to be played" in verified(0)
    path.write_bytes(lines[1] + lines[2])
    assert "  line 1: its prompts share text " in verified(1)


def test_a_description_is_that_of_its_key(
    verified: Callable[[int], str], folder: Path, refusal: Refusal
) -> None:
    (cell,) = (folder / "cells").iterdir()
    text = cell.read_text()
    cell.write_text(text.replace('"rotations": 1', '"rotations": 2'))
    assert "its checksum is wrong; the same sweep again writes it anew" in verified(1)
    told = text[: text.index(',"crc32"')].replace("TicTacToe", "Chess") + "}"
    cell.write_text(told)
    assert "it has no checksum" in verified(1)
    assert f"{cell} is damaged" in refusal(report.main([str(folder)]))


def test_a_match_is_replayed_with_the_preparation_of_its_own_worker(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 16 bits the same questions are answered a little differently by the next worker."""
    words = ("game=tic_tac_toe", "prompt=pride", "prompt.estimate=3")
    assert sweep(*words, "deals=2") == 0
    plain = FakeModel._number
    monkeypatch.setattr(FakeModel, "_number", lambda *asked: plain(*asked) + 0.001)
    assert sweep(*words, "deals=4") == 0
    prepared = [bool(one.preparation) for one in Folder(folder).matches()]
    assert prepared == [True, False, True, True]
    found = verify.verify(folder)
    verify.replay(found, None, 0, lambda *_: None)
    assert (found.problems, found.replayed) == ({}, 4)
