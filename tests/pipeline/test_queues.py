"""A model's queue: full batches or many slots, a prompt shutdown, and how many matches at once."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from gauntlet.common.errors import Stopped
from gauntlet.models.base import Done, Generate, Generation, More, Prompt, Reply, Request, Scores
from gauntlet.models.fake import Fake
from gauntlet.pipeline.play import queues
from gauntlet.pipeline.play.chains import Ask
from gauntlet.pipeline.play.queues import BatchQueue, Delivery, Queue, SlotQueue
from gauntlet.pipeline.play.scheduler import FIRST, Width
from tests.pipeline.asking import Answering, Empty, ask, text_of

SECONDS = 10.0
"""Longer than any of this takes: a wait this long would be forever."""


@dataclass
class Gated(Empty):
    """Answers a batch, one of those that `open` lets through, and records its requests."""

    open: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    begun: queue.SimpleQueue[list[str]] = field(default_factory=queue.SimpleQueue)

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.begun.put(list(map(text_of, requests)))
        assert self.open.acquire(timeout=SECONDS)
        return Fake().load().answer(requests)


class Delivered:
    """The queue's deliveries, in the order of arrival."""

    def __init__(self) -> None:
        self.batches: queue.SimpleQueue[Sequence[Delivery]] = queue.SimpleQueue()

    def take(self, count: int) -> list[Delivery]:
        """Wait for the next `count` deliveries or more."""
        found: list[Delivery] = []
        while len(found) < count:
            found += self.batches.get(timeout=SECONDS)
        return found

    def by_text(self, count: int) -> dict[str, Reply | Exception]:
        return {text_of(each.ask.request): each.reply for each in self.take(count)}


@pytest.fixture
def delivered() -> Delivered:
    return Delivered()


def put(waiting: Queue, *texts: str) -> None:
    for text in texts:
        waiting.put(ask(text))


def test_batches_are_full_and_in_order_while_enough_waits(delivered: Delivered) -> None:
    model = Gated()
    waiting = BatchQueue(model, 3, delivered.batches.put)
    put(waiting, *"abcdefgh")
    for batch in ("abc", "def"):
        assert model.begun.get(timeout=SECONDS) == list(batch)
        model.open.release()
    assert [text_of(each.ask.request) for each in delivered.take(6)] == list("abcdef")
    assert model.begun.empty(), "two requests are no batch of three"
    waiting.flush()
    assert model.begun.get(timeout=SECONDS) == ["g", "h"]
    model.open.release()
    delivered.take(2)
    waiting.close()


def test_what_comes_while_the_model_works_joins_the_next_batch(delivered: Delivered) -> None:
    model = Gated()
    waiting = BatchQueue(model, 3, delivered.batches.put)
    put(waiting, "a")
    waiting.flush()
    assert model.begun.get(timeout=SECONDS) == ["a"]
    put(waiting, "b")
    waiting.flush()
    put(waiting, "c")
    model.open.release(2)
    assert model.begun.get(timeout=SECONDS) == ["b", "c"], "b waited for no company, but had some"
    waiting.close()


@dataclass
class Flowing(Empty):
    """Answers one request at a time, in the order of its length, and takes others meanwhile. Waits
    for `open` before each."""

    open: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def answer_on(self, requests: Sequence[Request], more: More, done: Done) -> None:
        waiting = list(enumerate(requests))
        number = len(waiting)
        while waiting:
            assert self.open.acquire(timeout=SECONDS)
            for request in more():
                waiting.append((number, request))
                number += 1
            waiting.sort(key=lambda each: len(text_of(each[1])))
            done(waiting[0][0], self._reply(waiting[0][1]))
            del waiting[0]

    def _reply(self, request: Request) -> Reply:
        if text_of(request) == "bad":
            raise ValueError("bad prompt")
        if text_of(request) == "stop":
            raise Stopped("the cap is reached")
        return Generation(text_of(request), 1, 1)


def written(text: str) -> Ask:
    return Ask(Fake(), Generate(Prompt("", text), 4))


def test_a_text_that_ends_makes_room_for_what_came_meanwhile(delivered: Delivered) -> None:
    model = Flowing()
    waiting = BatchQueue(model, 2, delivered.batches.put)
    for text in ("aaaa", "aa"):
        waiting.put(written(text))
    model.open.release()
    assert text_of(delivered.take(1)[0].ask.request) == "aa"
    waiting.put(written("aaa"))
    model.open.release(2)
    later = delivered.take(2)
    assert [each.reply for each in later] == [Generation("aaa", 1, 1), Generation("aaaa", 1, 1)]
    assert all(each.began < each.ended and each.seconds > 0 for each in later)
    waiting.close()


def test_a_failing_text_does_not_take_others_with_it(delivered: Delivered) -> None:
    model = Flowing()
    waiting = BatchQueue(model, 3, delivered.batches.put)
    model.open.release(3)
    for text in ("a", "bad", "long"):
        waiting.put(written(text))
    found = delivered.by_text(3)
    assert isinstance(found["bad"], ValueError)
    assert found["a"] == Generation("a", 1, 1)
    assert found["long"] == Generation("long", 1, 1)
    waiting.close()


def test_a_model_that_stops_while_it_writes_is_not_asked_again(delivered: Delivered) -> None:
    model = Flowing()
    waiting = BatchQueue(model, 3, delivered.batches.put)
    model.open.release(3)
    for text in ("a", "stop", "later"):
        waiting.put(written(text))
    found = delivered.by_text(3)
    assert found["a"] == Generation("a", 1, 1)
    assert isinstance(found["stop"], Stopped)
    assert isinstance(found["later"], Stopped)
    waiting.close()


def test_the_time_of_a_stream_is_shared_by_those_under_way(delivered: Delivered) -> None:
    model = Flowing()
    waiting = BatchQueue(model, 4, delivered.batches.put)
    start = time.perf_counter()
    for text in ("a", "aa", "aaa", "aaaa"):
        waiting.put(written(text))
    model.open.release(4)
    every = delivered.take(4)
    assert sum(each.busy_seconds for each in every) <= time.perf_counter() - start
    shares = [each.busy_seconds for each in every]
    assert shares == sorted(shares), "later ones have their share of everything before"
    waiting.close()


def one_bad(requests: Sequence[Request]) -> Sequence[Reply]:
    if any(text_of(request) == "bad" for request in requests):
        raise ValueError("bad prompt")
    return Fake().load().answer(requests)


def test_of_a_batch_that_fails_each_request_is_answered_alone(delivered: Delivered) -> None:
    model = Answering(one_bad)
    waiting = BatchQueue(model, 3, delivered.batches.put)
    put(waiting, "a", "bad", "c")
    found = delivered.by_text(3)
    assert model.sizes == [3, 1, 1, 1]
    assert isinstance(found["bad"], ValueError)
    assert all(isinstance(found[text], Scores) for text in "ac")
    waiting.close()


def stopped(requests: Sequence[Request]) -> Sequence[Reply]:
    raise Stopped("the cap is reached")


def test_a_model_that_has_stopped_is_not_asked_again_for_each(delivered: Delivered) -> None:
    model = Answering(stopped)
    waiting = BatchQueue(model, 3, delivered.batches.put)
    put(waiting, *"abc")
    assert all(isinstance(reply, Stopped) for reply in delivered.by_text(3).values())
    assert model.sizes == [3]
    waiting.close()


def leave(requests: Sequence[Request]) -> Sequence[Reply]:
    raise SystemExit(3)


@pytest.mark.parametrize("at_most", [1, 2])
@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda requests: [], "0 replies to 1 requests"),
        (lambda requests: [*Fake().load().answer(requests), None], "2 replies to 1 requests"),
        (lambda requests: [None] * len(requests), "NoneType is no reply"),
        (leave, "SystemExit"),
    ],
)
def test_whatever_a_model_does_every_ask_is_delivered(
    delivered: Delivered,
    at_most: int,
    answer: Callable[[Sequence[Request]], Sequence[Reply]],
    line: str,
) -> None:
    waiting = BatchQueue(Answering(answer), at_most, delivered.batches.put)
    put(waiting, "a", "b")
    for reply in delivered.by_text(2).values():
        assert isinstance(reply, Exception)
        assert line in str(reply)
    waiting.close()


@pytest.mark.parametrize("slots", [0, 1, 2], ids=["batches", "one slot", "two slots"])
def test_closing_delivers_what_is_being_answered_and_drops_the_rest(
    delivered: Delivered, slots: int
) -> None:
    model = Gated()
    waiting: Queue = (
        SlotQueue(model, slots, delivered.batches.put)
        if slots
        else BatchQueue(model, 1, delivered.batches.put)
    )
    put(waiting, *"abcd")
    under_way = [model.begun.get(timeout=SECONDS) for _ in range(max(1, slots))]
    closing = threading.Thread(target=waiting.close)
    closing.start()
    closing.join(timeout=0.2)
    assert closing.is_alive(), "it did not wait for what is being answered"
    model.open.release(4)
    closing.join(timeout=SECONDS)
    assert not closing.is_alive()
    assert {text_of(each.ask.request) for each in delivered.take(len(under_way))} == {
        text for batch in under_way for text in batch
    }
    assert model.begun.empty()
    assert delivered.batches.empty()


def test_a_queue_does_not_wait_long_for_a_slow_batch(
    delivered: Delivered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "PATIENCE", 0.1)
    model = Gated()
    waiting = BatchQueue(model, 1, delivered.batches.put)
    put(waiting, "a")
    assert model.begun.get(timeout=SECONDS) == ["a"]
    closing = threading.Thread(target=waiting.close)
    closing.start()
    closing.join(timeout=SECONDS)
    assert not closing.is_alive()
    assert delivered.batches.empty()
    model.open.release()


def test_an_idle_queue_closes_at_once(delivered: Delivered) -> None:
    for waiting in (
        BatchQueue(Gated(), 8, delivered.batches.put),
        SlotQueue(Gated(), 8, delivered.batches.put),
    ):
        waiting.close()
    assert delivered.batches.empty()


def test_no_more_than_the_slots_are_under_way(delivered: Delivered) -> None:
    model = Gated()
    waiting = SlotQueue(model, 2, delivered.batches.put)
    put(waiting, *"abc")
    assert {model.begun.get(timeout=SECONDS)[0] for _ in range(2)} == {"a", "b"}
    with pytest.raises(queue.Empty):
        model.begun.get(timeout=0.05)
    model.open.release()
    assert model.begun.get(timeout=SECONDS) == ["c"]
    model.open.release(2)
    delivered.take(3)
    waiting.close()


def test_the_seconds_of_a_batch_are_shared_out_by_tokens(delivered: Delivered) -> None:
    """The fake counts a word as a token: "Answer:" and the others."""
    waiting = BatchQueue(Fake().load(), 2, delivered.batches.put)
    put(waiting, "", "b b ")
    short, long = delivered.take(2)
    assert long.busy_seconds == pytest.approx(3 * short.busy_seconds)
    assert long.busy_seconds + short.busy_seconds == pytest.approx(2 * short.seconds)
    waiting.close()


@pytest.mark.parametrize("slots", [0, 1])
def test_the_match_that_began_first_goes_first(delivered: Delivered, slots: int) -> None:
    """While one request is answered, others wait; they go by the places of their matches."""
    model = Gated()
    waiting: Queue = BatchQueue(model, 1, delivered.batches.put)
    if slots:
        waiting = SlotQueue(model, slots, delivered.batches.put)
    waiting.put(ask("under way"), 9)
    waiting.flush()
    assert model.begun.get(timeout=SECONDS) == ["under way"]
    for place, text in ((3, "third"), (1, "first"), (2, "second"), (1, "first again")):
        waiting.put(ask(text), place)
    waiting.flush()
    model.open.release(5)
    order = [model.begun.get(timeout=SECONDS)[0] for _ in range(4)]
    assert order == ["first", "first again", "second", "third"]
    delivered.take(5)
    waiting.close()


# --- width


def settled(seconds: Callable[[int], float], most: int = 64) -> int:
    """The number of matches after 100 rounds, if a request of a batch of this size takes so
    long."""
    width = Width(most)
    for _ in range(100):
        width.note(width.now, width.now * seconds(width.now))
    return width.now


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (lambda size: 0.01, 64),  # quick: no measuring
        (lambda size: 0.7, FIRST),  # slow, and batches do not help
        (lambda size: 8.0 / size, 64),  # a batch takes as long as one request
        (lambda size: max(0.25, 8.0 / size), 32),  # up to a point
        (lambda size: 0.5 + size / 100, FIRST),  # larger batches are worse
    ],
)
def test_more_matches_while_they_are_answered_faster(
    seconds: Callable[[int], float], expected: int
) -> None:
    assert settled(seconds) == expected


def test_never_more_than_allowed() -> None:
    assert settled(lambda size: 0.001, most=3) == 3
    assert settled(lambda size: 8.0 / size, most=20) == 20
    assert Width(1).now == 1


def test_a_model_that_writes_gets_all_matches_at_once() -> None:
    width = Width(64)
    width.open()
    assert width.now == 64
    width.note(64, 1000.0)
    width.note(64, 1000.0)
    assert width.now == 64
