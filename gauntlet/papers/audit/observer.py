"""Findings about Observer, Not Player, from its formulas, tables and its prototype's mixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from gauntlet.games.rock_paper_scissors import strategies
from gauntlet.games.rock_paper_scissors.strategies import ANSWERS, CODES
from gauntlet.games.watch import observation
from gauntlet.games.watch.observation import Grid
from gauntlet.papers.audit.findings import Finding, Open
from gauntlet.papers.observer.ideal import RUNS, sir
from gauntlet.papers.published import paper

PAIRS = ("HC", "NG", "DY")
STARTS, SEED = 200, 1
GRIDS: tuple[Grid, ...] = get_args(Grid)


def printed(part: str) -> Any:
    """Return one part of the paper's numbers."""
    return paper("observer")[part]


def outcomes() -> np.ndarray:
    """Return the outcomes of all pairs, D as the prototype rounds it: float64 (361, 3)."""
    return strategies.grid(legacy_d=True).reshape(-1, 3)


def truth(pair: str) -> np.ndarray:
    found: np.ndarray = outcomes()[CODES.index(pair[0]) * len(CODES) + CODES.index(pair[1])]
    return found


def ob_01() -> Finding:
    published = printed("ev")
    worth = 1 / published["divisor"]
    every = outcomes()
    most = observation.ev_loss(every[:, None], every, (worth, 0.0, -worth)).max()
    return (
        f"EV = (win - loss) / {published['divisor']}, "
        f"and EVLoss goes to {published['largest_loss']}",
        f"chances lie from 0 to 1, so EV lies within {worth:g} of 0 and EVLoss goes to {most:g} on "
        f"the grid of all {len(every)} pairs",
        bool(np.isclose(most, published["largest_loss"])),
    )


def ob_02() -> Finding:
    largest, every = printed("brier")["largest"], outcomes()
    most = observation.brier(every[:, None], every).max()
    union = observation.union(every[:, None], every, every, "paper").max()
    return (
        f"Brier lies from 0 to {largest}",
        f"goes to {most:g} (A against B, guessed the other way round), and Union to {union:.3f}",
        bool(np.isclose(most, largest)),
    )


def ob_03() -> Finding:
    every = outcomes()
    most = observation.cross_entropy(every[:, None], every).max()
    by_pair = {
        pair: [observation.union(truth(pair), truth(pair), every, "paper", g).item() for g in GRIDS]
        for pair in PAIRS
    }
    text = "; ".join(
        f"{pair[0]}-{pair[1]} {' / '.join(f'{one:.4f}' for one in unions)}"
        for pair, unions in by_pair.items()
    )
    return (
        "cross-entropy is scaled from its least to its most over all match-ups",
        f"its most is -ln(1e-12) = {most:.2f}, so that a wrong guess without a zero hardly counts; "
        f"Union of a right guess with the scale of all pairs, of the truth, of the guess: {text}",
        all(np.ptp(unions) < 0.005 for unions in by_pair.values()),
    )


def ob_04() -> Finding:
    least = {pair: observation.cross_entropy(truth(pair), truth(pair)).item() for pair in PAIRS}
    text = ", ".join(f"{pair[0]}-{pair[1]} {one:.3f}" for pair, one in least.items())
    return (
        "a low loss is understanding",
        f"the right guess costs a cross-entropy of {text}; the divergence, without the truth's "
        "entropy, costs nothing",
        max(least.values()) < observation.UNDERSTOOD,
    )


def ob_09() -> Finding:
    models = [row[2] for row in printed("table1")["rows"].values()]
    same = int(observation.indistinguishable(outcomes(), truth("DY")).sum())
    ruled, independent = (100 * float(sir("DY", react).mean()) for react in ("lag1", "iid"))
    return (
        f"D against Y: SIR of {' / '.join(f'{one:g}' for one in models)}% shows that models do not "
        "model an opponent",
        f"{same} of {len(outcomes())} pairs have these outcomes, and no loss tells them apart; an "
        f"ideal observer has {ruled:.1f}% where Y answers the last hand, and {independent:.1f}% "
        "where it is drawn from its mix, as in the prototype, and the rule is believed",
        independent > max(models),
    )


def ob_10() -> Finding:
    pairs = [(one, other) for one in ANSWERS for other in ANSWERS]
    uniform = strategies.steady(pairs)
    starts = np.random.default_rng(SEED).dirichlet(np.ones(3), size=(STARTS, 2))
    ends = np.array([strategies.steady(pairs, init=start).mixes[:, 0] for start in starts])
    spread = np.ptp(ends, axis=0).max(axis=1)
    loose = [pair for pair, one in zip(pairs, spread, strict=True) if one > 0.01]
    return (
        "the damped iteration of two reactive players settles at a steady state",
        f"from the uniform start {int(uniform.degenerate.sum())} of {len(pairs)} pairs stop after "
        f"{int(uniform.iterations.max())} step where they began; from {STARTS} other starts "
        f"{', '.join(f'{one}-{other}' for one, other in loose) or 'none'} end elsewhere each time, "
        "the others at uniform",
        not loose and not uniform.degenerate.any(),
    )


def ob_12() -> Finding:
    table = printed("table1")
    rates = [rate for row in table["rows"].values() for rate in row]
    whole_counts = {
        n: sum(float(rate * n / 100).is_integer() for rate in rates) for n in (200, 190)
    }
    sds = [100 * float(sir(pair).std(ddof=1)) for pair in PAIRS]
    return (
        f"Table 1: percent of {table['rounds']} rounds, {table['runs']} run a cell",
        f"whole counts of 200 are {whole_counts[200]} of {len(rates)}, of 190 {whole_counts[190]}: "
        "the warm-up is not among them. One run says little: that of an ideal observer has a "
        f"standard deviation of {min(sds):.0f} to {max(sds):.0f} points ({RUNS} runs)",
        all(float(rate * table["rounds"] / 100).is_integer() for rate in rates),
    )


def ob_13() -> Finding:
    model, sentences, outside = printed("table1")["rows"]["o3"], [], []
    for rate, pair in zip(model, PAIRS[:2], strict=False):
        runs = 100 * sir(pair)
        low, high = np.quantile(runs, (0.05, 0.95))
        outside.append(not low <= rate <= high)
        sentences.append(
            f"{pair[0]}-{pair[1]} {runs.mean():.1f}% (nine runs of ten {low:.0f} to {high:.0f}; o3 "
            f"{rate:g})"
        )
    return (
        f"o3 names both strategies in {model[0]:g}% and {model[1]:g}% of rounds, short of 100%",
        f"an ideal observer that sees 50 rounds has {', '.join(sentences)}; {RUNS} runs each",
        all(outside),
    )


def ob_14() -> Finding:
    every = np.unique(outcomes().round(9), axis=0)
    differs = observation.brier(every[:, None], every) > 1e-6
    free = differs & (observation.ev_loss(every[:, None], every) < 1e-12)
    return (
        "three proper scoring rules",
        f"EVLoss is not strictly proper: of {int(differs.sum()):,} truths and guesses with other "
        f"outcomes {int(free.sum()):,} cost nothing, those with as much won less lost",
        not free.any(),
    )


def ob_15() -> Finding:
    quoted = printed("table2")["snippets"][-1]
    total = sum(quoted["hands"].values())
    shares = " and ".join(f"{100 * one:g}% {hand}" for hand, one in quoted["hands"].items())
    return (
        f"Table 2, {quoted['model']}: player {quoted['player']} ({quoted['strategy']}) plays "
        f"{shares}",
        f"these are {100 * total:g}%, and {quoted['strategy']} never plays the third hand",
        bool(np.isclose(total, 1)),
    )


CHECKS: dict[str, Callable[[], Finding]] = {
    "OB-01": ob_01,
    "OB-02": ob_02,
    "OB-03": ob_03,
    "OB-04": ob_04,
    "OB-09": ob_09,
    "OB-10": ob_10,
    "OB-12": ob_12,
    "OB-13": ob_13,
    "OB-14": ob_14,
    "OB-15": ob_15,
}

OPEN: dict[str, Open] = {
    "OB-05": (
        "Sec. 5: top_p = 2.0",
        "it lies above 0 and is at most 1; the prototype sends none, and no number shows what ran",
    ),
    "OB-06": (
        "Sec. 3: A, B, C are rock, paper, scissors",
        "words alone: the prototype has scissors, rock, paper, and Sec. 5 has C as paper too",
    ),
    "OB-07": (
        "Sec. 5: D plays paper first and scissors second",
        "words alone: N does; D is uniform, and Sec. 6.2 calls it random",
    ),
    "OB-08": (
        "Sec. 3: Y is 'lose last'; Sec. 5: Y counters",
        "words alone: the prototype's Y loses to the last hand, X beats it; its rule texts call "
        "both a counter-move, so what models read is ambiguous",
    ),
    "OB-11": (
        "D to P are dynamic mixtures",
        "words alone: fixed mixes are static, and the names of the match-ups change places",
    ),
    "OB-16": (
        "the scaling of the losses is the paper's",
        "not stated for the runs: the prototype changed it on 2025-08-23, so curves may mix both",
    ),
}
"""Findings that no printed number decides: the claim, and why."""
