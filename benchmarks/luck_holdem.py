"""Luck-adjusted money in hold'em, for `python -m benchmarks.luck --game holdem`.

Scripted players against scripted opponents over hands with fresh stacks, each adjusted with 50
playouts per option, a third of a sweep's number. A player is judged against habits learned from 160
of its own deals, two hands each, which are not judged; a sweep learns from its first 10, 40, 160,
640 (pipeline/judging/references.py). The truth, and the result of these habits in the player's
seat, are plain simulations of ten times as many hands.

    ratio        variance of a plain hand over that of an adjusted one: the number of plain hands
                 that one replaces. Infinite if the player was learned perfectly: no variance left
    10, 40, 640  the same with this many deals to learn from, over OTHER_HANDS hands
    z            adjusted minus the truth, in standard errors of both

`variance_ratio` is the smallest ratio of all rows, `bias_z` the z furthest from 0. `uniform` deals
the other seat's cards as if it had made no move, which is wrong and must be detected (|z| > 4, with
--full).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from gauntlet.games.compiling import derive
from gauntlet.games.holdem import Holdem, luck, rules
from gauntlet.games.holdem.playouts import MOVES
from gauntlet.games.holdem.policies import learn

PLAYOUTS = 50
PLAIN = 10
"""Plain hands per adjusted one."""
JUDGED, CHOICE, TRUTH, BASE = 0, 300, 400, 700
"""Purposes of deals, as offsets of the seed."""
LEARNT = 160
OTHERS, OTHER_HANDS = (10, 40, 640), 4_000
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
"""Policy, and the percentage of decisions in which it takes a random action."""
OPPONENTS = ("random", "caller", "maniac", "tight", "mixed")


@dataclass(frozen=True)
class Table:
    """A player of PLAYERS, its opponent, and the reference for judging it: a policy, or habits as
    text."""

    player: str
    opponent: str
    reference: str = "tight"
    worlds: int = luck.EXACT

    @property
    def codes(self) -> np.ndarray:
        return GAME.codes((PLAYERS[self.player][0], self.opponent))

    def measure(self, playouts: int) -> luck.Measure:
        return luck.Measure(GAME.players((self.reference, self.opponent)), playouts, self.worlds)

    def seed(self, purpose: int) -> int:
        """Tables share no deals, so that their errors are independent."""
        row = [*PLAYERS].index(self.player) * len(OPPONENTS) + OPPONENTS.index(self.opponent)
        named = self.reference in GAME.references
        number = GAME.references.index(self.reference) if named else len(GAME.references)
        return SEED + 1_000 * (10 * row + number) + purpose

    def sample(self, hands: int, playouts: int, purpose: int = JUDGED) -> np.ndarray:
        """Return the player's result and advantage, in big blinds per hand: (hands / 2, 2)."""
        size, games = CHUNK if playouts else 50 * CHUNK, hands // 2
        noise, measure, seed = PLAYERS[self.player][1], self.measure(playouts), self.seed(purpose)

        def part(number: int) -> np.ndarray:
            asked = noise, measure, 0, min(size, games), seed + number
            return luck.sample(GAME.settings, self.codes, *asked, luck.make_desk(GAME.settings))

        return parts(part, math.ceil(games / size))

    def truth(self, hands: int) -> tuple[float, float]:
        """Return the true mean and its standard error."""
        return mean_and_error(self.sample(hands, 0, TRUTH)[:, 0])

    def base(self, hands: int) -> tuple[float, float]:
        """Return the same as `truth`, with the reference in the player's seat."""
        size, seed, players = 50 * CHUNK, self.seed(BASE), (self.reference, self.opponent)

        def part(number: int) -> np.ndarray:
            games = min(size, hands // 2)
            return GAME.scores(players, games, seed + number, "bb_per_hand")[:, 0]

        return mean_and_error(parts(part, math.ceil(hands / 2 / size)))

    def learnt(self, deals: int) -> Table:
        """Return the table with habits learned from `deals` deals as reference."""
        desk, start, seed = luck.make_desk(GAME.settings), GAME.settings.copy(), self.seed(CHOICE)
        actions, seen = np.empty(rules.LONGEST * GAME.hands, np.int64), []
        for game in range(deals):
            rules.deal(start, seed + game)
            key = np.uint64(derive(seed, MOVES, game))
            asked = self.codes, 0, PLAYERS[self.player][1], key, desk.room, actions
            count = luck.record(start.copy(), *asked)
            seen.append(luck.noticed(start, actions[:count], 0, desk))
        facts, taken = (np.concatenate(each) for each in zip(*seen, strict=True))
        return replace(self, reference=learn(facts, taken))


def parts(part: Callable[[int], np.ndarray], count: int) -> np.ndarray:
    with ThreadPoolExecutor(CORES) as pool:
        return np.concatenate([*pool.map(part, range(count))])


def mean_and_error(got: np.ndarray) -> tuple[float, float]:
    return float(got.mean()), float(got.std() / math.sqrt(len(got)))


def ratio(raw: np.ndarray, gained: np.ndarray) -> float:
    return float(raw.var() / gained.var()) if gained.var() > 0 else math.inf


def compare(table: Table, hands: int) -> dict[str, float]:
    """Return the results of one table."""
    began = time.process_time()
    raw, gained = table.sample(hands, PLAYOUTS).T
    seconds = time.process_time() - began
    truth, error = table.truth(PLAIN * hands)
    base, base_error = table.base(PLAIN * hands)
    mean, own = mean_and_error(gained)
    return {
        "truth": truth,
        "adjusted": base + mean,
        "error": own,
        "raw_error": mean_and_error(raw)[1],
        "ratio": ratio(raw, gained),
        "bias_z": (base + mean - truth) / math.hypot(own, error, base_error),
        "seconds_per_1000": 1000 * seconds / hands,
    }


def figures(hands: int) -> dict[str, float]:
    """Play and print all tables; return the results by name."""
    others = "".join(f"{deals:>7}" for deals in OTHERS)
    print(
        f"bb a hand of {hands:,} hands a row, {PLAYOUTS} playouts an option\n"
        f"{'player':7}{'against':8}{'truth':>8}{'adjusted':>18}{'raw +-':>8}{'z':>7}{'ratio':>9}"
        f"{others}{'s/1,000':>8}",
        flush=True,
    )
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for player in PLAYERS:
        for opponent in OPPONENTS:
            table = Table(player, opponent)
            found = compare(table.learnt(LEARNT), hands)
            for deals in OTHERS:
                few = table.learnt(deals).sample(OTHER_HANDS, PLAYOUTS)
                found[f"ratio_{deals}"] = ratio(*few.T)
            rows[player, opponent] = found
            less = "".join(f"{found[f'ratio_{deals}']:7.1f}" for deals in OTHERS)
            print(
                f"{player:7}{opponent:8}{found['truth']:+8.3f}{found['adjusted']:+9.3f} +- "
                f"{found['error']:.3f}{found['raw_error']:8.3f}{found['bias_z']:+7.2f}"
                f"{found['ratio']:9.1f}{less}{found['seconds_per_1000']:8.2f}",
                flush=True,
            )
    uniform = compare(Table("noisy", "tight", "tight", luck.UNIFORM), hands)["bias_z"]
    print(f"uniform dealing, noisy against tight: z {uniform:+.2f}", flush=True)
    figured = {
        "variance_ratio": min(row["ratio"] for row in rows.values()),
        "bias_z": max((row["bias_z"] for row in rows.values()), key=abs),
        "seconds_per_1000": max(row["seconds_per_1000"] for row in rows.values()),
        "uniform_z": uniform,
        "hands": hands,
    }
    for (player, opponent), row in rows.items():
        finite = {name: x for name, x in row.items() if math.isfinite(x)}
        figured |= {f"{player}.{opponent}.{name}": x for name, x in finite.items()}
    return {f"holdem.{name}": round(float(value), 6) for name, value in figured.items()}


def failures(figures: dict[str, float], full: bool) -> Iterator[str]:
    """Yield a message for each failed requirement."""
    for name, value in figures.items():
        if name.endswith(".bias_z") and name != "holdem.bias_z" and abs(value) >= 3:
            yield f"{name.removesuffix('.bias_z')} is biased: z = {value:+.2f}"
    if full and abs(figures["holdem.uniform_z"]) <= 4:
        yield f"uniform dealing was not found out: z = {figures['holdem.uniform_z']:+.2f}"
