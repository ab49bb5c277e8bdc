"""What players believed (`beliefs=on`): how right, how calibrated, and whether they used it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gauntlet.games.capabilities import Measure
from gauntlet.pipeline.log.beliefs import Belief, MatchBeliefs, read_beliefs
from gauntlet.pipeline.tables.formatting import amount, number
from gauntlet.pipeline.tables.media import plot_style, sheets
from gauntlet.pipeline.tables.media.sheets import Column, Format, Row, View
from gauntlet.pipeline.tables.registry import Part, Results, columns, figure, table
from gauntlet.pipeline.tables.sweep.primary_test import interval
from gauntlet.stats import beliefs as scores
from gauntlet.stats.means import per_deal

KINDS = {"hidden": "hidden cards", "move": "next move", "win": "own win"}
SQUARED, UNBOUNDED = Measure("squared", 0.0, 2.0), Measure("difference")


@dataclass(frozen=True)
class BeliefTable:
    """The beliefs of one cell and kind of question, one a row.

    stated: normalised scores. deal: the baseline, the probabilities over the deal alone, or even
    ones where there are none. exact: nan where unknown. deals: of each belief. events: a label
    for what each is about. unread: questions without any probability for an answer, which are left
    out.
    """

    rows: Sequence[Belief]
    stated: np.ndarray
    deal: np.ndarray
    exact: np.ndarray
    truth: np.ndarray
    answers: np.ndarray
    deals: np.ndarray
    events: np.ndarray
    mass: float
    unread: int

    @classmethod
    def from_rows(cls, beliefs: Sequence[tuple[MatchBeliefs, Belief]]) -> BeliefTable:
        """Raises ValueError for probabilities that do not sum to 1."""
        readable = [(match, one) for match, one in beliefs if sum(one.scores) > 0]
        rows, width = [one for _, one in readable], max(len(one.answers) for _, one in beliefs)
        answers = np.array([len(one.answers) for one in rows], int)
        even = (np.arange(width) < answers[:, None]) / np.maximum(answers, 1)[:, None]
        exact = _padded([one.exact for one in rows], width, np.full_like(even, np.nan))
        stated = scores.normalised(_padded([one.scores for one in rows], width, even))
        return cls(
            rows=rows,
            stated=scores.checked(stated),
            deal=scores.checked(_padded([one.deal for one in rows], width, even)),
            exact=exact,
            truth=np.array([one.truth for one in rows], int),
            answers=answers,
            deals=np.array([match.deal for match, _ in readable], int),
            events=np.array([_event(*one) for one in readable]),
            mass=float(np.mean([sum(one.scores) for _, one in beliefs])),
            unread=len(beliefs) - len(readable),
        )

    @property
    def known(self) -> np.ndarray:
        """Whether the exact probabilities are known."""
        return np.asarray(np.isfinite(self.exact[:, 0]))


def _padded(lists: Sequence[Sequence[float]], width: int, empty: np.ndarray) -> np.ndarray:
    """Lists as rows, filled with zeros; the row of `empty` for an empty list."""
    rows: np.ndarray = empty.copy()
    for row, values in zip(rows, lists, strict=True):
        if values:
            row[:] = 0.0
            row[: len(values)] = values
    return rows


def _event(match: MatchBeliefs, belief: Belief) -> str:
    """What a question asks about: questions about one event in one match have one answer."""
    return f"{match.match} {belief.about} {belief.ply if belief.kind == 'move' else ''}"


def belief_tables(results: Results) -> dict[tuple[str, str], BeliefTable]:
    """The beliefs of each cell and kind on its gap-free deals."""
    by_kind = {}
    for result in results.cells:
        counted = {outcome.match for outcome in result.outcomes}
        every = read_beliefs(results.folder, result.about.stem)
        matches = [match for match in every if match.match in counted]
        # in order, as sums would depend on the order in which matches ended
        matches.sort(key=lambda match: (match.deal, match.rotation))
        for kind in KINDS:
            beliefs = [
                (match, one) for match in matches for one in match.beliefs if one.kind == kind
            ]
            if beliefs:
                by_kind[result.about.name, kind] = BeliefTable.from_rows(beliefs)
    return by_kind


# --- how right


def _named(name: str, meaning: str) -> dict[str, str]:
    """A column and those of its interval."""
    return {name: meaning, **columns(f"{name}_low", f"{name}_high")}


COLUMNS = {
    **columns("cell"),
    "question": "hidden: what the opponent holds; move: its next move; win: the own win",
    "beliefs": "how many were scored",
    "deals": "deals with a belief",
    "answers": "mean number of answers",
    "mass": "mean probability of all answers' letters among all tokens; the rest is for words that "
    "answer nothing",
    "unread": "questions with a mass of 0, which are not scored",
    "known": "share whose exact probabilities are known",
    **_named("brier", "mean of sum (q - y)^2, from 0 to 2; lower is better"),
    "log_score": "mean of -ln q of the right answer, q at least .001",
    "sharpness": "mean of sum q^2: calibrated beliefs have the Brier score 1 less this",
    "brier_baseline": "the Brier score of the probabilities over the deal alone, for which all "
    "cards that the seat cannot see are alike; where they are unknown, of even ones",
    "brier_exact": "of the exact probabilities, given also how the others move by their policies",
    **_named("gain", "brier_baseline - brier"),
    **_named("distance", "mean of sum (q - p)^2, p the exact probabilities; 0 is perfect"),
    "distance_baseline": "of the baseline",
    **_named("gain_exact", "distance_baseline - distance: the mean of gain with less noise"),
    "deals_saved": "the variance of a deal's gain over that of its gain_exact: how many deals "
    "scored by outcomes one scored by exact probabilities replaces",
    "miscalibration": "of the mean of (q - y)^2 over single answers, what isotonic recalibration "
    "would gain",
    "discrimination": "what recalibrated beliefs gain over the mean outcome",
    "uncertainty": "the variance of the outcome; miscalibration - discrimination + uncertainty is "
    "the mean",
    **_named(
        "drift",
        "own win: mean change from one belief of a match to the next, the last to the outcome; 0 "
        "for a martingale",
    ),
    **_named(
        "excess",
        "own win: mean movement beyond the fall of uncertainty; 0 for a martingale, above it "
        "beliefs move too much",
    ),
}
FOOT = (
    "Side questions right after a decision, by option scoring, outside the match. Brier: sum of "
    "squared errors, 0 to 2; deal: of probabilities over the deal alone (even ones for moves and "
    "wins); exact: given the others' moves too, by their policies. gain: deal - Brier. off: "
    "squared distance from the exact probabilities; by exact: the gain without the noise of "
    "outcomes. MCB: what recalibration would gain of the score of single answers. mass: of all "
    "letters among all tokens. Intervals: by deal, of gains from 100 deals on."
)


LOW = 0.01
"""A mass below which beliefs say little: the model would have written something else."""


def _foot(text: str) -> Callable[[Part], str]:
    """The text, after a warning that names rows of a low mass."""

    def foot(part: Part) -> str:
        beliefs, shown = part.results.cached(belief_tables), {*part.rows["cell"]}
        low = [name for (name, _), own in beliefs.items() if name in shown and own.mass < LOW]
        names = ", ".join(part.results.names[cell] for cell in dict.fromkeys(low))
        warning = f"WARNING answers have less than {LOW:.0%} of all probability, so these beliefs "
        return f"{warning}say little: {names}.\n{text}" if low else text

    return foot


def _span(name: str) -> Format:
    return sheets.ends(f"{name}_low", f"{name}_high", partial(sheets.decimal, form="+.4f"))


VIEW = View(
    "What players believed",
    (
        Column("cell", sheets.cell_name),
        Column("question", sheets.text("question")),
        Column("beliefs", sheets.count("beliefs")),
        Column("Brier", sheets.decimal("brier", ".4f")),
        Column("deal", sheets.decimal("brier_baseline", ".4f")),
        Column("exact", sheets.decimal("brier_exact", ".4f")),
        Column("gain, 95%", _span("gain")),
        Column("off", sheets.decimal("distance", ".4f")),
        Column("by exact, 95%", _span("gain_exact")),
        Column("MCB", sheets.decimal("miscalibration", ".4f")),
        Column("mass", sheets.share("mass")),
    ),
    _foot(FOOT),
)


@table("beliefs", COLUMNS, [VIEW], metrics=("brier", "gain"), key="question", place=26)
def beliefs(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell and kind of question."""
    for (cell, kind), group in results.cached(belief_tables).items():
        row = {
            "cell": cell,
            "question": kind,
            "mass": group.mass,
            "unread": group.unread,
        }
        yield row | (belief_scores(group, kind) if group.rows else {"beliefs": 0})


def belief_scores(table: BeliefTable, kind: str) -> dict[str, Any]:
    """The scores of beliefs about one kind of question, at least one: columns of beliefs.csv."""
    by_outcome = scores.brier(table.stated, table.truth)
    baseline = scores.brier(table.deal, table.truth)
    parts = scores.decomposed(*scores.flattened(table.stated, table.truth, table.answers))
    gain = baseline - by_outcome
    return {
        "beliefs": len(table.rows),
        "deals": len(np.unique(table.deals)),
        "answers": table.answers.mean(),
        "known": table.known.mean(),
        **_estimate("brier", by_outcome, table.deals, SQUARED),
        "log_score": scores.log_score(table.stated, table.truth).mean(),
        "sharpness": scores.sharpness(table.stated).mean(),
        "brier_baseline": baseline.mean(),
        **_estimate("gain", gain, table.deals, UNBOUNDED),
        **(_by_exact(table, gain) if table.known.all() else {}),
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
        "uncertainty": parts.uncertainty,
        **(_drift(table) if kind == "win" else {}),
    }


def _estimate(name: str, values: np.ndarray, deals: np.ndarray, measure: Measure) -> dict[str, Any]:
    names = (name, f"{name}_low", f"{name}_high")
    return dict(zip(names, interval(values, deals, measure), strict=True))


def _by_exact(table: BeliefTable, gain: np.ndarray) -> dict[str, Any]:
    """Scores by the exact probabilities, which are known of all beliefs."""
    exact = scores.checked(table.exact)
    off, baseline = (scores.distance(q, exact) for q in (table.stated, table.deal))
    better = baseline - off
    noisy, clean = (per_deal(values, table.deals).var() for values in (gain, better))
    return {
        "brier_exact": scores.brier(exact, table.truth).mean(),
        **_estimate("distance", off, table.deals, SQUARED),
        "distance_baseline": baseline.mean(),
        **_estimate("gain_exact", better, table.deals, UNBOUNDED),
        "deals_saved": noisy / clean if clean > 0 else np.nan,
    }


def _drift(table: BeliefTable) -> dict[str, Any]:
    """How the probability of the own win moves, match by match, and at last to the outcome."""
    order = np.lexsort((np.array([one.ply for one in table.rows]), table.events))
    before, won = table.stated[order, 0], table.truth[order] == 0
    last = np.append(table.events[order][1:] != table.events[order][:-1], True)
    after = np.where(last, won, np.append(before[1:], 0.0))
    deals = table.deals[order]
    moved = scores.excess_movement(before, after)
    return {
        **_estimate("drift", after - before, deals, UNBOUNDED),
        **_estimate("excess", moved, deals, UNBOUNDED),
    }


# --- whether they used it

LOSSES = {
    "lost": "the worth of the best option less that of the one taken, by the exact probabilities",
    "not_knowing": "the part lost by not knowing: had the option that is best by its own stated "
    "probabilities been taken",
    "not_using": "the rest, lost by not taking that option; below 0 if it did better than its "
    "belief advised",
}
USE = {
    **columns("cell"),
    "decisions": "decisions with a belief about what is hidden, and known worths",
    "deals": "deals with such a decision",
    "impossible": "mean probability stated for answers that what was seen rules out",
    **{
        name: text for key, meaning in LOSSES.items() for name, text in _named(key, meaning).items()
    },
}


def _loss(name: str) -> Format:
    def shown(row: Row) -> str:
        if np.isnan(row[f"{name}_low"]):
            return amount(row[name])
        return f"{row[name]:.3f} ({row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f})"

    return shown


USE_VIEW = View(
    "Lost by not knowing, or by not using it",
    (
        Column("cell", sheets.cell_name),
        Column("decisions", sheets.count("decisions")),
        Column("lost a decision", _loss("lost")),
        Column("not knowing", _loss("not_knowing")),
        Column("not using", _loss("not_using")),
        Column("impossible", sheets.share("impossible")),
    ),
    _foot(
        "In the game's points, by exact values against the others' known policies, the subject "
        "playing on at its best. not knowing: what the best option by its own stated belief would "
        "lose; not using: what it lost beyond that, or gained. 95% intervals by deal, from 100 "
        "deals on."
    ),
)


@table("beliefs_used", USE, [USE_VIEW], place=27)
def beliefs_used(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell where options have known worths."""
    for (cell, kind), group in results.cached(belief_tables).items():
        if kind == "hidden" and (rows := list(_losses(group))):
            losses = pd.DataFrame(rows).dropna()
            deals = losses["deal"].to_numpy()
            row = {"cell": cell, "decisions": len(losses), "deals": losses["deal"].nunique()}
            row["impossible"] = losses["impossible"].mean()
            for name in LOSSES:
                row |= _estimate(name, losses[name].to_numpy(float), deals, UNBOUNDED)
            yield row


def _losses(table: BeliefTable) -> Iterator[dict[str, float]]:
    for at, one in enumerate(table.rows):
        if not one.worths or not one.exact:
            continue
        width = len(one.answers)
        stated, exact = table.stated[at, :width], np.array(one.exact)
        worths = np.array(one.worths, float)
        knowing, using = scores.value_lost(worths, stated, exact / exact.sum(), one.chosen)
        yield {
            "deal": table.deals[at],
            "impossible": float(stated[exact == 0].sum()),
            "lost": knowing + using,
            "not_knowing": knowing,
            "not_using": using,
        }


# --- calibration

MOST_CELLS = 4


@figure("belief_calibration", place=26)
def belief_calibration(results: Results) -> Figure | None:
    """A row for each of the first cells, a panel for each kind of question."""
    drawable = {name: group for name, group in results.cached(belief_tables).items() if group.rows}
    cells = list(dict.fromkeys(cell for cell, _ in drawable))[:MOST_CELLS]
    if not cells:
        return None
    kinds = [kind for kind in KINDS if any((cell, kind) in drawable for cell in cells)]
    drawn, panels = plot_style.panels(len(cells), len(kinds), 0.7 + 2.3 * len(cells))
    for place, axes in enumerate(panels):
        cell, kind = cells[place // len(kinds)], kinds[place % len(kinds)]
        if (cell, kind) in drawable:
            _calibration(axes, drawable[cell, kind], f"{cell} {kind}")
        name = plot_style.shorten(results.names[cell], plot_style.room(0.8 / len(kinds)))
        axes.set_title(f"{name}: {KINDS[kind]}", fontsize=plot_style.SIZE)
    return plot_style.set_title(
        drawn,
        "How often an answer was right, by the probability stated for it, after isotonic "
        "regression; shaded: 95% of calibrated beliefs; bars: how often it was stated",
    )


def _calibration(axes: Axes, table: BeliefTable, name: str) -> None:
    p, right = scores.flattened(table.stated, table.truth, table.answers)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    band = scores.consistency_band(table.stated, table.answers, table.events, rng)
    order = np.argsort(p)
    fitted = scores.recalibrated(p, right)[order]
    shares, edges = np.histogram(p, bins=20, range=(0, 1))
    bars = shares / shares.max() * 0.2
    axes.bar(edges[:-1], bars, 0.05, align="edge", color=plot_style.PALE, linewidth=0)
    axes.fill_between(band.p, band.low, band.high, color=plot_style.MUTED, alpha=0.3, linewidth=0)
    axes.plot([0, 1], [0, 1], color=plot_style.MUTED, linewidth=0.6)
    axes.plot(p[order], fitted, color=plot_style.ACCENT, linewidth=1.2)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"stated ({number(len(table.rows), ',.0f')} beliefs)")
    axes.set_ylabel("right")
