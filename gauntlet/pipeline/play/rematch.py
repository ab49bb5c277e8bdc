"""Replay a logged match without any model, and compare the result with its record.

The seed determines cards, luck and scripted players; model replies come from the record. So an
edited move, result or score is detected; an edited reply whose consequences were all edited too is
not.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.json import decode, encode

from gauntlet.common.errors import UserError
from gauntlet.models.base import Reply
from gauntlet.models.exchanges import Exchange
from gauntlet.models.replay import key
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.differences import Difference, differences
from gauntlet.pipeline.log.schema import MatchRecord, Preparation
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.match import Table
from gauntlet.pipeline.play.prepare import prepare

BESIDE = ("seconds", "device_seconds", "clock", "preparation", "statics")
"""Record fields that do not follow from its deal and replies."""


class QuestionMismatch(UserError):
    """The players ask something other than what was logged."""


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
        ready = run(prepare(cell), _replies(asked, statics))
        if [*differences(decode(encode(preparation)), decode(encode(ready.asked)))]:
            raise QuestionMismatch("they ask something else")
        return cls(ready.cell, seed)

    def differences(self, record: MatchRecord) -> list[Difference]:
        """Where the record differs from the replayed match. Raises Unrecorded."""
        task = Task(record.cell, record.deal, record.rotation, record.match)
        asked = [one for decision in record.decisions for one in decision.asked]
        table = Table(self.cell, task, self.seed)
        state = run(table.played(), _replies(asked, record.statics))
        return list(differences(_compared_fields(record), _compared_fields(table.record(state))))


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


def _compared_fields(record: MatchRecord) -> dict[str, Any]:
    """The record's compared fields, as JSON data."""
    told: dict[str, Any] = decode(encode(record))
    return {name: value for name, value in told.items() if name not in BESIDE}
