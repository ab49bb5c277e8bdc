"""The cells of a log with their matches, for judging decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from gauntlet.common.errors import UserError
from gauntlet.games.base import Game
from gauntlet.games.capabilities import seatings_of
from gauntlet.games.playouts import no_playouts_reason
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.log.schema import MatchRecord


@dataclass(frozen=True)
class RecordedCell:
    """A cell's matches on its gap-free deals, by deal and rotation, without prompts and replies.

    players: their names, by number.
    """

    about: CellInfo
    game: Game[Any]
    players: tuple[str, ...]
    records: tuple[MatchRecord, ...]

    def judges(self, everybody: bool) -> frozenset[int]:
        """The numbers of the players whose decisions are judged: the subjects, or all."""
        if everybody:
            return frozenset(range(self.game.num_seats))
        return subjects(self.game, self.records)

    def first(self, deals: int | None) -> list[MatchRecord]:
        """The matches of the first `deals` deals; all for None."""
        return [one for one in self.records if deals is None or one.deal < deals]


def cell_of(folder: Path, result: CellResults) -> RecordedCell:
    """A cell with the matches that count. Raises UserError if its game cannot be played out from
    what a seat knows."""
    about = result.about
    description = Folder(folder).description(about)
    game = recorded_game(description["identity"]["game"])
    if reason := no_playouts_reason(game):
        raise UserError(f"{about.name}: {reason}")
    wanted = {outcome.match for outcome in result.outcomes}
    matches = Folder(folder).matches(about.stem)
    found = {record.match: strip_prompts(record) for record in matches if record.match in wanted}
    records = sorted(found.values(), key=lambda record: (record.deal, record.rotation))
    return RecordedCell(about, game, tuple(description["players"]), tuple(records))


def strip_prompts(record: MatchRecord) -> MatchRecord:
    """The record without prompts and replies."""
    decisions = tuple(structs.replace(one, asked=(), notes={}) for one in record.decisions)
    return structs.replace(record, statics={}, preparation=(), decisions=decisions, clock=None)


def subjects(game: Game[Any], records: Iterable[MatchRecord]) -> frozenset[int]:
    """The numbers of the subjects."""
    seatings = seatings_of(game)
    return frozenset(
        seatings[r.rotation % len(seatings)][seat] for r in records for seat in r.subjects
    )
