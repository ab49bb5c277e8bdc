"""The log: what is safe stays safe, what is damaged is played again, and one process writes."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from common.errors import UserError
from pipeline.log import records
from pipeline.log.folder import Folder
from pipeline.log.records import Log
from pipeline.log.small import parsed
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches, untimed


def only_file(folder: Path) -> Path:
    (path,) = (folder / "records").glob("*.jsonl")
    return path


def test_a_torn_last_line_is_cut_off_and_played_again(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=cloze")
    before, path = matches(folder), only_file(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 100])
    sweep("prompt=cloze")
    assert matches(folder) == before


def test_a_damaged_line_is_kept_aside_and_played_again(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("prompt=cloze")
    before, path = matches(folder), only_file(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"match": "half a li\n'
    path.write_bytes(b"".join(lines))
    assert sweep("prompt=cloze") == 0
    assert "1 damaged line(s)" in " ".join(capsys.readouterr().out.split())
    assert matches(folder) == before
    assert b"half a li" in path.with_suffix(".damaged").read_bytes()


def test_the_first_line_damaged_takes_no_prompt_text_with_it(sweep: Sweep, folder: Path) -> None:
    """The statics stand on the first line; without it they come from the match played again."""
    sweep("prompt=cloze")
    before, path = matches(folder), only_file(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"{}\n", *lines[1:]]))
    sweep("prompt=cloze")
    after = [replace(untimed(record), statics={}) for record in Folder(folder).matches()]
    assert {record.match: record for record in after} == {
        match: replace(record, statics={}) for match, record in before.items()
    }
    texts = [text for record in Folder(folder).matches() for text in record.statics.values()]
    assert any(text.startswith("You are player 1") for text in texts)


def test_an_output_dir_belongs_to_one_seed(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("seed=1")
    before = matches(folder)
    assert sweep("seed=2") == 2
    assert "holds matches of seed 1, not 2; choose another output_dir" in capsys.readouterr().err
    assert matches(folder) == before


def test_an_output_dir_belongs_to_one_schema(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep()
    claim = parsed((folder / "sweep.json").read_bytes())
    (folder / "sweep.json").write_text(json.dumps({**claim, "schema": 1}))
    assert sweep() == 2
    said = capsys.readouterr().err
    assert "holds matches of schema 1, not 2" in said
    assert "choose another output_dir" in said
    assert said.count("\n") == 1


def test_a_second_process_is_refused(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("deals=2")
    held, release = multiprocessing.Event(), multiprocessing.Event()
    other = multiprocessing.Process(target=_hold, args=(folder, held, release))
    other.start()
    try:
        assert held.wait(30)
        assert sweep("deals=3") == 2
        assert f"is in use by process {other.pid}" in capsys.readouterr().err
    finally:
        release.set()
        other.join()
    assert sweep("deals=3") == 0


def _hold(folder: Path, held: object, release: object) -> None:
    with Log(folder, 1):
        held.set()  # type: ignore[attr-defined]
        release.wait(30)  # type: ignore[attr-defined]


def test_a_full_disk_ends_in_one_line_and_loses_nothing(
    sweep: Sweep,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep("deals=2", "prompt=cloze")
    safe = matches(folder)
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".jsonl"):
            if len(data) < 200:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(descriptor, bytes(data[: len(data) // 2]))
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(records.os, "write", full)
        assert sweep("deals=6", "prompt=cloze") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert matches(folder) == safe, "a half-written line was left"
    assert sweep("deals=6", "prompt=cloze") == 0
    assert len(matches(folder)) == 6


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        Log(tmp_path / "file" / "out", 1)
