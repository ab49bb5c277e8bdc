"""Asks by batch jobs: all requests that wait at the same time become one job of the server.

The name of a job is on disk as soon as the server has given it, so that any later run, or another
process at the same time, takes the results of the job instead of sending its requests again. If a
kill falls between the two, the requests count as perhaps billed, and are sent again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.api.dialects.base import Body, Dialect
from gauntlet.models.api.jobs import JobOutcome, Jobs, Result, name_in
from gauntlet.models.api.ledger import JOB_SECONDS, Ledger, Tokens
from gauntlet.models.api.refusals import Failure
from gauntlet.models.api.retry import FIRST_WAIT, UNREADABLE, Asker, RetryableError
from gauntlet.models.api.sending import A_TOKEN, SPARE, Call, Response, TooLong
from gauntlet.models.api.settings import Settings

GATHER_SECONDS = 2.0
"""Requests become a job once no further one has come for so long."""
FIRST_LOOK, LONGEST_LOOK = 10.0, 60.0
"""Seconds between two looks at a job, growing by half each time."""
MOST_JOBS = 3
"""In how many jobs a request may fail or expire before it is given up."""
TRANSFER_SECONDS = 600.0
"""Limit on sending a job and on fetching its results."""
A_RESULT = 1 << 16
"""Bytes of a result other than its texts."""
MOST_RESULTS = 1 << 30
"""Bytes of a file of results, whatever the number of requests."""
OF_A_JOB: Body = {"a job": True}
"""What a call about a job is in place of a request's body; the server never answers it."""

T = TypeVar("T")
Replies = dict[bytes, tuple[Mapping[str, Any], str]]
"""Replies as read and as stored, by key."""
Part = tuple["Wanted", bytes]
"""A request, and its part of a job."""


@dataclass
class Wanted:
    """A request that somebody waits for. failures: number of jobs in which it failed."""

    body: Body
    group: str
    answer: Future[Mapping[str, Any]] = field(default_factory=Future)
    failures: int = 0


@dataclass
class Running:
    """A job: which of its requests are wanted here, the most tokens they can take, and when to look
    at it next."""

    due: float
    wait: float
    wanted: dict[bytes, Tokens] = field(default_factory=dict)


class Missing(Stopped):
    """The server has no such job, or no jobs at all."""


class BatchAsker(Asker):
    """Asks one model of one server by batch jobs; thread-safe.

    `patience` limits how long the server may fail to answer, not how long a job takes.
    """

    def __init__(self, dialect: Dialect, source: Settings, ledger: Ledger, jobs: Jobs) -> None:
        super().__init__(dialect, source, ledger)
        self._jobs = jobs
        self._changed = threading.Condition()
        """Guards the next three attributes."""
        self._wanted: dict[bytes, Wanted] = {}
        self._new: list[bytes] = []
        self._launch_at = 0.0
        self._running: dict[str, Running] = {}
        """Used by the thread only."""
        self._thread = threading.Thread(target=self._serve, daemon=True, name="batch")
        self._thread.start()

    def ask(self, key: bytes, body: Body, group: str = "") -> Mapping[str, Any]:
        """As in Asker; the reply may take a day."""
        if (stored := self._ledger.find(key)) is None:
            return self._want(key, body, group).answer.result()
        self._note(body)
        reply: Mapping[str, Any] = json.loads(stored)
        return reply

    def expect(self, key: bytes, body: Body, group: str = "") -> None:
        """Have the next job include a request that will be asked."""
        if self._ledger.find(key) is None:
            self._want(key, body, group)

    def cancel(self) -> None:
        """End all waiting. Jobs in progress go on at the server."""
        super().cancel()
        with self._changed:
            self._changed.notify()
        self._fail(list(self._wanted), ModelError(f"{self.who}: the run ends"))

    def close(self) -> None:
        self.cancel()
        self._thread.join()
        super().close()

    def _want(self, key: bytes, body: Body, group: str) -> Wanted:
        with self._changed:
            if self._over.is_set():
                raise ModelError(f"{self.who}: the run ends")
            if key not in self._wanted:
                self._wanted[key] = Wanted(body, group)
                self._new.append(key)
                self._launch_at = time.monotonic() + GATHER_SECONDS
                self._changed.notify()
            return self._wanted[key]

    def _serve(self) -> None:
        try:
            while not self._over.is_set():
                self._launch(self._next())
                now = time.monotonic()
                for job in [job for job, running in self._running.items() if running.due <= now]:
                    self._look(job)
        except BaseException as error:  # without this thread all callers would hang
            self._over.set()
            self._fail(list(self._wanted), error)

    def _next(self) -> list[bytes]:
        """Wait for something to do; return the requests that are to become a job."""
        with self._changed:
            due = [running.due for running in self._running.values()]
            due += [self._launch_at] if self._new else []
            if not self._over.is_set():
                self._changed.wait(max(0.0, min(due) - time.monotonic()) if due else None)
            if not self._new or time.monotonic() < self._launch_at:
                return []
            keys, self._new = self._new, []
            return keys

    def _launch(self, keys: Sequence[bytes]) -> None:
        """Send what no job holds, and wait for the other jobs."""
        claimed = {key: request for key in keys if (request := self._claimed(key))}
        paths: dict[str, dict[bytes, Wanted]] = {}
        for key, request in claimed.items():
            paths.setdefault(self._dialect.path(request.body), {})[key] = request
        for path, requests in paths.items():
            for part in self._parts(requests, path):
                self._start(part, path)

    def _claimed(self, key: bytes) -> Wanted | None:
        """The request if it is for us to send."""
        ledger = self._ledger
        with self._changed:
            request = self._wanted.get(key)
        if request is None:
            return None
        try:
            if (stored := ledger.find(key)) is not None:
                self._answer(key, json.loads(stored))
            elif (job := ledger.job_of(key)) is not None:
                self._attach(job, {key: request}, 0.0)
            elif ledger.claim(key, self._dialect.most(request.body)):
                return request
            else:  # another process is sending it, or the cap may leave room later
                self._again(key, FIRST_LOOK)
        except Stopped as stop:
            self._fail([key], stop)
        return None

    def _parts(self, wanted: Mapping[bytes, Wanted], path: str) -> Iterator[dict[bytes, Part]]:
        """The requests in as many jobs as the vendor's limits make it."""
        part: dict[bytes, Part] = {}
        size, most = 0, 0.95 * self._jobs.MOST_BYTES
        for key, request in wanted.items():
            sent = self._dialect.sent(request.body, request.group)
            line = self._jobs.line(key.hex(), path, sent)
            size += len(line) + 1
            if part and (size > most or len(part) == self._jobs.MOST_REQUESTS):
                yield part
                part, size = {}, len(line) + 1
            part[key] = request, line
        if part:
            yield part

    def _start(self, parts: Mapping[bytes, Part], path: str) -> None:
        """Create a job of claimed requests."""
        ledger = self._ledger
        try:
            job = self._create([line for _, line in parts.values()], path)
        except RetryableError as failed:  # the server may have created it
            for key in parts:
                ledger.lost(key)
            self._failed(dict.fromkeys(parts, failed))
        except ModelError as error:
            for key in parts:
                ledger.refused(key)
            self._fail(parts, error)
        else:
            ledger.launched(job, list(parts))
            self._attach(job, {key: request for key, (request, _) in parts.items()}, FIRST_LOOK)

    def _create(self, lines: list[bytes], path: str) -> str:
        """The server's name for a new job. Raises RetryableError if there may be one without a
        name, else ModelError."""
        file = ""
        if (upload := self._jobs.upload(lines)) is not None:
            file = self._patiently(lambda: self._call(upload, _name), harmless=True)
        create = self._jobs.create(lines, path, file)
        return self._patiently(lambda: self._call(create, _name))

    def _attach(self, job: str, wanted: Mapping[bytes, Wanted], seconds: float) -> None:
        """Wait for the results of a job. seconds: until the first look at it."""
        running = Running(time.monotonic() + seconds, FIRST_LOOK)
        running = self._running.setdefault(job, running)
        running.wanted |= {key: self._dialect.most(request.body) for key, request in wanted.items()}

    def _look(self, job: str) -> None:
        """Look whether the job has ended; if so, take its results."""
        running = self._running[job]
        try:
            if (outcome := self._outcome(job)) is None:
                running.due = time.monotonic() + running.wait
                running.wait = min(1.5 * running.wait, LONGEST_LOOK)
            else:
                self._settle(job, outcome)
        except TooLong as error:
            self._ledger.settle(job, {}, ())
            message = f"the results of its job {job} are broken off: {error}, more than they can be"
            self._fail(self._running.pop(job).wanted, Stopped(f"{self.who}: {message}"))
        except ModelError as error:
            self._fail(self._running.pop(job).wanted, Stopped(f"{error} (its job {job})"))

    def _outcome(self, job: str) -> JobOutcome | None:
        """What became of a job; None while it is in progress."""
        look = self._jobs.look(job)
        try:
            return self._patiently(lambda: self._call(look, self._jobs.outcome), harmless=True)
        except Missing:
            self._check_gone(job)
            return JobOutcome(())

    def _check_gone(self, job: str) -> None:
        """Raises Stopped if a server must still know the job, or have its results."""
        if time.time() < self._ledger.in_job(job)[1] + JOB_SECONDS:
            raise Stopped(
                f"{self.who}: not found; is the key in {self._source.key_env} that of the account "
                "which sent it?"
            ) from None

    def _settle(self, job: str, outcome: JobOutcome) -> None:
        """Store the results of an ended job, and hand them on."""
        wanted = self._running[job].wanted
        most = self._ledger.in_job(job)[0] or wanted
        results = [item for place in outcome.results for item in self._results(job, place, most)]
        replies: Replies = {}
        errors: dict[bytes, Exception] = {}
        # Replies first: an error that others did not have is one of the prompt.
        for key, result in sorted(results, key=lambda pair: pair[1].reply is None):
            if key in most and key not in replies:
                self._sort(key, result, replies, errors)
        if outcome.failed is not None:
            errors |= dict.fromkeys(most, self._refusal(outcome.failed, None, OF_A_JOB))
        free = {key for key, error in errors.items() if not getattr(error, "lost", False)}
        usage = self._dialect.usage
        stored = {key: (text, usage(reply) or most[key]) for key, (reply, text) in replies.items()}
        self._ledger.settle(job, stored, free)
        del self._running[job]
        self._hand_on(wanted, replies, errors)

    def _sort(
        self,
        key: bytes,
        result: Result,
        replies: Replies,
        errors: dict[bytes, Exception],
    ) -> None:
        """Read one result."""
        with self._changed:
            request = self._wanted.get(key)
        body: Body = request.body if request else {}
        try:
            if result.reply is None:
                raise self._refusal(result.failed or Failure("no reply"), None, body)
            replies[key] = self._read(json.dumps(result.reply), body)
        except (ModelError, RetryableError) as error:
            errors[key] = error
        else:
            if request is not None:
                self._counted(request.body, replies[key][0])
                self._note(request.body, answers=1)

    def _hand_on(
        self, keys: Iterable[bytes], replies: Replies, errors: Mapping[bytes, Exception]
    ) -> None:
        missing = RetryableError("its job ended without a result", lost=True)
        again: dict[bytes, RetryableError] = {}
        for key in keys:
            error = errors.get(key, missing)
            if key in replies:
                self._answer(key, replies[key][0])
            elif isinstance(error, RetryableError):
                again[key] = error
            else:
                self._fail([key], error)
        self._failed(again, others_do=bool(replies))

    def _failed(self, errors: Mapping[bytes, RetryableError], others_do: bool = False) -> None:
        """Have the requests asked again by the next job, up to MOST_JOBS times."""
        for key, error in errors.items():
            with self._changed:
                request = self._wanted.get(key)
            if request is not None:
                request.failures += 1
                if request.failures == MOST_JOBS:
                    self._fail([key], self._given_up(error, others_do))
                else:
                    self._again(key, GATHER_SECONDS)

    def _again(self, key: bytes, seconds: float) -> None:
        with self._changed:
            if not self._new:
                self._launch_at = time.monotonic() + seconds
            self._new.append(key)

    def _answer(self, key: bytes, reply: Mapping[str, Any]) -> None:
        with self._changed:
            request = self._wanted.pop(key, None)
        if request is not None:
            self._note(request.body)
            request.answer.set_result(reply)

    def _fail(self, keys: Iterable[bytes], error: BaseException) -> None:
        with self._changed:
            requests = [self._wanted.pop(key, None) for key in list(keys)]
        for request in requests:
            if request is not None:
                request.answer.set_exception(error)

    def _results(
        self, job: str, place: str, most: Mapping[bytes, Tokens]
    ) -> Iterator[tuple[bytes, Result]]:
        """The results in a file, in any order; what is no result is left out. Raises TooLong."""
        bound = SPARE + sum(A_RESULT + A_TOKEN * tokens.written for tokens in most.values())
        bound, call = min(bound, MOST_RESULTS), Call(place)
        try:
            text = self._patiently(
                lambda: self._exchange(call, bound, TRANSFER_SECONDS, OF_A_JOB), harmless=True
            )
        except Missing:
            self._check_gone(job)
            return
        for line in text.split("\n"):
            try:
                result = self._jobs.result(json.loads(line))
                yield bytes.fromhex(result.key), result
            except UNREADABLE:
                continue

    def _patiently(self, attempt: Callable[[], T], harmless: bool = False) -> T:
        """Repeat an attempt while the server fails. harmless: also if it may have worked."""
        deadline, wait = time.monotonic() + self._source.patience, FIRST_WAIT
        while True:
            try:
                self._heed_hold(deadline)
                return attempt()
            except RetryableError as failed:
                if failed.lost and not harmless:
                    raise
                wait = self._rest(failed, wait, deadline)

    def _call(self, call: Call, read: Callable[[Any], T]) -> T:
        """What is read in the reply to a call about a job."""
        seconds = self._source.timeout if call.content is None else TRANSFER_SECONDS
        try:
            return read(json.loads(self._exchange(call, SPARE, seconds, OF_A_JOB)))
        except (*UNREADABLE, TooLong) as error:
            message = self._clean(str(error))
            raise RetryableError(f"its reply cannot be read ({message})", lost=True) from None

    def _status(self, response: Response, body: Body) -> Exception:
        if response.status == 404 and body == OF_A_JOB:
            return Missing(
                f"{self.who}: not found; if the server has no batch jobs, set model.batch=false"
            )
        return super()._status(response, body)


def _name(reply: Any) -> str:
    return name_in(reply, "id")
