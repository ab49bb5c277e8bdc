"""An adaptive sweep's evidence, from the log: what is settled, what is open, in words.

Only raw results enter: the tests need bounded values, and luck-adjusted ones have no bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError, counted
from gauntlet.pipeline.config.read import Adaptive
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.tournament import Pair, Tournament

NAMED = 3
"""Most pairs in a sentence."""


def rule_of(adaptive: Adaptive, abouts: Sequence[CellInfo]) -> dict[str, Any]:
    """What all rounds of a sweep have in common. Raises UserError for cells that are not of two
    players, of several games, or judged by a measure without a range."""
    players: dict[str, None] = {}
    for about in abouts:
        if about.sides is None:
            raise UserError(f"pairing=adaptive: both sides of {about.name} are the same player")
        if not math.isfinite(about.measure.high - about.measure.low):
            raise UserError(
                f"pairing=adaptive needs a measure with a range, and {about.measure.name} has none"
            )
        players |= dict.fromkeys(about.sides)
    if len(abouts) != math.comb(len(players), 2):
        raise UserError(
            "pairing=adaptive ranks the players of one game by one model and prompt each; this "
            f"sweep has {len(abouts):,} cells, and {len(players)} players make "
            f"{math.comb(len(players), 2)}"
        )
    settings = {"verdict": adaptive.verdict, "alpha": ALPHA, "margin": adaptive.margin}
    return {**settings, "players": [*players]}


def evidence(rule: Mapping[str, Any], results: Sequence[CellResults]) -> Tournament:
    """What the cells' deals show, each cell's in order."""
    players = rule["players"]
    settings = {key: rule[key] for key in ("verdict", "alpha", "margin")}
    tournament = Tournament(len(players), **settings)
    for result in results:
        tournament.add(*pair_of(rule, result.about), shares(result))
    return tournament


def pair_of(rule: Mapping[str, Any], about: CellInfo) -> Pair:
    """The numbers of the cell's two players."""
    first, second = about.sides or ("", "")
    return rule["players"].index(first), rule["players"].index(second)


def shares(result: CellResults) -> np.ndarray:
    """The measured player's share of each deal, 0 to 1, over all its matches; deals without one of
    them are left out, as seats are unequal."""
    outcomes, about = result.outcomes, result.about
    lead = outcomes.column("figure") - outcomes.column("others_figure")
    _, places, times = np.unique(outcomes.column("deal"), return_inverse=True, return_counts=True)
    means = np.bincount(places, (1 + lead / about.span) / 2) / times
    whole: np.ndarray = means[times == about.rotations]
    return whole.clip(0.0, 1.0)


# --- in words


def sentences(rule: Mapping[str, Any], tournament: Tournament, rounds: int) -> Iterator[str]:
    """The verdict, or how far it is, in one to three sentences."""
    names, matches = rule["players"], f"after {counted(rounds, 'round')}"
    if rounds == 0:
        yield "No round has ended yet."
        return
    round_about = tournament.contradicted or (tournament.cycle and tournament.verdict == "all")
    if tournament.open:
        pairs = ", ".join(f"{names[a]} or {names[b]}" for a, b in tournament.open[:NAMED])
        more = len(tournament.open) - NAMED
        yield f"Open {matches}: {pairs}{f' and {more} more' if more > 0 else ''}."
        yield f"By rating so far: {', '.join(names[one] for one in tournament.order)}."
    elif not round_about:
        yield f"Settled {matches}: {_verdict(names, tournament)}."
    if round_about:
        what = "best player" if tournament.verdict == "top1" else "order"
        yield f"No {what} {matches}: {_cycle(names, tournament)}."
    elif tournament.cycle:
        yield f"Below, a circle: {_cycle(names, tournament)}."
    sure = f"{1 - tournament.alpha:.0%} for all"
    level = f" of better players together, {sure} of level ones"
    yield f"Claims hold at every look, {sure}{level if tournament.level.any() else ' together'}."


def _verdict(names: Sequence[str], tournament: Tournament) -> str:
    order, claims = tournament.order, tournament.claims
    if tournament.verdict == "top1":
        best, *others = order
        level = [best, *(other for other in others if not claims[best, other])]
        if len(level) == 1:
            return f"{names[best]} is the best of {len(names)}"
        who = ", ".join(names[one] for one in level[1:])
        ahead = (
            "" if len(level) == len(names) else f" and ahead of the other {len(names) - len(level)}"
        )
        return f"no single best of {len(names)}: {names[best]} is level with {who}{ahead}"
    if tournament.verdict == "pair":
        order = [one for one in order if one < 2]
    signs = [" > " if claims[pair] else " = " for pair in itertools.pairwise(order)]
    parts = zip((names[one] for one in order), [*signs, ""], strict=True)
    text = "".join(part for pair in parts for part in pair)
    return "; ".join([text, *_not_level(names, tournament, order)])


def _not_level(names: Sequence[str], tournament: Tournament, order: Sequence[int]) -> Iterator[str]:
    """The claims between players whom the order shows as level, neighbour by neighbour."""
    for at, first in enumerate(order):
        for last in range(at + 2, len(order)):
            if any(tournament.claims[pair] for pair in itertools.pairwise(order[at : last + 1])):
                break
            if tournament.claims[first, order[last]]:
                yield f"{names[first]} > {names[order[last]]}"


def _cycle(names: Sequence[str], tournament: Tournament) -> str:
    """A shortest cycle of claims: A beats B beats C beats A."""
    claims = tournament.claims
    paths = [[int(one)] for one in np.flatnonzero(tournament.cyclic)]
    while True:
        for path in paths:
            if len(path) > 1 and claims[path[-1], path[0]]:
                return " beats ".join(names[one] for one in (*path, path[0]))
        paths = [
            [*path, int(other)]
            for path in paths
            for other in np.flatnonzero(claims[path[-1]])
            if other not in path
        ]
