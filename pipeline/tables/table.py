"""The tables as a person reads them in a terminal 100 columns wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import WIDTH, WrappedTable, console
from gauntlet.pipeline.config.read import GROUPS
from gauntlet.pipeline.tables.numbers import number, p_value, percent
from gauntlet.pipeline.tables.scale import A_DRAW, SCORE, Scale, by_scale, heading, scales_of
from gauntlet.stats.means import LEAST

ROWS = 40
"""Rows of a table that a terminal shows; its CSV has all."""
LEAST_NAMED, MOST_NAMED = 28, 39
"""Characters of a cell's name beside its bar."""
LONGEST = 60
"""Characters of a bar."""
TESTS = {"two_sided": "other than", "above": "above", "non_inferior": "not below by a margin"}
"""The declared tests, in a few words."""
WITHIN = " ~"
"""Marks a difference that lies within the noise floor."""
LABELS = ("experiment", *GROUPS)


@dataclass(frozen=True)
class Sheet:
    """A further table, as text, for the terminal and the report alike; its first column names the
    rows.

    file: the CSV that has every row. sums: how many rows at the end add up the others.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str
    file: str = ""
    sums: int = 0

    def first(self, rows: int) -> Sheet:
        """The sheet with so many rows at most, and its sums; the foot tells where all are."""
        own = len(self.rows) - self.sums
        if own <= rows:
            return self
        kept = [*self.rows[:rows], *self.rows[own:]]
        return replace(self, rows=kept, foot=f"{left_out(rows, own, self.file)}\n{self.foot}")


def left_out(shown: int, of: int, file: str, which: str = "first") -> str:
    """What stands under a table of which not all rows are shown; "" under one that is whole."""
    return f"The {which} {shown:,} of {of:,}; all: {file}." if shown < of else ""


def listed(names: Sequence[str], most: int = ROWS) -> str:
    """Names after each other; of many a few, and how many there are besides."""
    if len(names) <= most:
        return ", ".join(names)
    few = most // 10
    return f"{', '.join(names[:few])} and {len(names) - few:,} other cells"


def short_names(summary: pd.DataFrame) -> list[str]:
    """For each row, the choices that tell it from the others (at least model and prompt)."""
    varying = [group for group in LABELS if summary[group].nunique() > 1]
    shown = [group for group in LABELS if group in varying or group in ("model", "prompt")]
    told = zip(summary["agent"], *(summary[group] for group in shown), strict=True)
    return [
        visible(" ".join(str(part) for part in parts if part != "-") or str(agent))
        for agent, *parts in told
    ]


def show(
    summary: pd.DataFrame,
    pairs: pd.DataFrame,
    sheets: Sequence[Sheet] = (),
    note: str = "",
    read: str = "",
) -> None:
    """Prints the tables and the figure, and further sheets. note: what stands under the pairs.
    read: what there is to say of replies where no sheet does."""
    out = console()
    out.print(summary_view(summary))
    if read:
        out.print(Text(read, style="dim"))
    out.print()
    out.print(bars_view(summary, out.width))
    if not pairs.empty:
        out.print()
        names = dict(zip(summary["cell"], short_names(summary), strict=True))
        out.print(pairs_view(pairs, names, note))
    for sheet in sheets:
        out.print()
        out.print(sheet_view(sheet.first(ROWS)))


def summary_view(summary: pd.DataFrame) -> RenderableType:
    """The main table with its foot, and what there is to be warned of."""
    notes = [left_out(ROWS, len(summary), "summary.csv"), foot(summary)]
    under = Text("\n".join(filter(None, notes)), style="dim")
    return Group(_cells(summary), under, *map(Text, some_warnings(summary, ROWS)))


def _cells(summary: pd.DataFrame) -> WrappedTable:
    table = WrappedTable()
    table.add_column("cell", overflow="fold", min_width=12)
    scales = scales_of(summary)
    best = ["adjusted", "95% interval"] if summary["adjusted"].notna().any() else []
    raw, speed = ([], []) if best else (["p"], ["dec/s"])
    for title in (
        *(heading(scales), "95% interval", *best, "baseline", *raw, "p Holm", "decisions"),
        *("forced", "fallback", *speed),
    ):
        table.add_column(title, justify="right", no_wrap=True)
    rows = zip(short_names(summary), scales, summary.iterrows(), strict=True)
    for name, scale, (_, row) in islice(rows, ROWS):
        table.add_row(
            name if heading(scales) == scale.title else f"{name} ({scale.title})",
            scale.mean(row["mean"]),
            scale.span(row["mean_low"], row["mean_high"]),
            *_shown(best, scale.mean(row["adjusted"]), scale.span(row["adj_low"], row["adj_high"])),
            scale.mean(row["baseline_mean"]),
            *_shown(raw, p_value(row["p_test"])),
            p_value(row["p_test_holm"]),
            *_turns(row),
            *_shown(speed, number(row["decisions_per_s"], ",.0f")),
        )
    return table


def warnings(summary: pd.DataFrame) -> list[str]:
    """What a reader of each cell's result should know first: a line a cell that is warned of."""
    if "warning" not in summary:
        return []
    rows = zip(short_names(summary), summary["warning"], strict=True)
    return [f"WARNING {name}: {warning}" for name, warning in rows if warning]


def some_warnings(summary: pd.DataFrame, most: int) -> list[str]:
    """The warnings; of more than `most` a quarter as many, and where all are."""
    told = warnings(summary)
    if len(told) <= most:
        return told
    few = most // 4
    return [*told[:few], f"WARNING and {len(told) - few:,} other cells: diagnostics.csv"]


def _turns(row: pd.Series[Any]) -> tuple[str, ...]:
    turns = row["decisions"] + row["forced"]
    return (
        f"{row['decisions']:,}",
        percent(row["forced"] / turns if turns else np.nan, 0),
        percent(row["fallbacks"] / row["decisions"] if row["decisions"] else np.nan),
    )


def _shown(titles: Sequence[str], *told: str) -> Sequence[str]:
    """What is told where these columns are there."""
    return told if titles else ()


def foot(summary: pd.DataFrame) -> str:
    """What the columns mean that a reader could get wrong."""
    family = ", ".join(
        f"{len(rows)} cell{'s' if len(rows) > 1 else ''} of {visible(str(name))}"
        for name, rows in summary.groupby("experiment")
    )
    baselines = list(dict.fromkeys(f"{n:,}" for n in summary["baseline_n"] if n))
    tests = " or ".join(TESTS[name] for name in sorted(set(summary["test"])))
    best = summary["adjusted"].notna().any()
    lines = [
        f"p Holm: {tests} the baseline, of the {'adjusted' if best else 'raw'} estimate; "
        f"its family: all that is claimed of the {family}."
    ]
    if summary["p_control"].notna().any():
        lines.append("With controls it is the larger of that p and the one of the least beaten.")
    if not best:
        lines.append("p: the same without Holm. dec/s: decisions a worker-second.")
    if baselines:
        lines.append(
            f"The baseline was measured in {' / '.join(baselines)} games; the test allows for that."
        )
    if any(scale.title == SCORE for scale in scales_of(summary)):
        lines.append(f"{SCORE}: {A_DRAW} a win; measure=win counts wins alone.")
    alone = summary[summary["baseline_mean"].isna() & summary["null_value"].notna()]
    for against in sorted(set(alone["null_value"])):
        lines.append(f"Where there is no baseline the mean is held against {against:g}.")
    if (summary["mean"].notna() & summary["mean_low"].isna()).any():
        lines.append(f"A measure without a range has an interval and a p from {LEAST} deals on.")
    if summary["set_aside"].sum():
        lines.append(f"{summary['set_aside'].sum()} match(es) were set aside: see set_aside.jsonl.")
    return "\n".join(lines)


def pairs_view(pairs: pd.DataFrame, names: dict[str, str], note: str = "") -> RenderableType:
    """The paired comparisons, the clearest first, and a note."""
    table = WrappedTable()
    table.add_column("paired on shared deals", overflow="fold", min_width=24)
    scales = scales_of(pairs)
    ahead = "only" if all(scale.wins for scale in scales) else "ahead"
    best = ["adjusted", "95% interval"] if pairs["adj_difference"].notna().any() else []
    raw = [] if best else ["corr", "p"]
    a, b = f"A {ahead}", f"B {ahead}"
    for title in ("deals", a, b, "A - B", "95% interval", *best, *raw, "p Holm"):
        table.add_column(title, justify="right", no_wrap=True)
    for _, row in clearest(pairs, ROWS).iterrows():
        scale = Scale.row(row)
        table.add_row(
            f"{names[row['cell_a']]} - {names[row['cell_b']]}",
            f"{row['deals']:,}",
            f"{row['a_only']:,}",
            f"{row['b_only']:,}",
            scale.change(row["difference"]) + WITHIN * within_noise(row),
            scale.reach(row["ci_low"], row["ci_high"]),
            *_shown(best, scale.change(row["adj_difference"])),
            *_shown(best, scale.reach(row["adj_low"], row["adj_high"])),
            *_shown(raw, number(row["correlation"], ".2f"), p_value(row["p_test"])),
            p_value(row["p_test_holm"]),
        )
    notes = [left_out(ROWS, len(pairs), "pairs.csv", "clearest"), note, within_note(pairs)]
    told = "\n".join(filter(None, notes))
    return Group(table, Text(told, style="dim")) if told else table


def within_noise(row: pd.Series[Any] | Mapping[str, Any]) -> bool:
    """Whether a pair's difference is known to lie within the noise floor."""
    return row.get("within_noise") in (True, "True")


def within_note(pairs: pd.DataFrame) -> str:
    """What the mark means, where a difference has it."""
    if "within_noise" not in pairs or not any(within_noise(row) for _, row in pairs.iterrows()):
        return ""
    return f"{WITHIN.strip()} within the noise floor: a change that means nothing may do as much."


def clearest(table: pd.DataFrame, rows: int) -> pd.DataFrame:
    """So many rows at the most, by their p-values."""
    return table.sort_values(["p_test_holm", "p_test"], kind="stable").head(rows)


def sheet_view(sheet: Sheet) -> RenderableType:
    """A sheet under its title, with its foot."""
    table = WrappedTable()
    for place, title in enumerate(sheet.headings):
        if place == 0:
            table.add_column(title, overflow="fold", min_width=12)
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*row)
    return Group(Text(sheet.title, style="bold"), table, Text(sheet.foot, style="dim"))


def bars_view(summary: pd.DataFrame, columns: int = WIDTH) -> RenderableType:
    """The first cells' means as a figure, one axis a measure: interval, estimate and baseline."""
    known = summary.dropna(subset=["mean"])
    names, lines = short_names(known), list[str]()
    known = known.head(ROWS)
    left = min(max((LEAST_NAMED, *map(len, names[:ROWS]))), MOST_NAMED)
    width = min(LONGEST, columns - left - 1)
    for scale, places in by_scale(known):
        padded = [f"{names[at][:left]:<{left}}" for at in places]
        lines += _bars(known.iloc[places], padded, scale, width)
    return Text("\n".join(lines))


def _bars(rows: pd.DataFrame, names: Sequence[str], scale: Scale, width: int) -> list[str]:
    """names: all of one width."""
    drawn = rows[["mean", "mean_low", "mean_high", "baseline_mean"]].to_numpy(float)
    low, high = np.nanmin(drawn), np.nanmax(drawn)
    if scale.share:
        low, high = np.floor(low * 50) / 50, np.ceil(high * 50) / 50

    def place(value: float) -> int:
        return int(np.rint((value - low) / max(high - low, 1e-9) * (width - 1)))

    lines = []
    for name, (_, row) in zip(names, rows.iterrows(), strict=True):
        line = [" "] * width
        if not np.isnan(row["baseline_mean"]):
            line[place(row["baseline_mean"])] = "┊"
        if not np.isnan(row["mean_low"]):
            for column in range(place(row["mean_low"]), place(row["mean_high"]) + 1):
                line[column] = "─" if line[column] == " " else "┼"
        line[place(row["mean"])] = "●"
        lines.append(f"{name} {''.join(line)}")
    first, last = (percent(x, 0) if scale.share else scale.mean(x) for x in (low, high))
    title = f"{scale.title} (┊ baseline)"
    left = len(names[0])
    return [*lines, f"{title:<{left}} {first}{last:>{width - len(first)}}"]
