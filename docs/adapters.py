"""The tables of docs/games/textarena.md and pettingzoo.md: which game works, and why not others.

`python docs/adapters.py textarena pettingzoo` plays a match of random players of every game that
the installed packages have, and writes the rows between the marks of each page. Without names it
does both.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from games.base import Game, Open, spoken
from games.pettingzoo import PettingZoo
from games.pettingzoo.classics import CLASSICS, REFUSED
from games.textarena import TextArena
from games.textarena.game import names
from games.textarena.telling import why_not

ROOT = Path(__file__).parent
BEGIN, END = "<!-- made by: python docs/adapters.py -->", "<!-- end -->"
HEAD = "| game | works | seats | moves | a match of random players |\n|---|---|---|---|---|"
SEATS = range(1, 16)
SECONDS, PLIES = 60, 500
"""When a match is no longer waited for; the row says so."""


@dataclass(frozen=True)
class Row:
    """A game: its name, seats that it takes, what moves are, what a match came to; why it does not
    work, else ""."""

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
    """What moves are, and how long a match was."""
    rng, state, most, typed = (
        np.random.default_rng(1),
        game.deal(np.random.default_rng(1)),
        0,
        False,
    )
    begun = time.monotonic()
    for ply in range(PLIES):
        seats = game.to_move(state)
        late = time.monotonic() - begun > SECONDS
        if not seats or late:
            ended = (
                f"{ply} move{'s' * (ply != 1)}"
                if not seats
                else f"stopped after {ply} moves and {SECONDS} s"
            )
            return "typed" if typed else f"up to {most} options", ended
        legal = [game.legal(state, seat) for seat in seats]
        typed, most = isinstance(legal[0][0], Open), max(most, *map(len, legal))
        state = game.play(state, [spoken(own[int(rng.integers(len(own)))], rng) for own in legal])
    return "typed" if typed else f"up to {most} options", f"stopped after {PLIES} moves"


def textarena() -> Iterator[Row]:
    """The first registered name of each kind of game; others are variants of it."""
    kinds: dict[str, str] = {}
    for name in sorted(names(), key=len):
        kinds.setdefault(name.partition("-v0")[0], name)
    for kind, name in sorted(kinds.items()):
        yield row(kind, why_not(kind), partial(TextArena, name=name))


def pettingzoo() -> Iterator[Row]:
    for name in sorted({**CLASSICS, **REFUSED}):
        yield row(name, REFUSED.get(name, ""), partial(PettingZoo, name=name))


PAGES = {"textarena": textarena, "pettingzoo": pettingzoo}


def main(arguments: Sequence[str]) -> int:
    for page in arguments or PAGES:
        if page not in PAGES:
            print(f"{page} is no page; there are {', '.join(PAGES)}", file=sys.stderr)
            return 2
        try:
            write(page)
        except UserError as error:
            print(error, file=sys.stderr)
            return 2
    return 0


def write(page: str) -> None:
    rows = []
    for one in PAGES[page]():
        print(one, flush=True)
        rows.append(one)
    work = sum(not one.why for one in rows)
    told = f"{work} of {len(rows)} games work.\n\n{HEAD}\n" + "\n".join(map(str, rows))
    file = ROOT / "games" / f"{page}.md"
    before, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    file.write_text(f"{before}{BEGIN}\n{told}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
