"""The two main tables: a row for each cell, and a row for every two cells.

Only the gap-free prefix of a cell's deals counts: short games finish first, so a table over
whatever has finished would favour whoever wins short games.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.sanitize import visible
from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables import noise
from gauntlet.pipeline.tables.claims import null_value
from gauntlet.pipeline.tables.comparisons import Pairing, paired_off
from gauntlet.pipeline.tables.conditions import claimed, conditions, family
from gauntlet.pipeline.tables.controls import rivals
from gauntlet.pipeline.tables.numbers import number, percent
from gauntlet.pipeline.tables.primary_test import ByDeal, measured_by, of_cell, of_pair
from gauntlet.pipeline.tables.registry import PAGE, PAPER, ROWS, TERMINAL, Part, Results, table
from gauntlet.pipeline.tables.scale import A_DRAW, SCORE, heading, scales_of
from gauntlet.pipeline.tables.sheets import (
    Column,
    Row,
    View,
    change,
    count,
    decimal,
    mean,
    p,
    reach,
    share,
    span,
    where,
)
from gauntlet.stats.means import LEAST
from gauntlet.stats.multiple import holm

WITHIN = " ~"
"""Marks a difference that lies within the noise floor."""
ADJUSTED, BOTH = ("estimator", "adjusted"), ("test", "adjusted")
"""What tells that an estimate of a cell, or of two, is luck-adjusted."""
TESTS = {"two_sided": "other than", "above": "above", "non_inferior": "not below by a margin"}
"""The declared tests, in a few words."""
OF_TWO = {
    "adjusted": "of the luck-adjusted differences by deal",
    "mcnemar": "McNemar's exact test",
    "permutation": "a paired permutation test over deals",
}
"""The tests of two cells, in a few words."""
SUMMARY = {
    "cell": "the cell's name",
    "experiment": "as in the config",
    "game": "the game, with settings that were swept",
    "agent": "what plays in the subject's seat",
    "model": "its model, `-` without one",
    "prompt": "its prompting method, `-` without one",
    "seats": "who sits where",
    "measure": "what the cell is judged by",
    "measure_low": "the lowest value of the measure; empty without one",
    "measure_high": "the highest value of the measure; empty without one",
    "estimate": "the best estimate of the measure's mean: luck-adjusted where possible, else raw",
    "ci_low": "lower end of its 95% interval",
    "ci_high": "upper end of its 95% interval",
    "estimator": "`adjusted` or `raw`",
    "baseline": "the mean of a scripted player in the same seat; empty without a baseline",
    "baseline_n": "matches that the baseline was measured in",
    "difference": "the estimate less the baseline",
    "difference_low": "lower end of its 95% interval, which includes the baseline's error",
    "difference_high": "upper end of that interval",
    "test": "the test declared in the config: `two_sided`, `above` or `non_inferior`",
    "p": "its p-value, of the estimate; empty where a rule stopped the sweep",
    "p_holm": "the same after Holm's correction over all that the experiment claims",
    "raw": "the mean of the measure as it was played",
    "raw_low": "lower end of its 95% interval",
    "raw_high": "upper end of its 95% interval",
    "deals": "deals that count",
    "matches": "matches that count",
    "decisions": "decisions of the subject, with a choice",
    "forced": "turns of the subject without a choice",
    "fallbacks": "decisions that a random move settled, as no reply could be used",
    "failed": "matches that failed and are left out",
    "warning": "what a reader of the result should know first",
}
PAIRS = {
    "cell_a": "the first cell",
    "cell_b": "the second cell",
    "measure": "what both are judged by",
    "deals": "deals that both finished",
    "a_only": "deals that went better for A (that A alone won)",
    "b_only": "deals that went better for B",
    "difference": "A less B: luck-adjusted where both cells are, else raw",
    "ci_low": "lower end of its 95% interval",
    "ci_high": "upper end of its 95% interval",
    "test": "the test: `adjusted` (of luck-adjusted differences), `mcnemar` or `permutation`",
    "p": "its two-sided p-value; empty where a rule stopped the sweep",
    "p_holm": "after Holm: with the cells where a sentence tells the pair, else over the others",
    "raw": "A less B as they were played",
    "raw_low": "lower end of its 95% interval",
    "raw_high": "upper end of its 95% interval",
    "correlation": "of both cells' results over deals (phi for wins)",
}


# --- a row for each cell


def _adjusted(part: Part) -> bool:
    return bool((part.rows["estimator"] == "adjusted").any())


def _plain(part: Part) -> bool:
    return not _adjusted(part)


def _heading(part: Part) -> str:
    return heading(scales_of(part.rows))


def _named(row: Row) -> str:
    """The cell's name, with its measure where not all cells have the same."""
    several = heading(list(row.results.scales.values())) != row.scale.title
    return f"{row.name()} ({row.scale.title})" if several else row.name()


def _forced(row: Row) -> str:
    turns = row["decisions"] + row["forced"]
    return percent(row["forced"] / turns if turns else np.nan, 0)


def _speed(row: Row) -> str:
    return number(row.results.once(speeds)[row["cell"]], ",.0f")


def speeds(results: Results) -> dict[str, float]:
    """Decisions a worker-second of each cell."""
    costs = results["costs"]
    return dict(zip(costs["cell"], costs["decisions_per_s"], strict=True))


def _title(part: Part) -> str:
    if part.medium == TERMINAL:
        return ""
    return f"{_heading(part).capitalize()} of every cell" if part.medium == PAPER else "Cells"


def _foot(part: Part) -> str:
    return _caption(part) if part.medium == PAPER else "\n".join(_notes(part))


def _notes(part: Part) -> Iterator[str]:
    """What the columns mean that a reader could get wrong."""
    rows, cells = part.results["summary"], part.results.cells
    tested = ", ".join(
        f"{len(own)} cell{'s' if len(own) > 1 else ''} of {visible(str(name))}"
        for name, own in rows.groupby("experiment")
    )
    tests = " or ".join(TESTS[name] for name in sorted(set(rows["test"])))
    yield (
        f"p Holm: {tests} the baseline, of the {'adjusted' if _adjusted(part) else 'raw'} "
        f"estimate; its family: all that is claimed of the {tested}."
    )
    if not part.results["controls"].empty:
        yield "With controls it is the larger of that p and the one of the least beaten."
    if _plain(part) and part.medium == TERMINAL:
        yield "p: the same without Holm. dec/s: decisions a worker-second."
    if games := list(dict.fromkeys(f"{n:,}" for n in rows["baseline_n"] if n)):
        yield (f"The baseline was measured in {' / '.join(games)} games; the test allows for that.")
    if any(scale.title == SCORE for scale in scales_of(rows)):
        yield f"{SCORE}: {A_DRAW} a win; measure=win counts wins alone."
    alone = {null_value(cell.about) for cell in cells if cell.about.baseline is None}
    for against in sorted(value for value in alone if not np.isnan(value)):
        yield f"Where there is no baseline the mean is held against {against:g}."
    if (rows["raw"].notna() & rows["raw_low"].isna()).any():
        yield f"A measure without a range has an interval and a p from {LEAST} deals on."
    if rows["failed"].sum():
        yield f"{rows['failed'].sum()} match(es) failed: see failed_matches.jsonl."


def _caption(part: Part) -> str:
    """The caption of a printed table: n, deals, baseline, intervals, test."""
    rows = part.rows
    tests = " or ".join(TESTS[name] for name in sorted(set(rows["test"])))
    games = sorted({f"{n:,}" for n in rows["baseline_n"] if n})
    points = ", in points" * any(scale.share for scale in scales_of(rows))
    lead = "luck-adjusted estimate" if _adjusted(part) else "mean"
    best = (rows["estimator"] == "adjusted").all()
    exact = "" if best else ", of single wins Fisher's exact test"
    both = " or the least beaten control, the larger p" * (not part.results["controls"].empty)
    told = [
        f"Experiment {', '.join(sorted(set(rows['experiment'])))}; n: {rows['matches'].sum():,} "
        f"matches, {deals_of(rows['deals'])} a cell.",
        _intervals(part),
        f"The baseline was measured in {' or '.join(games)} games." if games else "",
        f"The difference is that of the {lead} from the baseline{points}; p: {tests} the baseline, "
        f"the interval turned round{exact}{both}, corrected by Holm over all that is claimed of "
        "the experiment.",
    ]
    return " ".join(filter(None, told))


def deals_of(deals: pd.Series[Any]) -> str:
    """Of how many deals rows are, in words."""
    least, most = int(deals.min()), int(deals.max())
    return f"{least:,} to {most:,} deals" if least < most else f"{most:,} deal{'s' * (most > 1)}"


def _intervals(part: Part) -> str:
    """What kind the intervals are (docs/statistics.md)."""
    shown = set(part.rows["measure"])
    measures = {c.about.measure for c in part.results.cells if c.about.measure.name in shown}
    free = [measure for measure in measures if not np.isfinite(measure.low)]
    if len(free) == len(measures):
        return "Intervals: Student's over deals, or further by Hall's skewness, from 100 deals on."
    single = ", of single wins Clopper and Pearson's" if WIN.name in shown else ""
    told = "; of measures without a range Student's, or further by Hall's skewness"
    return f"Intervals: Gaffke's over deals{single}{told * bool(free)}."


CELLS = View(
    _title,
    (
        Column("cell", _named),
        Column("matches", count("matches"), (PAGE, PAPER)),
        Column(_heading, mean("raw")),
        Column("95% interval", span("raw_low", "raw_high")),
        Column("adjusted", where(*ADJUSTED, mean("estimate")), where=_adjusted),
        Column("95% interval", where(*ADJUSTED, span("ci_low", "ci_high")), where=_adjusted),
        Column("baseline", mean("baseline")),
        Column("difference", change("difference"), (PAGE, PAPER)),
        Column("95% interval", reach("difference_low", "difference_high"), (PAGE, PAPER)),
        Column("p", p("p"), (PAGE,)),
        Column("p", p("p"), (TERMINAL,), _plain),
        Column("p Holm", p("p_holm")),
        Column("decisions", count("decisions"), (TERMINAL, PAGE)),
        Column("forced", _forced, (TERMINAL, PAGE)),
        Column("fallback", share("fallbacks", "decisions"), (TERMINAL, PAGE)),
        Column("dec/s", _speed, (TERMINAL,), _plain),
        Column("failed", count("failed"), (PAGE,)),
    ),
    _foot,
)


@table("summary", SUMMARY, [CELLS], place=0)
def summary(results: Results) -> pd.DataFrame:
    """A row for each cell: its one estimate, against its baseline."""
    rows = [summary_row(cell) for cell in results.cells]
    warnings = dict(results["diagnostics"].set_index("cell")["warning"])
    frame = pd.DataFrame(rows).reindex(columns=[*SUMMARY])
    corrected = family(frame, results.once(conditions), results.once(rivals))[0]
    return frame.assign(p_holm=corrected, warning=frame["cell"].map(warnings))


def summary_row(result: CellResults) -> dict[str, Any]:
    """A row of summary.csv, without Holm's correction and warnings."""
    outcomes, about = result.outcomes, result.about
    counted = ("decisions", "forced", "fallbacks")
    return {
        "cell": about.name,
        "experiment": about.experiment,
        **about.labels,
        **measured_by(about),
        **of_cell(result),
        "baseline": about.baseline.rate if about.baseline else np.nan,
        "baseline_n": about.baseline.games if about.baseline else 0,
        "deals": len(np.unique(outcomes.column("deal"))),
        "matches": len(outcomes),
        **{name: outcomes.column(name).sum().item() for name in counted},
        "failed": result.failed,
    }


# --- a row for every two cells


def pairing(results: Results) -> Pairing:
    """Which cells are compared with each other."""
    return paired_off(results.cells, Folder(results.folder).comparisons)


def clearest(rows: pd.DataFrame) -> pd.DataFrame:
    """By their p-values."""
    return rows.sort_values(["p_holm", "p"], kind="stable")


def _two(row: Row) -> str:
    return f"{row.name('cell_a')} - {row.name('cell_b')}"


def _raw_difference(row: Row) -> str:
    return row.scale.change(row["raw"]) + WITHIN * bool(noise.within(row.results, row.values))


def _both_adjusted(part: Part) -> bool:
    return bool((part.rows["test"] == "adjusted").any())


def _both_plain(part: Part) -> bool:
    return not _both_adjusted(part)


def _side(name: str) -> Callable[[Part], str]:
    def heading(part: Part) -> str:
        wins = all(part.results.scale(row).wins for row in _records(part))
        return f"{name} {'only' if wins else 'ahead'}"

    return heading


def _records(part: Part) -> list[dict[Hashable, Any]]:
    """The rows that are shown."""
    return part.rows.head(ROWS[part.medium]).to_dict("records")


def _pairs_title(part: Part) -> str:
    if part.medium == TERMINAL:
        return ""
    some = part.medium == PAGE and part.results.once(pairing).foot
    return f"{'Cells two by two' if some else 'Every two cells'} on their shared deals"


def _pairs_foot(part: Part) -> str:
    notes = [part.results.once(pairing).foot]
    if any(noise.within(part.results, row) for row in _records(part)):
        notes.append(
            f"{WITHIN.strip()} within the noise floor: a change that means nothing may do as much."
        )
    caption = "" if part.medium == TERMINAL else _pairs_caption(part)
    return "\n".join(filter(None, (caption, *notes)))


def _pairs_caption(part: Part) -> str:
    rows, used = part.rows, set(part.rows["test"])
    points = any(part.results.scale(row).share for row in _records(part)[:1])
    told = [
        f"n: {deals_of(rows['deals'])} a pair, on which both met the same cards.",
        "Differences in percentage points." if points else "",
        "A ahead, B ahead: deals that went better for one.",
        _intervals(part),
        f"p: {', or '.join(told for test, told in OF_TWO.items() if test in used)}; corrected by "
        "Holm: a pair that tells a model or a prompt from the first with the cells, others among "
        "themselves.",
    ]
    return " ".join(filter(None, told))


TWO = View(
    _pairs_title,
    (
        Column("paired on shared deals", _two),
        Column("deals", count("deals")),
        Column(_side("A"), count("a_only")),
        Column(_side("B"), count("b_only")),
        Column("A - B", _raw_difference),
        Column("95% interval", reach("raw_low", "raw_high")),
        Column("adjusted", where(*BOTH, change("difference")), where=_both_adjusted),
        Column("95% interval", where(*BOTH, reach("ci_low", "ci_high")), where=_both_adjusted),
        Column("corr", decimal("correlation", ".2f"), (TERMINAL, PAGE), _both_plain),
        Column("p", p("p"), (PAGE,)),
        Column("p", p("p"), (TERMINAL,), _both_plain),
        Column("p Holm", p("p_holm")),
    ),
    _pairs_foot,
    clearest,
    which="clearest",
)


@table("pairs", PAIRS, [TWO], place=1)
def pairs(results: Results) -> pd.DataFrame:
    """A row for every two cells that meet the same deals and are judged by the same measure (of
    many cells those of `pairing`), on the deals that both have finished."""
    cells, chosen = results.cells, results.once(pairing).chosen
    settled = family(results["summary"], results.once(conditions), results.once(rivals))[1]
    return paired(((cells[a], cells[b]) for a, b in chosen), claimed(settled))


def paired(
    cells: Iterable[tuple[CellResults, CellResults]],
    claimed: Mapping[frozenset[str], float] = MappingProxyType({}),
) -> pd.DataFrame:
    """A row for each two cells, which must have met the same cards on a deal of the same number.

    claimed: Holm's p-value of the pairs that a sentence tells, by the keys of both cells
    (`conditions.claimed`). The others are corrected among themselves.
    """
    played = ByDeal()
    both = list(cells)
    table = pd.DataFrame([of_pair(a, b, played) for a, b in both], columns=[*PAIRS])
    holms = [claimed.get(frozenset((a.about.key, b.about.key))) for a, b in both]
    own = np.array([p is None for p in holms], bool)
    table["p_holm"] = pd.Series(holms, table.index, float)
    table.loc[own, "p_holm"] = holm(table["p"].to_numpy(float)[own])
    return table
