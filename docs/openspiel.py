"""OpenSpiel's games as Markdown tables: `python docs/openspiel.py`, takes some minutes.

Every registered game is loaded, and played a few times at random through this project's adapter.
The output is deterministic; `--speed` adds how many games per second were played on this machine,
through the adapter and by `simulate`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from gauntlet.games.base import TextAction, default_text_move
from gauntlet.games.capabilities import Sampled
from gauntlet.games.openspiel import OpenSpiel, engine
from gauntlet.games.openspiel.game import catalogue

GAMES = 3
"""Games played of each."""
LOOKED_AT = 20
"""Plies of a game at which leaks of hidden information are tested."""
SECONDS = 1.0
"""How long `--speed` plays each game."""
HEADS = ("game", "seats", "moves", "most options", "chance", "hidden", "plies", "rules", "works")


@dataclass
class Met:
    """Statistics of a game's plies.

    plies: how many there were.
    most: the most legal actions of a decision.
    typed: whether a move was typed.
    leak: the observation part that reveals hidden information, "" for none.
    """

    plies: int = 0
    most: int = 0
    typed: bool = False
    leak: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/openspiel.py", description="OpenSpiel's games as tables in Markdown."
    )
    parser.add_argument("--speed", action="store_true", help="add games a second, on this machine")
    parser.add_argument("names", nargs="*", help="games; default: all")
    given = parser.parse_args(arguments)
    games = {name: game for name, game in catalogue().items() if name in (given.names or [name])}
    shown = track(games.items(), "playing", console=Console(stderr=True))
    rows = [(name, *row(game, given.speed)) for name, game in shown if isinstance(game, OpenSpiel)]
    print(table((*HEADS, *(("games/s", "simulated/s") * given.speed)), rows))
    refused = [(name, why) for name, why in games.items() if isinstance(why, str)]
    if refused:
        print("\n" + table(("not played", "why"), refused))
    return 0


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def row(game: OpenSpiel, speed: bool) -> tuple[str, ...]:
    """The cells of one game's row after its name."""
    met, works = Met(), "yes"
    try:
        for number in range(GAMES):
            play(game, number, met)
    except Exception as error:  # the row reports whatever the library raises
        works = f"{type(error).__name__}: {' '.join(str(error).split())}"
    together = engine.movers(game.live(game.deal(np.random.default_rng(0))))[1:]
    own = (
        str(game.num_seats),
        ("at once" if together else "in turn") + ", typed" * met.typed,
        str(met.most),
        "in secret" if game.secretive else "yes" if game.lucky else "none",
        hidden(game, met),
        str(round(met.plies / GAMES)),
        "own words" if game.notes.rules else "OpenSpiel's name",
        works,
    )
    return (*own, *speeds(game)) if speed else own


def hidden(game: OpenSpiel, met: Met) -> str:
    """Whether there is hidden information, and whether leaks were tested."""
    if game.open_to_all:
        return "nothing"
    if not isinstance(game, Sampled):
        return "yes, not checked"
    return f"yes, LEAKS {met.leak}" if met.leak else "yes, checked"


def play(game: OpenSpiel, number: int, met: Met) -> None:
    """One random game, with deal and moves determined by the number."""
    rng = np.random.default_rng(number)
    state, plies = game.deal(rng), 0
    while seats := game.to_move(state):
        moves = []
        for seat in seats:
            legal = game.legal(state, seat)
            met.typed |= isinstance(legal[0], TextAction)
            met.most = max(met.most, len(game.live(state).legal_actions(seat)))
            moves.append(default_text_move(legal[int(rng.integers(len(legal)))], rng))
        if not game.open_to_all and isinstance(game, Sampled) and plies < LOOKED_AT:
            met.leak = met.leak or leak(game, state, seats[0], rng)
        state, plies = game.play(state, moves), plies + 1
    met.plies += plies


def leak(game: Any, state: Any, seat: int, rng: np.random.Generator) -> str:
    """The part of the seat's observation that changes if hidden information is resampled; "" if
    none."""
    seen = game.observe(state, seat)
    other = game.observe(game.sample(seen, rng), seat)
    parts = ("facts", "history", "options")
    return next((part for part in parts if getattr(seen, part) != getattr(other, part)), "")


def speeds(game: OpenSpiel) -> tuple[str, str]:
    """Games per second by the rules, and by `simulate`."""
    begun, played = time.monotonic(), 0
    while time.monotonic() - begun < SECONDS:
        play(game, played, Met())
        played += 1
    slow = played / (time.monotonic() - begun)
    begun, simulated = time.monotonic(), 0
    while time.monotonic() - begun < SECONDS:
        game.simulate(["random"] * game.num_seats, 1, simulated)
        simulated += 1
    return f"{slow:,.1f}", f"{simulated / (time.monotonic() - begun):,.1f}"


if __name__ == "__main__":
    sys.exit(main())
