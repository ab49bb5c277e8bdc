"""What the players of a cell ask before its first match, and how that comes into the log.

Every worker prepares a cell for itself. Nothing but the cell settles what is asked, so all
workers come to the same players and the log needs one copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import Prepared
from pipeline.plan.cells import Cell, Player
from pipeline.play.chains import Chain, answered, joined


@dataclass
class Ready:
    """A cell whose players are prepared, and the exchanges that led there.

    exchanges: a dictionary a player that asked something: its number, and its exchanges in the
        form in which decisions hold theirs.
    """

    cell: Cell
    exchanges: list[dict[str, Any]] = field(default_factory=list)
    statics: dict[str, str] = field(default_factory=dict)

    def with_preparation(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with the preparation in it. Every record brings it, as any may be lost on
        its way; the log keeps the first."""
        if not self.exchanges:
            return record
        statics = {**self.statics, **record["statics"]}
        return {**record, "preparation": self.exchanges, "statics": statics}


def prepare(cell: Cell) -> Chain[Ready]:
    """Prepares the cell's players side by side, each in the seat that it has in rotation 0."""
    ready = Ready(cell)
    players = yield from joined(
        [_prepared(cell, number, player, ready) for number, player in enumerate(cell.players)]
    )
    ready.cell = replace(cell, players=tuple(players))
    ready.exchanges.sort(key=lambda told: int(told["player"]))  # they came as they were ready
    ready.statics = dict(sorted(ready.statics.items()))
    return ready


def _prepared(cell: Cell, number: int, player: Player, ready: Ready) -> Chain[Player]:
    if not isinstance(player.agent, Prepared):
        return player
    asked: list[dict[str, Any]] = []
    preparing = player.agent.prepare(cell.game, number, cell.goal(number, 0))
    agent = yield from answered(preparing, player.model, asked, ready.statics)
    if asked:
        ready.exchanges.append({"player": number, "asked": asked})
    return replace(player, agent=agent)
