"""The cache of requests to a paid server, their replies and costs: one SQLite file.

A reply is on disk before it is used, so no paid reply is paid again, whatever gets killed. A
request is written down before it is sent: one whose reply never arrived may have been billed, and
counts towards the spending cap. Several threads and processes on one machine can share the file; if
one of them has a request in flight, the others wait for it.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

import psutil

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.common.sanitize import one_line

BUSY_SECONDS = 60.0
"""How long to wait for another writing process."""
GRACE_SECONDS = 5.0
"""Added to a request's own timeout before another process stops waiting for it."""
CREATION_SECONDS = 3600.0
"""Limit on creating a batch job, over all attempts."""
JOB_SECONDS = 25 * 3600.0
"""Seconds after which no batch job is in progress: servers promise 24 hours."""

TABLES = """
CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS paid (
    account TEXT PRIMARY KEY, replies INTEGER, prompt_tokens INTEGER, tokens INTEGER
);
CREATE TABLE IF NOT EXISTS cached (account TEXT PRIMARY KEY, read INTEGER, stored INTEGER);
CREATE TABLE IF NOT EXISTS sent (
    key BLOB PRIMARY KEY, account TEXT, times INTEGER, prompt_tokens INTEGER, tokens INTEGER,
    asker TEXT, until REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
    key BLOB PRIMARY KEY, job TEXT, account TEXT, created REAL
) WITHOUT ROWID;
"""
"""The schema.

replies: as received.
paid: their sums by account.
cached: the parts of `prompt_tokens` that servers read from their caches, and took into them; a
    table of its own, which versions that do not know it leave alone.
sent: requests without a reply, how often each may have been billed, the most tokens one such
    request may take, and who sent it and until when.
jobs: the requests in batch jobs whose results are not stored, with the server's name for the job;
    they are in `sent` too.
"""
BATCH, BATCH_RATE = ", batch", 0.5
"""Added to the account of replies that came by batch jobs, and their price by that of others."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts: prompt tokens read and completion tokens written.

    cached, stored: the parts of `prompt` that the server read from its cache, and took into it.
    thoughts: the part of `written` that was spent on thoughts.
    """

    prompt: int
    written: int
    cached: int = 0
    stored: int = 0
    thoughts: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, and the spending cap; None for no cap.

    cached, stored: of prompt tokens that the server reads from its cache, and takes into it; None
        for the price of any other.
    """

    prompt: float
    written: float
    cap: float | None = None
    cached: float | None = None
    stored: float | None = None

    def cost(self, tokens: Tokens) -> float:
        cached = self.prompt if self.cached is None else self.cached
        stored = self.prompt if self.stored is None else self.stored
        fresh = max(0, tokens.prompt - tokens.cached - tokens.stored)
        read = fresh * self.prompt + tokens.cached * cached + tokens.stored * stored
        return (read + tokens.written * self.written) / 1e6

    def most(self, tokens: Tokens) -> float:
        """The cost wherever the prompt is read from or taken to."""
        dearest = max(self.prompt, self.cached or 0.0, self.stored or 0.0)
        return (tokens.prompt * dearest + tokens.written * self.written) / 1e6


@dataclass(frozen=True, slots=True)
class Spending:
    """The spending of a model.

    replies: number stored.
    paid: their tokens.
    unsure: upper bound on the tokens of requests without a reply.
    """

    replies: int
    paid: Tokens
    unsure: Tokens

    def __add__(self, other: Spending) -> Spending:
        paid, unsure = self.paid + other.paid, self.unsure + other.unsure
        return Spending(self.replies + other.replies, paid, unsure)


class Ledger:
    """The ledger in the file `path`, created if missing; thread-safe.

    account: a model of a server.
    batch: whether its requests go in batch jobs, which have an account and prices of their own; cap
        and spending are of both.

    Raises ModelError for a bad file.
    """

    def __init__(
        self, path: Path, account: str, prices: Prices, timeout: float, batch: bool = False
    ) -> None:
        self._prices, self._timeout, self._batch = prices, timeout, batch
        self._rates = {account: 1.0, account + BATCH: BATCH_RATE}
        self._account = account + BATCH if batch else account
        self._me = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.executescript(TABLES)
        except (OSError, sqlite3.Error) as error:
            raise ModelError(
                f"the cache of replies {str(path)!r} cannot be used: {error}"
            ) from None

    def find(self, key: bytes) -> str | None:
        """The stored reply."""
        with self._lock:
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def claim(self, key: bytes, most: Tokens) -> bool:
        """Whether the caller should send the request now.

        If so, the caller must report the outcome through `keep`, `refused` or `lost`. `most` bounds
        the tokens it can take.

        False if its reply has arrived meanwhile, if it is already in flight, or if it depends on
        requests in flight whether the cap leaves room for it. Raises Stopped if there is no room
        whatever they cost, or if only a batch job can bring the reply.
        """
        until = time.time() + self._timeout + GRACE_SECONDS
        with self._writing(durable=False):
            self._check_job(key)
            if self.find(key) is not None or self._under_way(key) or not self._room(most):
                return False
            self._base.execute(
                "INSERT INTO sent VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "times = times + 1, asker = excluded.asker, until = excluded.until, "
                "account = min(account, excluded.account)",  # the dearer: it has no suffix
                (key, self._account, most.prompt, most.written, self._me, until),
            )
        return True

    def refused(self, key: bytes) -> None:
        """Record that the server rejected the claimed request, so it costs nothing."""
        with self._writing(durable=False):
            self._settle(key)

    def lost(self, key: bytes) -> None:
        """Record that the claimed request will get no reply; it may have been billed."""
        with self._writing(durable=False):
            self._lose(key)

    def keep(self, key: bytes, reply: str, tokens: Tokens) -> None:
        """Store the reply to the claimed request; returns once it is on disk."""
        with self._writing(durable=True):
            self._keep(key, reply, tokens)

    def launched(self, job: str, keys: Sequence[bytes]) -> None:
        """Record that the claimed requests are in this batch job; on disk at the end."""
        rows = [(key, job, self._account, time.time()) for key in keys]
        until = [(time.time() + JOB_SECONDS, key) for key in keys]
        with self._writing(durable=True):
            self._base.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", rows)
            self._base.executemany("UPDATE sent SET until = ? WHERE key = ?", until)

    def job_of(self, key: bytes) -> str | None:
        """The batch job that the request is in."""
        with self._lock:
            row = self._base.execute("SELECT job FROM jobs WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def in_job(self, job: str) -> tuple[dict[bytes, Tokens], float]:
        """The most tokens that each request in the job can take, and the time when the job was
        recorded; {} and 0 once it is settled."""
        with self._lock:
            rows = self._base.execute(
                "SELECT jobs.key, prompt_tokens, tokens, created FROM jobs JOIN sent USING (key) "
                "WHERE job = ? AND jobs.account = ?",
                (job, self._account),
            ).fetchall()
        most = {bytes(row[0]): Tokens(row[1], row[2]) for row in rows}
        return most, min((row[3] for row in rows), default=0.0)

    def settle(
        self, job: str, replies: Mapping[bytes, tuple[str, Tokens]], free: Container[bytes]
    ) -> None:
        """Store the replies of an ended job, unless another process has; on disk at the end.

        free: requests that cost nothing. All others without a reply may have been billed.
        """
        of_job = "FROM jobs WHERE job = ? AND account = ?"
        with self._writing(durable=True):
            rows = self._base.execute(f"SELECT key {of_job}", (job, self._account)).fetchall()
            self._base.execute(f"DELETE {of_job}", (job, self._account))
            for (key,) in rows:
                if key in replies:
                    self._keep(key, *replies[key])
                else:
                    (self._settle if key in free else self._lose)(key)

    def in_jobs(self) -> tuple[int, int]:
        """Number of batch jobs of this model whose results are not stored, and of their
        requests."""
        with self._lock:
            row = self._base.execute(
                "SELECT count(DISTINCT job), count(*) FROM jobs WHERE account IN (?, ?)",
                (*self._rates,),
            ).fetchone()
        return row[0], row[1]

    def spending(self) -> Spending:
        """The spending of this model, over all processes and runs, in batch jobs and outside."""
        with self._lock:
            return self._spending(*self._rates)

    def costs(self) -> tuple[float, float]:
        """What was paid for this model, and at most for its requests without a reply."""
        paid = unsure = 0.0
        with self._lock:
            for account, rate in self._rates.items():
                spending = self._spending(account)
                paid += rate * self._prices.cost(spending.paid)
                unsure += rate * self._prices.most(spending.unsure)
        return paid, unsure

    def close(self) -> None:
        with self._lock:
            self._base.close()

    def _under_way(self, key: bytes) -> bool:
        """Whether a batch job holds the request, or a live process has sent it and may still get a
        reply."""
        if self.job_of(key) is not None:
            return True
        row = self._base.execute("SELECT asker, until FROM sent WHERE key = ?", (key,)).fetchone()
        if row is None or row[1] < time.time():
            return False
        host, _, process = str(row[0]).rpartition(":")
        return host != socket.gethostname() or psutil.pid_exists(int(process))

    def _check_job(self, key: bytes) -> None:
        """Raises Stopped for a request in a batch job, outside batches: nobody may fetch it."""
        if not self._batch and (job := self.job_of(key)) is not None:
            raise Stopped(
                f"{self._account}: the reply is due in the batch job {one_line(job)}; set "
                "model.batch=true to fetch it"
            )

    def _keep(self, key: bytes, reply: str, tokens: Tokens) -> None:
        self._base.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))
        self._base.execute(
            "INSERT INTO paid VALUES (?, 1, ?, ?) ON CONFLICT (account) DO UPDATE SET "
            "replies = replies + 1, prompt_tokens = prompt_tokens + excluded.prompt_tokens, "
            "tokens = tokens + excluded.tokens",
            (self._account, tokens.prompt, tokens.written),
        )
        self._base.execute(
            "INSERT INTO cached VALUES (?, ?, ?) ON CONFLICT (account) DO UPDATE SET "
            "read = read + excluded.read, stored = stored + excluded.stored",
            (self._account, tokens.cached, tokens.stored),
        )
        self._settle(key)

    def _lose(self, key: bytes) -> None:
        self._base.execute("UPDATE sent SET until = 0 WHERE key = ?", (key,))

    def _settle(self, key: bytes) -> None:
        """Record the outcome of one sending; the others may have been billed too."""
        self._base.execute("UPDATE sent SET times = times - 1, until = 0 WHERE key = ?", (key,))
        self._base.execute("DELETE FROM sent WHERE key = ? AND times <= 0", (key,))

    def _spending(self, account: str, *others: str) -> Spending:
        paid = self._base.execute(
            "SELECT replies, prompt_tokens, tokens FROM paid WHERE account = ?", (account,)
        ).fetchone() or (0, 0, 0)
        cached = self._base.execute(
            "SELECT read, stored FROM cached WHERE account = ?", (account,)
        ).fetchone() or (0, 0)
        unsure = self._unanswered(account, "times")
        spending = Spending(paid[0], Tokens(*paid[1:], *cached), unsure)
        return spending + self._spending(*others) if others else spending

    def _unanswered(self, account: str, times: str) -> Tokens:
        """Upper bound on the tokens of unanswered requests, weighted by the SQL term `times`."""
        row = self._base.execute(
            f"SELECT coalesce(sum({times} * prompt_tokens), 0), coalesce(sum({times} * tokens), 0) "
            "FROM sent WHERE account = ?",
            (account,),
        ).fetchone()
        return Tokens(*row)

    def _room(self, most: Tokens) -> bool:
        prices = self._prices
        if prices.cap is None:
            return True
        running = f"(until > {time.time()})"
        under_way = sum(
            rate * prices.most(self._unanswered(account, running))
            for account, rate in self._rates.items()
        )
        (paid, unsure), next_one = self.costs(), self._rates[self._account] * prices.most(most)
        if paid + unsure - under_way + next_one > prices.cap:
            raise Stopped(
                f"{self._account}: the spending cap of {prices.cap:g} is reached ({paid:.4g} paid, "
                f"{unsure:.4g} at most for requests without a reply, {next_one:.2g} at most for "
                "the next); what was answered is kept, a larger model.cap goes on"
            )
        return paid + unsure + next_one <= prices.cap

    @contextmanager
    def _writing(self, durable: bool) -> Iterator[None]:
        """A transaction; if durable, it is on disk at the end."""
        with self._lock:
            self._base.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")
