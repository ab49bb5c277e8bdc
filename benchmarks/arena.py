"""UNO Arena: playouts per second on one core, and the time for decision metrics of 500 games.

python -m benchmarks.arena [--seconds 3] [--json FILE]

playouts_per_s      playouts between two random players from the deal, on one core; `seen` with
                    hidden cards redealt for each, `games` whole games including the deal
table_500_games_s   `pipeline.metrics` over a log of 500 games of two random players, 1,000
                    playouts per option, both sources of values, the subject's decisions; all
                    cores, from the log to the written table
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.uno import per_second
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.metrics import Options, measure

GAMES, PLAYOUTS = 500, 1000
RANDOM = ("random", "random")


def playouts(turn: int, hidden: bool = False) -> int:
    """Run playouts from the first decisions of some deals; return their number."""
    game, count = UnoArena(), 0
    for deal in range(10):
        state = game.deal(np.random.default_rng([turn, deal]))
        count += game.winners(state, RANDOM, 2000, turn, hidden).size
    return count


def whole_games(turn: int) -> int:
    UnoArena().simulate(RANDOM, 20_000, turn)
    return 20_000


def table_seconds(folder: Path) -> float:
    """Play 500 matches, judge them, and return the seconds spent judging."""
    command = [sys.executable, "-m", "pipeline.run", "game=uno_arena", "agent=random"]
    command += [f"deals={GAMES}", "launch=inline", "tracking=none", "baseline=null"]
    subprocess.run([*command, f"output_dir={folder}"], check=True, stdout=subprocess.DEVNULL)
    start = time.perf_counter()
    measure(folder, Options(playouts=PLAYOUTS, traces=0))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each rate")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    figures = {
        "playouts_per_s": per_second(playouts, args.seconds),
        "playouts_seen_per_s": per_second(lambda turn: playouts(turn, True), args.seconds),
        "games_per_s": per_second(whole_games, args.seconds),
    }
    with tempfile.TemporaryDirectory() as folder:
        figures["table_500_games_s"] = table_seconds(Path(folder) / "log")
    figures["cores"] = os.cpu_count() or 1
    for name, value in figures.items():
        print(f"{name:22} {value:12,.1f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
