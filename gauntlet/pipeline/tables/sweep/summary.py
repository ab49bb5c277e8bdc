"""The main table, a row for each cell, and what luck adjustment did to each.

Only the gap-free prefix of a cell's deals counts: short games finish first, so a table over all
finished matches would favour whoever wins short games.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gauntlet.common.errors import counted
from gauntlet.common.sanitize import visible
from gauntlet.games.capabilities import WIN
from gauntlet.pipeline.judging import luck
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.tables.formatting import (
    DRAW_RULE,
    SCORE,
    WIN_RATE,
    heading,
    number,
    percent,
    row_scales,
)
from gauntlet.pipeline.tables.media import sheets
from gauntlet.pipeline.tables.media.sheets import Column, Row, View
from gauntlet.pipeline.tables.registry import (
    BRIEF,
    PAGE,
    PAPER,
    TERMINAL,
    Part,
    Results,
    Sheet,
    columns,
    table,
)
from gauntlet.pipeline.tables.sweep.claims import null_value
from gauntlet.pipeline.tables.sweep.conditions import conditions, family
from gauntlet.pipeline.tables.sweep.controls import rivals
from gauntlet.pipeline.tables.sweep.primary_test import (
    CONTROL,
    ESTIMATE,
    RAW,
    cell_columns,
    luck_adjusted,
    measure_columns,
    raw,
)
from gauntlet.stats.means import LEAST
from gauntlet.stats.paired import clustered_mean

ADJUSTED = ("estimator", "adjusted")
"""The column and value that mark a luck-adjusted estimate."""
ZEROS = {
    "two_sided": "not 0",
    "above": "above 0",
    "non_inferior": "above minus the margin",
}
"""What the declared tests say of a difference."""
SUMMARY = {
    **columns("cell", "experiment", "game", "agent", "model", "prompt", "seats"),
    **columns("measure", "measure_low", "measure_high"),
    "estimate": "the best estimate of the measure's mean: luck-adjusted where that interval is "
    "narrower, else raw",
    **columns("ci_low", "ci_high"),
    "estimator": "`adjusted` or `raw`",
    "baseline": "the mean of a scripted player in the same seat; empty without a baseline",
    "baseline_n": "matches that the baseline was measured in",
    "difference": "the estimate less the baseline",
    "difference_low": "lower end of its 95% interval, which includes the baseline's error",
    "difference_high": "upper end of that interval",
    "control": "the strongest control, always taking one option; empty without controls",
    "control_difference": "the raw mean less that of this control, paired by deal",
    **columns("control_low", "control_high"),
    "test": "the test declared in the config: `two_sided`, `above` or `non_inferior`",
    "p": "its p-value, of the estimate; empty where a rule stopped the sweep, or deals are missing",
    "p_holm": "the larger of this p and that against the strongest control, after Holm's "
    "correction over all that the experiment claims",
    "raw": "the mean of the measure as it was played",
    **columns("raw_low", "raw_high"),
    "deals": "deals that count",
    **columns("matches"),
    "decisions": "decisions of the subject with a choice",
    "forced": "turns of the subject without a choice",
    "fallbacks": "decisions that a random move settled, as no reply could be used",
    "failed": "matches that failed and are left out",
    "warning": "what a reader of the result should know first",
}


def _adjusted(part: Part) -> bool:
    return bool((part.rows["estimator"] == "adjusted").any())


def _heading(part: Part) -> str:
    return heading(row_scales(part.rows))


def _cell(row: Row) -> str:
    """The cell's name, with its measure if cells have different ones."""
    several = heading(list(row.results.scales.values())) != row.scale.title
    return f"{row.name()} ({row.scale.title})" if several else row.name()


def _forced(row: Row) -> str:
    turns = row["decisions"] + row["forced"]
    return percent(row["forced"] / turns if turns else np.nan, 0)


def _speed(row: Row) -> str:
    costs = row.results["costs"].set_index("cell")
    return number(costs["decisions_per_s"][row["cell"]], ",.0f")


def _title(part: Part) -> str:
    if part.medium == TERMINAL:
        return ""
    return f"{_heading(part).capitalize()} of every cell" if part.medium == PAPER else "Cells"


def _notes(part: Part) -> Iterator[str]:
    """Explains columns that are easy to misread."""
    rows = part.results["summary"]
    tested = ", ".join(
        f"{counted(len(cells), 'cell')} of {visible(str(name))}"
        for name, cells in rows.groupby("experiment")
    )
    yield f"p Holm: {_what_p_tests(part)}, corrected by Holm for all tests of the {tested}."
    if part.medium == TERMINAL and not _adjusted(part):
        yield "dec/s: decisions per worker-second."
    if games := list(dict.fromkeys(f"{n:,}" for n in rows["baseline_n"] if n)):
        yield (f"The baseline was measured in {' / '.join(games)} games; the test allows for that.")
    if any(scale.title == SCORE for scale in row_scales(rows)):
        yield f"{SCORE}: {DRAW_RULE} a win; measure=win counts wins alone."
    nulls = {null_value(c.about) for c in part.results.cells if c.about.baseline is None}
    for value in sorted(value for value in nulls if not np.isnan(value)):
        yield f"Cells without a baseline are compared with {value:g}."
    if (rows["raw"].notna() & rows["raw_low"].isna()).any():
        yield f"A measure without a range has an interval and a p from {LEAST} deals on."
    if waiting := _waiting_note(part.results):
        yield waiting
    yield "forced: turns without a choice. fallback: random moves for lack of a usable reply."
    if failed := int(rows["failed"].sum()):
        yield f"{counted(failed, 'match', 'es')} failed: see failed_matches.jsonl."


def _waiting_note(results: Results) -> str:
    """How many of the finished matches count, if not all do."""
    waiting = sum(cell.waiting for cell in results.cells)
    count = sum(len(cell.outcomes) for cell in results.cells)
    if not waiting:
        return ""
    return (
        f"{count:,} of {counted(count + waiting, 'finished match', 'es')} count: the others follow "
        "a match that is missing, which the same command plays."
    )


def _caption(part: Part) -> str:
    """The caption of a printed table: n, deals, baseline, intervals, test."""
    rows = part.rows
    games = sorted({f"{n:,}" for n in rows["baseline_n"] if n})
    points = ", in points" if any(scale.share for scale in row_scales(rows)) else ""
    lead = "luck-adjusted estimate" if _adjusted(part) else "mean"
    adjusted = (rows["estimator"] == "adjusted").all()
    exact = "" if adjusted else ", of single wins Fisher's exact test"
    sentences = [
        f"Experiment {', '.join(sorted(set(rows['experiment'])))}; n: {rows['matches'].sum():,} "
        f"matches, {deal_range(rows['deals'])} a cell.",
        intervals_note(part),
        f"The baseline was measured in {' or '.join(games)} games." if games else "",
        f"The first difference is that of the {lead}{points}. p: {_what_p_tests(part)}, by "
        f"inverted intervals{exact}, corrected by Holm for all tests of the experiment.",
    ]
    return " ".join(filter(None, sentences))


def deal_range(deals: pd.Series[Any]) -> str:
    """The rows' numbers of deals, in words."""
    least, most = int(deals.min()), int(deals.max())
    return f"{least:,} to {most:,} deals" if least < most else counted(most, "deal")


def intervals_note(part: Part) -> str:
    """How the intervals are computed (docs/statistics.md)."""
    names = set(part.rows["measure"])
    measures = {c.about.measure for c in part.results.cells if c.about.measure.name in names}
    unbounded = [measure for measure in measures if not np.isfinite(measure.low)]
    if len(unbounded) == len(measures):
        return "Intervals: Student's over deals, or further by Hall's skewness, from 100 deals on."
    single = ", of single wins Clopper and Pearson's" if WIN.name in names else ""
    rest = "; of measures without a range Student's, or further by Hall's skewness"
    return f"Intervals: Gaffke's over deals{single}{rest if unbounded else ''}."


def _has_baseline(part: Part) -> bool:
    return bool(part.rows["baseline"].notna().any())


def _against(part: Part) -> str:
    """The heading of the differences: from the baseline's player."""
    shown = {*part.rows["cell"]}
    names = {
        cell.about.baseline.policy
        for cell in part.results.cells
        if cell.about.name in shown and cell.about.baseline
    }
    return f"less {names.pop()}" if len(names) == 1 else "less baseline"


def _has_controls(part: Part) -> bool:
    return bool(part.rows["control"].notna().any())


CONTROL_COLUMNS = tuple(
    Column(heading, form, (BRIEF, PAGE, PAPER), _has_controls)
    for heading, form in (
        ("less best control", sheets.change("control_difference")),
        ("95% interval", sheets.change_span("control_low", "control_high")),
    )
)


CELLS = View(
    _title,
    (
        Column("cell", _cell),
        Column("matches", sheets.count("matches"), (PAGE, PAPER)),
        Column(_heading, sheets.mean("raw")),
        Column("95% interval", sheets.span("raw_low", "raw_high")),
        Column("adjusted", sheets.only_where(*ADJUSTED, sheets.mean("estimate")), where=_adjusted),
        Column(
            "95% interval",
            sheets.only_where(*ADJUSTED, sheets.span("ci_low", "ci_high")),
            where=_adjusted,
        ),
        Column("baseline", sheets.mean("baseline")),
        Column(_against, sheets.change("difference"), (PAGE, PAPER)),
        Column(
            "95% interval", sheets.change_span("difference_low", "difference_high"), (PAGE, PAPER)
        ),
        *CONTROL_COLUMNS,
        Column("p Holm", sheets.p("p_holm")),
        Column("decisions", sheets.count("decisions"), (TERMINAL, PAGE)),
        Column("forced", _forced, (TERMINAL, PAGE)),
        Column("fallback", sheets.share("fallbacks", "decisions"), (TERMINAL, PAGE)),
        Column("dec/s", _speed, (TERMINAL,), lambda part: not _adjusted(part)),
        Column("failed", sheets.count("failed"), (PAGE,)),
    ),
    lambda part: _caption(part) if part.medium == PAPER else "\n".join(_notes(part)),
)


def _brief_foot(part: Part) -> str:
    """Which matches count, whether luck is removed, and the test that is performed."""
    adjusted, cells = int((part.rows["estimator"] == "adjusted").sum()), len(part.rows)
    notes = []
    if adjusted == cells:
        notes.append("Luck is removed.")
    elif adjusted:
        notes.append(f"Luck is removed from {adjusted} of {cells} cells; see luck.csv.")
    if part.rows["p_holm"].notna().any():
        notes.append(f"p Holm: {_what_p_tests(part)}; corrected for all tests of this run.")
    return "\n".join(filter(None, (_waiting_note(part.results), " ".join(notes))))


def _what_p_tests(part: Part) -> str:
    """What the p of these rows is of."""
    if not _has_baseline(part):
        values = {c.about.name: null_value(c.about) for c in part.results.cells}
        nulls = {part.results.scales[cell].mean(values[cell]) for cell in part.rows["cell"]}
        return f"of the mean against {' or '.join(sorted(nulls))}"
    zeros = " or ".join(ZEROS[test] for test in sorted(set(part.rows["test"])))
    against = _against(part).removeprefix("less ")
    if _has_controls(part):
        return (
            f"the larger of two, against {against} ({zeros}) and against always taking one option"
        )
    return f"of the difference from {against} ({zeros})"


BRIEF_VIEW = View(
    "",
    (
        Column("cell", _cell, (BRIEF,)),
        Column("deals", sheets.count("deals"), (BRIEF,)),
        Column(_heading, sheets.mean("estimate"), (BRIEF,)),
        Column(
            "95% interval",
            sheets.span("ci_low", "ci_high"),
            (BRIEF,),
            lambda part: not _has_baseline(part),
        ),
        Column(_against, sheets.change("difference"), (BRIEF,), _has_baseline),
        Column(
            "95% interval",
            sheets.change_span("difference_low", "difference_high"),
            (BRIEF,),
            _has_baseline,
        ),
        *CONTROL_COLUMNS,
        Column(
            "p Holm",
            sheets.p("p_holm"),
            (BRIEF,),
            lambda part: bool(part.rows["p_holm"].notna().any()),
        ),
    ),
    _brief_foot,
)
"""The table under the verdict."""


@table("summary", SUMMARY, [CELLS], place=0)
def summary(results: Results) -> pd.DataFrame:
    """A row for each cell: its one estimate, compared with its baseline."""
    rows = []
    for result in results.cells:
        about, outcomes = result.about, result.outcomes
        counts = ("decisions", "forced", "fallbacks")
        rows.append(
            {
                "cell": about.name,
                "experiment": about.experiment,
                **about.labels,
                **measure_columns(about),
                **cell_columns(result),
                "baseline": about.baseline.rate if about.baseline else np.nan,
                "baseline_n": about.baseline.games if about.baseline else 0,
                "deals": len(np.unique(outcomes.column("deal"))),
                "matches": len(outcomes),
                **{name: outcomes.column(name).sum().item() for name in counts},
                "failed": result.failed,
            }
        )
    warnings = dict(results["diagnostics"].set_index("cell")["warning"])
    frame = pd.DataFrame(rows).reindex(columns=[*SUMMARY])
    strongest = results.cached(rivals)
    beside = [strongest[cell].columns if cell in strongest else {} for cell in frame["cell"]]
    frame[[*CONTROL]] = pd.DataFrame(beside, frame.index, columns=[*CONTROL])
    corrected = family(frame, results.cached(conditions), strongest)[0]
    return frame.assign(p_holm=corrected, warning=frame["cell"].map(warnings))


# --- luck adjustment

LUCK = {
    **columns("cell", "measure"),
    "estimate": "the luck-adjusted mean; empty without one",
    "ci_low": "lower end of its 95% interval, which includes the reference's error",
    "ci_high": "upper end of that interval",
    "raw": "the mean as it was played",
    **columns("raw_low", "raw_high"),
    "reference": "the player against which decisions were judged; chance if only luck was",
    "reference_mean": "the reference's own mean",
    "worth": "how many raw matches one adjusted match is worth",
    "reason": "why there is no adjusted mean",
}
LUCK_FOOT = (
    "adjusted: the reference player's {mean}, plus the gain of the subject's decisions over the\n"
    "reference's, by playouts. worth: how many raw matches one adjusted match is worth."
)
HABITS = (
    "habits: a player that imitates the subject, learnt from its earlier deals. Next to it: the\n"
    "mean of all references that its deals were judged against."
)
CHANCE = (
    "chance: what no player had seen yet, and scripted players' choices, are averaged over what\n"
    "might have come instead."
)
MOST_NAMES = 40
"""More cells than this are not all listed by name."""


def _luck_title(part: Part) -> str:
    title = heading([*part.results.scales.values()])
    return f"luck-adjusted {'win rates' if title == WIN_RATE else title}"


def _luck_foot(part: Part) -> str:
    rows = part.results["luck"]
    judged = rows["estimate"].notna() & (rows["reference"] != luck.CHANCE)
    mean, references = heading([*part.results.scales.values()]), {*rows["reference"]}
    foot = [LUCK_FOOT.format(mean=mean)] if judged.any() else []
    foot += [CHANCE] if luck.CHANCE in references else []
    foot += [HABITS] if luck.LEARNT in references else []
    for reason, cells in rows.groupby("reason", sort=False):
        names = [part.results.names[name] for name in cells["cell"]]
        foot.append(f"{name_list(names)}: not adjusted, as {reason}.")
    return "\n".join(foot)


def name_list(names: list[str]) -> str:
    """The names; if there are many, the first and how many others."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    few = MOST_NAMES // 10
    return f"{', '.join(names[:few])} and {len(names) - few:,} other cells"


def _reference(row: sheets.Row) -> str:
    """Its name and mean; the adjustment by chance alone has no mean."""
    known = np.isfinite(row["reference_mean"])
    return f"{row['reference']} {sheets.mean('reference_mean')(row)}" if known else row["reference"]


LUCK_VIEW = View(
    _luck_title,
    (
        Column("cell", sheets.cell_name),
        Column("adjusted", sheets.mean("estimate")),
        Column("95% interval", sheets.span("ci_low", "ci_high")),
        Column("raw", sheets.mean("raw")),
        Column("95% interval", sheets.span("raw_low", "raw_high")),
        Column("reference", _reference),
        Column("worth", sheets.decimal("worth", ".1f")),
    ),
    _luck_foot,
    lambda rows: rows.dropna(subset=["estimate"]),
)


def _luck_sheets(part: Part) -> Iterator[Sheet]:
    """The adjusted cells; if there are none, only the reasons."""
    yield from LUCK_VIEW(part)
    if part.rows["estimate"].isna().all():
        yield Sheet(_luck_title(part), (), (), _luck_foot(part), part.file)


@table("luck", LUCK, [_luck_sheets], metrics=("worth",), place=23)
def luck_adjustment(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each cell whose luck was judged, or could not be."""
    for result in results.cells:
        adjustment, adjusted = luck.read(results.folder, result.about), result.adjusted
        row: dict[str, Any] = {"cell": result.about.name, "measure": result.about.measure.name}
        row |= zip(RAW, raw(result), strict=True)
        if adjusted is not None:
            row |= zip(ESTIMATE, luck_adjusted(result.about, adjusted), strict=True)
            row |= {"reference": adjusted.reference, "reference_mean": adjusted.rate}
            yield {**row, "worth": worth(result)}
        elif adjustment is not None:
            yield {**row, "reason": adjustment.reason or "its matches are not judged yet"}


def worth(result: CellResults) -> float:
    """The squared error of the raw mean divided by that of the adjusted one."""
    assert result.adjusted is not None
    values, deals = (result.outcomes.column(name) for name in ("figure", "deal"))
    raw_error = clustered_mean(values, deals).error
    adjusted = clustered_mean(result.adjusted.values, result.adjusted.deals).error
    error = np.hypot(adjusted, result.adjusted.error)
    return float(raw_error**2 / error**2) if error > 0 else np.nan
