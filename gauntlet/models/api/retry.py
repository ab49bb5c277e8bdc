"""Requests one reply from a server, with retries until it is complete and of plausible length.

A server's output is untrusted: all of it enters here, bounded by `sending.py`, and the key is
removed before anything is shown or stored. Messages about it are one printable line.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import httpx2

from gauntlet.common.errors import GauntletError, ModelError, Stopped
from gauntlet.common.sanitize import mask_secret, mask_secret_parts, one_line
from gauntlet.models.api.dialects.base import Body, Dialect
from gauntlet.models.api.ledger import Ledger, Tokens
from gauntlet.models.api.refusals import CHANGE_LIMIT, Failure, failure, retry_after
from gauntlet.models.api.sending import (
    NOT_SENT,
    REDIRECTED,
    Call,
    Cancelled,
    Response,
    Sender,
    TooLong,
    events,
    most_bytes,
    proxy_of,
)
from gauntlet.models.api.settings import Settings
from gauntlet.models.base import Detail

LOG = logging.getLogger("gauntlet")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between attempts, doubled each time, unless the server gives a delay."""
WORTH_SAYING, SAID_EVERY = 4.0, 60.0
"""Seconds: the pause from which on a failing server is worth a warning, and between warnings."""
LOOK_SECONDS = 0.1
"""How often to check for a reply that another process is waiting for."""
STREAMED = ("data:", "event:", "id:", "retry:", ":")
"""How the text of a stream begins."""
LONGEST = 20_000
"""Characters of a server's message that are looked at."""
MARK = "[key]"
"""Replaces the key wherever a server repeats it."""
MOST_BROKEN = 4
"""How often a reply that cannot be read is asked for: each may be billed."""
LONG_PROMPT, LONG_TOKEN = 2_000, 8
"""Bytes of a prompt, and bytes a token, from which on a server has not read all of it: in texts of
games a token has four on average."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading a reply raises if it is not of its protocol."""


@dataclass
class RetryableError(GauntletError):
    """An attempt failed in a way that a retry may fix.

    lost: the request may have been answered and billed.
    after: seconds that the server asks to wait.
    connected: whether the server was reached.
    broken: whether it answered with a reply that cannot be read.
    """

    reason: str
    lost: bool = False
    after: float | None = None
    connected: bool = True
    broken: bool = False


class Refused(Stopped):
    """The server rejects a kind of request that it has never answered."""


class NoAnswer(ModelError):
    """The server does not answer this prompt: it is flagged, or longer than the model's context.

    detail: of the texts that it would have.
    """

    def __init__(self, message: str, detail: Detail) -> None:
        super().__init__(message)
        self.detail = detail


class Asker:
    """Queries one model of one server; thread-safe.

    A request in flight in another thread or process is waited for, not sent again.
    """

    def __init__(self, dialect: Dialect, source: Settings, ledger: Ledger) -> None:
        self.who = f"model {dialect.name!r} at {source.address}"
        self._dialect, self._source, self._ledger = dialect, source, ledger
        self._key = source.key
        headers = {**dialect.headers(self._key), **source.headers}
        self._sender = Sender(source.address, headers, source.timeout, source.in_flight)
        self._lock = threading.Lock()
        """Guards the state shared between threads: the next six attributes."""
        self._answers = 0
        self._too_long: dict[bytes, str] = {}
        self._shapes: set[frozenset[str]] = set()
        self._hold_until = 0.0
        self._warned = -inf
        self._cuts = False
        self._over = threading.Event()

    def ask(self, key: bytes, body: Body, group: str = "") -> Mapping[str, Any]:
        """The reply, from the ledger if it is there, and stored in it before it is returned.

        group: names the static text, as in `Dialect.sent`.

        Raises NoAnswer for a prompt that is flagged or too long, Refused for a kind of request that
        was never answered, Stopped if no further request is likely to do better, else ModelError.
        """
        deadline, before = time.monotonic() + self._source.patience, self._answers
        most, wait, broken = self._dialect.most(body), FIRST_WAIT, 0
        while (stored := self._ledger.find(key)) is None:
            try:
                self._heed_hold(deadline)
                if self._ledger.claim(key, most):
                    return self._attempt(key, body, group, most)
                self._pause(LOOK_SECONDS)
            except RetryableError as failed:
                broken += failed.broken
                if broken == MOST_BROKEN:
                    raise self._given_up(failed, self._answers > before) from None
                wait = self._rest(failed, wait, deadline, self._answers > before)
        self._note(body)
        reply: Mapping[str, Any] = json.loads(stored)
        return reply

    def expect(self, key: bytes, body: Body, group: str = "") -> None:
        """Be prepared for a request that will be asked; only batches gain by it."""

    def cancel(self) -> None:
        """End all waiting; a reply in flight is stored if it arrives very soon."""
        self._over.set()
        self._sender.cancel()

    def close(self) -> None:
        self._sender.close()

    def _heed_hold(self, deadline: float) -> None:
        """Wait as long as the server last asked for. Raises RetryableError if that is past the
        deadline."""
        now = time.monotonic()
        hold = self._hold_until - now
        if self._hold_until > max(now, deadline):
            raise RetryableError(f"it asks to wait {hold:.0f} s more", after=hold)
        self._pause(hold)

    def _rest(
        self, failed: RetryableError, wait: float, deadline: float, others_do: bool = False
    ) -> float:
        """Pause before the next attempt; return the wait after that one. Raises what `_given_up`
        gives if the deadline does not allow another."""
        pause = failed.after or wait * random.uniform(0.5, 1.0)
        hopeless = not failed.connected and not self._answers
        if hopeless or time.monotonic() + pause > deadline:
            raise self._given_up(failed, others_do) from None
        if pause >= WORTH_SAYING:
            self._warn(failed, deadline)
        self._pause(pause)
        return min(2 * wait, LONGEST_WAIT)

    def _warn(self, failed: RetryableError, deadline: float) -> None:
        """Say that the server fails, at most once in SAID_EVERY seconds."""
        now = time.monotonic()
        with self._lock:
            if now < self._warned + SAID_EVERY:
                return
            self._warned = now
        left = f"it is asked again for up to {deadline - now:.0f} s"
        LOG.warning("%s: %s; %s", self.who, failed.reason, left)

    def _given_up(self, failed: RetryableError, others_do: bool) -> ModelError:
        """The error for a reply that was given up: Stopped unless others got theirs meanwhile."""
        too_long = failed.after is not None and failed.after > self._source.patience
        hopeless = not failed.connected and not self._answers
        hint = "" if hopeless else "; what was answered is kept; the same command continues"
        kind = ModelError if others_do and not too_long else Stopped
        return kind(f"{self.who}: {failed.reason}{hint}")

    def _attempt(self, key: bytes, body: Body, group: str, most: Tokens) -> Mapping[str, Any]:
        """Send one request and store its reply. Raises RetryableError, or what `ask` raises."""
        try:
            if key in self._too_long:
                raise ModelError(self._too_long[key])
            text = self._send(key, body, group, most)
            reply, text = self._read(text, body)
        except TooLong as error:
            self._ledger.lost(key)
            raise self._never_again(key, body, error) from None
        except BaseException as error:
            free = isinstance(error, ModelError) or (
                isinstance(error, RetryableError) and not error.lost
            )
            (self._ledger.refused if free else self._ledger.lost)(key)
            raise
        self._ledger.keep(key, text, self._counted(body, reply) or most)
        self._note(body, answers=1)
        return reply

    def _counted(self, body: Body, reply: Mapping[str, Any]) -> Tokens | None:
        """The tokens that the server counted. Warns once if it has not read the whole prompt."""
        counted, size = self._dialect.usage(reply), self._dialect.prompt_bytes(body)
        if counted and size > max(LONG_PROMPT, LONG_TOKEN * counted.prompt):
            with self._lock:
                warned, self._cuts = self._cuts, True
            if not warned:
                LOG.warning(
                    "%s: it counts %d tokens in a prompt of %d bytes; does it cut prompts to its "
                    "context (num_ctx of Ollama)?",
                    *(self.who, counted.prompt, size),
                )
        return counted

    def _never_again(self, key: bytes, body: Body, error: TooLong) -> ModelError:
        """Remember that the reply is too long: it would be so again, and be billed again."""
        message = f"{self.who}: its reply is broken off: {error}, more than was asked for can be"
        with self._lock:
            self._too_long[key] = f"{message}; this run does not ask for it again"
        return (ModelError if frozenset(body) in self._shapes else Stopped)(message)

    def _note(self, body: Body, answers: int = 0) -> None:
        """Record that the server answers requests of this shape. answers: new replies."""
        with self._lock:
            self._answers += answers
            self._shapes.add(frozenset(body))

    def _send(self, key: bytes, body: Body, group: str, most: Tokens) -> str:
        """The text of a successful response, without our key."""
        dialect, source = self._dialect, self._source
        streams = dialect.streams(body)
        # A server that supports the header answers a repeated request from its cache.
        once = {"Idempotency-Key": key.hex()}
        call = Call.json(dialect.path(body), dialect.sent(body, group), once)
        seconds = source.patience if streams else source.timeout
        return self._exchange(call, most_bytes(most, streams), seconds, body)

    def _exchange(self, call: Call, most: int, seconds: float, body: Body) -> str:
        """As `_send`. most: bytes of the response. seconds: to its last byte."""
        try:
            response = self._sender.send(call, most, seconds)
        except Cancelled:
            raise RetryableError("the run ends", lost=True) from None
        except httpx2.HTTPError as error:
            raise self._unsent(error) from None
        if response.status >= 300:
            raise self._status(response, body)
        return mask_secret(response.body.decode("utf-8-sig", "replace"), self._key, MARK)

    def _unsent(self, error: httpx2.HTTPError) -> RetryableError:
        """The error of a connection that failed."""
        sent = not isinstance(error, NOT_SENT)
        if isinstance(error, httpx2.TimeoutException):
            return RetryableError("it did not answer in time", lost=sent, connected=sent)
        why = "the connection was cut" if sent else "it cannot be reached"
        proxy = proxy_of(self._source.address)
        why += f" through the proxy in {proxy}" if proxy else ""
        return RetryableError(f"{why} ({self._clean(str(error))})", lost=sent, connected=sent)

    def _status(self, response: Response, body: Body) -> Exception:
        """The exception for a response of an error."""
        if REDIRECTED in response.headers:
            there = self._clean(response.headers[REDIRECTED])
            return Stopped(
                f"{self.who}: it sends us on to {there!r}, where the key does not go by itself; if "
                "that is right, set model.base_url to it"
            )
        text = response.body.decode("utf-8-sig", "replace")
        try:
            failed = failure(json.loads(text), response.status)
        except (ValueError, RecursionError):
            failed = None
        failed = failed or Failure(text, response.status)
        again = {"true": True, "false": False}.get(response.headers.get("x-should-retry", ""))
        return self._refusal(failed, retry_after(response.headers), body, again)

    def _read(self, text: str, body: Body) -> tuple[Mapping[str, Any], str]:
        """The parsed reply, and its text as stored. Raises RetryableError if it is damaged, or the
        reported error if it contains one."""
        begun, failed = False, None
        try:
            if text.lstrip().startswith(STREAMED):
                parts = list(events(text))
                failed = next((reported for reported in map(failure, parts) if reported), None)
                begun = len(parts) > 1
                reply = None if failed else self._dialect.joined(parts)
                text = mask_secret(json.dumps(reply), self._key, MARK)
            reply = json.loads(text)
            failed = failed or failure(reply)
            if failed is None:
                self._dialect.texts(reply)
        except UNREADABLE as error:
            if not text.lstrip("\ufeff \n\r\t").startswith("<"):
                why = f"its reply cannot be read ({self._clean(str(error))})"
                cure = "; set model.stream=false" if self._dialect.streams(body) else ""
                raise RetryableError(why + cure, lost=True, broken=True) from None
            page = f"it answers with a web page ({self._clean(text)})"
            if self._answers:
                raise RetryableError(page, lost=True) from None
            raise Stopped(f"{self.who}: {page}; is model.base_url right?") from None
        if failed is not None:
            raise self._refusal(failed, None, body, lost=begun)
        return dict(reply), text

    def _refusal(
        self,
        failed: Failure,
        after: float | None,
        body: Body,
        again: bool | None = None,
        lost: bool = False,
    ) -> Exception:
        """The exception for an error.

        after: seconds that the server asks all to wait.
        again: whether it asks for the same request again; None if it does not say.
        lost: whether part of a reply came before.
        """
        message, status = self._clean(failed.message), failed.status
        described = message if status is None else f"{status}: {message}"
        refused = f"{self.who}: refused ({described})"
        meaning = failed.meaning(self._dialect.limit_of(body))
        match meaning:
            case "unpaid":
                return Stopped(f"{self.who}: the account's quota is used up ({described})")
            case "region":
                return Stopped(f"{self.who}: it does not serve this region ({described})")
            case "filtered":
                return NoAnswer(refused, Detail("filtered", refusal=message))
            case "context":
                return NoAnswer(refused, Detail("context"))
            case "limit":
                return Stopped(f"{refused}; {CHANGE_LIMIT}")
        if meaning == "again" if again is None else again:
            if after is not None:
                with self._lock:
                    self._hold_until = max(self._hold_until, time.monotonic() + after)
            wish = "" if after is None else f", and asks to wait {after:g} s"
            return RetryableError(f"it goes on failing ({described}{wish})", lost, after)
        if meaning == "key":
            state = "is not accepted" if self._key else "is not set"
            variable = self._source.key_env
            return Stopped(f"{self.who}: the key in the variable {variable} {state} ({described})")
        if meaning == "missing":
            return Stopped(f"{self.who}: not found ({described}){self._served_models()}")
        if status == 407:
            return Stopped(
                f"{self.who}: the proxy in {proxy_of(self._source.address)}: {described}"
            )
        # A server that has answered this kind of request rejects the prompt, not our protocol.
        kind = ModelError if frozenset(body) in self._shapes else Refused
        return kind(f"{refused}{failed.advice}")

    def _served_models(self) -> str:
        """The server's models; if it lists none, something else is at that address."""
        names = sorted(self._clean(name) for name in self._sender.models())
        listed = f"; it has: {one_line(', '.join(names[:20]))}"
        return listed if names else "; is model.base_url right? Most end in /v1"

    def _clean(self, text: str) -> str:
        """One short printable line, without the key: some servers print it, or parts of it."""
        line = " ".join(text[:LONGEST].split())
        return one_line(mask_secret_parts(line, self._key, MARK))

    def _pause(self, seconds: float) -> None:
        if self._over.wait(max(0.0, seconds)):
            raise ModelError(f"{self.who}: the run ends")
