"""Luck-adjusted results: the subject's decisions judged by playouts, match by match.

The mean result of a reference policy in the subject's seat is known from a million games; the game
names its reference policies (`games.capabilities.Adjustable`). In every match, the subject's
advantage over the reference is measured, which cancels the luck of the deal, of the draws and of
the other players' choices. The sum of the two is an unbiased estimate of the subject's mean result
if

(a) every other player is a scripted policy of the game, which the playouts play exactly;
(b) the subject chooses by what its seat may know, which holds as agents are shown nothing else;
(c) the reference is one policy of one game, the same in its mean result and in the playouts, and
was not learnt from the match.

If (a) or (c) fails, nothing is adjusted, and the reason is reported. If the game supports it, later
deals are judged against a policy learnt from the player's earlier ones (`references.py`); each
stretch of deals has one reference. The references' standard errors enter the interval. Advantages
are stored in <output_dir>/luck/<cell>.json, which is derived from the log: if it is missing, they
are recomputed.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import convert

from gauntlet.common.disk import write_atomically
from gauntlet.games.capabilities import Adjustable
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.judging import chance
from gauntlet.pipeline.judging.references import (
    PlayedMatch,
    Reference,
    against,
    games_of,
    judged,
    references,
)
from gauntlet.pipeline.log.metadata_files import parse_object, to_bytes
from gauntlet.pipeline.log.results import Adjusted, CellInfo, CellResults
from gauntlet.pipeline.plan.baseline import policies_with_baseline, scripted_policies
from gauntlet.pipeline.plan.cells import Cell, digest
from gauntlet.pipeline.plan.rng import DEAL, LUCK, stream
from gauntlet.stats.control_variates import corrected, leads

WARNINGS = logging.getLogger("gauntlet")

PLAYOUTS = 150
"""Playouts per option: about ten milliseconds per game of UNO. Twice as many would make a match
worth only a sixth more."""

CHANCE = "chance"
"""The name in tables for the adjustment of `chance.py`, which has no reference."""

LEARNT = "habits"
"""The name in tables for learnt references."""


@dataclass(frozen=True)
class Luck:
    """A cell's luck adjustment.

    reason: why nothing is adjusted; "" if it is.
    reference, playouts: how the advantages were measured, from the first deal on.
    rate, error: the reference's mean result in the subject's seat, and its standard error.
    advantages: by match id.
    corrections: by match id, where nobody need be scripted; see `chance.py`.
    later: the references that replace the first one, by the deal at which each starts.
    judged: a hash of the result that is adjusted, which is not in the cell's key.
    """

    reason: str
    reference: str = ""
    playouts: int = 0
    rate: float = math.nan
    error: float = math.nan
    advantages: Mapping[str, float] = field(default_factory=dict)
    later: Sequence[Reference] = ()
    corrections: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    judged: str = ""

    @property
    def references(self) -> list[Reference]:
        return [Reference(0, self.reference, self.rate, self.error), *self.later]

    def reference_of(self, deal: int) -> Reference:
        """The reference for the matches of a deal."""
        return self.references[bisect_right(self.later, deal, key=lambda item: item.start)]


def refusal(cell: Cell) -> str:
    """Why the cell cannot be adjusted; "" if it can."""
    if not isinstance(cell.game, Adjustable):
        return f"{cell.labels['game']} has no playouts to judge luck by"
    if reason := cell.game.unadjustable(cell.measure):
        return reason
    if (len(cell.subjects), len(cell.measured)) != (1, 1):
        return "its playouts judge one player's decisions by one player's results"
    if cell.baseline is None:
        return "there is no baseline to compare with"
    if any(getattr(player.agent, "on_bad_reply", "") == "forfeit" for player in cell.players):
        return "a forfeited match has no end that playouts can judge"
    for number, policy in enumerate(scripted_policies(cell)):
        if number not in cell.subjects and policy is None:
            return (
                f"player {number}, {cell.players[number].name}, is no scripted policy of the game, "
                "so that playouts cannot play it"
            )
    return ""


def adjust(
    folder: Path,
    cells: Sequence[Cell],
    results: Sequence[CellResults],
    seed: Seed,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Update the stored advantages of all cells to match the results. `say` gets progress lines."""
    for cell, result in zip(cells, results, strict=True):
        if reason := refusal(cell):
            keep(folder, result.about, _by_chance(folder, cell, result, seed, reason, say))
            continue
        before = _before(folder, cell, result)
        first, *later = references(folder, cell, result, before.later, seed)
        fresh = replace(
            Luck("", first.policy, PLAYOUTS, first.rate, first.error, {}, later),
            judged=before.judged,
        )
        by_match = {
            outcome.match: before.advantages[outcome.match]
            for outcome in result.outcomes
            if before.playouts == fresh.playouts
            and outcome.match in before.advantages
            and before.reference_of(outcome.deal).policy == fresh.reference_of(outcome.deal).policy
        }
        wanted = {outcome.match for outcome in result.outcomes} - by_match.keys()
        games = games_of(folder, result.about, wanted) if wanted else []
        for reference in fresh.references:
            stretch = [game for game in games if fresh.reference_of(game.deal) == reference]
            judge = partial(advantage, against(cell, reference.policy), seed=seed)
            by_match |= judged(cell, stretch, judge, say)
        keep(folder, result.about, replace(fresh, advantages=by_match))


def _before(folder: Path, cell: Cell, result: CellResults) -> Luck:
    """The stored adjustment of the same result; else an empty one."""
    same = digest([cell.measure, cell.measured, cell.subjects])
    before = read(folder, result.about)
    return before if before and before.judged == same else Luck("", judged=same)


def _by_chance(
    folder: Path,
    cell: Cell,
    result: CellResults,
    seed: Seed,
    reason: str,
    say: Callable[[str], None],
) -> Luck:
    """The adjustment that needs no scripted player; where there is none, with the reason."""
    if lack := chance.refusal(cell):
        return Luck(reason if lack in reason else f"{reason}; {lack}")
    before = _before(folder, cell, result)
    wanted = {outcome.match for outcome in result.outcomes}
    known = {match: c for match, c in before.corrections.items() if match in wanted}
    fresh = chance.corrections(folder, cell, result, wanted - known.keys(), seed, say)
    return Luck("", CHANCE, error=0.0, corrections=known | dict(fresh), judged=before.judged)


def advantage(cell: Cell, match: PlayedMatch, seed: Seed) -> float:
    """The subject's advantage over the cell's baseline in one match."""
    game = cell.game
    seat, measured = cell.seats_of((*cell.subjects, *cell.measured), match.rotation)
    assert isinstance(game, Adjustable)
    policies = policies_with_baseline(cell)
    return game.advantage(
        game.deal(stream(seed, game, match.deal, DEAL)),
        match.moves,
        seat,
        measured,
        [str(policies[player]) for player in cell.seating(match.rotation)],
        PLAYOUTS,
        int(stream(seed, game, match.deal, LUCK).integers(2**62)),
    )


def keep(folder: Path, about: CellInfo, luck: Luck) -> None:
    (folder / "luck").mkdir(exist_ok=True)
    write_atomically(folder / "luck" / f"{about.stem}.json", to_bytes(asdict(luck)))


def read(folder: Path, about: CellInfo) -> Luck | None:
    """A cell's stored luck adjustment; None if missing or damaged."""
    path = folder / "luck" / f"{about.stem}.json"
    try:
        return convert(parse_object(path.read_bytes()), Luck)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        WARNINGS.warning("%s is damaged; the same sweep again finds it anew", path)
        return None


def with_adjustment(folder: Path, results: Sequence[CellResults]) -> list[CellResults]:
    """The results with their stored luck adjustment, which leads in all cells of a game and a
    measure or in none, so that their estimates can be compared: by the vote of each cell."""
    estimates = [adjusted(folder, result) for result in results]
    groups = [(each.about.labels["game"], each.about.measure.name) for each in results]
    votes: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for result, group, estimate in zip(results, groups, estimates, strict=True):
        if estimate is not None:
            about, raw = result.about, result.by_deal()[1]
            span = about.measure.low, about.measure.high
            # a stopping rule went by the adjusted values
            vote = result.stopped or leads(
                raw, estimate.values, span, about.seats_taken, estimate.error
            )
            votes[group].append(vote)
    leading = {group for group, cast in votes.items() if 2 * sum(cast) >= len(cast)}
    return [
        replace(result, adjusted=estimate and replace(estimate, leads=group in leading))
        for result, group, estimate in zip(results, groups, estimates, strict=True)
    ]


def adjusted(folder: Path, result: CellResults) -> Adjusted | None:
    """None if nothing is adjusted, or a match has not been judged yet."""
    adjustment = read(folder, result.about)
    if adjustment is None or adjustment.reason or not result.outcomes:
        return None
    if adjustment.corrections:
        return _corrected(adjustment, result)
    known = [adjustment.advantages.get(outcome.match, math.nan) for outcome in result.outcomes]
    deals, where = np.unique(result.outcomes.column("deal"), return_inverse=True)
    means = np.bincount(where, np.array(known, float)) / np.bincount(where)
    if np.isnan(means).any():
        return None
    judges = [adjustment.reference_of(deal) for deal in deals.tolist()]
    rates = np.array([judge.rate for judge in judges])
    name = adjustment.reference if judges[-1].start == 0 else LEARNT
    return Adjusted(deals, rates + means, name, float(rates.mean()), error_of(judges))


def _corrected(luck: Luck, result: CellResults) -> Adjusted | None:
    """None if a match has no corrections yet."""
    missing = (math.nan,) * len(chance.GROUPS)
    known = [luck.corrections.get(outcome.match, missing) for outcome in result.outcomes]
    deals, where = np.unique(result.outcomes.column("deal"), return_inverse=True)
    every = np.column_stack((result.outcomes.column("figure"), np.array(known, float)))
    if np.isnan(every).any():
        return None
    means = np.array([np.bincount(where, one) for one in every.T]).T / np.bincount(where)[:, None]
    values = corrected(means[:, 0], means[:, 1:])
    return Adjusted(deals, values, CHANCE, math.nan, luck.error)


def error_of(judges: Sequence[Reference]) -> float:
    """The standard error of the mean over the deals' references. Deals with the same learnt policy
    share one error; it does not average out."""
    sums = defaultdict[str, float](float)
    for judge in judges:
        sums[judge.policy] += judge.error
    return math.hypot(*sums.values()) / len(judges)
