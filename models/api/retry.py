"""Requests one reply from a server, with retries until it is complete and of plausible length.

A server's output is untrusted: all of it enters here, bounded by `sending.py`, and the key is
removed before anything is shown or stored. Messages about it are one printable line.
"""

from __future__ import annotations

import email.utils
import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import openai

from gauntlet.common.errors import GauntletError, ModelError, Stopped
from gauntlet.common.sanitize import mask_secret, mask_secret_parts, one_line
from gauntlet.models.api.ledger import Ledger, Tokens
from gauntlet.models.api.response_limits import REDIRECTED, TooLong, most_bytes
from gauntlet.models.api.sending import NOT_SENT, Cancelled, Sender
from gauntlet.models.api.wire import Body, Wire, failure, usage

KEY = "OPENAI_API_KEY"
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between attempts, doubled each time, unless the server gives a delay."""
LOOK_SECONDS = 0.1
"""How often to check for a reply that another process is waiting for."""
TRANSIENT = (408, 409, 425, 429)
LONGEST = 20_000
"""Characters of a server's message that are looked at."""
MARK = "[key]"
"""Replaces the key wherever a server repeats it."""


@dataclass
class RetryableError(GauntletError):
    """An attempt failed in a way that a retry may fix.

    lost: the request may have been answered and billed.
    after: seconds that the server asks to wait.
    """

    reason: str
    lost: bool = False
    after: float | None = None
    connected: bool = True


class Refused(Stopped):
    """The server rejects a kind of request that it has never answered."""


class Asker:
    """Queries one model of one server; thread-safe.

    A request in flight in another thread or process is waited for, not sent again.
    """

    def __init__(
        self,
        wire: Wire,
        base_url: str,
        key: str,
        ledger: Ledger,
        timeout: float,
        patience: float,
        threads: int,
    ) -> None:
        """key: as `key_in` gives it.
        timeout: seconds per attempt, to its last byte.
        patience: seconds for all attempts at one reply.
        threads: number of concurrent callers, each with its own connection.
        """
        self.who = f"model {wire.name!r} at {base_url}"
        self._wire, self._ledger, self._patience = wire, ledger, patience
        self._key = key
        self._sender = Sender(base_url, key or "none", timeout, threads)
        self._lock = threading.Lock()
        """Guards the state shared between threads: the next four attributes."""
        self._answers = 0
        self._too_long: dict[bytes, str] = {}
        self._shapes: set[frozenset[str]] = set()
        self._hold_until = 0.0
        self._over = threading.Event()

    def ask(self, key: bytes, body: Body) -> Mapping[str, Any]:
        """The reply, from the ledger if it is there, and stored in it before it is returned.

        Raises Refused for a kind of request that was never answered, Stopped if no further request
        is likely to do better, else ModelError.
        """
        deadline, before = time.monotonic() + self._patience, self._answers
        most, wait = self._wire.most(body), FIRST_WAIT
        while (kept := self._ledger.find(key)) is None:
            try:
                self._heed_hold(deadline)
                if self._ledger.claim(key, most):
                    return self._attempt(key, body, most)
                self._pause(LOOK_SECONDS)
            except RetryableError as failed:
                pause = failed.after or wait * random.uniform(0.5, 1.0)
                wait = min(2 * wait, LONGEST_WAIT)
                hopeless = not failed.connected and not self._answers
                if hopeless or time.monotonic() + pause > deadline:
                    raise self._given_up(failed, self._answers > before) from None
                self._pause(pause)
        self._note(body)
        reply: Mapping[str, Any] = json.loads(kept)
        return reply

    def cancel(self) -> None:
        """End all waiting; a reply in flight is stored if it arrives very soon."""
        self._over.set()
        self._sender.cancel()

    def close(self) -> None:
        self._sender.close()

    def _heed_hold(self, deadline: float) -> None:
        """Wait as long as the server last asked for. Raises Again if that is past the deadline."""
        now = time.monotonic()
        hold = self._hold_until - now
        if self._hold_until > max(now, deadline):
            raise RetryableError(f"it asks to wait {hold:.0f} s more", after=hold)
        self._pause(hold)

    def _given_up(self, failed: RetryableError, others_do: bool) -> ModelError:
        """The error for a reply that was given up: Stopped unless others got theirs meanwhile."""
        too_long = failed.after is not None and failed.after > self._patience
        hopeless = not failed.connected and not self._answers
        hint = "" if hopeless else "; what was answered is kept; the same command continues"
        kind = ModelError if others_do and not too_long else Stopped
        return kind(f"{self.who}: {failed.reason}{hint}")

    def _attempt(self, key: bytes, body: Body, most: Tokens) -> Mapping[str, Any]:
        """Send one request and store its reply. Raises Again, or what `ask` raises."""
        try:
            if key in self._too_long:
                raise ModelError(self._too_long[key])
            text = self._send(key, body, most)
            reply = self._read(text, frozenset(body))
        except TooLong as error:
            self._ledger.lost(key)
            raise self._never_again(key, body, error) from None
        except BaseException as error:
            free = isinstance(error, ModelError) or (
                isinstance(error, RetryableError) and not error.lost
            )
            (self._ledger.refused if free else self._ledger.lost)(key)
            raise
        self._ledger.keep(key, text, usage(reply) or most)
        self._note(body, answers=1)
        return reply

    def _never_again(self, key: bytes, body: Body, error: TooLong) -> ModelError:
        """Remember that the reply is too long: it would be so again, and be billed again."""
        said = f"{self.who}: its reply is broken off: {error}, more than was asked for can be"
        with self._lock:
            self._too_long[key] = f"{said}; this run does not ask for it again"
        return (ModelError if frozenset(body) in self._shapes else Stopped)(said)

    def _note(self, body: Body, answers: int = 0) -> None:
        """Record that the server answers requests of this shape. answers: new replies."""
        with self._lock:
            self._answers += answers
            self._shapes.add(frozenset(body))

    def _send(self, key: bytes, body: Body, most: Tokens) -> str:
        """The text of a successful response, without our key."""
        try:
            # A server that supports the header answers a repeated request from its cache.
            headers = {"Idempotency-Key": key.hex()}
            data = self._sender.post(self._wire.endpoint, body, headers, most_bytes(most))
            return mask_secret(data.decode(errors="replace"), self._key, MARK)
        except Cancelled:
            raise RetryableError("the run ends", lost=True) from None
        except openai.APITimeoutError as error:
            sent = not isinstance(error.__cause__, NOT_SENT)
            raise RetryableError("it did not answer in time", lost=sent, connected=sent) from None
        except openai.APIConnectionError as error:
            sent = not isinstance(error.__cause__, NOT_SENT)
            why = "the connection was cut" if sent else "it cannot be reached"
            said = self._clean(str(error.__cause__ or error))
            raise RetryableError(f"{why} ({said})", lost=sent, connected=sent) from None
        except openai.APIStatusError as error:
            raise self._status(error, frozenset(body)) from None

    def _status(self, error: openai.APIStatusError, shape: frozenset[str]) -> Exception:
        told = error.body.get("message") if isinstance(error.body, dict) else None
        said, headers = str(told or error.message), error.response.headers
        if error.code == "insufficient_quota":
            return Stopped(f"{self.who}: the account's quota is used up ({self._clean(said)})")
        if REDIRECTED in headers:
            there = self._clean(headers[REDIRECTED])
            return Stopped(
                f"{self.who}: it sends us on to {there!r}, where the key does not go by itself; if "
                "that is right, set model.base_url to it"
            )
        return self._refusal(error.status_code, said, retry_after(headers), shape)

    def _read(self, text: str, shape: frozenset[str]) -> Mapping[str, Any]:
        """The parsed reply. Raises Again if it is damaged, or the reported error if it contains
        one."""
        try:
            reply = json.loads(text)
            failed = failure(reply)
            if failed is None:
                self._wire.texts(reply)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RetryableError(
                f"its reply cannot be read ({self._clean(str(error))})", lost=True
            ) from None
        if failed is not None:
            told, status = failed
            raise self._refusal(status, told, None, shape)
        return dict(reply)

    def _refusal(
        self, status: int | None, message: str, after: float | None, shape: frozenset[str]
    ) -> Exception:
        """The exception for an error status. after: seconds that the server asks all to wait."""
        said = self._clean(message) if status is None else f"{status}: {self._clean(message)}"
        if status is None or status >= 500 or status in TRANSIENT:
            if after is not None:
                with self._lock:
                    self._hold_until = max(self._hold_until, time.monotonic() + after)
            wish = "" if after is None else f", and asks to wait {after:g} s"
            return RetryableError(f"it goes on failing ({said}{wish})", after=after)
        if status in (401, 403):
            state = "is not accepted" if self._key else "is not set"
            return Stopped(f"{self.who}: the key in the variable {KEY} {state} ({said})")
        if status == 404:
            return Stopped(f"{self.who}: not found ({said}){self._served_models()}")
        # A server that has answered this kind of request rejects the prompt, not our protocol.
        return (ModelError if shape in self._shapes else Refused)(f"{self.who}: refused ({said})")

    def _served_models(self) -> str:
        """The server's models, if it lists them."""
        names = sorted(self._clean(name) for name in self._sender.models())
        return f"; it has: {one_line(', '.join(names[:20]))}" if names else ""

    def _clean(self, text: str) -> str:
        """One short printable line, without the key: some servers print it, or parts of it."""
        line = " ".join(text[:LONGEST].split())
        return one_line(mask_secret_parts(line, self._key, MARK))

    def _pause(self, seconds: float) -> None:
        if self._over.wait(max(0.0, seconds)):
            raise ModelError(f"{self.who}: the run ends")


def key_in(environment: Mapping[str, str]) -> str:
    """The stripped key; "" if there is none. Raises ModelError, without repeating it, for a key
    that no header can carry."""
    given = environment.get(KEY, "")
    key = given.strip()
    if given and not key:
        raise ModelError(f"the variable {KEY} is blank; give it a key, or unset it")
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(
            f"the variable {KEY} holds a space or a character that no key has; only printable "
            "ASCII characters are allowed"
        )
    return key


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The delay a server asks for, in seconds; headers give milliseconds, seconds or a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None
