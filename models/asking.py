"""Sends one request to a server through the `openai` client until there is a whole reply.

The client's own retries are off: they give up on a Retry-After of more than two minutes and on a
reply that is cut or no JSON, and know nothing of what an attempt may have cost.
"""

from __future__ import annotations

import email.utils
import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from models.base import ModelError, Stopped
from models.ledger import Ledger, Tokens
from models.wire import Body, Wire, usage

KEY = "OPENAI_API_KEY"
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between attempts, doubled each time, where the server does not say."""
LOOK_SECONDS = 0.1
"""How often to look for a reply that another process waits for."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Connections that failed before the request left."""
TRANSIENT = (408, 409, 425, 429)


@dataclass
class Again(Exception):
    """An attempt failed in a way that another may not.

    lost: the request may have been answered and billed. after: seconds that the server asks for.
    """

    reason: str
    lost: bool = False
    after: float | None = None
    connected: bool = True


class Asker:
    """Asks one model of one server. Any thread may ask; nothing is sent twice at a time."""

    def __init__(
        self, wire: Wire, base_url: str, ledger: Ledger, timeout: float, patience: float
    ) -> None:
        """timeout: seconds for an attempt; patience: for all attempts at one reply."""
        self.who = f"model {wire.name!r} at {base_url}"
        self._wire, self._ledger, self._patience = wire, ledger, patience
        self._key = os.environ.get(KEY, "")
        self._client = openai.OpenAI(
            base_url=base_url, api_key=self._key or "none", timeout=timeout, max_retries=0
        )
        self._answers = 0
        self._shapes: set[frozenset[str]] = set()
        self._hold_until = 0.0
        self._over = threading.Event()

    def ask(self, key: bytes, body: Body) -> Mapping[str, Any]:
        """The reply, kept in the ledger before it is returned: from there if it is there.

        Raises Stopped where no further request can be expected to do better, else ModelError.
        """
        deadline, before = time.monotonic() + self._patience, self._answers
        most, wait = self._wire.most(body), FIRST_WAIT
        while (kept := self._ledger.find(key)) is None:
            self._pause(self._hold_until - time.monotonic())
            if not self._ledger.claim(key, most):
                self._pause(LOOK_SECONDS)
                continue
            try:
                return self._attempt(key, body, most)
            except Again as failed:
                pause = failed.after or wait * random.uniform(0.5, 1.0)
                wait = min(2 * wait, LONGEST_WAIT)
                hopeless = not failed.connected and not self._answers
                if hopeless or time.monotonic() + pause > deadline:
                    kind = ModelError if self._answers > before else Stopped
                    hint = (
                        "" if hopeless else "; what was answered is kept, the same command goes on"
                    )
                    raise kind(f"{self.who}: {failed.reason}{hint}") from None
                self._pause(pause)
        self._shapes.add(frozenset(body))
        reply: Mapping[str, Any] = json.loads(kept)
        return reply

    def hang_up(self) -> None:
        """Ends all waiting; a reply under way is still taken in and kept."""
        self._over.set()

    def close(self) -> None:
        self._client.close()

    def _attempt(self, key: bytes, body: Body, most: Tokens) -> Mapping[str, Any]:
        """One request; its reply is kept. Raises Again, or what `ask` raises."""
        try:
            text = self._send(key, body)
        except Again as failed:
            if not failed.lost:
                self._ledger.refused(key)
            raise
        except ModelError:
            self._ledger.refused(key)
            raise
        reply = self._read(text)
        self._ledger.keep(key, text, usage(reply) or most)
        self._answers += 1
        self._shapes.add(frozenset(body))
        return reply

    def _send(self, key: bytes, body: Body) -> str:
        client: Any = self._client
        route = client.chat.completions if self._wire.endpoint == "chat" else client.completions
        try:
            # A server that knows the header answers a repeated request from memory.
            raw = route.with_raw_response.create(
                **body, extra_headers={"Idempotency-Key": key.hex()}
            )
            return str(raw.text)
        except openai.APITimeoutError as error:
            sent = not isinstance(error.__cause__, NOT_SENT)
            raise Again("it did not answer in time", lost=sent, connected=sent) from None
        except openai.APIConnectionError as error:
            sent = not isinstance(error.__cause__, NOT_SENT)
            why = "the connection was cut" if sent else "it cannot be reached"
            said = self._clean(str(error.__cause__ or error))
            raise Again(f"{why} ({said})", lost=sent, connected=sent) from None
        except openai.APIStatusError as error:
            raise self._refusal(error, frozenset(body)) from None

    def _read(self, text: str) -> Mapping[str, Any]:
        """The reply as data. Raises Again where it is damaged."""
        try:
            reply = json.loads(text)
            self._wire.texts(reply)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Again(
                f"its reply cannot be read ({self._clean(str(error))})", lost=True
            ) from None
        return dict(reply)

    def _refusal(self, error: openai.APIStatusError, shape: frozenset[str]) -> Exception:
        """What an error status means: to try again, to stop the run, or to give up this one."""
        status = error.status_code
        told = error.body.get("message") if isinstance(error.body, dict) else None
        said = f"{status}: {self._clean(str(told or error.message))}"
        if error.code == "insufficient_quota":
            return Stopped(f"{self.who}: the account's quota is used up ({said})")
        if status >= 500 or status in TRANSIENT:
            after = retry_after(error.response.headers)
            if after is not None:
                self._hold_until = max(self._hold_until, time.monotonic() + after)
            wish = "" if after is None else f", and asks to wait {after:g} s"
            return Again(f"it goes on failing ({said}{wish})", after=after)
        if status in (401, 403):
            state = "is not accepted" if self._key else "is not set"
            return Stopped(f"{self.who}: the key in the variable {KEY} {state} ({said})")
        if status == 404:
            return Stopped(f"{self.who}: not found ({said}){self._known()}")
        # A server that has answered such a request before refuses this prompt, not our way to ask.
        return (ModelError if shape in self._shapes else Stopped)(f"{self.who}: refused ({said})")

    def _known(self) -> str:
        """The names of the server's models, where it lists them."""
        try:
            names = sorted(model.id for model in self._client.models.list())
        except (openai.OpenAIError, ValueError):
            return ""
        return f"; it has: {', '.join(names[:20])}" if names else ""

    def _clean(self, text: str) -> str:
        """One short line, without the key: some servers print it."""
        line = " ".join(text.split())[:300]
        return line.replace(self._key, "[key]") if self._key else line

    def _pause(self, seconds: float) -> None:
        if self._over.wait(max(0.0, seconds)):
            raise ModelError(f"{self.who}: the run ends")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, given in milliseconds, in seconds or as a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time.time())
