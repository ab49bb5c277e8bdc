"""A log damaged anywhere: resuming it gives the undamaged result, or reports what it will not
touch, and never ends with a traceback."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.common.errors import UserError
from gauntlet.models.replay import Replay
from gauntlet.pipeline import report, status
from gauntlet.pipeline.log import folder, reading, records, recovery
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.reading import Reader
from gauntlet.pipeline.log.schema import MatchRecord, Preparation
from gauntlet.pipeline.sweep import play, run_sweep
from gauntlet.pipeline.sweep import publish_results as in_the_end
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.pipeline.verify import verify
from tests.pipeline.composing import composed
from tests.pipeline.conftest import FAST
from tests.pipeline.damage import CHANGES, Damage, at, damages
from tests.pipeline.logs import matches, preparations

FEW, MANY = 15, 2_000
REPORTED = 0.1
"""Share of examples in which the whole report is written too."""
FOREIGN, GONE, BORROWED = "foreign", "gone", "borrowed"
KINDS = [*CHANGES, FOREIGN, GONE, BORROWED]
NOTES = ("records/notes.jsonl", "notes.jsonl")
LOGS = ("cells", "luck", "records")
SMALL = ("run.log", "runs.jsonl", "status.json", "sweep.json")


@dataclass
class Sound:
    """An undisturbed sweep: its files, its records, and how to resume a folder of it.

    others: lines of the same cells with another seed.
    """

    files: dict[str, bytes]
    records: dict[str, MatchRecord]
    prepared: dict[str, tuple[Preparation, ...]]
    others: dict[str, list[bytes]]
    resume: Callable[[Path], int]
    folder: Path


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sound]:
    """Four deals of Tic-Tac-Toe with two prompts, one of which prepares. Resuming it skips the
    tables and all syncs."""
    base = tmp_path_factory.mktemp("damage")
    fast = [word for word in FAST if not word.startswith("deals")]
    words = [*fast, "game=tic_tac_toe", "prompt=cloze,calibrated", "deals=4", "output_dir=x"]
    with patch.object(sys, "argv", ["pipeline.run"]):
        configs, sweep = composed(*words)
    cells = run_sweep.build_cells(configs)

    def resume(folder: Path, seed: int = 1) -> int:
        return run_sweep.run(configs, replace(sweep, output_dir=folder, seed=seed))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_sweep, "build_cells", lambda _: cells)
        patched.setattr(in_the_end, "show", lambda *_, **__: None)
        patched.setattr(os, "fsync", lambda _: None)
        with redirect_stdout(io.StringIO()):
            assert resume(base / "sound") == resume(base / "other", 2) == 0
        (run,) = Folder(base / "sound").lines("runs")
        patched.setattr(play, "run_entry", lambda plan, left, _: {**run, "matches": left})
        folder, others = base / "sound", Folder(base / "other").record_files()
        files = [path for part in LOGS for path in (folder / part).iterdir()]
        files += [folder / name for name in SMALL]
        yield Sound(
            {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)},
            matches(folder),
            preparations(folder),
            {path.name: path.read_bytes().splitlines(keepends=True) for path in others},
            resume,
            base / "out",
        )


def check(sound: Sound, done: Sequence[Damage]) -> None:
    """Damage a fresh copy, run all readers on it, and resume it."""
    touched = damage(sound, done)
    folder = sound.folder
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    said = read(folder, intact=done[0].other < REPORTED)
    with redirect_stdout(io.StringIO()) as told:
        refused = one_line(lambda: sound.resume(folder))
    if refused:
        assert "sweep.json" in touched, refused
        assert {path: path.read_bytes() for path in before} == before
        return
    assert "Traceback" not in said + told.getvalue()
    assert matches(folder) == sound.records
    assert preparations(folder) == sound.prepared
    for path, content in before.items():
        if str(path.relative_to(folder)) in NOTES:
            assert path.read_bytes() == content
            assert path.name in told.getvalue()
        else:
            kept = {*path.read_bytes().splitlines(keepends=True)}
            if (aside := path.with_suffix(".damaged")).exists():
                kept |= {*aside.read_bytes().splitlines(keepends=True)}
            whole = {line for line in content.splitlines(keepends=True) if line.endswith(b"\n")}
            assert whole <= kept, "a line was thrown away"
    assert verify(folder).problems == {}


def damage(sound: Sound, done: Sequence[Damage]) -> set[str]:
    """Write the intact files and damage them; return those changed."""
    shutil.rmtree(sound.folder, ignore_errors=True)
    names = list(sound.files)
    for name, content in sound.files.items():
        path = sound.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    touched = set()
    for one in done:
        name = names[at(one.file, len(names))]
        if one.kind == FOREIGN:
            name = NOTES[at(one.other, len(NOTES))]
            (sound.folder / name).write_bytes(one.junk)
        elif one.kind == GONE:
            (sound.folder / name).unlink(missing_ok=True)
        elif one.kind == BORROWED:
            own = list(sound.others)
            name = f"records/{own[at(one.file, len(own))]}"
            add(sound.folder / name, sound.others[own[at(one.file, len(own))]], one)
        elif (path := sound.folder / name).exists():
            path.write_bytes(CHANGES[one.kind](path.read_bytes(), one))
        touched.add(name)
    return touched


def add(path: Path, others: list[bytes], damage: Damage) -> None:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    lines.insert(at(damage.place, len(lines) + 1), others[at(damage.other, len(others))])
    path.write_bytes(b"".join(lines))


def read(folder: Path, intact: bool) -> str:
    """Read the folder in every way that a command does. Return the output."""
    verify(folder)
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as wrong:
        assert status.main([str(folder)]) in (0, 2)
        if intact:
            assert report.main([str(folder)]) in (0, 2)
        one_line(lambda: load_cells(folder))
        one_line(lambda: Replay(str(folder / "records")).load())
    return out.getvalue() + wrong.getvalue()


def one_line(do: Callable[[], object]) -> str:
    """Return the error message, which must be one line; "" if there is no error."""
    try:
        do()
    except UserError as error:
        said = str(error)
    else:
        return ""
    assert "\n" not in said
    return said


AnyDamage = st.lists(damages(KINDS), min_size=1, max_size=3)


@settings(max_examples=FEW, derandomize=True)
@given(done=AnyDamage)
def test_a_damaged_log_goes_on_as_if_nothing_had_been(sound: Sound, done: list[Damage]) -> None:
    check(sound, done)


@pytest.mark.slow
def test_two_thousand_damages(sound: Sound, figure: Callable[[str], None]) -> None:
    counted = [0]

    @settings(max_examples=MANY)
    @given(done=AnyDamage)
    def damaged(done: list[Damage]) -> None:
        counted[0] += 1
        check(sound, done)

    started = time.process_time()
    damaged()
    figure(f"damage: {counted[0]:,} examples in {time.process_time() - started:.0f} CPU seconds")


def unchecked(line: bytes) -> bytes:
    """Like `strip_checksum`, but accepts any or no checksum."""
    return line.partition(b',"crc32"')[0].rstrip(b"}\n") + b"}"


def reader(**weak: Any) -> Callable[..., Reader]:
    return lambda *given: replace(Reader(*given), **weak)


BUGS: dict[str, tuple[str, Any, str, Any]] = {
    "wrong checksums pass": ("edited", reading, "strip_checksum", unchecked),
    "missing checksums pass": ("edited_unsealed", reading, "strip_checksum", unchecked),
    "ids are not checked": (BORROWED, records, "Reader", reader(seed=None)),
    "doubles pass": ("doubled", Reader, "_is_first", lambda *_: True),
    "foreign files are mended": (
        *(FOREIGN, records.Log, "_records_files"),
        lambda log, *_: log._disk.logs(log._place.records_folder),
    ),
    "damaged lines are dropped": ("flipped", recovery, "append", lambda *_: None),
    "texts further on are not found": (
        *("lost", folder, "records"),
        lambda reader, lines, again: reading.records(reader, lines, ()),
    ),
}
"""Bugs of the log: the damage that reveals each, and the code to replace."""


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(sound: Sound, bug: str) -> None:
    kind, *planted = BUGS[bug]
    count = len(sound.files)
    tries = [
        Damage(kind, (number + 0.5) / count, place, other, b"\x07%", "seven")
        for place in (0.02, 0.3, 0.5, 0.8, *(step / 25 for step in range(25)))
        for other in (0.05, 0.6)
        for number in range(count)
    ]

    def breaks(damage: Damage) -> bool:
        try:
            check(sound, [damage])
        except Exception:
            return True
        return False

    with patch.object(*planted):
        found = next(filter(breaks, tries), None)
    assert found is not None
    check(sound, [found])
