"""Luck-adjusted results: are they unbiased, and how many plain games is one worth?

    python -m benchmarks.luck [--game uno|holdem] [--full | --games N] [--deals N] [--json FILE]

Hold'em is described in `benchmarks/luck_holdem.py`; the rest is about UNO.

`main` is a cell of the main job, the pocket model with cloze prompts, played and adjusted as by
`make run`: with the game's own reference and number of playouts. Its truth is unknown; its bias is
measured against its own raw wins, deal by deal, so a standard error of one point takes 2,000 deals.

The others have a known truth. RLCard's rule player sits in seat 1 against a random player (solo),
or in seat 2 with two rule players, where the wins of seat 1 count (coop). Their reference is the
random player. The truth and the reference's win rate are plain simulations of 5 million games.

    variance_ratio  variance of a plain result over that of an adjusted one: the number of plain
                    games that one adjusted game replaces
    bias_z          adjusted win rate minus the truth, in standard errors of both; must be within 3
    bias_se         that standard error
    ms_per_game     of one core, for the adjustment; solo

`ruled` is a random player judged against the rule player, the reference that UNO names. `uniform`
is solo with hidden cards redealt ignoring all observations, which is wrong: with --full it must be
detected (|z| > 4). `own` uses the rule player itself as reference: the remaining variance with the
closest possible reference. Two threads; --full plays 200,000 games per setting instead of 20,000
and requires a standard error of at most .0006.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import luck_holdem
from gauntlet.games.uno import Uno, luck
from gauntlet.pipeline.judging.luck import PLAYOUTS
from gauntlet.pipeline.tables.registry import results_of

ROOT = Path(__file__).parent.parent

CORES = 2
TRUTH_GAMES = 5_000_000
CHUNK = 250
SEED = 20_260


@dataclass(frozen=True)
class Setting:
    """Players; the judged seat; the seat whose wins count; playouts per option."""

    players: tuple[str, ...]
    seat: int
    measured: int
    playouts: int
    reference: str = "random"
    worlds: int = luck.WALK

    def with_reference(self) -> tuple[str, ...]:
        return (*self.players[: self.seat], self.reference, *self.players[self.seat + 1 :])


SETTINGS = {
    "solo": Setting(("random", "rule"), 1, 1, 200),
    "coop": Setting(("rule", "rule", "rule"), 2, 1, 100),
    "uniform": Setting(("random", "rule"), 1, 1, 25, worlds=luck.UNIFORM),
    "ruled": Setting(("random", "random"), 1, 1, 100, reference="rule"),
    "own": Setting(("random", "rule"), 1, 1, 50, reference="rule"),
}


def judged(name: str, setting: Setting, games: int) -> tuple[np.ndarray, float]:
    """Return result (won or not) and advantage of each game, shape (games, 2), and ms per game."""
    game = Uno(len(setting.players))
    codes, reference = game.codes(setting.players), game.code(setting.reference)

    def chunk(number: int) -> tuple[np.ndarray, float]:
        began = time.thread_time()
        found = luck.sample(
            codes,
            reference,
            setting.seat,
            setting.measured,
            CHUNK,
            setting.playouts,
            SEED + number,
            setting.worlds,
        )
        return found, time.thread_time() - began

    luck.sample(codes, reference, setting.seat, setting.measured, 1, 1, SEED, setting.worlds)
    parts, spent, began, said = [], 0.0, time.monotonic(), time.monotonic()
    with ThreadPoolExecutor(CORES) as pool:
        waiting = [pool.submit(chunk, number) for number in range(games // CHUNK)]
        for done, future in enumerate(as_completed(waiting), 1):
            found, seconds = future.result()
            parts.append(found)
            spent += seconds
            if time.monotonic() - said > 15:
                said = time.monotonic()
                left = (said - began) * (len(waiting) - done) / done
                print(f"  {name}: {done * CHUNK:,} of {games:,} games, {left:.0f} s left")
                sys.stdout.flush()
    return np.concatenate(parts), 1000 * spent / (len(waiting) * CHUNK)


def win_rates(settings: Sequence[Setting]) -> dict[tuple[tuple[str, ...], int], float]:
    """Return the measured seat's plain win rate for all players that the settings name."""
    wanted = sorted({players for s in settings for players in (s.players, s.with_reference())})
    parts = 20

    def simulated(players: tuple[str, ...], part: int) -> np.ndarray:
        seed = SEED + 1_000_003 * (1 + part + parts * wanted.index(players))
        return Uno(len(players)).simulate(players, TRUTH_GAMES // parts, seed)

    rates = {}
    with ThreadPoolExecutor(CORES) as pool:
        for players in wanted:
            counts = sum(pool.map(lambda part, p=players: simulated(p, part), range(parts)))
            for seat in range(len(players)):
                rates[players, seat] = float(counts[seat] / counts.sum())
            shown = ", ".join(f"{rates[players, seat]:.4f}" for seat in range(len(players)))
            print(f"  {', '.join(players)}: {shown} of {counts.sum():,} games", flush=True)
    return rates


def compare(name: str, setting: Setting, games: int, truth: float, base: float) -> dict[str, float]:
    """Play one setting, print the results, and return them by name."""
    found, milliseconds = judged(name, setting, games)
    won, advantage = found.T
    adjusted = base + advantage.mean()
    own, plain = advantage.std() / math.sqrt(len(won)), won.std() / math.sqrt(len(won))
    known = math.hypot(*(math.sqrt(rate * (1 - rate) / TRUTH_GAMES) for rate in (truth, base)))
    error = math.hypot(own, known)
    figures = {
        "variance_ratio": won.var() / advantage.var(),
        "bias_z": (adjusted - truth) / error,
        "bias_se": error,
        "ms_per_game": milliseconds,
    }
    print(
        f"{name:8} truth {truth:.4f}  adjusted {adjusted:.4f} +- {own:.4f}  raw {won.mean():.4f} "
        f"+- {plain:.4f}  ratio {figures['variance_ratio']:.1f}  z {figures['bias_z']:+.2f}  "
        f"{milliseconds:.1f} ms a game",
        flush=True,
    )
    return {f"{name}.{key}": round(float(value), 6) for key, value in figures.items()}


def main_job(deals: int) -> dict[str, float]:
    """Play the cell of the main job, and compare its adjusted results with the raw ones."""
    with tempfile.TemporaryDirectory() as place:
        words = f"prompt=cloze deals={deals} tracking=none controls=[] output_dir={place}/out"
        command = [sys.executable, "-m", "pipeline.run", *words.split()]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        (result,) = results_of(Path(place) / "out")
    assert result.adjusted is not None
    raw, adjusted = result.by_deal()[1], result.adjusted.values
    off = adjusted - raw
    error = math.hypot(off.std(ddof=1) / math.sqrt(len(off)), result.adjusted.error)
    figures = {
        "variance_ratio": raw.var() / adjusted.var(),
        "bias_z": off.mean() / error,
        "bias_se": error,
        "deals": len(raw),
        "playouts": PLAYOUTS,
    }
    print(
        f"main     pocket, cloze, {len(raw):,} deals, {PLAYOUTS} playouts  adjusted "
        f"{adjusted.mean():.4f}  raw {raw.mean():.4f}  ratio {figures['variance_ratio']:.1f}  "
        f"z {figures['bias_z']:+.2f}",
        flush=True,
    )
    return {f"main.{key}": round(float(value), 6) for key, value in figures.items()}


def failures(figures: dict[str, float], full: bool) -> Iterator[str]:
    """Yield a message for each failed requirement."""
    for name in ("main", "solo", "coop", "ruled", "own"):
        if abs(figures[f"{name}.bias_z"]) >= 3:
            yield f"{name} is biased: z = {figures[f'{name}.bias_z']:+.2f}"
        if full and name != "main" and figures[f"{name}.bias_se"] > 0.0006:
            yield f"{name} is not measured well enough: {figures[f'{name}.bias_se']:.5f}"
    if full and abs(figures["uniform.bias_z"]) <= 4:
        yield f"uniform dealing was not found out: z = {figures['uniform.bias_z']:+.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--game", choices=("uno", "holdem"), default="uno")
    parser.add_argument(
        "--full", action="store_true", help="200,000 games (100,000 hands) a setting"
    )
    parser.add_argument("--games", type=int, default=20_000, help="games (hands) a setting")
    parser.add_argument("--deals", type=int, default=2_000, help="deals of the main job's cell")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    if args.game == "holdem":
        hands = 100_000 if args.full else max(2 * luck_holdem.CHUNK, args.games)
        figures = luck_holdem.figures(hands)
        wrong = list(luck_holdem.failures(figures, args.full))
    else:
        figures = uno(200_000 if args.full else max(CHUNK, args.games), args.deals)
        wrong = list(failures(figures, args.full))
    print("\n".join(wrong) or "unbiased as far as these games can tell")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if wrong else 0


def uno(games: int, deals: int) -> dict[str, float]:
    """Play and print all settings; return the results by name."""
    print(f"plain win rates by seat, {TRUTH_GAMES:,} games each", flush=True)
    rates = win_rates(list(SETTINGS.values()))
    figures = main_job(deals)
    for name, setting in SETTINGS.items():
        truth = rates[setting.players, setting.measured]
        base = rates[setting.with_reference(), setting.measured]
        figures |= compare(name, setting, games, truth, base)
    return {**figures, "ms_per_game": figures["solo.ms_per_game"], "games": games}


if __name__ == "__main__":
    sys.exit(main())
