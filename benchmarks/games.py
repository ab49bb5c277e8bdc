"""Random games per second on one core, for every game of conf/game with its settings.

    python -m benchmarks.games [GAME ...] [--seconds 1] [--json FILE]

All seats play uniformly at random. `games_per_s` uses `games.playouts.simulate`, a compiled loop if
the game has one. `by_rules_per_s` plays the same games move by move from Python, like matches, and
`plies` is their mean number of moves.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.uno import per_second
from gauntlet.common.conf_folders import CONF
from gauntlet.games.base import Game
from gauntlet.games.capabilities import Simulated
from gauntlet.games.playouts import RANDOM, play_game, simulate, simulate_by_rules
from gauntlet.pipeline.config.nodes import build

PLIES = 10
"""Games over which the moves are averaged."""


def game_of(name: str) -> Game[Any]:
    node = yaml.safe_load((CONF / "game" / f"{name}.yaml").read_text(encoding="utf-8"))
    game: Game[Any] = build(node, f"game={name}", ())
    return game


def rate(play: Callable[[int, int], object], seconds: float) -> float:
    """Return the best rate of `play(games, seed)`, in rounds of at least a tenth of `seconds`."""
    games = 1
    play(games, 0)  # compiles
    while timed(play, games) < seconds / 10:
        games *= 4

    def round_of(turn: int) -> int:
        play(games, turn)
        return games

    return per_second(round_of, seconds)


def timed(play: Callable[[int, int], object], games: int) -> float:
    start = time.perf_counter()
    play(games, 0)
    return time.perf_counter() - start


def measured(name: str, seconds: float) -> dict[str, float]:
    """Return the measurements of one game (see the module's docstring)."""
    game = game_of(name)
    seats = (RANDOM,) * game.num_seats
    by_rules = rate(lambda games, seed: simulate_by_rules(game, seats, games, seed), seconds)
    fast = by_rules
    if isinstance(game, Simulated):
        fast = rate(lambda games, seed: simulate(game, seats, games, seed), seconds)
    plies = sum(play_game(game, seats, 0, number)[1] for number in range(PLIES)) / PLIES
    return {
        "games_per_s": round(fast, 1),
        "by_rules_per_s": round(by_rules, 1),
        "plies": round(plies, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = sorted(file.stem for file in (CONF / "game").glob("*.yaml"))
    parser.add_argument("games", nargs="*", metavar="GAME", help="of conf/game; all by default")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args(arguments)
    if unknown := set(args.games) - set(known):
        parser.error(f"no game {min(unknown)!r}; there are {', '.join(known)}")
    figures: dict[str, float] = {}
    print(f"{'game':22} {'games a second':>14} {'by rules':>12} {'plies':>8}")
    for name in args.games or known:
        found = measured(name, args.seconds)
        fast, by_rules, plies = found.values()
        print(f"{name:22} {fast:14,.0f} {by_rules:12,.0f} {plies:8,.1f}", flush=True)
        figures |= {f"{name}.{figure}": value for figure, value in found.items()}
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
