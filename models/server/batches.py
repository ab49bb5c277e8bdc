"""Questions of many askers are answered in batches that all of them have a fair part of.

Whoever asks much waits for its own: of each batch every client gets as much as any other, and of
that each of its requests. What nobody waits for any more is not begun, and not written to its end.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from common.errors import GauntletError
from models.answering import answer_each
from models.base import Reply, Request

if TYPE_CHECKING:
    from models.engine.local import Local

AT_ONCE = 64
"""Questions of a batch; a longer one would keep whoever comes next waiting."""
MOST_WAITING = 16_384
"""Questions of one client that wait."""
END_SECONDS = 2.0
"""How long the end waits for the batch in hand."""


class Busy(GauntletError):
    """Too much of this client waits already."""


class Left(GauntletError):
    """Nobody waits for the answer any more."""


@dataclass(eq=False)
class Ticket:
    """Who asks, for one request. gone: nobody waits for its answers any more."""

    client: str = ""
    gone: bool = False


@dataclass(eq=False)
class Waiting:
    """A question, and who gets the reply."""

    ticket: Ticket
    model: Local
    request: Request
    future: Future[Reply] = field(default_factory=Future)


class Line:
    """What waits. Clients take turns, and so do the requests of each."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[Ticket, deque[Waiting]]] = OrderedDict()
        self._lengths: defaultdict[str, int] = defaultdict(int)

    def put(self, waiting: Waiting) -> None:
        """Raises Busy."""
        client = waiting.ticket.client
        if self._lengths[client] >= MOST_WAITING:
            raise Busy(f"{MOST_WAITING:,} questions of this client wait already")
        self._lengths[client] += 1
        own = self._clients.setdefault(client, OrderedDict())
        own.setdefault(waiting.ticket, deque()).append(waiting)

    def take(self, most: int) -> list[Waiting]:
        """The next in turn, at most so many."""
        taken: list[Waiting] = []
        while self._clients and len(taken) < most:
            client, requests = self._clients.popitem(last=False)
            ticket, own = requests.popitem(last=False)
            taken.append(own.popleft())
            self._lengths[client] -= 1
            if own:
                requests[ticket] = own
            if requests:
                self._clients[client] = requests
            else:
                del self._lengths[client]
        return taken

    def drop(self, ticket: Ticket) -> Iterable[Waiting]:
        """All that waits for this ticket, which waits no longer."""
        requests = self._clients.get(ticket.client, OrderedDict())
        dropped = requests.pop(ticket, deque())
        self._lengths[ticket.client] -= len(dropped)
        if not requests:
            self._clients.pop(ticket.client, None)
            self._lengths.pop(ticket.client, None)
        return dropped

    def __bool__(self) -> bool:
        return bool(self._clients)


class Batches:
    """Answers what waits for a model in one call, and meanwhile collects what comes next."""

    def __init__(self) -> None:
        self._line = Line()
        self._in_hand: list[Waiting] = []
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name="batches")
        self._thread.start()

    def ask(self, model: Local, request: Request, ticket: Ticket) -> Future[Reply]:
        """Cancelled if the ticket goes first. Raises Busy."""
        waiting = Waiting(ticket, model, request)
        with self._changed:
            if ticket.gone or self._closed:
                waiting.future.cancel()
            else:
                self._line.put(waiting)
                self._changed.notify()
        return waiting.future

    def leave(self, ticket: Ticket) -> None:
        """Nobody waits for the answers of this ticket any more."""
        with self._changed:
            ticket.gone = True
            held = [waiting for waiting in self._in_hand if waiting.ticket is ticket]
            dropped = [*self._line.drop(ticket), *held]
        for waiting in dropped:
            waiting.future.cancel()

    def close(self) -> None:
        """Ends with the batch in hand, which is cut short."""
        with self._changed:
            self._closed = True
            dropped = [*self._line.take(1 << 60), *self._in_hand]
            self._changed.notify()
        for waiting in dropped:
            waiting.ticket.gone = True
            waiting.future.cancel()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while batch := self._next():
            by_model: defaultdict[Local, list[Waiting]] = defaultdict(list)
            for waiting in batch:
                by_model[waiting.model].append(waiting)
            for model, own in by_model.items():
                _settle(model, own)

    def _next(self) -> list[Waiting]:
        """The next batch, once there is one; [] after closing."""
        with self._changed:
            self._in_hand = []
            self._changed.wait_for(lambda: self._closed or self._line)
            if not self._closed:
                self._in_hand = self._line.take(AT_ONCE)
            return self._in_hand


def _settle(model: Local, batch: list[Waiting]) -> None:
    tickets: defaultdict[Request, list[Ticket]] = defaultdict(list)
    for waiting in batch:
        tickets[waiting.request].append(waiting.ticket)

    def wanted(request: Request) -> bool:
        return any(not ticket.gone for ticket in tickets[request])

    model.while_wanted(wanted)
    replies = answer_each(model, [waiting.request for waiting in batch])
    for waiting, reply in zip(batch, replies, strict=True):
        if not waiting.future.set_running_or_notify_cancel():
            continue
        if isinstance(reply, Exception):
            waiting.future.set_exception(reply)
        else:
            waiting.future.set_result(reply)
