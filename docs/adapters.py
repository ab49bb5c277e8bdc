"""The tables of docs/games/textarena.md and pettingzoo.md: which games work, and why others do not.

`python docs/adapters.py textarena` plays a match of random players for every game in the installed
package, and prints a row for each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.base import Game, TextAction, default_text_move
from gauntlet.games.pettingzoo import PettingZoo
from gauntlet.games.pettingzoo.classics import CLASSICS, REFUSED
from gauntlet.games.textarena import TextArena
from gauntlet.games.textarena.game import names
from gauntlet.games.textarena.words import why_not

HEAD = "| game | works | seats | moves | a match of random players |\n|---|---|---|---|---|"
SEATS = range(1, 16)
PLIES = 50
"""Maximum length of a match; the row says if it was reached."""


@dataclass(frozen=True)
class Row:
    """A game.

    seats: the numbers of seats it supports.
    moves: the kind of moves.
    match: the length of a random match.
    why: why it does not work, else "".
    """

    name: str
    seats: Sequence[int] = ()
    moves: str = ""
    match: str = ""
    why: str = ""

    def __str__(self) -> str:
        works = f"no: {self.why}" if self.why else "yes"
        few = ", ".join(map(str, self.seats))
        if len(self.seats) > 3:
            few = f"{self.seats[0]} to {self.seats[-1]}"
        return f"| `{self.name}` | {works} | {few} | {self.moves} | {self.match} |"


def row(name: str, why: str, make: Callable[[int], Game[Any]]) -> Row:
    if why:
        return Row(name, why=why)
    seats = [number for number in SEATS if _takes(make, number)]
    game = make(2 if 2 in seats else seats[0])
    moves, match = played(game)
    return Row(name, seats, moves, match)


def _takes(make: Callable[[int], Game[Any]], seats: int) -> bool:
    with suppress(ValueError):
        make(seats)
        return True
    return False


def played(game: Game[Any]) -> tuple[str, str]:
    """The kind of moves, and the length of a random match."""
    rng, most, typed = np.random.default_rng(1), 0, False
    state = game.deal(np.random.default_rng(1))
    ended = f"stopped after {PLIES} moves"
    for ply in range(PLIES):
        seats = game.to_move(state)
        if not seats:
            ended = f"{ply} move{'s' * (ply != 1)}"
            break
        legal = [game.legal(state, seat) for seat in seats]
        typed, most = isinstance(legal[0][0], TextAction), max(most, *map(len, legal))
        state = game.play(
            state, [default_text_move(own[int(rng.integers(len(own)))], rng) for own in legal]
        )
    return "typed" if typed else f"up to {most} options", ended


def textarena() -> Iterator[Row]:
    """The first registered name of each kind of game; the others are variants of it."""
    kinds: dict[str, str] = {}
    for name in sorted(sorted(names()), key=len):
        kinds.setdefault(name.partition("-v0")[0], name)
    for kind, name in sorted(kinds.items()):
        yield row(kind, why_not(kind), partial(TextArena, name=name))


def pettingzoo() -> Iterator[Row]:
    for name in sorted({**CLASSICS, **REFUSED}):
        yield row(name, REFUSED.get(name, ""), partial(PettingZoo, name=name))


PAGES = {"textarena": textarena, "pettingzoo": pettingzoo}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/adapters.py", description="Which games of another library work."
    )
    parser.add_argument("library", choices=PAGES)
    library = parser.parse_args(arguments).library
    try:
        rows = list(PAGES[library]())
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    work = sum(not one.why for one in rows)
    print(f"{work} of {len(rows)} games work.\n\n{HEAD}", *rows, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
