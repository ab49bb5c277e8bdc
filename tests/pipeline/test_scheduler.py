"""The scheduler: it never changes a record, and matches without requests delay nobody."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Agent, Decision, Goal, Thinking, Turn
from gauntlet.common.errors import ModelError
from gauntlet.games.base import Game
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Model, ModelSource, Reply, Request, Score, Scores
from gauntlet.models.fake import Fake
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.scheduler import Finished, Scheduler
from tests.pipeline.asking import (
    Answering,
    Asking,
    Empty,
    Late,
    Meeting,
    Named,
    cell_of,
    fakes_reply,
    score,
    tasks_of,
    text_of,
)
from tests.pipeline.logs import untimed

SECONDS = 30.0
"""Longer than any of this takes: a wait this long would be forever."""
SEED = 3
ROCK, BOARD = RockPaperScissors(rounds=3), TicTacToe()


@contextmanager
def scheduler(
    cell: Cell, models: Mapping[ModelSource, Model], width: int = 64
) -> Iterator[Scheduler]:
    playing = Scheduler({cell.key: cell}, SEED, models, width)
    try:
        yield playing
    finally:
        playing.close()


def finished(futures: Sequence[Future[Finished]]) -> list[Finished]:
    return [future.result(timeout=SECONDS) for future in futures]


def played(
    cell: Cell, models: Mapping[ModelSource, Model], width: int = 64, deals: int = 20
) -> list[MatchRecord]:
    """Return the records of the cell's matches, without timings."""
    with scheduler(cell, models, width) as playing:
        results = finished(playing.submit(tasks_of(cell, deals)))
    assert [result.error for result in results] == [None] * deals
    return [untimed(result.record) for result in results if result.record is not None]


def one_by_one(cell: Cell, deals: int = 20) -> list[MatchRecord]:
    return [run(play(cell, task, SEED), fakes_reply) for task in tasks_of(cell, deals)]


@pytest.mark.parametrize("width", [1, 2, 7, 64])
@pytest.mark.parametrize("game", [BOARD, ROCK])
def test_no_width_and_no_model_changes_a_record(game: Game[Any], width: int) -> None:
    one, other = Fake(1), Fake(2)
    cell = cell_of(game, (Asking(rounds=2, together=2), one), (Asking(), other))
    expected = one_by_one(cell)
    batching: dict[ModelSource, Model] = {one: one.load(), other: other.load()}
    concurrent: dict[ModelSource, Model] = {one: Late(4, seed=1), other: Late(2, seed=2)}
    assert played(cell, batching, width) == expected
    assert played(cell, concurrent, width) == expected
    assert played(cell, {**batching, other: concurrent[other]}, width) == expected


def test_of_one_model_batches_are_half_the_width_while_matches_abound() -> None:
    """Tic-tac-toe takes five decisions or more: 64 matches are in progress for at least the first
    300 / 64 x 5 times 64 requests, once batches have proved quick."""
    model = Answering()
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    played(cell, {Fake(): model}, width=64, deals=300)
    start = model.sizes.index(32)
    assert sum(model.sizes[:start]) < 3 * (8 + 16 + 32)
    abounding = (300 - 64) * 5 // 32 - start
    assert model.sizes[start:][:abounding] == [32] * abounding
    assert max(model.sizes) == 32


def test_seats_that_move_at_once_are_asked_at_once() -> None:
    """Neither of the two requests is answered before both are pending."""
    cell = cell_of(ROCK, (Asking(), Fake()), (Asking(), Fake()))
    assert played(cell, {Fake(): Meeting(2)}, width=1) == one_by_one(cell)


def test_requests_that_are_asked_together_are_under_way_together() -> None:
    cell = cell_of(BOARD, (Asking(together=3), Fake()), (Asking(together=3), Fake()))
    assert played(cell, {Fake(): Meeting(3)}, width=1, deals=3) == one_by_one(cell, deals=3)


@dataclass
class Held(Empty):
    """A Concurrent model whose first request is answered once `go` is set."""

    go: threading.Event
    slots: int = 2
    first: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        if self.first.acquire(blocking=False) and not self.go.wait(SECONDS):
            raise ModelError("all others waited for it")
        return Fake().load().answer(requests)


def test_a_reply_that_is_late_holds_up_its_match_only() -> None:
    go = threading.Event()
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    with scheduler(cell, {Fake(): Held(go)}, width=4) as playing:
        late, *others = playing.submit(tasks_of(cell, 30))
        assert all(result.error is None for result in finished(others))
        assert not late.done()
        go.set()
        assert late.result(timeout=SECONDS).error is None


def test_a_slow_model_holds_up_no_table_without_it() -> None:
    """Two seats, two models: the match with the slow one waits, the others continue."""
    go = threading.Event()
    quick, slow = Named("quick"), Named("slow")
    quickly = cell_of(BOARD, (Asking(), quick), (Asking(), quick))
    slowly = cell_of(BOARD, (Asking(), quick), (Asking(), slow))
    models: dict[ModelSource, Model] = {quick: Fake().load(), slow: Held(go, slots=1)}
    playing = Scheduler({"quickly": quickly, "slowly": slowly}, SEED, models, 8)
    waiting = playing.submit([Task("slowly", deal, 0, f"slow{deal}") for deal in range(3)])
    others = playing.submit([Task("quickly", deal, 0, f"quick{deal}") for deal in range(30)])
    assert all(result.error is None for result in finished(others))
    assert not any(future.done() for future in waiting)
    go.set()
    assert all(result.error is None for result in finished(waiting))
    playing.close()


def unlucky(requests: Sequence[Request]) -> Sequence[Reply]:
    """Fails every second request of a batch."""
    if any("question 0.1" in text_of(request) for request in requests):
        raise ConnectionError("the line is cut")
    return Fake().load().answer(requests)


@dataclass
class Unlucky(Answering):
    slots: int = 3


def test_the_other_requests_of_a_match_that_failed_come_to_nothing() -> None:
    bad, good = Named("bad"), Named("good")
    failing = cell_of(ROCK, (Asking(together=3), bad), (Asking(), good))
    well = cell_of(ROCK, (Asking(), bad), (Asking(), good))
    models: dict[ModelSource, Model] = {bad: Unlucky(unlucky), good: Fake().load()}
    playing = Scheduler({"failing": failing, "well": well}, SEED, models, 2)
    tasks = [Task(("failing", "well")[deal % 2], deal, 0, f"m{deal}") for deal in range(20)]
    results = finished(playing.submit(tasks))
    assert all("the line is cut" in (result.error or "") for result in results[::2])
    assert not any(result.halts for result in results)
    assert [result.error for result in results[1::2]] == [None] * 10
    playing.close()
    assert not playing._asking, "an answered ask is remembered"


def loud(requests: Sequence[Request]) -> Sequence[Reply]:
    """Log-probabilities that are none."""
    asked = [one for one in requests if isinstance(one, Score)]
    return [Scores(((800.0,) * len(one.choices),), (3,)) for one in asked]


def test_a_match_whose_record_nobody_would_read_fails() -> None:
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    with scheduler(cell, {Fake(): Answering(loud)}) as playing:
        (result,) = finished(playing.submit(tasks_of(cell, 1)))
    assert result.record is None
    assert (result.error or "").startswith("the match makes no record: it is no record: Expected")


@dataclass(frozen=True)
class Leaving:
    """An agent that ends the program."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        raise SystemExit(3)
        yield


def test_an_agent_that_exits_leaves_nobody_waiting() -> None:
    cell = cell_of(BOARD, (Leaving(), None), (Leaving(), None))
    with scheduler(cell, {}) as playing:
        (future,) = playing.submit(tasks_of(cell, 1))
        with pytest.raises(SystemExit):
            future.result(timeout=SECONDS)


def test_what_is_submitted_after_closing_is_cancelled() -> None:
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    with scheduler(cell, {Fake(): Fake().load()}) as playing:
        finished(playing.submit(tasks_of(cell, 1)))
    with pytest.raises(CancelledError):
        playing.submit(tasks_of(cell, 1))[0].result(timeout=SECONDS)


class Absent(Empty):
    """An absent person: answers only that the line was hung up."""

    def __init__(self) -> None:
        self.asked, self.hung_up = threading.Event(), threading.Event()

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.asked.set()
        assert self.hung_up.wait(SECONDS), "nobody hung up"
        raise ModelError("nobody is there")

    def cancel(self) -> None:
        self.hung_up.set()


def test_closing_hangs_up_on_who_does_not_answer() -> None:
    model = Absent()
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    with scheduler(cell, {Fake(): model}) as playing:
        futures = playing.submit(tasks_of(cell, 3))
        assert model.asked.wait(SECONDS)
    assert all(future.cancelled() for future in futures), "it took a hung up call for an answer"


def test_closing_cancels_the_matches_before_it_waits_for_the_models() -> None:
    go = threading.Event()
    cell = cell_of(BOARD, (Asking(), Fake()), (Asking(), Fake()))
    playing = Scheduler({cell.key: cell}, SEED, {Fake(): Held(go, slots=1)}, 4)
    futures = playing.submit(tasks_of(cell, 8))
    closing = threading.Thread(target=playing.close)
    closing.start()
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(timeout=SECONDS)
    go.set()
    closing.join(timeout=SECONDS)
    assert not closing.is_alive()


@dataclass(frozen=True)
class Preparing:
    """Makes a request before its first match; `number` distinguishes the two players."""

    number: int

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Iterator[Any]:
        yield score(f"before the match of player {self.number}")
        return Asking()

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        raise AssertionError("another agent plays")
        yield


def test_players_prepare_side_by_side_and_are_told_in_their_order() -> None:
    agents: list[Agent] = [Preparing(number) for number in range(2)]  # type: ignore[misc]
    cell = cell_of(ROCK, *((agent, Fake()) for agent in agents))
    (record,) = played(cell, {Fake(): Meeting(2)}, width=1, deals=1)
    told = record.preparation
    assert [entry.player for entry in told] == [0, 1]
    assert [entry.asked[0].shared[-1] for entry in told] == ["0", "1"]


class Notes(dict[str, Any]):
    """A note that can be tracked."""


@dataclass(frozen=True)
class Noting:
    """Leaves a note; `kept` shows whether anything still references it."""

    kept: list[weakref.ref[Notes]] = field(default_factory=list)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        notes = Notes(word="a")
        self.kept.append(weakref.ref(notes))
        yield score("a")
        return Decision(0, notes=notes)


def test_a_finished_match_is_forgotten_at_once() -> None:
    """Without Python's cyclic garbage collector, which with many records runs late and slowly."""
    agent = Noting()
    cell = cell_of(BOARD, (agent, Fake()), (Asking(), Fake()))
    gc.collect()
    gc.disable()
    try:
        with scheduler(cell, {Fake(): Fake().load()}) as playing:
            finished(playing.submit(tasks_of(cell, 5)))
            alive = sum(note() is not None for note in agent.kept)
    finally:
        gc.enable()
    assert len(agent.kept) > 10
    assert alive <= 5, "at most the match that the scheduler has last looked at"


@dataclass(frozen=True)
class Pondering:
    """Blocks until released."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        while True:
            sum(range(1000))
        yield


def test_who_thinks_for_ever_does_not_hold_up_the_end() -> None:
    cell = cell_of(BOARD, (Pondering(), None), (Pondering(), None))
    started = time.monotonic()
    with scheduler(cell, {}) as playing:
        (waiting,) = playing.submit(tasks_of(cell, 1))
        time.sleep(0.1)
    assert time.monotonic() - started < SECONDS
    assert waiting.cancelled()
