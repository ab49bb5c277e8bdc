"""How often a sweep claims that one of some equal players is better, or ranks those in a circle.

    python -m benchmarks.nulls [--runs 200] [--deals 100]

Matches are drawn, of a game in which the first seat is worth as much as in tic-tac-toe and the deal
has luck of its own; verdicts are read from the tables that terminal and report show. A round robin
is of four players, everybody in every seat or not; `compare` holds two of them beside each other.
In a free-for-all three meet in every match, and the first is held against a random player; or, in
seats of which each beats the next, against each other. `ratings` are of a round robin's matches,
with everybody in every seat, and each pairing a free-for-all. Adaptive
sweeps are of four equal players, looked at after every round of 8 deals; of three and five players
who beat each other in a circle by .7 to .3; and of one who beats three in a circle.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from gauntlet.games.capabilities import MATCH_SCORE, WIN
from gauntlet.pipeline.log.outcomes import Outcome, Outcomes
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import Baseline
from gauntlet.pipeline.tables.commands.ratings import rate_contest
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.claims import choose_pairs
from gauntlet.pipeline.tables.sweep.contest import Contest, PairRow
from gauntlet.pipeline.tables.sweep.pairs import compare_pairs
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.proportions import wilson
from gauntlet.stats.ratings import rated
from gauntlet.stats.tournament import Tournament
from gauntlet.stats.verdicts import Verdict

PLAYERS = ("a", "b", "c", "d")
FIRST, DRAWN = 0.58, 0.13
"""Shares of matches that the first seat wins, and that nobody wins, among random players."""
SEATS = (0.4, 0.33, 0.27)
"""Shares of matches of three that each seat wins."""
GAMES = 10_000
"""Games by which the random player is known."""
LUCK = 0.3
"""Share of the deals that one player wins from both seats."""
ROUND, MOST = 8, 400
"""Deals of an adaptive round, and the most of a pair of equal players."""
TURNS = ((0, 1, 2), (2, 0, 1), (1, 2, 0))
"""The seatings of three players in every rotation."""
PLACES = ((0, 1), (0, 2), (1, 2))
AHEAD = np.array([[0.5, 0.8, 0.2], [0.2, 0.5, 0.8], [0.8, 0.2, 0.5]])
"""How often each of three seats is before another one: a circle."""
CONTESTS: dict[str, Sequence[Sequence[int]]] = {
    "a round robin, every seat": [way for pair in PLACES for way in (pair, pair[::-1])],
    "a round robin, fixed seats": PLACES,
    "three, seats in a circle": TURNS,
}
NONE = {name: pd.DataFrame() for name in ("obfuscation", "seeds")}
"""Tables that depend on how a folder was made."""


def cell(pair: tuple[str, str], deals: int, rotate: bool, rng: np.random.Generator) -> CellResults:
    """The second player's results against the first, its equal."""
    seats = ((1,), (0,)) if rotate else ((1,),)
    name = "-".join(pair)
    labels = {"game": "game", "agent": pair[1], "model": "-", "prompt": "-",
              "seats": f"solo against {pair[0]}"}  # fmt: skip
    about = CellInfo(name, name, "nulls", labels, len(seats), None, "deals", False, MATCH_SCORE,
                     seats=seats, players=pair, in_turn=True)  # fmt: skip
    outcomes = Outcomes(name)
    for deal in range(deals):
        lucky = rng.integers(2) if rng.random() < LUCK else None
        for rotation, (seat,) in enumerate(seats):
            chances = [FIRST, DRAWN, 1 - FIRST - DRAWN]
            end = rng.choice(3, p=chances if seat == 0 else chances[::-1])
            won = (end == 0, end == 2) if lucky is None else (lucky == 0, lucky == 1)
            score = (1 + won[0] - won[1]) / 2
            match = f"{name}-{deal}-{rotation}"
            ended = 2 * score - 1, score, int(won[0])
            others = {"others_won": int(won[1]), "others_figure": 1 - score}
            outcomes.add(Outcome(match, name, deal, rotation, *ended, 9, 5, 4, 0, 0, 0.0, **others))
    return CellResults(about, outcomes, deals, 0)


def round_robin(deals: int, rotate: bool, rng: np.random.Generator) -> list[CellResults]:
    return [cell(pair, deals, rotate, rng) for pair in combinations(PLAYERS, 2)]


def claims(cells: Sequence[CellResults]) -> bool:
    """Whether the verdict says of a pairing which side is better."""
    results = Results(Path("nowhere"), cells, dict(NONE))
    (verdict,) = results["verdict"]["verdict"]
    shown = (results["summary"]["p_holm"] < ALPHA).any()
    assert bool(shown) != ("0 of 6 pairings" in verdict or "kept their seats" in verdict), verdict
    return bool(shown)


def free_for_all(deals: int, rng: np.random.Generator) -> bool:
    """Whether the verdict says that the first of three equal players, in every seat, differs from a
    random one."""
    seats = ((0,), (1,), (2,))
    labels = {"game": "game", "agent": "a", "model": "-", "prompt": "-", "seats": "three"}
    baseline = Baseline("random", rng.binomial(GAMES, 1 / 3), GAMES)
    about = CellInfo("a", "a", "nulls", labels, len(seats), baseline, "deals", False, WIN,
                     seats=seats, subjects=seats, players=("a", "b", "c"))  # fmt: skip
    outcomes = Outcomes("a")
    for deal in range(deals):
        lucky = rng.integers(3) if rng.random() < LUCK else None
        for rotation in range(len(seats)):
            won = int(rng.random() < SEATS[rotation] if lucky is None else lucky == 0)
            ended = 2 * won - 1, won, won
            match = f"a-{deal}-{rotation}"
            outcomes.add(Outcome(match, "a", deal, rotation, *ended, 9, 5, 4, 0, 0, 0.0))
    results = Results(Path("nowhere"), [CellResults(about, outcomes, deals, 0)], dict(NONE))
    (verdict,), (p,) = results["verdict"]["verdict"], results["summary"]["p_holm"]
    assert (p < ALPHA) != ("not shown" in verdict), verdict
    return bool(p < ALPHA)


def compared(deals: int, rng: np.random.Generator) -> bool:
    """Whether two round robins, of other players each, differ on their shared deals."""
    ours, theirs = (round_robin(deals, True, rng) for _ in range(2))
    pairs = compare_pairs([(one, other) for one in ours for other in theirs])
    return bool((pairs["p_holm"] < ALPHA).any())


def contest(name: str, deals: int, rng: np.random.Generator) -> Contest:
    """Equal players, in each of the seatings of CONTESTS once a deal."""
    rows = []
    for deal in range(deals):
        for number, seating in enumerate(CONTESTS[name]):
            for a, b in combinations(range(len(seating)), 2):
                first, second = ((PLAYERS[seating[seat]],) for seat in (a, b))
                match, score = f"{deal}-{number}", float(rng.random() < AHEAD[a, b])
                place = "0", "game", deal
                rows.append(PairRow(first, second, "game", place, match, score, ((a,), (b,))))
    return Contest.from_rows(rows)


def rated_apart(found: Contest) -> bool:
    """Whether the 90% interval of the first two players' difference leaves out 0."""
    if not len(found.matches):
        return False
    _, low, high = rated(found.matches).chances
    return not low[0, 1] <= 0.5 <= high[0, 1]


def in_circle(found: Contest) -> bool:
    """Whether the ratings name players who beat each other in a circle."""
    return not rate_contest(found, rated)["ratings_cycles"].empty


def seats_apart(deals: int, rng: np.random.Generator) -> bool:
    """Whether pairs.csv sets a player in the first seat beside its equal in the second."""
    first, second = (cell(pair, deals, False, rng) for pair in (("a", "b"), ("a", "c")))
    moved = replace(second.about, seats=((0,),), players=("c", "a"))
    turned = replace(second, about=moved)
    cells = [first, turned]
    pairs = compare_pairs((cells[a], cells[b]) for a, b in choose_pairs(cells, "all").chosen)
    return bool((pairs["p_holm"] < ALPHA).any())


def adaptive(chances: np.ndarray, verdict: Verdict, rng: np.random.Generator) -> Tournament:
    """A sweep to its verdict, or to MOST deals of each pair. chances: of winning, (k, k)."""
    found = Tournament(len(chances), verdict)
    while (pairs := found.next_pairs()) and found.deals.max() < MOST:
        for one, other in pairs:
            found.add(one, other, rng.binomial(2, chances[one, other], ROUND) / 2)
    return found


def circle(players: int) -> np.ndarray:
    """Chances by which each player beats those next to it on one side and loses to the others."""
    ahead = (np.arange(players) - np.arange(players)[:, None]) % players
    return np.where(ahead == 0, 0.5, np.where(ahead <= players // 2, 0.7, 0.3))


def rows(deals: int) -> dict[str, Callable[[np.random.Generator], bool]]:
    """What is wrong, and whether it happens in a run."""
    equal = np.full((4, 4), 0.5)
    above = np.full((4, 4), 0.7)
    above[1:, 0], above[1:, 1:], above[0, 0] = 0.3, circle(3), 0.5
    verdicts: tuple[Verdict, ...] = ("order", "top1", "pair")
    return {
        "round robin, every seat: a claim": lambda rng: claims(round_robin(deals, True, rng)),
        "round robin, fixed seats: a claim": lambda rng: claims(round_robin(deals, False, rng)),
        "free-for-all of three, every seat: a claim": lambda rng: free_for_all(deals, rng),
        "compare of two: a claim": lambda rng: compared(deals, rng),
        "pairs of cells in other seats: a claim": lambda rng: seats_apart(deals, rng),
        **{
            f"ratings of {name}: two apart by their 90% interval": lambda rng, name=name: (
                rated_apart(contest(name, deals, rng))
            )
            for name in CONTESTS
        },
        "ratings of three, seats in a circle: a circle": lambda rng: in_circle(
            contest("three, seats in a circle", deals, rng)
        ),
        **{
            f"adaptive {verdict} of equals: a claim": lambda rng, verdict=verdict: bool(
                adaptive(equal, verdict, rng).claims.any()
            )
            for verdict in verdicts
        },
        **{
            f"{verdict} of {k} in a circle: settled": lambda rng, verdict=verdict, k=k: (
                not adaptive(circle(k), verdict, rng).contradicted
            )
            for verdict in verdicts[:2]
            for k in (3, 5)
        },
        "top1 of one above a circle: another one, or none": lambda rng: (
            (found := adaptive(above, "top1", rng)).contradicted or found.order[0] != 0
        ),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="of each row; default: %(default)s")
    parser.add_argument("--deals", type=int, default=100, help="a pair; default: %(default)s")
    options = parser.parse_args(arguments)
    print("| what | runs | wrong | 95% limits |\n|---|---:|---:|---|")
    for name, happens in rows(options.deals).items():
        wrong = sum(happens(np.random.default_rng((seed, 7))) for seed in range(options.runs))
        limits = wilson(wrong, options.runs)
        print(f"| {name} | {options.runs} | {wrong} | {limits.low:.1%} to {limits.high:.1%} |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
