"""Luck-adjusted money in hold'em, for `python -m benchmarks.luck --game holdem`.

Scripted players against scripted opponents over hands with fresh stacks, each adjusted by 50
playouts an option, a third of what a sweep takes. The truth, and what the reference wins in the
player's place, are plain simulations of ten times as many hands.

    reference  the game's one that 1,000 hands vary least against, as a sweep chooses it (pipeline/
               judging/luck.py). A player that is a reference has nothing left to vary against
               itself: it is judged by the next one for the proof, and its `ratio` is infinite
    ratio      variance of a plain hand by that of an adjusted one: the plain hands that one
               replaces in a sweep; `by another` the same where that is another reference than the
               sweep's
    z          adjusted less the truth, in standard errors of both

`variance_ratio` is the least ratio of all rows, `bias_z` the z that is furthest from 0. `uniform`
deals the other seat's cards as if it had made no move, which is wrong and must be found out
(|z| > 4, with --full).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from games.holdem import Holdem, luck

PLAYOUTS = 50
PLAIN = 10
"""Plain hands to one that is adjusted."""
JUDGED, CHOICE, TRUTH, BASE = 0, 300, 400, 700
"""What deals are for, as a number to add to a seed."""
CHOOSING = 1_000
CHUNK = 1_000
CORES = 2
SEED = 20_260
SLIPS = 30

GAME = Holdem(mode="hands", hands=2)
"""One hand in each position."""

PLAYERS = {
    "tight": ("tight", 0),
    "caller": ("caller", 0),
    "maniac": ("maniac", 0),
    "noisy": ("tight", SLIPS),
    "random": ("random", 0),
}
"""Policy, and in how many of a hundred decisions it takes any action instead."""
OPPONENTS = ("random", "caller", "maniac", "tight", "mixed")


@dataclass(frozen=True)
class Table:
    """A player of PLAYERS, whom it plays, and the reference that it is judged against."""

    player: str
    opponent: str
    reference: str = "tight"
    worlds: int = luck.EXACT

    def sample(self, hands: int, playouts: int, purpose: int = JUDGED) -> np.ndarray:
        """What it got and its advantage, in big blinds a hand: (hands / 2, 2). No two tables have
        deals in common, so that their errors are independent."""
        policy, noise = PLAYERS[self.player]
        codes, size = GAME.codes((policy, self.opponent)), CHUNK if playouts else 50 * CHUNK
        reference, games = GAME.code(self.reference), hands // 2
        row = [*PLAYERS].index(self.player) * len(OPPONENTS) + OPPONENTS.index(self.opponent)
        seed = SEED + 1_000 * (10 * row + GAME.references.index(self.reference)) + purpose

        def part(number: int) -> np.ndarray:
            asked = noise, reference, 0, min(size, games), playouts, seed + number
            desk = luck.make_desk(GAME.settings)
            return luck.sample(GAME.settings, codes, *asked, desk, self.worlds)

        with ThreadPoolExecutor(CORES) as pool:
            return np.concatenate([*pool.map(part, range(math.ceil(games / size)))])

    def plain(self, hands: int, purpose: int = TRUTH) -> tuple[float, float]:
        """Its true mean and standard error."""
        got = self.sample(hands, 0, purpose)[:, 0]
        return float(got.mean()), float(got.std() / math.sqrt(len(got)))


def chosen(player: str, opponent: str) -> list[str]:
    """The references, the one first that the player's first hands vary least against."""
    tables = (Table(player, opponent, reference) for reference in GAME.references)
    spread = {one.reference: one.sample(CHOOSING, PLAYOUTS, CHOICE)[:, 1].var() for one in tables}
    return sorted(spread, key=spread.__getitem__)


def compare(table: Table, hands: int, base: tuple[float, float]) -> dict[str, float]:
    """The figures of one table; base: what the reference wins in the player's place."""
    began = time.process_time()
    raw, gained = table.sample(hands, PLAYOUTS).T
    seconds = time.process_time() - began
    truth, error = table.plain(PLAIN * hands)
    adjusted = base[0] + gained.mean()
    own = gained.std() / math.sqrt(len(gained))
    return {
        "truth": truth,
        "adjusted": float(adjusted),
        "error": float(own),
        "raw_error": float(raw.std() / math.sqrt(len(raw))),
        "ratio": float(raw.var() / gained.var()),
        "bias_z": float((adjusted - truth) / math.hypot(own, error, base[1])),
        "seconds_per_1000": 1000 * seconds / hands,
    }


def figures(hands: int) -> dict[str, float]:
    """Plays and prints all tables; figures by name."""
    print(
        f"bb a hand of {hands:,} hands a row, {PLAYOUTS} playouts an option\n"
        f"{'player':7}{'against':8}{'truth':>8}{'adjusted':>18}{'raw +-':>8}{'reference':>10}"
        f"{'z':>7}{'ratio':>7}{'by another':>11}{'s/1,000':>8}",
        flush=True,
    )
    bases = {
        (reference, opponent): Table(reference, opponent).plain(PLAIN * hands, BASE)
        for reference in GAME.references
        for opponent in OPPONENTS
    }
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for player in PLAYERS:
        for opponent in OPPONENTS:
            first, *rest = chosen(player, opponent)
            itself = first == player
            by = rest[0] if itself else first
            found = compare(Table(player, opponent, by), hands, bases[by, opponent])
            ratio = math.inf if itself else found["ratio"]
            other = f"{found['ratio']:.1f}" if itself else ""
            rows[player, opponent] = {**found, "ratio": ratio}
            print(
                f"{player:7}{opponent:8}{found['truth']:+8.3f}{found['adjusted']:+9.3f} +- "
                f"{found['error']:.3f}{found['raw_error']:8.3f}{by:>10}{found['bias_z']:+7.2f}"
                f"{ratio:7.1f}{other:>11}{found['seconds_per_1000']:8.2f}",
                flush=True,
            )
    slip = Table("noisy", "tight", "tight", luck.UNIFORM)
    uniform = compare(slip, hands, bases["tight", "tight"])["bias_z"]
    print(f"uniform dealing, noisy against tight: z {uniform:+.2f}", flush=True)
    finite = [row["ratio"] for row in rows.values() if math.isfinite(row["ratio"])]
    told = {
        "variance_ratio": min(finite),
        "bias_z": max((row["bias_z"] for row in rows.values()), key=abs),
        "seconds_per_1000": max(row["seconds_per_1000"] for row in rows.values()),
        "uniform_z": uniform,
        "hands": hands,
    }
    for (player, opponent), row in rows.items():
        finite_row = {name: x for name, x in row.items() if math.isfinite(x)}
        told |= {f"{player}.{opponent}.{name}": x for name, x in finite_row.items()}
    return {f"holdem.{name}": round(float(value), 6) for name, value in told.items()}


def failures(found: dict[str, float], full: bool) -> Iterator[str]:
    """What is not as it must be, in words."""
    for name, value in found.items():
        if name.endswith(".bias_z") and name != "holdem.bias_z" and abs(value) >= 3:
            yield f"{name.removesuffix('.bias_z')} is biased: z = {value:+.2f}"
    if full and abs(found["holdem.uniform_z"]) <= 4:
        yield f"uniform dealing was not found out: z = {found['holdem.uniform_z']:+.2f}"
