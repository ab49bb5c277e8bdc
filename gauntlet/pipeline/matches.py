"""List the matches of a folder: `python -m pipeline.matches DIR --lost --player cloze`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.common.errors import UserError, suggest
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import WrappedTable, console
from gauntlet.games.capabilities import seatings_of
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord

RESULTS = ("won", "drawn", "lost", "shared")
"""Of a player's seats; shared: only some of them won."""
SHOWN = 40


@dataclass(frozen=True)
class Wanted:
    """Which matches to list.

    player: part of a player's name, whose results count; None for the measured seats.
    results: of RESULTS; none for any. cell: part of a cell's name.
    """

    player: str | None = None
    results: Sequence[str] = ()
    cell: str = ""
    deal: int | None = None
    fallbacks: bool = False

    def takes(self, line: Line) -> bool:
        """Whether to list a match of the player and cell."""
        return (
            self.deal in (None, line.record.deal)
            and (line.fallbacks > 0 or not self.fallbacks)
            and (line.result in self.results or not self.results)
        )


@dataclass(frozen=True)
class Line:
    """A match as listed. players: by seat."""

    record: MatchRecord
    cell: str
    players: tuple[str, ...]
    result: str

    @property
    def fallbacks(self) -> int:
        return sum(decision.fallback for decision in self.record.decisions)


def matching(folder: Folder, wanted: Wanted) -> Iterator[Line]:
    """The matches in the order of the log. Raises UserError for a player or cell that no match
    has."""
    cells = [about for about in folder.sweep_cells() if wanted.cell in about.name]
    if not cells:
        names = [about.name for about in folder.sweep_cells()]
        raise UserError(f"--cell {wanted.cell}: no such cell{suggest(wanted.cell, names)}")
    players = {name for about in cells for name in about.players}
    if wanted.player and not any(wanted.player in name for name in players):
        raise UserError(
            f"--player {wanted.player}: no such player; there are {', '.join(sorted(players))}"
        )
    for about in cells:
        yield from _of_cell(folder, about, wanted)


def _of_cell(folder: Folder, about: CellInfo, wanted: Wanted) -> Iterator[Line]:
    seatings = seatings_of(recorded_game(folder.description(about)["identity"]["game"]))
    for record in folder.matches(about.stem):
        seating = seatings[record.rotation % len(seatings)]
        players = tuple(about.players[number] for number in seating)
        seats: Sequence[int] = record.measured
        if wanted.player:
            seats = [seat for seat, name in enumerate(players) if wanted.player in name]
        line = Line(record, about.name, players, result(record, seats))
        if seats and wanted.takes(line):
            yield line


def result(record: MatchRecord, seats: Sequence[int]) -> str:
    """How these seats fared, of RESULTS."""
    wins = [record.measures["win"][seat] for seat in seats]
    if all(wins):
        return "won"
    if any(wins):
        return "shared"
    return "lost" if any(record.returns[seat] for seat in seats) else "drawn"


def _table(lines: Sequence[Line]) -> WrappedTable:
    table = WrappedTable()
    for heading in ("match", "deal", "players by seat", "result"):
        table.add_column(heading, overflow="fold", no_wrap=heading != "players by seat")
    for heading in ("plies", "fallbacks"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        record = line.record
        place = f"{record.deal}" + f", rotation {record.rotation}" * bool(record.rotation)
        players = visible(", ".join(line.players))
        table.add_row(
            *(record.match, place, players, line.result), f"{record.plies}", f"{line.fallbacks}"
        )
    return table


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.matches"),
        description=f"List the matches of a folder; `{invocation('pipeline.replay')} "
        "MATCH` shows one.",
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    for name in RESULTS:
        parser.add_argument(
            f"--{name}",
            dest="results",
            action="append_const",
            const=name,
            help=f"only matches {name}" + " by some of the seats" * (name == "shared"),
        )
    parser.add_argument("--player", help="part of a player's name; default: the measured seats")
    parser.add_argument("--cell", default="", help="part of a cell's name")
    parser.add_argument("--deal", type=int, help="only this deal")
    parser.add_argument("--fallbacks", action="store_true", help="with a move by fallback")
    parser.add_argument(
        "--most", type=int, default=SHOWN, metavar="N", help="lines; default: %(default)s"
    )
    options = parser.parse_args(arguments)
    if options.most < 1:
        parser.error(f"--most {options.most}: must be at least 1")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    wanted = Wanted(
        options.player, options.results or (), options.cell, options.deal, options.fallbacks
    )
    try:
        lines = list(matching(Folder(options.output_dir), wanted))
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    out = console()
    out.print(_table(lines[: options.most]))
    more = f"; --most {len(lines)} lists all" if len(lines) > options.most else ""
    out.print(f"{len(lines):,} matches{more}")
    return 0


if __name__ == "__main__":
    as_process(main)
