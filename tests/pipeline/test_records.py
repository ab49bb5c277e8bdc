"""The log: whole records survive, damaged ones are replayed, one process writes; its outcomes."""

from __future__ import annotations

import json
import math
import multiprocessing
from dataclasses import replace as with_
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode
from msgspec.structs import replace

from gauntlet.common.disk import add_checksum, strip_checksum
from gauntlet.common.errors import UserError
from gauntlet.pipeline import report, status, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import LINES, Lines, line
from gauntlet.pipeline.log.metadata_files import parse_object, to_bytes
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.schema import MatchRecord, Record
from gauntlet.pipeline.plan.cells import digest
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.records import STATIC, decided, described, ended, placed, scored, write


def only_file(folder: Path) -> Path:
    (path,) = (folder / "records").glob("*.jsonl")
    return path


TWO = (placed(ended(decided(1), deal=0)), placed(ended(decided(0), deal=1)))
STRANGERS = {
    "its checksum is wrong": line(TWO[1]).replace(b"-1.0", b"-1.5"),
    "it has no checksum": encode(TWO[1]) + b"\n",
    "its checksum is not where it belongs": line(TWO[1])[:-2] + b',"more":1}\n',
    "its match is there twice": line(TWO[0]),
    "it is of cell 'd'": line(placed(replace(TWO[1], cell="d"))),
    "its match id is not that of its cell, seed, deal and rotation": line(replace(TWO[1], deal=2)),
    "seed, deal and rotation": line(placed(TWO[1], seed=2)),
    "a text of its prompts is not the one": line(replace(TWO[1], statics={STATIC: "Rules!\n"})),
    "Expected `int`, got `float`": line(json.loads(encode(TWO[1])) | {"deal": 0.5}),
    "it is nested too deeply": add_checksum(b'{"kind":"match","x":' + b"[" * 9_999 + b"}") + b"\n",
}


NO_RECORDS = (
    line({**json.loads(encode(TWO[1])), "kind": "dream"}),
    line({**json.loads(encode(TWO[1])), "deal": "three"}),
    *(b"[]\n", b"null\n", b"\xff\xfe\n", b"1e999\n", b"\n"),
)


@pytest.mark.parametrize(
    ("why", "spoilt"), [*STRANGERS.items(), *(("", spoilt) for spoilt in NO_RECORDS)], ids=ascii
)
def test_what_does_not_fit_is_moved_aside_and_named(
    tmp_path: Path, why: str, spoilt: bytes
) -> None:
    with Log(tmp_path, 1):
        """Create the folder."""
    path, good = described(tmp_path, "c"), line(TWO[0])
    aside = path.with_suffix(".damaged")
    aside.write_bytes(b"of an earlier time\n")
    path.write_bytes(good + spoilt)
    assert [one.match for one in Folder(tmp_path).matches()] == [TWO[0].match]
    with Log(tmp_path, 1) as log:
        assert [one.deal for one in log.outcomes["c"]] == [0]
    (note,) = log.notes
    assert "1 damaged line moved to c.damaged; those matches are played again (line 2: " in note
    assert why in note
    assert path.read_bytes() == good
    assert aside.read_bytes() == b"of an earlier time\n" + spoilt


@pytest.mark.parametrize(
    "given", [{"chosen": 2}, {"scores": (1.0,)}, {"chances": (1.0,)}, {"notes": {"answers": 7}}]
)
def test_a_decision_that_no_agent_may_make_has_no_record(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"option|Expected"):
        decided(1, **given)


def test_files_of_nobodys_cell_are_left_as_they_are(tmp_path: Path) -> None:
    with Log(tmp_path, 1):
        """Create the folder."""
    notes = {"records/notes.jsonl": b"what I saw", "mine.jsonl": b'{"half', "records/a.txt": b"x"}
    for name, text in notes.items():
        (tmp_path / name).write_bytes(text)
    with Log(tmp_path, 1) as log:
        (note,) = log.notes
    assert note.endswith("not part of the log; left unchanged: mine.jsonl, records/notes.jsonl")
    assert {name: (tmp_path / name).read_bytes() for name in notes} == notes
    assert not list(Folder(tmp_path).matches())


def test_a_garbled_small_log_is_mended_too(tmp_path: Path) -> None:
    with Log(tmp_path, 1) as log:
        entry = {"match": TWO[0].match, "cell": "c", "deal": 0, "rotation": 0, "error": "bad card"}
        log.append_line("failed_matches", entry)
    path = tmp_path / "failed_matches.jsonl"
    good = path.read_bytes()
    spoilt = [line({**entry, "deal": "x"}), good.replace(b"bad", b"odd"), b"\xff\n", b"[]\n"]
    path.write_bytes(b"".join([*spoilt[:2], good, *spoilt[2:]]))
    assert Folder(tmp_path).failed_matches == [entry]
    with Log(tmp_path, 1) as log:
        assert "4 damaged lines moved to failed_matches.damaged (line 1: " in log.notes[0]
    assert path.read_bytes() == good
    assert path.with_suffix(".damaged").read_bytes() == b"".join(spoilt)


def test_a_lost_claim_is_one_line(tmp_path: Path) -> None:
    with Log(tmp_path, 1):
        """Create the folder."""
    described(tmp_path, "c").write_bytes(line(TWO[0]))
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(UserError, match=r"sweep\.json is missing, .* write into it") as told:
        Log(tmp_path, 1)
    (tmp_path / "sweep.json").write_text(str(told.value).partition("write into it: ")[2])
    with Log(tmp_path, 1) as log:
        assert [one.deal for one in log.outcomes["c"]] == [0]


def test_an_output_dir_belongs_to_one_schema(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    sweep("game=tic_tac_toe")
    claim = parse_object((folder / "sweep.json").read_bytes())
    (folder / "sweep.json").write_bytes(to_bytes({**claim, "schema": 1}))
    commands = (report.main, status.main, verify.main)
    for run in (
        partial(sweep, "game=tic_tac_toe"),
        *(partial(command, [str(folder)]) for command in commands),
    ):
        capsys.readouterr()
        assert run() == 2
        said = capsys.readouterr().err
        assert "holds matches of schema 1, not 2" in said
        assert "choose another output_dir" in said
        assert said.count("\n") == 1


def test_a_second_process_is_refused(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    sweep("game=tic_tac_toe", "deals=2")
    held, release = multiprocessing.Event(), multiprocessing.Event()
    other = multiprocessing.Process(target=_hold, args=(folder, held, release))
    other.start()
    try:
        assert held.wait(30)
        assert sweep("game=tic_tac_toe", "deals=3") == 2
        assert f"is in use by process {other.pid}" in capsys.readouterr().err
    finally:
        release.set()
        other.join()
    assert sweep("game=tic_tac_toe", "deals=3") == 0


def _hold(folder: Path, held: object, release: object) -> None:
    with Log(folder, 1):
        held.set()  # type: ignore[attr-defined]
        release.wait(30)  # type: ignore[attr-defined]


# --- schema


class Watched(Record, frozen=True, kw_only=True, tag="watched"):
    """A record type for a player who only watched."""

    ply: int
    said: str


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
    read = LINES.record(strip_checksum(text))
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


# --- outcomes in columns


COUNT = st.integers(0, 2**32 - 1)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
OUTCOMES = st.builds(
    Outcome,
    match=st.text("0123456789abcdef", min_size=16, max_size=16),
    cell=st.just("cell"),
    deal=st.integers(0, 12),
    rotation=st.integers(0, 2),
    value=NUMBER,
    figure=NUMBER,
    winners=st.integers(0, 1),
    plies=COUNT,
    decisions=COUNT,
    forced=COUNT,
    fallbacks=COUNT,
    tokens=COUNT,
    seconds=NUMBER,
    all_tokens=COUNT,
    device_seconds=NUMBER,
    measured=st.integers(1, 10),
    calls=COUNT,
)


def first_of_each_place(outcomes: list[Outcome]) -> list[Outcome]:
    places: dict[tuple[int, int], Outcome] = {}
    for outcome in outcomes:
        places.setdefault((outcome.deal, outcome.rotation), outcome)
    return [places[place] for place in sorted(places)]


@given(st.lists(OUTCOMES), st.integers(0, 14))
def test_what_is_put_in_comes_out_in_order(outcomes: list[Outcome], deals: int) -> None:
    expected, kept = first_of_each_place(outcomes), Outcomes.from_outcomes("cell", outcomes)
    assert list(kept) == expected
    assert len(kept) == len(expected)
    assert list(kept.first(deals)) == [o for o in expected if o.deal < deals]
    assert kept.won.tolist() == [o.won for o in expected]
    for name in ("deal", "rotation", "tokens", "value", "figure"):
        assert kept.column(name).tolist() == [getattr(o, name) for o in expected]
    there = {(o.deal, o.rotation) for o in expected}
    assert all(kept.has(d, r) == ((d, r) in there) for d in range(15) for r in range(4))


PLACES = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 2)))


@given(PLACES, PLACES, st.integers(1, 3))
def test_the_gap_free_deals_are_those_before_the_first_hole(
    played: set[tuple[int, int]], aside: set[tuple[int, int]], rotations: int
) -> None:
    aside = {(deal, rotation) for deal, rotation in aside if rotation < rotations}
    one = Outcome("match", "cell", 0, 0, 1.0, 1.0, 1, 9, 5, 4, 0, 99, 0.1)
    kept = Outcomes.from_outcomes("cell", (with_(one, deal=d, rotation=r) for d, r in played))
    ended = played | aside
    holes = [d for d in range(7) if any((d, r) not in ended for r in range(rotations))]
    assert kept.complete_deals(rotations, aside) == holes[0]
