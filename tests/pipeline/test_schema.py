"""Valid lines of a log: every kind by its tag, and damage is never read as a record."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from gauntlet.common.disk import unsealed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import LINES, Lines, line
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.schema import MatchRecord, Record
from gauntlet.pipeline.plan.cells import digest
from tests.pipeline.records import decided, described, ended, placed, scored, write


class Watched(Record, frozen=True, kw_only=True, tag="watched"):
    """A record type for a player who only watched."""

    ply: int
    said: str


def test_a_record_comes_back_as_it_was() -> None:
    record = ended(decided(1, notes={"why": [1, "x"]}, text="hello"), decided(0, asked=()))
    assert LINES.record(unsealed(line(record))) == record


def test_a_line_tells_its_kind_and_leaves_out_what_goes_without_saying() -> None:
    told = json.loads(line(ended(decided(1), decided(0, text="hello"))))
    assert list(told)[:2] == ["kind", "match"]
    plain, wordy = told["decisions"]
    assert plain.keys() >= {"seat", "options", "scores", "margin", "chosen", "status", "tokens"}
    assert not plain.keys() & {"notes", "text"}
    assert wordy["text"] == "hello"
    assert plain["asked"][0]["kind"] == "score"
    assert not plain["asked"][0].keys() & {"turns", "system", "unreported", "ceilings"}
    assert "preparation" not in told


def test_minus_infinity_is_null_and_comes_back() -> None:
    asked = scored(logprobs=((-1.0, -math.inf),))
    text = line(ended(decided(1, asked=(asked,))))
    assert b'"logprobs":[[-1.0,null]]' in text
    read = LINES.record(unsealed(text))
    assert isinstance(read, MatchRecord)
    (found,) = read.decisions[0].asked
    assert found.restored(read.statics) == asked.restored(read.statics)


def test_a_second_kind_stands_beside_matches_in_one_log(tmp_path: Path) -> None:
    """It is one more Struct in the union: the log keeps it, tables see matches alone, and its texts
    are available too."""
    both = Lines(MatchRecord | Watched)
    w, (m, n) = digest("Watch."), (placed(ended(deal=deal)) for deal in (0, 1))
    seen = Watched(
        match=m.match, cell="c", deal=0, rotation=0, statics={w: "Watch."}, ply=3, said="!"
    )
    with Log(tmp_path, 1, kinds=both):
        """Create the folder."""
    write(described(tmp_path, "c"), [seen, m, replace(seen, statics={}, ply=4)])
    with Log(tmp_path, 1, kinds=both) as log:
        cell: Any = SimpleNamespace(stem="c")
        log.append(cell, n)
        assert (log.notes, len(log.outcomes["c"])) == ([], 2)
    log.sync()
    folder = Folder(tmp_path, both)
    assert [type(one) for one in folder.records()] == [Watched, MatchRecord, Watched, MatchRecord]
    assert [one.match for one in folder.matches()] == [m.match, n.match]
    assert all(one.statics[w] == "Watch." for one in folder.records())
    found = [one.match for one in Folder(tmp_path).records()]
    assert found == [m.match, n.match], "unknown to others"


def with_(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda told: {**told, **more}


def in_decision(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda told: {**told, "decisions": [{**told["decisions"][0], **more}]}


DAMAGE = {
    "text for a number": with_(deal="three"),
    "text for numbers": with_(returns=["won", "lost"]),
    "more tokens than bits": in_decision(tokens=2**70),
    "tokens that add up to too many": lambda told: {
        **told,
        "decisions": [{**told["decisions"][0], "tokens": 2**31}] * 2,
    },
    "less than none": with_(plies=-1),
    "half a deal": with_(deal=0.5),
    "a deal beyond all plans": with_(deal=2**40),
    "no decisions": with_(decisions=None),
    "a null for a decision": with_(decisions=[None]),
    "nobody measured": with_(measured=[]),
    "a seat that is not there": with_(subjects=[2]),
    "a decision of a seat that is not there": in_decision(seat=2),
    "an option that is not there": in_decision(chosen=2),
    "a measure of one seat too few": with_(measures={"win": [1.0]}),
    "an unknown status": in_decision(status="fine"),
    "answers that are none": in_decision(notes={"answers": 5}),
    "an unknown kind": with_(kind="dream"),
    "a name too long for the tables": with_(match="0" * 17),
    "a name that is not of this alphabet": with_(match="mätch"),
    "a list of prompts for one": in_decision(asked=[{"kind": "score"}]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_whole_record_is_moved_aside(tmp_path: Path, damage: str) -> None:
    """Wrong types and impossible values, as well as text that is no JSON."""
    told = json.loads(encode(placed(ended(decided(1)))))
    check_moved_aside(tmp_path, line(DAMAGE[damage](told)))


@pytest.mark.parametrize(
    "spoilt", [b'{"kind":"match","x":' + b"[" * 100_000, b"[]", b"null", b"\xff\xfe", b"1e999", b""]
)
def test_what_is_no_object_is_moved_aside(tmp_path: Path, spoilt: bytes) -> None:
    check_moved_aside(tmp_path, spoilt + b"\n")


def check_moved_aside(folder: Path, spoilt: bytes) -> None:
    with Log(folder, 1):
        """Create the folder."""
    record, path = placed(ended(decided(1), deal=1)), described(folder, "c")
    good = line(record)
    path.write_bytes(spoilt + good)
    assert [one.match for one in Folder(folder).matches()] == [record.match]
    with Log(folder, 1) as log:
        assert len(log.outcomes["c"]) == 1
    assert "1 damaged line(s)" in log.notes[0]
    assert path.read_bytes() == good
    assert path.with_suffix(".damaged").read_bytes() == spoilt
