"""Reports on the first matches of a sweep while it plays: errors as they occur, unreadable replies,
and the expected time and cost of the whole sweep.

The first match of a cell that asks a model is an ordinary one, the first in deal order; the cell's
other matches wait for it (`pipeline/play/admission.py`), for some seconds only if they are free.

Matches are also replayed from their records by copies of the players made before the first match,
so that state which players keep between matches shows: the first match twice in a row, and when all
are played the first again, one of the second half and the last, each by fresh copies. State outside
the players, as in a module, is not copied: what it has become shows in the first match. Replies
come from the record: no model is asked. Nothing is claimed about cells whose matches come out
otherwise.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter

from rich.console import Console
from rich.text import Text

from gauntlet.agents.base import Prepared
from gauntlet.common.ids import PACKAGE
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import duration, print_line, short
from gauntlet.models.base import Paid
from gauntlet.models.exchanges import Exchange, TextExchange
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.launch.placement import asks_a_person, in_batches, paid_models
from gauntlet.pipeline.log.events import event, redact
from gauntlet.pipeline.log.failed_matches import LONGEST, reason
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.outcomes import Outcome, calls
from gauntlet.pipeline.log.records import Log
from gauntlet.pipeline.log.results import ORDER_MATTERS
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.build import methods_of
from gauntlet.pipeline.plan.cells import CANONICAL, Cell, Plan, Player, Task
from gauntlet.pipeline.plan.identity import describe
from gauntlet.pipeline.play.admission import Admission, Refill
from gauntlet.pipeline.play.rematch import Fault, QuestionMismatch, Replayer, with_copies
from gauntlet.pipeline.tables.formatting import amount

NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
"""Errors that differ only in numbers count as the same kind."""

PATIENCE = 20.0
"""Seconds that the other matches of a cell wait for its first one."""

CHEAP = 1.0
"""Seconds that a match without code of the user's own may compute and still be replayed."""

NAME = 24
"""Longest cell name shown in a terminal, in characters."""

First = tuple[Cell, MatchRecord, Outcome]
"""A cell's first match."""


class Preflight:
    """Admits the matches that the log lacks, and reports on the first ones.

    stopped: cells that need no more matches. refill: see `Admission`. Cells that ask a model and
    have no match yet start with one, unless a reply comes in a batch, after hours. workers: how
    many play.
    """

    def __init__(
        self,
        out: Console,
        plan: Plan,
        log: Log,
        sweep: SweepConfig,
        stopped: Collection[str] = (),
        refill: Refill = lambda: (),
    ) -> None:
        def lacking(cell: Cell) -> Iterator[Task]:
            tasks = plan.tasks_of(cell)
            return (task for task in tasks if cell.key not in stopped and not log.has(task))

        self.workers, self._width, self._most = 1, sweep.concurrent_matches, sweep.max_failures
        self._out, self._plan, self._log = out, plan, log
        self._cells = {cell.key: cell for cell in plan.cells}
        careful = not (asks_a_person(plan.sources) or in_batches(plan.sources))
        self._due = {
            cell.key
            for cell in plan.cells
            if careful and cell.key not in stopped and plan.matches_of(cell) and _is_new(cell, log)
        }
        queues = [lacking(cell) for cell in plan.cells]
        self.admission = Admission(queues, self._due, sweep.max_failures, refill)
        self._paid, self._started = bool(paid_models(plan.sources)), 0.0
        self._told: set[str] = set()
        self._first: list[First] = []
        self._parts = set[str]()
        self._watched: dict[str, _Watched] = {}
        if not asks_a_person(plan.sources):
            self._watched = {cell.key: _Watched(with_copies(cell)) for cell in plan.cells}

    def tick(self) -> None:
        """Wait for a slow first match only as long as `PATIENCE`, unless matches cost money."""
        now = time.monotonic()
        self._started = self._started or now
        if not self._paid and self._due and now - self._started > PATIENCE:
            self.admission.lift()

    def played(self, record: MatchRecord, outcome: Outcome) -> None:
        """Note a match; print the report after the last of the first matches."""
        self.admission.played(record.cell)
        if watched := self._watched.get(record.cell):
            watched.add(record)
            if watched.count == 1 and not self._is_worth_it(watched.cell, record):
                del self._watched[record.cell]
            elif watched.count == 1:
                self._replay(watched.cell, record, record)
        if record.cell in self._due:
            self._first.append((self._cells[record.cell], record, outcome))
            self._settle(record.cell)

    def ended(self) -> None:
        """Replay the first match and later ones: state may begin to matter after the first one."""
        for watched in self._watched.values():
            if watched.count > 1:
                ends = (watched.first, watched.later, watched.last)
                for record in {one.match: one for one in ends}.values():
                    self._replay(watched.cell, record)

    def _is_worth_it(self, cell: Cell, record: MatchRecord) -> bool:
        """Whether the cell's matches are replayed: it has a player, method or game that no earlier
        cell has, and the match is short if all code is ours."""
        agents = [player.agent for player in cell.players]
        parts = [cell.game, *agents, *chain.from_iterable(map(methods_of, agents))]
        new = {repr(describe(part)) for part in parts} - self._parts
        self._parts |= new
        asked = record.clock.asked if record.clock else ()
        computing = record.seconds - sum(ended - began for began, ended in asked)
        shipped = all(type(part).__module__.startswith(PACKAGE) for part in parts)
        return bool(new) and not (shipped and computing > CHEAP)

    def _replay(self, cell: Cell, *records: MatchRecord) -> None:
        """Let copies of the cell's players replay these matches one after the other. If one comes
        out otherwise, note all cells with the same player, or of the same game."""
        folder, first = Folder(self._log.folder), records[0]
        if cell.key in folder.unrepeatable:
            return
        suspects, who = list[Player](), "a player or the game"
        try:
            replayer = Replayer.prepare(cell, self._plan.seed, first.preparation, first.statics)
        except QuestionMismatch as error:
            fault: Fault | None = Fault(None, f"beforehand {error}")
            suspects = [player for player in cell.players if isinstance(player.agent, Prepared)]
        else:
            fault = replayer.fault(*records, notes=False)
        if fault is None:
            return
        if fault.seat is not None:
            suspects = [cell.players[cell.seating(first.rotation)[fault.seat]]]
            who = f"seat {fault.seat} ({suspects[0].name})"
        why = redact(
            f"not reproducible: {who} decides otherwise when match {first.match} is played again "
            f"({fault.message}), so {ORDER_MATTERS}"
        )
        shared = [describe(player.agent) for player in suspects] or [describe(cell.game)]
        plain = json.loads(CANONICAL.encode(shared))
        for about in folder.all_cells():
            identity = folder.description(about)["identity"]
            parts = [identity["game"], *(player["agent"] for player in identity["players"])]
            if any(part in plain for part in parts) and about.key not in folder.unrepeatable:
                self._log.append_line("unrepeatable", {"cell": about.key, "why": why})
        line = (
            f"{cell.name}: {why}, and nothing is claimed; let it keep no state between matches "
            "and draw only from the turn's rng"
        )
        self._out.print(Text(visible(f"preflight {line}")), soft_wrap=True)
        event("not reproducible", logging.WARNING, line=line)

    def failed(self, task: Task, error: str) -> None:
        """Print an error of a new kind, and note if the error stops its cell."""
        line = redact(reason(error))[:LONGEST]
        kind, name = NUMBERS.sub("#", line), self._name(self._cells[task.cell])
        if kind not in self._told:
            self._told.add(kind)
            print_line(self._out, f"failed   {name}: {line} (match {task.match})")
        if self.admission.failed(task, kind):
            event("cell stopped", logging.ERROR, cell=task.cell, matches=self._most, error=line)
            why = f"first {self._most} failed alike; the next run retries"
            print_line(self._out, f"stopped  {name}: {why}")
            self._settle(task.cell)

    def _name(self, cell: Cell) -> str:
        """The cell's name, cut at the front on a terminal to leave room for the message."""
        short_enough = len(cell.name) <= NAME or not self._out.is_terminal
        return cell.name if short_enough else f"…{cell.name[1 - NAME :]}"

    def _settle(self, cell: str) -> None:
        """Stop waiting for this cell's first match; print the report after the last one."""
        waited, self._due = cell in self._due, self._due - {cell}
        if not waited or self._due or not self._first:
            return
        for line in (*self._unreadable(), self._estimate()):
            print_line(self._out, f"preflight {line}")
            event("preflight", line=line)

    def _unreadable(self) -> Iterator[str]:
        """The share of unreadable replies, for the cell where it is highest."""
        firsts = ((cell, one) for cell, _, one in self._first if one.malformed)
        bad = [(one.malformed / one.replies, one, cell) for cell, one in firsts]
        if bad:
            _, worst, cell = max(bad, key=itemgetter(0))
            more = f", some in {len(bad) - 1:,} more" if len(bad) > 1 else ""
            count = f"{worst.malformed} of {worst.replies} replies unreadable"
            yield f"{count} in {self._name(cell)}{more}"

    def _estimate(self) -> str:
        """Expected time, tokens and cost of all matches of the cells with a first match, assuming
        that the others are like it; of an adaptive sweep only of the round."""
        total = seconds = tokens = cost = 0.0
        for cell, record, outcome in self._first:
            matches = self._plan.matches_of(cell)
            total += matches
            seconds += matches * self._seconds(cell, record)
            tokens += matches * outcome.all_tokens
            cost += matches * _cost(cell, record)
        remote = all(isinstance(source, Paid) for source in self._plan.sources)
        takes = f"{'about' if remote else 'at most'} {duration(seconds / self.workers)}"
        price = f", cost {amount(cost)}" if cost else ""
        part = " of this round" if self._plan.rounds else ""
        return f"{total:,.0f} matches{part}: {takes}, {short(tokens)} tokens{price}"

    def _seconds(self, cell: Cell, record: MatchRecord) -> float:
        """A worker's seconds per match. For batching models this is an upper bound, as a first
        match has the model almost to itself; for API models it assumes the most concurrent requests
        and matches."""
        models = [player.model for player in cell.players if player.model is not None]
        slots = [model.in_flight for model in paid_models(models)]
        if not slots or record.clock is None:
            return record.seconds
        asked = [one for decision in record.decisions for one in decision.asked]
        times = zip(asked, record.clock.asked, strict=True)
        taken = sum(calls(one) * (ended - began) for one, (began, ended) in times)
        return max(taken / min(slots), record.seconds / self._width)


@dataclass
class _Watched:
    """A cell with copies of its players from before its matches, and of these `count` matches the
    first, one of the second half and the last."""

    cell: Cell
    count: int = 0
    first: MatchRecord = field(init=False)
    later: MatchRecord = field(init=False)
    last: MatchRecord = field(init=False)

    def add(self, record: MatchRecord) -> None:
        self.count, self.last = self.count + 1, record
        if self.count == 1:
            self.first = record
        if self.count.bit_count() == 1:
            self.later = record


def _is_new(cell: Cell, log: Log) -> bool:
    """Whether the cell asks a model and has no match yet."""
    asks = any(player.model is not None for player in cell.players)
    return asks and not len(log.outcomes_of(cell.key))


def _cost(cell: Cell, record: MatchRecord) -> float:
    """The price of the match's replies."""
    seating, cost = cell.seating(record.rotation), 0.0
    for decision in record.decisions:
        model = cell.players[seating[decision.seat]].model
        if isinstance(model, Paid):
            cost += sum(model.price(*_tokens(one)) for one in decision.asked)
    return cost


def _tokens(exchange: Exchange) -> tuple[int, int]:
    """Tokens read and written; a scored prompt counts as one token written."""
    if isinstance(exchange, TextExchange):
        return exchange.tokens
    return sum(exchange.tokens), len(exchange.branches)
