"""Draw, solve and keep the games of the lowest seeds: `python -m benchmarks.evergreen`.

    games      a third of them of each family, of seeds from 0
    different  by their trees of moves and results, whatever heaps, cells and prizes are called
    tried      draws
    seconds    of one processor; two are used
    positions  of a game, median
    perfect, one ply  what they lead random play by, a match, mean

It ends with status 1 if these are not the games that `games/evergreen/accepted.csv` lists;
`--write` writes them there. `--losses` prints instead what players give away a decision in the
games of the lowest seeds, with exact values: a mean over games with its 95% interval.
`--equilibria` says how far the losses of random players in `bidding` depend on which equilibrium
is taken. `--example` plays a game and shows what each move gives away.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from gauntlet.common.disk import write_atomically
from gauntlet.games.evergreen.game import (
    ACCEPTED,
    FAMILIES,
    Evergreen,
    State,
    candidates,
    digest,
    drawn,
    solved,
)
from gauntlet.games.evergreen.rules import Position, Rules
from gauntlet.games.evergreen.solving import POLICIES, Solution

CORES = 2
MATCHES = 8
"""Matches of each game whose decisions are judged by every equilibrium."""
SAME, ROUNDING = 1e-6, 1e-9
"""Losses that differ by no more are the same; what the value of an equilibrium may be off."""
FEW = 3
"""The most moves that an example names."""
ROW = "| {} | {:,} | {:,} | {:,} | {:,.0f} | {:,.0f} | {:.2f} | {:.2f} |"


class AcceptedGame(NamedTuple):
    """A game of a seed: the number of its draw, its digest, positions, leads, and the seconds that
    it took to find."""

    draw: int
    digest: str
    positions: int
    leads: tuple[float, float]
    seconds: float


def first_kept(family: str, seed: int, start: int = 0) -> AcceptedGame:
    started = time.process_time()
    draw, found = next(candidates(family, seed, start))
    leads = (found.margin("perfect", "random"), found.margin("one_ply", "random"))
    own = digest(found)
    return AcceptedGame(draw, own, len(found.values), leads, time.process_time() - started)


def kept_games(family: str, games: int, pool: ProcessPoolExecutor) -> list[AcceptedGame]:
    """For each seed the first game that no lower seed has."""
    taken = dict[str, AcceptedGame]()
    for seed, one in enumerate(pool.map(partial(first_kept, family), range(games), chunksize=4)):
        while one.digest in taken:
            one = first_kept(family, seed, one.draw + 1)
        taken[one.digest] = one
    return [*taken.values()]


def family_row(family: str, games: Sequence[AcceptedGame]) -> str:
    draws, _, positions, leads, seconds = zip(*games, strict=True)
    tried, alike = sum(draws) + len(draws), different(family, draws)
    means = np.mean(leads, axis=0)
    middle = float(np.median(positions))
    return ROW.format(family, len(games), alike, tried, sum(seconds), middle, *means)


def different(family: str, draws: Sequence[int]) -> int:
    """The number of different games among these draws of the seeds from 0."""
    trees = dict[object, int]()
    rules = (next(islice(drawn(family, seed), draw, None)) for seed, draw in enumerate(draws))
    return len({tree(one, trees) for one in rules})


def tree(rules: Rules, trees: dict[object, int]) -> int:
    """The number of a game's tree in `trees`, where it is entered: who moves, and the trees that
    follow, in any order; where both move, a table of them; at the end the score."""
    known = dict[Position, int]()

    def entered(position: Position) -> int:
        if position not in known:
            movers, after = rules.movers(position), partial(rules.after, position)
            moves = [rules.moves(position, seat) for seat in movers]
            form: object = rules.score(position) if not movers else None
            if len(movers) == 1:
                form = movers, tuple(sorted(entered(after((move,))) for move in moves[0]))
            elif movers:
                form = tuple(tuple(entered(after((a, b))) for b in moves[1]) for a in moves[0])
            known[position] = trees.setdefault(form, len(trees))
        return known[position]

    return entered(rules.start())


def as_text(by_family: Mapping[str, Sequence[AcceptedGame]]) -> str:
    """The file `accepted.csv`."""
    cells = ([f"{one.draw}:{one.digest}" for one in games] for games in by_family.values())
    rows = (",".join(row) for row in zip(*cells, strict=True))
    return "\n".join((",".join(by_family), *rows, ""))


def given_away(solution: Solution, policy: str) -> float:
    """The mean loss of a decision with a choice, in games of the policy against itself."""
    total = np.zeros(2)
    for position, chance in reached(solution, policy):
        node = solution.node(position)
        for seat, moves in zip(node.seats, node.moves, strict=True):
            if len(moves) > 1:
                values = solution.options(position, seat)
                own = np.array(solution.chances(policy, position, seat))
                total += chance * np.array([float(values.max() - own @ values), 1.0])
    return max(0.0, float(total[0] / total[1]))


def reached(solution: Solution, policy: str) -> Iterator[tuple[Position, float]]:
    """Every position with the probability to come there."""
    level = {solution.rules.start(): 1.0}
    while level:
        following: dict[Position, float] = {}
        for position, chance in level.items():
            yield position, chance
            node = solution.node(position)
            own = [solution.chances(policy, position, seat) for seat in node.seats]
            chances = np.ones(1 if own else 0)
            for each in own:
                chances = np.outer(chances, each).ravel()
            after = node.after if len(own) < 2 else [one for row in node.after for one in row]
            for share, one in zip(chances, after, strict=True):
                if share > 0:
                    following[one] = following.get(one, 0.0) + chance * float(share)
        level = following


def losses(family: str, games: int, pool: ProcessPoolExecutor) -> str:
    cells = []
    for policy in POLICIES:
        own = partial(lost_by, family, policy)
        values = np.array([*pool.map(own, range(games), chunksize=4)])
        error = values.std(ddof=1) / np.sqrt(games)
        cells.append(f"{values.mean():.3f} +- {1.96 * error:.3f}")
    return f"| {family} | {games:,} | {' | '.join(cells)} |"


def lost_by(family: str, policy: str, seed: int) -> float:
    return given_away(solved(family, seed), policy)


def equilibria(games: int) -> str:
    """How far the losses of random players in MATCHES of each bidding game depend on the
    equilibrium that the other is held to."""
    spans, kept = list[float](), list[float]()
    for seed in range(games):
        game, rng = Evergreen(family="bidding", seed=seed), np.random.default_rng(seed)
        for _ in range(MATCHES):
            state, own = game.deal(rng), list[float]()
            while seats := game.to_move(state):
                legal = [game.legal(state, seat) for seat in seats]
                moves = [int(rng.integers(len(each))) for each in legal]
                for seat in seats:
                    if len(legal[seat]) > 1:
                        low, high = loss_range(game.solution, state.position, seat, moves[seat])
                        own.append(high - low)
                state = game.play(state, [each[at] for each, at in zip(legal, moves, strict=True)])
            spans += own
            kept.append(float(np.mean(own)) if own else 0.0)
    open_ones = np.array([span for span in spans if span > SAME])
    return (
        f"In {len(open_ones)} of {len(spans):,} decisions of random players in {games} games the "
        f"loss depends on the equilibrium, there by {open_ones.mean():.2f} on average and "
        f"{open_ones.max():.2f} at most; the mean of a match's decisions by {np.mean(kept):.4f} on "
        "average."
    )


def loss_range(solution: Solution, position: Position, seat: int, at: int) -> tuple[float, float]:
    """The least and the most that a seat's move gives away, over the equilibria of the other."""
    value, after = solution.value(position), solution.node(position).after
    table = np.array([[solution.value(one) for one in row] for row in after])
    own, worth = (table, value) if seat == 0 else (1.0 - table.T, 1.0 - value)
    held = (own, np.full(len(own), worth + ROUNDING), np.ones((1, own.shape[1])), [1.0], (0, 1))
    most, least = (-sign * linprog(-sign * own[at], *held).fun for sign in (1.0, -1.0))
    return max(0.0, worth - most), max(0.0, worth - least)


def example(game: Evergreen) -> None:
    """Print a game's rules, and a match of one ply of search against perfect play."""
    rng, rules, found = np.random.default_rng(1), game.rules, game.solution
    print(f"```\n{textwrap.fill(rules.text(), 80)}\n```\n")
    print("| move | player 0 scores | best | gives away |\n|---|---:|---|---:|")
    state = State(rules.start(), (), rules.start())
    while seats := game.to_move(state):
        (seat,) = seats
        value, legal = found.value(state.position), game.legal(state, seat)
        chances = found.chances(("one_ply", "perfect")[seat], state.position, seat)
        move = legal[int(rng.choice(len(legal), p=chances))]
        perfect = found.chances("perfect", state.position, seat)
        best = [rules.name(one) for one, chance in zip(legal, perfect, strict=True) if chance]
        named = ", ".join(best) if len(best) <= FEW else f"{len(best)} of {len(legal)}"
        lost = found.loss(state.position, seat, move)
        print(f"| player {seat}: {rules.name(move)} | {value:g} | {named} | {lost:g} |")
        state = game.play(state, (move,))
    print(f"\n```\n{game.show(state)}\n```\n")
    kept = ", ".join(f"{one:.3g}" for one in game.measure(state)["value_kept"])
    print(f"Player 0 scores {rules.score(state.position):g}; `value_kept`: {kept}.")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evergreen",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--games", type=int, default=999, metavar="N", help="default: %(default)s")
    parser.add_argument("--write", action="store_true", help="write accepted.csv")
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--equilibria", action="store_true")
    parser.add_argument("--example", action="store_true")
    options = parser.parse_args(arguments)
    if options.example:
        example(Evergreen(family="mnk", seed=7))
        return 0
    each = max(2, options.games // len(FAMILIES))
    if options.equilibria:
        print(equilibria(each))
        return 0
    with ProcessPoolExecutor(CORES) as pool:
        if options.losses:
            print(f"| family | games | {' | '.join(POLICIES)} |\n|---|---|---|---|---|")
            for family in FAMILIES:
                print(losses(family, each, pool), flush=True)
            return 0
        text = as_text(measured(each, pool))
    if options.write:
        write_atomically(ACCEPTED, text)
    listed = ACCEPTED.read_text(encoding="utf-8")
    return int(not listed.startswith(text))


def measured(games: int, pool: ProcessPoolExecutor) -> dict[str, list[AcceptedGame]]:
    """The games of each family; prints their rows."""
    print("| family | games | different | tried | seconds | positions | perfect | one ply |")
    print("|---|---|---|---|---|---|---|---|")
    found = {}
    for family in FAMILIES:
        found[family] = kept_games(family, games, pool)
        print(family_row(family, found[family]), flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
