"""Records edited by hand with a new checksum: each is refused like a damaged line, or detected when
its match is replayed, and no command ends in a traceback."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode, encode

from gauntlet.common.disk import add_checksum
from gauntlet.models.fake import FakeModel
from gauntlet.pipeline import export, ratings, report, status, track, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import Record
from gauntlet.pipeline.plan.cells import match_id
from tests.pipeline.conftest import Capsys, Once, Sweep
from tests.pipeline.logs import matches

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own

DEALS = 40
WORDS = ("game=tic_tac_toe", "prompt=vanilla,label_study", f"deals={DEALS}")
Json = Any

VALUES: dict[type, tuple[Any, ...]] = {
    bool: ("x", None, 2),
    int: (-1, 3, 300, 2**40, 0.5, "x", None, True, []),
    float: (-1.5, 0.25, 7.0, 1e300, -1e300, "x", None, []),
    str: ("", "other", 5, None, "\x1b[2J"),
    list: ([], "x", None, 5, {}),
    dict: ({}, [], None, "x"),
    type(None): (-1.5, "x", [], 1e300),
}
"""Values that an editor may insert in place of one of this type."""

BESIDE = ("seconds", "device_seconds", "clock", "statics", "preparation")
"""Fields that nothing else in a record determines: other possible values are no error."""


@dataclass(frozen=True)
class Edit:
    """An edited line, with the file and line that it replaces."""

    what: str
    file: str
    line: int
    text: bytes


@pytest.fixture
def played(once: Once) -> Path:
    """A method that writes, and one that scores, asks in advance and leaves notes."""
    return once(*WORDS)


@pytest.fixture
def original(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "original"))


def edits(folder: Path) -> list[Edit]:
    """Yield every kind of place in a cell's records with every value, each in a separate line as
    long as there are lines."""
    found = []
    for file in Folder(folder).record_files():
        lines = [json.loads(line) for line in file.read_bytes().splitlines()]
        for number, (what, change) in enumerate(changes(lines)):
            at = number % len(lines)
            if (told := change(copy.deepcopy(lines[at]))) is None:
                at = 0
                told = change(copy.deepcopy(lines[0]))
            if told is not None and told != lines[at]:
                told.pop("crc32", None)
                text = add_checksum(json.dumps(told).encode()) + b"\n"
                found.append(Edit(what, file.name, at, text))
    return found


Change = Callable[[Json], Json]


def changes(lines: list[Json]) -> Iterator[tuple[str, Change]]:
    places = {place: value for line in lines[1::-1] for place, value in places_of(line)}
    for place, value in sorted(places.items()):
        name = ".".join(map(str, place))
        for other in VALUES[type(value)]:
            yield f"{name} = {other!r}", put(place, other)
        yield f"no {name}", put(place, GONE)
        if isinstance(value, list) and value:
            yield f"{name} one longer", put(place, lambda old: [*old, old[-1]])
            yield f"{name} one shorter", put(place, lambda old: old[:-1])
            yield f"{name} turned round", put(place, lambda old: old[::-1])
    for name, value in (
        ("deal", 10**8 - 1),
        ("deal", 5 * 10**6),
        ("rotation", 1),
        ("rotation", 9999),
    ):
        yield f"{name} = {value} with its id", moved(name, value)


GONE = object()
Place = tuple[str | int, ...]


def places_of(data: Json, above: Place = ()) -> Iterator[tuple[Place, Json]]:
    """Yield every place; in lists only those in the longest item."""
    longest = sorted(enumerate(data), key=lambda one: -len(str(one[1])))[:1]
    items = data.items() if isinstance(data, dict) else longest
    for key, value in items:
        if key not in ("crc32", "statics"):
            yield (*above, key), value
            if isinstance(value, dict | list):
                yield from places_of(value, (*above, key))


def put(place: Place, value: Any) -> Change:
    def change(data: Json) -> Json:
        holder = data
        try:
            for key in place[:-1]:
                holder = holder[key]
            old = holder[place[-1]]
        except (KeyError, IndexError, TypeError):
            return None
        if value is GONE:
            del holder[place[-1]]
        else:
            holder[place[-1]] = value(old) if callable(value) else value
        return data

    return change


def moved(name: str, value: int) -> Change:
    def change(data: Json) -> Json:
        data[name] = value
        data["match"] = match_id(data["cell"], 1, data["deal"], data["rotation"])
        return data

    return change


def refused(folder: Path, edit: Edit) -> bool:
    """Whether a reader of the file treats the line as damaged."""
    try:
        Folder(folder).reader(Path(edit.file).stem).record(edit.text)
    except ValueError:
        return True
    return False


def another(folder: Path, edit: Edit) -> bool:
    """Whether a reader gets a different record from the line than the original one."""
    if refused(folder, edit):
        return False
    path = folder / "records" / edit.file
    lines = path.read_bytes().splitlines(keepends=True)[edit.line], edit.text
    before, after = (Folder(folder).reader(path.stem).record(line) for line in lines)
    return bool(content(before) != content(after))


def content(record: Record) -> Json:
    """Return the fields that follow from the deal and the replies."""
    told = decode(encode(record))
    return {name: value for name, value in told.items() if name not in BESIDE}


def batches(done: list[Edit]) -> Iterator[list[Edit]]:
    """Split the edits into as few batches as possible with at most one edit per line."""
    waiting = done
    while waiting:
        batch = {(one.file, one.line): one for one in reversed(waiting)}
        yield [*batch.values()]
        waiting = [one for one in waiting if one not in batch.values()]


def lay(kept: Path, folder: Path, batch: list[Edit]) -> None:
    """A copy of the folder with these edits."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
    for name in {one.file for one in batch}:
        path = folder / "records" / name
        lines = path.read_bytes().splitlines(keepends=True)
        for one in batch:
            if one.file == name:
                lines[one.line] = one.text
        path.write_bytes(b"".join(lines))


def missed(reported: dict[str, set[int]], batch: list[Edit]) -> list[str]:
    """Return the edits whose lines were not detected; fail if an unedited line was."""
    assert {(name, line) for name, lines in reported.items() for line in lines} <= {
        (one.file, one.line + 1) for one in batch
    }
    return [one.what for one in batch if one.line + 1 not in reported.get(one.file, set())]


def named(wrong: dict[str, list[str]]) -> dict[str, set[int]]:
    return {
        file.removeprefix("records/"): {int(m[1]) for t in told if (m := LINE.match(t))}
        for file, told in wrong.items()
    }


LINE = re.compile(r"line (\d+)")
REPLY = re.compile(r"asked\.\d+\.(text|tokens|logprobs)")
"""Model replies: another reply with the same consequences cannot be detected."""


def test_every_edit_is_refused_or_found_by_a_replay(
    played: Path, original: Path, figure: Callable[[str], None]
) -> None:
    every, unfound = edits(original), list[str]()
    taken = [one for one in every if another(original, one)]
    for batch in batches(taken):
        lay(original, played, batch)
        found = verify.verify(played)
        verify.replay(found, None, 0, lambda *_: None)
        unfound += missed(named(found.problems), batch)
    assert [what for what in unfound if not REPLY.search(what)] == []
    assert len(unfound) < len(taken) / 20
    damaged = sum(refused(original, one) for one in every)
    figure(
        f"edited records with a right checksum: {len(every):,}; {damaged:,} refused as they are "
        f"read, {len(taken) - len(unfound):,} found by a replay; of {len(unfound)} replies that "
        "were edited the same follows"
    )


def test_no_command_ends_in_a_traceback_and_damaged_lines_are_played_again(
    played: Path, original: Path, sweep: Sweep, store: Path, capsys: Capsys
) -> None:
    """Edits that are read, in all ways; then edits that are refused as they are read."""
    every = edits(original)
    lay(original, played, next(batches([one for one in every if not refused(original, one)])))
    read(played, store)
    assert sweep(*WORDS) == 0
    batch = next(batches([one for one in every[::-1] if refused(original, one)]))
    lay(original, played, batch)
    assert missed(named(verify.verify(played).problems), batch) == []
    read(played, store)
    assert sweep(*WORDS) == 0
    assert matches(played) == matches(original)
    assert verify.verify(played).problems == {}
    told = capsys.readouterr()
    assert "Traceback" not in told.out + told.err


def read(folder: Path, store: Path) -> None:
    """Read as every command does; none may raise."""
    assert report.main([str(folder)]) == 0
    assert export.main([str(folder), "--to", str(folder / "out")]) == 0
    assert ratings.main([str(folder)]) in (0, 2)
    assert track.main([str(folder), "--store", str(store)]) == 0
    assert status.main([str(folder)]) == 0
    assert verify.main([str(folder), "--replay", "3"]) in (0, 1)


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
