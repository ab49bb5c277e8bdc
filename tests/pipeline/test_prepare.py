"""Preparatory requests of a cell: once per worker, once in the log, the same for all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.pride import Pride
from gauntlet.agents.random import Random
from gauntlet.common.errors import ModelError
from gauntlet.games.uno import Uno
from gauntlet.models.base import Reply, Request
from gauntlet.models.fake import Fake, FakeModel
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.cells import Cell, Player, Task
from gauntlet.pipeline.play.scheduler import Scheduler
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches, preparations

METHODS = ("calibrated", "pride", "label_study")
every_method = pytest.mark.parametrize("method", METHODS)


def notes(folder: Path) -> list[dict[str, Any]]:
    found = matches(folder).values()
    return [decision.notes for r in found for decision in r.decisions if decision.notes]


@every_method
def test_the_preparation_is_logged_once_a_file(sweep: Sweep, folder: Path, method: str) -> None:
    assert sweep(f"prompt={method}") == 0
    sweep(f"prompt={method}", "deals=10")
    (players,) = preparations(folder).values()
    assert [entry.player for entry in players] == [1]
    statics = {name for record in Folder(folder).matches() for name in record.statics}
    for exchange in players[0].asked:
        assert exchange.static in statics
        assert len(exchange.branches) == len(exchange.logprobs) == len(exchange.tokens)
    assert len(preparations(folder)) == 1


def test_every_player_that_has_something_to_ask_prepares(sweep: Sweep, folder: Path) -> None:
    sweep(
        *("prompt=pride", "game=tic_tac_toe", "seats.0.agent=llm", "seats.0.model=fake"),
        "seats.0.prompt=calibrated",
    )
    (players,) = preparations(folder).values()
    assert [entry.player for entry in players] == [0, 1]
    assert len(players[0].asked) == 1
    assert len(players[1].asked) > 20


def test_methods_without_preparation_leave_none(sweep: Sweep, folder: Path) -> None:
    sweep()
    assert preparations(folder) == {}
    assert notes(folder) == []


def test_every_choice_tells_the_prior_that_it_used(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=pride")
    told: dict[int, set[tuple[float, ...]]] = {}
    for note in notes(folder):
        assert sum(note["prior"]) == pytest.approx(1)
        told.setdefault(len(note["prior"]), set()).add(tuple(note["prior"]))
    assert len(told) > 2
    assert all(len(priors) == 1 for priors in told.values()), "one prior a number of options"


@every_method
def test_width_and_resuming_change_no_record(
    sweep: Sweep, folder: Path, tmp_path: Path, method: str
) -> None:
    sweep(f"prompt={method}", "concurrent_matches=50", "deals=8")
    parts = tmp_path / "parts"
    for deals in (3, 8):
        sweep(f"prompt={method}", "concurrent_matches=1", f"deals={deals}", f"output_dir={parts}")
    assert matches(parts) == matches(folder)
    assert preparations(parts) == preparations(folder)


def test_a_lost_first_line_brings_its_preparation_back(sweep: Sweep, folder: Path) -> None:
    sweep("prompt=pride")
    before, prepared = matches(folder), preparations(folder)
    (path,) = (folder / "records").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    assert b'"preparation"' in lines[0]
    path.write_bytes(b"".join([b"{}\n", *lines[1:]]))
    sweep("prompt=pride")
    assert preparations(folder) == prepared
    assert before.keys() == {record.match for record in Folder(folder).matches()}


@every_method
def test_a_log_is_played_again_without_its_model(
    sweep: Sweep, folder: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(f"prompt={method}")
    (path,) = (folder / "records").glob("*.jsonl")
    monkeypatch.delattr(FakeModel, "_score")
    again = tmp_path / "again"
    replayed = (
        *("model._target_=models.replay.Replay", "~model.seed", f"+model.records={path}"),
        f"prompt={method}",
    )
    assert sweep(*replayed, f"output_dir={again}") == 0
    first, second = (
        {record.deal: record.decisions for record in matches(where).values()}
        for where in (folder, again)
    )
    assert first == second
    assert list(preparations(again).values()) == list(preparations(folder).values())


@pytest.mark.parametrize(
    "published",
    ["prompt=calibrated prompt.inputs=[N/A,'','[MASK]']", "prompt=pride prompt.mean=arithmetic"],
)
def test_the_published_form_is_another_cell(sweep: Sweep, folder: Path, published: str) -> None:
    method, setting = published.split()
    assert sweep(method, "deals=1") == sweep(method, setting, "deals=1") == 0
    first, second = matches(folder).values()
    assert first.cell != second.cell
    default, changed = (
        [list(d.notes["prior"]) for d in one.decisions if d.notes] for one in (first, second)
    )
    assert default[0] != changed[0]


@every_method
def test_letters_must_be_single_tokens(
    sweep: Sweep, method: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Fake, choices: tuple[str, ...]) -> None:
        assert set(choices) == set(LETTERS)
        raise ModelError("choice 'Q' is not a single token")

    monkeypatch.setattr(Fake, "check_choices", refuse)
    assert sweep(f"prompt={method}") == 2
    assert "choice 'Q' is not a single token" in capsys.readouterr().err


def test_a_preparation_that_fails_sets_its_matches_aside_and_no_others(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = FakeModel._score

    def fail(self: FakeModel, request: Any) -> Any:
        if len(request.prompts) == 25:
            raise RuntimeError("no content, no answer")
        return score(self, request)

    monkeypatch.setattr(FakeModel, "_score", fail)
    assert sweep("prompt=cloze,calibrated", "deals=2") == 0
    lines = (folder / "failed_matches.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert all("no content, no answer" in json.loads(line)["error"] for line in lines)
    assert len(matches(folder)) == 2


def test_closing_does_not_wait_for_a_preparation() -> None:
    scheduler = Scheduler({"cell": pride_cell()}, 1, {Fake(): Closing()}, width=1)
    Closing.scheduler = scheduler
    (match,) = scheduler.submit([Task("cell", 0, 0, "match")])
    with pytest.raises(CancelledError):
        match.result(timeout=30)
    assert Closing.asked == 1
    Closing.closing.join(timeout=30)


class Closing:
    """A model during whose first answer the scheduler is closed."""

    scheduler: Scheduler
    closing: threading.Thread
    asked = 0

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        Closing.asked += 1
        Closing.closing = threading.Thread(target=self.scheduler.close)
        Closing.closing.start()
        while not self.scheduler._closed.is_set():
            time.sleep(0.01)
        return Fake().load().answer(requests)

    def close(self) -> None:
        pass


def pride_cell() -> Cell:
    players = (
        Player("random", Random(), None, None),
        Player("llm", LLM(Pride()), Fake(), None),
    )
    return Cell("", {}, Uno(num_seats=2), players, (1,), (1,), "win", False, False, None, {})
