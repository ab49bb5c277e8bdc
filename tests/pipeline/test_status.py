"""The status of a sweep: while it runs, after it was killed, when it is done."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.common.terminal import duration, rate
from gauntlet.pipeline import status
from gauntlet.pipeline.log import events
from gauntlet.pipeline.log.events import event, log_events, redact
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.follow import RecordFollower
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.log.live import FEW, CellProgress, Outlook, RunStatus
from gauntlet.pipeline.log.metadata_files import parse_object, to_bytes
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import measures
from gauntlet.pipeline.log.run_info import command_line
from gauntlet.pipeline.plan.cells import Plan
from tests.pipeline.conftest import Capsys, Full, Once, Sweep


def status_text(folder: Path, capsys: Capsys) -> str:
    capsys.readouterr()
    assert status.main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 100 for line in said.splitlines())
    return said


def changed(folder: Path, **data: Any) -> None:
    """As if the latest run had written this into its file."""
    path = Folder(folder).status_file
    path.write_bytes(to_bytes({**parse_object(path.read_bytes()), **data}))


def looked(folder: Path) -> status.Status:
    found = status.Status(Folder(folder))
    found.look()
    return found


def outcomes_of(folder: Path) -> dict[str, Outcomes]:
    place = Folder(folder)
    return place.outcomes(measures(place.sweep_cells()))


def test_a_finished_sweep_is_told_as_its_log_has_it(
    sweep: Sweep, folder: Path, capsys: Capsys, full: Full
) -> None:
    sweep("seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=cloze")
    assert "What it cost" in full()
    for row in pd.read_csv(folder / "costs.csv").to_dict("records"):
        assert row["all_tokens"] > row["tokens"] > 0, "every seat counts"
        assert row["device_seconds"] > 0
        assert f"{row['all_tokens']:,}" in (folder / "report.html").read_text()
    log = [outcome for outcomes in outcomes_of(folder).values() for outcome in outcomes]
    found = looked(folder)
    assert (found.done, found.left, len(found.rows)) == (len(log), 0, 2)
    for measured in ("decisions", "fallbacks", "device_seconds"):
        total = sum(getattr(row.running, measured) for row in found.rows)
        assert total == pytest.approx(sum(getattr(outcome, measured) for outcome in log))
    assert sum(row.running.tokens for row in found.rows) == sum(o.all_tokens for o in log)
    table = pd.read_csv(folder / "summary.csv")
    assert [row.running.mean for row in found.rows] == pytest.approx(list(table["raw"]))
    said = status_text(folder, capsys)
    assert "finished" in said
    assert "12 matches done" in said
    assert "0 left" in said
    assert "fake counterfactual" in said


def test_the_verdict_so_far_is_that_of_the_deals_in_order(
    once: Once, folder: Path, capsys: Capsys
) -> None:
    once("deals=60", "prompt=cloze", "baseline=random")
    finished = status_text(folder, capsys)
    assert pd.read_csv(folder / "verdict.csv")["verdict"][0].split()[0] in finished
    changed(folder, state="playing", host="another", updated=time.time())
    assert "By the deals so far, no difference shown in 1 cell." in status_text(folder, capsys)
    found = looked(folder)
    (row,) = found.rows
    row.running.figures[:] = [1.0] * 60
    (said, note) = status.so_far(found.rows)
    low, high = re.findall(r"[+]([\d.]+)", said)
    assert said.startswith(f"By the deals so far, above the baseline: {row.name} (+")
    assert 20 < float(low) < float(high) <= 100
    assert "at any time" in note
    row.running.figures[:] = [0.0] * 60
    assert "below the baseline" in status.so_far(found.rows)[0]
    row.running.figures.clear()
    assert "no difference shown" in status.so_far(found.rows)[0]


def test_a_killed_run_is_told_from_one_that_plays(once: Once, folder: Path) -> None:
    once("deals=2")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    changed(folder, state="playing", process=ended.pid, host=socket.gethostname())
    assert looked(folder).gone
    changed(folder, process=os.getpid())
    assert looked(folder).playing
    changed(folder, host="another", updated=time.time() - 2 * status.SILENT_SECONDS)
    assert looked(folder).gone, "a host that cannot be asked has been silent for long"
    assert "the run is gone" in status.headline(looked(folder))


def test_a_match_that_failed_is_neither_done_nor_left(
    once: Once, folder: Path, capsys: Capsys
) -> None:
    once("deals=4", "prompt=cloze")
    (path,) = (folder / "records").iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    lost = json.loads(lines[-1])
    path.write_bytes(b"".join(lines[:-1]))
    entry = {key: lost[key] for key in ("match", "cell", "deal", "rotation")}
    (folder / "failed_matches.jsonl").write_bytes(line({**entry, "error": "bad card"}))
    found = looked(folder)
    assert (found.done, found.left, found.rows[0].failed) == (3, 0, 1)
    assert "1 failed" in status_text(folder, capsys)
    with path.open("ab") as file:  # the next run has played it after all
        file.write(lines[-1])
    assert looked(folder).rows[0].failed == 0


def test_only_what_is_new_is_read_and_a_torn_line_waits(once: Once, folder: Path) -> None:
    once("deals=4", "prompt=cloze")
    (path,) = (folder / "records").iterdir()
    whole = path.read_bytes()
    first, rest = whole[: whole.index(b"\n") + 1], whole[whole.index(b"\n") + 1 :]
    path.write_bytes(first + rest[:100])
    tail = RecordFollower(Folder(folder))
    deals = [json.loads(line)["deal"] for line in whole.splitlines()]
    assert [record.deal for record, _ in tail.new_matches()] == deals[:1]
    assert list(tail.new_matches()) == []
    path.write_bytes(whole + first)
    found = list(tail.new_matches())
    assert [record.deal for record, _ in found] == deals[1:], "each match once"
    lines = {whole[place.start : place.start + place.size] for _, place in found}
    assert lines == set(whole.splitlines(keepends=True)[1:])


def test_rates_wait_for_the_gap() -> None:
    """Short games end first: a deal counts once all before it are there."""

    def outcome(deal: int, rotation: int, won: bool) -> Outcome:
        value = 1.0 if won else -1.0
        return Outcome(
            f"{deal}/{rotation}", "cell", deal, rotation, value, won, won, 9, 5, 4, 0, 99, 0.1
        )

    running = CellProgress(rotations=2)
    for deal in (1, 2):
        for rotation in (0, 1):
            running.add(outcome(deal, rotation, won=True))
    assert (running.matches, running.deals, running.mean) == (4, 0, None)
    running.add(outcome(0, 0, won=False))
    assert running.mean is None
    running.skip(0)
    assert (running.deals, running.mean) == (3, pytest.approx(2 / 3))


# --- events


SECRET = "Zx81-correct-horse"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer " + SECRET,
        "{'Authorization': 'Basic " + SECRET + "'}",
        "authorization=" + SECRET,
        "refused: bearer " + SECRET,
        "api_key=" + SECRET,
        '"api-key": "' + SECRET + '"',
        "GET /v1?access_token=" + SECRET + "&x=1",
        "password = " + SECRET,
        "http://user:" + SECRET + "@host:5000/path",
        "key sk-" + SECRET.replace("-", "_"),
        "token hf_Zx81correcthorse",
        "the value alone: " + SECRET,
    ],
)
def test_secrets_are_cut_out(text: str) -> None:
    said = redact(text, {"MY_API_KEY": SECRET})
    assert "horse" not in said
    assert events.CUT in said


@pytest.mark.parametrize("name", ["API_KEY", "hf_token", "MLFLOW_TRACKING_PASSWORD", "A_SECRET"])
def test_variables_count_by_their_names(name: str) -> None:
    assert redact(f"-{SECRET}-", {name: SECRET}) == f"-{events.CUT}-"
    assert redact(f"-{SECRET}-", {"HOME": SECRET}) == f"-{SECRET}-"
    assert redact("a", {name: "a"}) == "a", "too short to be one"


@pytest.mark.parametrize(
    "text",
    [
        "1,204 tokens of model 'small'",
        "key error: 'deal'",
        "out of memory; packs now hold 512 tokens",
        "http://host:5000/path",
        "the secretary's desk-lamp",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text, {}) == text


def test_nested_data_is_cleaned_and_counts_of_tokens_are_no_secret(folder: Path) -> None:
    folder.mkdir()
    with log_events(folder):
        event(
            "x", launch={"api_key": "letmein", "list": ["sk-abcdefgh1234"]}, tokens=7, path=folder
        )
    (line,) = Folder(folder).events
    assert line["launch"] == {"api_key": events.CUT, "list": [events.CUT]}
    assert (line["tokens"], line["path"]) == (7, str(folder))


def test_a_sweep_tells_its_course_as_json_lines(sweep: Sweep, folder: Path) -> None:
    assert sweep("deals=2") == 0
    lines = [json.loads(line) for line in (folder / "run.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "models loaded", "preflight", "end"]
    assert lines[0]["matches"] == lines[-1]["played"] == 4
    assert lines[-1]["state"] == "finished"
    assert all({"time", "level", "event"} <= line.keys() for line in lines)


def test_a_disk_that_fails_is_told_and_so_is_the_end(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Log) -> None:
        raise UserError("disk full; key is sk-abcdefgh1234")

    monkeypatch.setattr(Log, "sync", broken)
    assert sweep("deals=2") == 2
    text = (folder / "run.log").read_text()
    assert "abcdefgh" not in text
    told = {line["event"]: line for line in Folder(folder).events}
    assert told["failed"]["level"] == "error"
    assert "disk full" in told["failed"]["error"]
    assert told["end"]["state"] == "failed"
    assert "abcdefgh" not in (folder / "status.json").read_text()


def test_warnings_of_models_are_in_the_log_and_on_the_terminal(
    folder: Path, capsys: Capsys
) -> None:
    folder.mkdir()
    with log_events(folder):
        logging.getLogger("gauntlet").warning("packs now hold %d tokens", 512)
        event("start")
    assert [line["event"] for line in Folder(folder).events] == [
        "packs now hold 512 tokens",
        "start",
    ]
    logging.getLogger("gauntlet").warning("later")
    assert len(Folder(folder).events) == 2


def test_a_command_is_kept_as_it_can_be_typed_again_without_secrets() -> None:
    words = ["deals=3", 'prompt.inputs=["N/A",""]', "model.api_key=short1", "prompt.max_tokens=64"]
    command = command_line("gauntlet run", [*words, "--my-token", "sk-abcdefghijkl"])
    told = shlex.split(command)
    assert told[:4] == ["gauntlet", "run", *words[:2]]
    assert told[4:] == [f"model.api_key={events.CUT}", words[3], "--my-token", events.CUT]


def test_what_is_left_counts_each_cell_by_its_own_time(tmp_path: Path) -> None:
    """Two workers for 10 s: a fast cell is done, a slow one has one of four matches, of 8 s; 3 more
    take 24 s of work, at 1.2 s of work a second. Two more cells have none: one is like the cell
    with its players, 4 matches of 8 s, one like all of models so far, 4 of 12 / 5 s."""
    cells: list[Any] = [
        SimpleNamespace(
            key=key, rotations=range(1), experiment="x", players=(SimpleNamespace(name=name),)
        )
        for key, name in zip("abcde", ("fast", "slow", "slow", "new", "scripted"), strict=True)
    ]
    live = RunStatus(tmp_path, Plan(tuple(cells), 4, 1), [])
    assert live.outlook(10.0) is None
    live.cells["a"].matches, live.cells["a"].device_seconds = 4, 4.0
    live.cells["a"].decisions, live.cells["a"].tokens = 40, 400
    live.cells["b"].matches, live.cells["b"].device_seconds = 1, 8.0
    live.cells["b"].decisions, live.cells["b"].tokens = 5, 50
    live.cells["e"].matches = 4
    expected = 60 + 4 * 5 + 4 * 9
    assert live.outlook(10.0) == Outlook(45, expected, 450, math.inf), "too few have ended"
    live._played = FEW
    found = live.outlook(10.0)
    assert found is not None
    assert found.seconds_left == pytest.approx((24 + 4 * 8 + 4 * 12 / 5) * 10 / 12)


def test_a_run_elsewhere_says_what_is_left_and_how_long_it_takes(
    once: Once, folder: Path, capsys: Capsys
) -> None:
    once("deals=2")
    keys = json.loads(Folder(folder).status_file.read_text())["cells"]
    changed(folder, state="playing", host="another", updated=time.time(), rate=0.1, workers=4)
    changed(folder, cells=dict.fromkeys(keys, 33))
    found = looked(folder)
    assert (found.done, found.left) == (4, 62)
    assert found.seconds_left == pytest.approx(620)
    said = status_text(folder, capsys)
    assert "playing" in said
    assert "4 workers" in said
    assert "10 min 20 s to go" in said
    assert "6%" in said


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"), (7500, "2 h 05 min"),
     (100_000, "1 d 3 h")],
)  # fmt: skip
def test_durations_in_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("each_second", "text"),
    [
        (12.34, "12.3 matches/s"),
        (0.5, "30.0 matches/min"),
        (0.004, "14.4 matches/h"),
        (0, "0.0 matches/s"),
    ],
)
def test_slow_rates_are_by_the_minute_or_hour(each_second: float, text: str) -> None:
    assert rate(each_second, "matches") == text
