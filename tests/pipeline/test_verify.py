"""Verification of a folder's log: no output if it is intact, else every damage with its place and
reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.common.disk import sealed
from gauntlet.pipeline import report, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches
from tests.pipeline.test_records import only_file

WORDS = (
    "game=tic_tac_toe",
    "prompt=cloze",
    "deals=3",
    "concurrent_matches=1",
)  # so that deals end in order
Told = pytest.CaptureFixture[str]


@pytest.fixture
def verify_says(sweep: Sweep, folder: Path, capsys: Told) -> Callable[[int], str]:
    """Verify a sweep of three matches; check the status, and that nothing is written."""
    assert sweep(*WORDS) == 0

    def say(status: int) -> str:
        capsys.readouterr()
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert verify.main([str(folder)]) == status
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return capsys.readouterr().out

    return say


def test_a_whole_folder_is_well(verify_says: Callable[[int], str], folder: Path) -> None:
    files = (folder / "records", folder)
    lines = sum(len(file.read_bytes().splitlines()) for at in files for file in at.glob("*.jsonl"))
    assert verify_says(0) == f"{folder}: {lines} line(s) read, all is well\n"


def test_every_damage_is_told_with_its_place_and_reason(
    verify_says: Callable[[int], str], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = only_file(folder)
    match = list(matches(folder))
    lines = path.read_bytes().splitlines(keepends=True)
    spoilt = lines[1].replace(b'"rotation":0', b'"rotation":1')
    path.write_bytes(b"".join([lines[0], spoilt, lines[0], b"\xff\x1b[2J\n", lines[2][:-1]]))
    (folder / "records" / "notes.jsonl").write_text("mine")
    (folder / "runs.jsonl").write_bytes(b"hello\n")
    (folder / "status.json").write_text("{}")
    (cell,) = (folder / "cells").iterdir()
    (folder / "cells" / "lost-0123456789abcdef.json").write_bytes(cell.read_bytes())
    told = verify_says(1)
    for line in (
        f"records/{path.name}\n",
        f"  line 2, match {match[1]}: its checksum is wrong\n",
        f"  line 3, match {match[0]}: its match is there twice\n",
        "  line 4: it has no checksum\n",
        f"  line 5, match {match[2]}: it is cut off\n",
        "runs.jsonl\n  line 1: it has no checksum\n",
        "status.json\n  ",
        "cells/lost-0123456789abcdef.json\n  it describes cell ",
        "records/notes.jsonl: no part of the log\n",
        "7 thing(s) are wrong\n",
    ):
        assert line in told, line
    assert "\x1b" not in told
    assert report.main([str(folder)]) == 0, "tables go on without them"
    assert "3 damaged line(s)" in caplog.text


def test_a_record_that_differs_is_told_in_few_words(
    verify_says: Callable[[int], str], folder: Path, capsys: Told
) -> None:
    """A long value is truncated. No run moves the line aside, so the advice differs."""
    path = only_file(folder)
    first, *others = path.read_bytes().splitlines(keepends=True)
    record = json.loads(first)
    del record["crc32"]
    record["decisions"][0]["options"][0] = "x" * 10**6
    path.write_bytes(b"".join([sealed(json.dumps(record).encode()) + b"\n", *others]))
    assert verify_says(0).endswith("all is well\n")
    assert verify.main([str(folder), "--replay", "all"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert max(map(len, told)) < 400
    assert "line 1, match" in told[1]
    assert "decisions.0.options.0 is 'C1R1', not 'xxx" in told[1]
    assert told[-1].startswith("a run keeps such a line; delete it")
    path.write_bytes(b"".join(others))
    assert verify_says(1).endswith("moves damaged lines aside and plays their matches anew\n")


def test_a_gap_is_wrong_once_the_run_has_finished(
    verify_says: Callable[[int], str], folder: Path
) -> None:
    path, status = only_file(folder), folder / "status.json"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert "1 match(es) are missing; the same sweep again plays them" in verify_says(1)
    status.write_bytes(to_bytes({**(Folder(folder).status or {}), "state": "interrupted"}))
    assert "1 match(es) are yet to be played" in verify_says(0)
    path.write_bytes(lines[1] + lines[2])
    assert "  line 1: its prompts share text " in verify_says(1)


def test_a_description_is_that_of_its_key(
    verify_says: Callable[[int], str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cell,) = (folder / "cells").iterdir()
    text = cell.read_text()
    cell.write_text(text.replace('"rotations": 1', '"rotations": 2'))
    assert "its checksum is wrong; the same sweep again writes it anew" in verify_says(1)
    told = text[: text.index(',"crc32"')].replace("TicTacToe", "Chess") + "}"
    cell.write_text(told)
    assert "it has no checksum" in verify_says(1)
    assert report.main([str(folder)]) == 2
    assert f"{cell} is damaged" in capsys.readouterr().err
    cell.write_bytes(sealed(told.encode()))
    assert "the identity that it tells is not that of its key" in verify_says(1)


def test_a_folder_without_a_sweep_is_one_line(tmp_path: Path, capsys: Told) -> None:
    assert verify.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
