"""Replay a logged match without any model, and compare the result with its record.

The seed determines cards, luck and scripted players; model replies come from the record. So an
edited move, result or score is detected; an edited reply whose consequences were all edited too is
not.
"""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from msgspec.json import decode, encode

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import one_line
from gauntlet.models.base import Reply
from gauntlet.models.exchanges import Exchange
from gauntlet.models.replay import key
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.differences import differences
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord, Preparation
from gauntlet.pipeline.plan.cells import Cell, Player, Task
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import Table
from gauntlet.pipeline.play.prepare import prepare

BESIDE = ("seconds", "device_seconds", "clock", "preparation", "statics")
"""Record fields that do not follow from its deal and replies."""
SHOWN = 3
"""Number of differences of a match to report."""
LONGEST = 100
"""Characters of a differing value to show."""


class QuestionMismatch(UserError):
    """The players ask something other than what was logged."""


class Fault(NamedTuple):
    """What comes out otherwise when a match is replayed, and the seat whose decision it is, if it
    is one's."""

    seat: int | None
    message: str


@dataclass(frozen=True)
class Replayer:
    """A cell with prepared players, ready to replay its matches."""

    cell: Cell
    seed: Seed

    @classmethod
    def prepare(
        cls,
        cell: Cell,
        seed: Seed,
        preparation: Sequence[Preparation],
        statics: Mapping[str, str],
    ) -> Replayer:
        """preparation: the logged preparation exchanges. Raises Unrecorded if the players ask
        something else."""
        asked = [one for each in preparation for one in each.asked]
        ready = run(prepare(with_copies(cell)), _replies(asked, statics))
        if [*differences(decode(encode(preparation)), decode(encode(ready.asked)))]:
            raise QuestionMismatch("they ask something else")
        return cls(ready.cell, seed)

    def fault(self, *records: MatchRecord, notes: bool = True) -> Fault | None:
        """How the first replayed match that differs from its record does so; None if none does.
        Copies of the players replay these matches one after the other. notes: whether those of
        decisions count, which may tell the time and decide nothing."""
        cell = with_copies(self.cell)
        return next(filter(None, (self._fault(cell, record, notes) for record in records)), None)

    def _fault(self, cell: Cell, record: MatchRecord, notes: bool) -> Fault | None:
        task = Task(record.cell, record.deal, record.rotation, record.match)
        asked = [one for decision in record.decisions for one in decision.asked]
        table = Table(cell, task, self.seed)
        try:
            state = run(table.played(), _replies(asked, record.statics))
            replayed = _compared_fields(table.record(state), notes)
        except QuestionMismatch as error:
            message = str(error)
        except Exception as error:  # whatever a game or agent raises
            message = f"it fails: {type(error).__name__}: {one_line(str(error), 200)}"
        else:
            found = [*differences(_compared_fields(record, notes), replayed)]
            if not found:
                return None
            message = "; ".join(
                f"{each.where} is {_clip(each.right)}, not {_clip(each.left)}"
                for each in found[:SHOWN]
            )
            if len(found) > SHOWN:
                message += f"; and {len(found) - SHOWN:,} more"
        decided = (_plain(each, notes) for each in (record.decisions, table.decisions))
        return Fault(_deviating_seat(*decided), message)


def with_copies(cell: Cell) -> Cell:
    """The cell with a copy of every agent that can be copied."""
    return replace(cell, players=tuple(map(_copied, cell.players)))


def _copied(player: Player) -> Player:
    try:
        return replace(player, agent=copy.deepcopy(player.agent))
    except (TypeError, copy.Error):  # it holds a lock or the like
        return player


def _deviating_seat(
    recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]
) -> int | None:
    """The seat of the first decision that differs, or that the replay did not reach; None if its
    options differ too, or no decision does."""
    for before, after in zip_longest(recorded, replayed):
        if before is None or after is None:
            return int(before["seat"]) if before else None
        if next(differences(before, after), None):
            return int(before["seat"]) if before["options"] == after["options"] else None
    return None


def _plain(decisions: Sequence[DecisionRecord], notes: bool) -> list[dict[str, Any]]:
    """The decisions as JSON data, with or without their notes."""
    found: list[dict[str, Any]] = decode(encode(decisions))
    return found if notes else [{**each, "notes": {}} for each in found]


def _clip(value: Any) -> str:
    return one_line(repr(value), LONGEST)


def _replies(exchanges: Iterable[Exchange], statics: Mapping[str, str]) -> Callable[[Ask], Reply]:
    """Return a function that answers each request from the log; equal requests in log order."""
    reply_queues: defaultdict[bytes, deque[Reply]] = defaultdict(deque)
    for one in exchanges:
        request, reply = one.restored(statics)
        reply_queues[key(request)].append(reply)

    def answer(ask: Ask) -> Reply:
        replies = reply_queues[key(ask.request)]
        if not replies:
            raise QuestionMismatch("it asks a question that the record does not hold")
        return replies.popleft()

    return answer


def _compared_fields(record: MatchRecord, notes: bool) -> dict[str, Any]:
    """The record's compared fields, as JSON data."""
    told: dict[str, Any] = decode(encode(record))
    decisions = _plain(record.decisions, notes)
    told["decisions"] = dict(enumerate(decisions))  # so that lengths may differ
    return {name: value for name, value in told.items() if name not in BESIDE}
