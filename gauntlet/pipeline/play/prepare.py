"""The preparation of a cell's players before its first match, and its exchanges in the log.

Every worker prepares a cell for itself. The questions depend on the cell alone, and in float32 so
do the answers; then all workers get the same players, and the log needs one copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec.structs import replace as updated

from gauntlet.agents.base import prepared
from gauntlet.common.errors import UserError
from gauntlet.games.contract import fault
from gauntlet.models.exchanges import Exchange
from gauntlet.pipeline.log.schema import MatchRecord, Preparation
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.play.chains import Chain, answer_questions, run_concurrently


@dataclass
class Ready:
    """A cell with prepared players.

    asked: the preparation of each player that asked something.
    """

    cell: Cell
    asked: list[Preparation] = field(default_factory=list)
    statics: dict[str, str] = field(default_factory=dict)

    def with_preparation(self, record: MatchRecord) -> MatchRecord:
        """Add the preparation to the record. Every record carries it, as any may get lost; the log
        keeps the first copy, and others that differ from it."""
        if not self.asked:
            return record
        statics = {**self.statics, **record.statics}
        return updated(record, preparation=tuple(self.asked), statics=statics)


def prepare(cell: Cell) -> Chain[Ready]:
    """Prepare the cell's players concurrently, each in its seat of rotation 0."""
    ready = Ready(cell)
    players = yield from run_concurrently(
        [_prepared(cell, number, player, ready) for number, player in enumerate(cell.players)]
    )
    ready.cell = replace(cell, players=tuple(players))
    ready.asked.sort(key=lambda each: each.player)  # appended in order of completion
    ready.statics = dict(sorted(ready.statics.items()))
    return ready


def _prepared(cell: Cell, number: int, player: Player, ready: Ready) -> Chain[Player]:
    exchanges: list[Exchange] = []
    preparing = prepared(player.agent, cell.game, number, cell.goal(number, 0))
    agent = yield from answer_questions(
        preparing, player, exchanges, ready.statics, cell.keep_thoughts
    )
    if exchanges:
        ready.asked.append(Preparation(number, tuple(exchanges)))
    if not callable(getattr(agent, "decide", None)):
        if agent is player.agent:
            raise UserError(f"{type(agent).__name__} is no agent: it has no `decide`")
        raise fault(player.agent, "prepare", agent, "the agent that plays, with `decide`")
    return replace(player, agent=agent)
