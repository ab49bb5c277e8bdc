"""What the players of a cell ask before its first match, and how that comes into the log.

Every worker prepares a cell for itself. Nothing but the cell settles what is asked, so all
workers come to the same players and the log needs one copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec.structs import replace as updated

from gauntlet.agents.base import Prepared
from gauntlet.models.exchanges import Exchange
from gauntlet.pipeline.log.schema import MatchRecord, Preparation
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.play.chains import Chain, answer_questions, joined


@dataclass
class Ready:
    """A cell whose players are prepared, and what they asked for that.

    asked: of each player that asked something.
    """

    cell: Cell
    asked: list[Preparation] = field(default_factory=list)
    statics: dict[str, str] = field(default_factory=dict)

    def with_preparation(self, record: MatchRecord) -> MatchRecord:
        """The record with the preparation in it. Every record brings it, as any may be lost on
        its way; the log keeps the first."""
        if not self.asked:
            return record
        statics = {**self.statics, **record.statics}
        return updated(record, preparation=tuple(self.asked), statics=statics)


def prepare(cell: Cell) -> Chain[Ready]:
    """Prepares the cell's players side by side, each in the seat that it has in rotation 0."""
    ready = Ready(cell)
    players = yield from joined(
        [_prepared(cell, number, player, ready) for number, player in enumerate(cell.players)]
    )
    ready.cell = replace(cell, players=tuple(players))
    ready.asked.sort(key=lambda each: each.player)  # they came as they were ready
    ready.statics = dict(sorted(ready.statics.items()))
    return ready


def _prepared(cell: Cell, number: int, player: Player, ready: Ready) -> Chain[Player]:
    if not isinstance(player.agent, Prepared):
        return player
    asked: list[Exchange] = []
    preparing = player.agent.prepare(cell.game, number, cell.goal(number, 0))
    agent = yield from answer_questions(preparing, player.model, asked, ready.statics)
    if asked:
        ready.asked.append(Preparation(number, tuple(asked)))
    return replace(player, agent=agent)
