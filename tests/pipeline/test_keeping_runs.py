"""`pipeline.runs`: folders removed, moved, imported and annotated, with their MLflow runs."""

from __future__ import annotations

import errno
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gauntlet.pipeline import report, status, track, verify
from gauntlet.pipeline.library import Shelf
from gauntlet.pipeline.log.archive import others
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.records import held
from gauntlet.pipeline.pages.run_status import state_of
from gauntlet.pipeline.runs import main
from gauntlet.pipeline.tables.media.run_metadata import facts
from gauntlet.pipeline.tables.registry import load_cells
from tests.nodes import ROOT
from tests.pipeline.conftest import Capsys, Once, Refusal
from tests.pipeline.stores import runs
from tests.test_absent import refusal as absence
from tests.test_absent import typed

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own


@pytest.fixture
def played(once: Once) -> Path:
    return once("game=tic_tac_toe", "prompt=cloze", "deals=2")


@pytest.fixture
def tracked(played: Path, store: Path, capsys: Capsys) -> Path:
    assert track.main([str(played), "--store", str(store)]) == 0
    assert len(runs(store)) == 2
    capsys.readouterr()
    return played


def test_rm_removes_the_folder_and_its_runs(tracked: Path, store: Path) -> None:
    assert main(["rm", str(tracked), "--yes", "--store", str(store)]) == 0
    assert not tracked.exists()
    assert [*tracked.parent.glob(".removed-*")] == []
    assert runs(store) == []


def test_rm_asks_first(tracked: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("n\n"))
    assert main(["rm", str(tracked), "--store", str(store)]) == 0
    assert tracked.exists()
    monkeypatch.setattr(sys, "stdin", StringIO(""))
    assert main(["rm", str(tracked), "--store", str(store)]) == 2
    assert len(runs(store)) == 2
    monkeypatch.setattr(sys, "stdin", StringIO("y\n"))
    assert main(["rm", str(tracked), "--store", str(store)]) == 0
    assert not tracked.exists()


def test_rm_takes_the_folder_one_is_in_and_no_link(
    tracked: Path, store: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tracked)
    assert "is a link" in refusal(main(["rm", "--yes", str(link), "--store", str(store)]))
    monkeypatch.chdir(tracked)
    assert main(["rm", "--yes", ".", "--store", str(store)]) == 0
    assert not tracked.exists()


@pytest.mark.parametrize("words", [["rm", "--yes"], ["mv"]])
def test_what_a_run_writes_to_stays(
    words: list[str], played: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    new = [str(tmp_path / "new")] * (words[0] == "mv")
    command = [words[0], str(played), *new, *words[1:], "--store", str(store)]
    with held(played):
        assert "is in use by process" in refusal(main(command))
    assert played.exists()
    nothing = [words[0], str(tmp_path), *new, *words[1:], "--store", str(store)]
    assert "holds no sweep" in refusal(main(nothing))


def test_mv_moves_the_folder_and_names_its_runs_anew(
    tracked: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    new = tmp_path / "deep" / "new"
    assert main(["mv", str(tracked), str(new), "--store", str(store)]) == 0
    assert not tracked.exists()
    found = runs(store)
    assert len(found) == 2
    parent = next(run for run in found if "cells" in run.data.params)
    assert parent.data.params["output_dir"] == str(new)
    assert parent.info.run_name.endswith("[new]")
    capsys.readouterr()
    assert "exists already" in refusal(main(["mv", str(new), str(new)]))


@pytest.mark.parametrize("form", ["folder", "zip", "gztar"])
def test_import_takes_a_folder_or_an_archive(
    form: str, played: Path, store: Path, tmp_path: Path
) -> None:
    source = played
    if form != "folder":
        name = str(tmp_path / "sent")
        source = Path(shutil.make_archive(name, form, played.parent, played.name))
    new = tmp_path / "taken"
    assert main(["import", str(source), str(new), "--store", str(store)]) == 0
    log = [*Folder(played).matches()]
    assert [*Folder(new).matches()] == log != []
    assert [*tmp_path.glob(".unfinished-*")] == []
    assert not Folder(new).import_file.exists()
    assert played.exists()


KILLED = """
import os, sys
from gauntlet.pipeline import runs
module, name = sys.argv[1].split(":")
setattr(getattr(runs, module), name, lambda *_: os._exit(9))
runs.main(sys.argv[2:])
"""


@pytest.mark.parametrize("at", ["track:log_runs", "archive:unpacked", "shutil:copytree"])
def test_a_killed_import_is_no_finished_one_and_goes_on(
    at: str, played: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    new, more = tmp_path / "new", ["--store", str(store)]
    command = ["import", str(played), str(new), *more]
    killed = subprocess.run([sys.executable, "-c", KILLED, at, *command], cwd=ROOT)
    assert killed.returncode == 9
    assert new.exists() == (at == "track:log_runs") == Folder(new).import_file.exists()
    if new.exists():
        assert state_of(Shelf(Folder(new))) == "importing"
        for look in (verify.main, status.main, report.main):
            assert look([str(new)]) == 0
            assert f"runs import {played} {new}" in " ".join(capsys.readouterr().out.split())
        other = shutil.copytree(played, tmp_path / "other")
        assert "exists already" in refusal(main(["import", str(other), str(new), *more]))
    assert main(command) == 0
    assert [*Folder(new).matches()] == [*Folder(played).matches()]
    assert len(runs(store)) == 2
    assert state_of(Shelf(Folder(new))) == "imported"
    assert [*tmp_path.glob(".unfinished-*")] == []
    assert "exists already" in refusal(main(command))


def test_runs_are_kept_in_order_without_mlflow_though_there_is_a_store(
    played: Path, tmp_path: Path
) -> None:
    """`rm` would leave runs in the store that nobody can find: it removes nothing."""
    a, b = tmp_path / "a", tmp_path / "b"
    commands = (f"import {played} {a}", f"note {a} hello", f"mv {a} {b}", f"rm --yes {b}")
    done = typed(tmp_path, *(f"pipeline.runs {words} --store ." for words in commands))
    assert done.stderr == "STATUS 0\n" * 3 + absence("mlflow", "tracking"), done.stdout
    assert len(re.findall("warning: mlflow is not installed", done.stdout)) == 3
    assert not a.exists()
    kept = Folder(b)
    assert kept.note["note"] == "hello"
    assert not kept.import_file.exists()
    assert (kept.path / "summary.csv").exists()


def test_mv_to_another_disk_leaves_no_half_of_a_folder(
    played: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    log, new = [*Folder(played).matches()], tmp_path / "new"
    monkeypatch.setattr(Path, "lstat", lambda path: SimpleNamespace(st_dev=-1))
    command = ["mv", str(played), str(new), "--store", str(store)]
    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfile", no_space)
        with pytest.raises(shutil.Error):
            main(command)
    assert not new.exists()
    assert main(command) == 0
    assert [*Folder(new).matches()] == log
    assert not played.exists()


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_imported_folder_shares_no_runs_with_the_original(
    tracked: Path, store: Path, tmp_path: Path
) -> None:
    new, more = tmp_path / "v1.2", ["--store", str(store)]
    assert main(["import", str(tracked), str(new), *more]) == 0
    assert len(runs(store)) == 4
    assert main(["rm", "--yes", str(new), *more]) == 0
    assert len(runs(store)) == 2


@pytest.mark.parametrize("form", ["zip", "gztar"])
def test_a_damaged_archive_is_one_line(
    form: str, played: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    archive = Path(shutil.make_archive(str(tmp_path / "v1.2"), form, played.parent, played.name))
    data, command = archive.read_bytes(), ["import", str(archive), str(tmp_path / "new")]
    for damaged in (data[: len(data) // 2], data[:200] + bytes(200) + data[400:]):
        archive.write_bytes(damaged)
        assert "is no folder or archive" in refusal(main([*command, "--store", str(store)]))


def zipped(file: Path, name: str, mode: int = 0, **fields: int) -> None:
    """A zip file of one member. mode: its kind; fields: of its head, changed after writing."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(entry, "/etc")
        for field, value in fields.items():
            setattr(entry, field, value)


def tarred(file: Path, name: str, **fields: Any) -> None:
    """A tar file of one member."""
    entry = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(entry, field, value)
    with tarfile.open(file, "w") as packed:
        packed.addfile(entry)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "outside.tar": lambda file: tarred(file, "../../outside"),
    "link.tar": lambda file: tarred(file, "run/up", type=tarfile.SYMTYPE, linkname="."),
    "hard.tar": lambda file: tarred(file, "run/up", type=tarfile.LNKTYPE, linkname="run/x"),
    "pipe.tar": lambda file: tarred(file, "run/records", type=tarfile.FIFOTYPE),
    "large.tar": lambda file: tarred(file, "run/sweep.json", size=2**40),
    "head.tar": lambda file: tarred(file, "run", type=tarfile.XHDTYPE, size=2**40),
    "link.zip": lambda file: zipped(file, "run/up", stat.S_IFLNK),
    "large.zip": lambda file: zipped(file, "run/sweep.json", file_size=2**31),
    "locked.zip": lambda file: zipped(file, "run/sweep.json", flag_bits=1),
    "method.zip": lambda file: zipped(file, "run/sweep.json", compress_type=97),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_one_line(
    name: str, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    archive = tmp_path / name
    HOSTILE[name](archive)
    command = ["import", str(archive), str(tmp_path / "new"), "--store", str(store)]
    assert str(archive) in refusal(main(command))
    assert {file.name for file in tmp_path.iterdir()} <= {name, store.name}


def test_an_imported_folder_leads_nowhere_else(
    played: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    command = ["import", str(played), str(tmp_path / "new"), "--store", str(store)]
    for name, target in (("figures", tmp_path), ("run.log", tmp_path / "missing")):
        link = played / name
        kept = played / f"{name}.before"
        if link.exists():
            link.rename(kept)
        link.symlink_to(target)
        assert str(link) in refusal(main(command))
        link.unlink()
    assert not (tmp_path / "new").exists()


def test_an_archives_other_files_are_named_at_any_depth(tmp_path: Path) -> None:
    archive = tmp_path / "log.tar"
    tarred(archive, "cells/deep/more.json")
    assert others(archive) == ["cells/deep/more.json"]
    tarred(archive, "cells/more.json")
    assert others(archive) == []


def test_import_refuses_damage_and_what_is_no_run(
    played: Path, store: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    new, more = tmp_path / "taken", ["--store", str(store)]
    (records,) = (played / "records").iterdir()
    records.write_bytes(records.read_bytes().replace(b'"deal":1', b'"deal":2', 1))
    assert "is damaged: records/" in refusal(main(["import", str(played), str(new), *more]))
    assert "it has no sweep.json" in refusal(
        main(["import", str(played / "records"), str(new), *more])
    )
    odd = tmp_path / "odd.zip"
    odd.write_text("no archive")
    assert "no folder or archive" in refusal(main(["import", str(odd), str(new), *more]))
    assert not new.exists()


def test_a_note_and_tags_are_shown_by_report_and_mlflow(tracked: Path, store: Path) -> None:
    more = ["--store", str(store)]
    assert main(["note", str(tracked), "in *fp32*", "--tag", "draft", "--tag", "b", *more]) == 0
    assert main(["note", str(tracked), "--untag", "b", *more]) == 0
    entries = {one.term: one.values for one in facts(tracked, load_cells(tracked), ["c"])}
    assert entries["note"] == ["in *fp32* #draft"]
    assert "in *fp32* #draft" in (tracked / "report.html").read_text()
    parent = next(run for run in runs(store) if "cells" in run.data.params)
    assert parent.data.tags["gauntlet.tags"] == "draft"
    assert parent.data.tags["mlflow.note.content"].startswith(r"*in \*fp32\* \#draft*")
    assert main(["note", str(tracked), "", "--untag", "draft", *more]) == 0
    assert Folder(tracked).note_line == ""


def test_a_packed_log_is_whole_and_names_no_machine(
    played: Path, tmp_path: Path, capsys: Capsys, refusal: Refusal
) -> None:
    first, again = tmp_path / "first.tar.xz", tmp_path / "again.tar.xz"
    for file in (first, again):
        assert main(["pack", str(played), str(file)]) == 0
    assert first.read_bytes() == again.read_bytes()
    with tarfile.open(first) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    unpacked = tmp_path / "unpacked"
    texts = b"".join(file.read_bytes() for file in unpacked.rglob("*") if file.is_file())
    assert str(tmp_path).encode() not in texts
    assert {file.name for file in unpacked.glob("*")}.isdisjoint({"runs.jsonl", "status.json"})
    assert verify.main([str(first), "--replay", "all"]) == 0
    told = capsys.readouterr().out
    assert f"{first}: 3 lines read, 2 matches played again as recorded, all is well" in told
    assert "must end in .tar.xz" in refusal(main(["pack", str(played), str(tmp_path / "x.zip")]))
    before = file.read_bytes()
    assert "exists already" in refusal(main(["pack", str(played), str(file)]))
    assert file.read_bytes() == before
