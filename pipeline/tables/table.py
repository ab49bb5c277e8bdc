"""The tables as a person reads them in a terminal 100 columns wide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
GROUPS = ("experiment", "game", "agent", "model", "prompt", "seats")


@dataclass(frozen=True)
class Sheet:
    """A further table, as text, for the terminal and the report alike; its first column names the
    rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str


def console(markup: bool = False) -> Console:
    """A console no wider than 100 columns, whatever the terminal. Without `markup` brackets in a
    text are brackets; with it, what others wrote must be escaped."""
    own = Console()
    width = min(WIDTH, own.width) if own.is_terminal else WIDTH
    return Console(highlight=False, markup=markup, width=width)


def visible(text: str) -> str:
    """The text with control characters spelled out: what a model or a config wrote may not move
    the cursor or rename the window."""
    return CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def short_names(summary: pd.DataFrame) -> list[str]:
    """For each row, the choices that tell it from the others (at least model and prompt)."""
    varying = [group for group in GROUPS if summary[group].nunique() > 1]
    shown = [group for group in GROUPS if group in varying or group in ("model", "prompt")]
    names = []
    for _, row in summary.iterrows():
        parts = [str(row[group]) for group in shown if row[group] != "-"]
        names.append(visible(" ".join(parts) or str(row["agent"])))
    return names


def show(summary: pd.DataFrame, pairs: pd.DataFrame, sheets: Sequence[Sheet] = ()) -> None:
    """Prints the tables and the figure, and further sheets."""
    out = console()
    out.print(summary_view(summary))
    out.print()
    out.print(bars_view(summary))
    if not pairs.empty:
        out.print()
        out.print(pairs_view(pairs, dict(zip(summary["cell"], short_names(summary), strict=True))))
    for sheet in sheets:
        out.print()
        out.print(sheet_view(sheet))


def summary_view(summary: pd.DataFrame) -> RenderableType:
    """The main table with its foot."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("cell", overflow="fold", min_width=12)
    for heading in (
        *("win rate", "95% interval", "baseline", "z", "p", "p Holm", "decisions"),
        *("forced", "fallback", "dec/s"),
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, (_, row) in zip(short_names(summary), summary.iterrows(), strict=True):
        turns = row["decisions"] + row["forced"]
        table.add_row(
            name,
            percent(row["win_rate"]),
            f"{percent(row['ci_low'])[:-1]}-{percent(row['ci_high'])}",
            percent(row["baseline"]),
            number(row["z"], ".2f"),
            p_value(row["p_value"]),
            p_value(row["p_holm"]),
            f"{row['decisions']:,}",
            percent(row["forced"] / turns if turns else np.nan, 0),
            percent(row["fallbacks"] / row["decisions"] if row["decisions"] else np.nan),
            number(row["decisions_per_s"], ",.0f"),
        )
    return Group(table, Text(foot(summary), style="dim"))


def foot(summary: pd.DataFrame) -> str:
    """What the columns mean that a reader could get wrong."""
    family = ", ".join(
        f"{len(rows)} cell{'s' if len(rows) > 1 else ''} of {name}"
        for name, rows in summary.groupby("experiment")
    )
    baselines = sorted({f"{n:,}" for n in summary["baseline_n"] if n})
    lines = [
        f"p: one-sided z against the baseline; Holm's family: the {family}. "
        "dec/s: decisions a worker-second."
    ]
    if baselines:
        two = ", ".join(p_value(p) for p in summary["p_two_sample"])
        lines.append(
            f"The baseline was measured in {' / '.join(baselines)} games; the two-sample test, "
            f"which allows for that: p {two}."
        )
    if summary["set_aside"].sum():
        lines.append(f"{summary['set_aside'].sum()} match(es) were set aside: see set_aside.jsonl.")
    return "\n".join(lines)


def pairs_view(pairs: pd.DataFrame, names: dict[str, str]) -> RenderableType:
    """The paired comparisons, the clearest first."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("paired on shared deals", overflow="fold", min_width=24)
    for heading in ("deals", "A only", "B only", "A - B", "95% interval", "corr", "p", "p Holm"):
        table.add_column(heading, justify="right", no_wrap=True)
    for _, row in pairs.sort_values("p_holm", kind="stable").iterrows():
        tested = row["p_permutation"] if np.isnan(row["p_mcnemar"]) else row["p_mcnemar"]
        table.add_row(
            f"{names[row['cell_a']]} - {names[row['cell_b']]}",
            f"{row['deals']:,}",
            f"{row['a_only']:,}",
            f"{row['b_only']:,}",
            points(row["difference"]),
            f"{points(row['ci_low'])} to {points(row['ci_high'])}",
            number(row["correlation"], ".2f"),
            p_value(tested),
            p_value(row["p_holm"]),
        )
    return table


def reply_sheets(summary: pd.DataFrame) -> list[Sheet]:
    """What was wrong with the replies of models; no sheet where nothing was."""
    wrong = summary[["malformed_rate", "illegal_rate", "unreported"]].fillna(0)
    if not wrong.to_numpy(float).any():
        return []
    rows = [
        (
            name,
            f"{row['replies']:,}",
            percent(row["malformed_rate"]),
            percent(row["illegal_rate"]),
            f"{row['decisions']:,}",
            percent(row["fallbacks"] / row["decisions"] if row["decisions"] else np.nan),
            f"{row['unreported']:,}",
        )
        for name, (_, row) in zip(short_names(summary), summary.iterrows(), strict=True)
    ]
    foot = (
        "Of the subject's. A conversation has several replies a decision; where all are unusable "
        "the\nfallback decides. Unreported: choices to which the model gave no probability."
    )
    headings = ("cell", "replies", "malformed", "illegal", "decisions", "fallback", "unreported")
    return [Sheet("What was wrong with replies", headings, rows, foot)]


def cost_sheets(summary: pd.DataFrame) -> list[Sheet]:
    """What the cells cost; no sheet where no model was asked."""
    if not summary["all_tokens"].sum():
        return []
    rows = [
        _cost_row(name, row["matches"], row["all_tokens"], row["device_seconds"])
        for name, (_, row) in zip(short_names(summary), summary.iterrows(), strict=True)
    ]
    total = summary[["matches", "all_tokens", "device_seconds"]].sum()
    rows.append(_cost_row("all cells", int(total.iloc[0]), int(total.iloc[1]), total.iloc[2]))
    foot = (
        "Of the matches in the tables, all seats. Tokens: prompts as sent and texts as written; a "
        "model\ncomputes what they share once. Device-seconds: models at work, times the devices "
        "of a replica."
    )
    headings = ("cell", "matches", "tokens", "a match", "device-seconds", "a match", "tokens/s")
    return [Sheet("What it cost", headings, rows, foot)]


def _cost_row(name: str, matches: int, tokens: int, seconds: float) -> tuple[str, ...]:
    def each(amount: float, units: float, form: str) -> str:
        return format(amount / units, form) if amount and units else "-"

    return (
        name,
        f"{matches:,}",
        f"{tokens:,}",
        each(tokens, matches, ",.0f"),
        f"{seconds:,.1f}" if seconds else "-",  # older logs do not tell
        each(seconds, matches, ",.3g"),
        each(tokens, seconds, ",.0f"),
    )


def sheet_view(sheet: Sheet) -> RenderableType:
    """A sheet under its title, with its foot."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for place, heading in enumerate(sheet.headings):
        if place == 0:
            table.add_column(heading, overflow="fold", min_width=12)
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*row)
    return Group(Text(sheet.title, style="bold"), table, Text(sheet.foot, style="dim"))


def bars_view(summary: pd.DataFrame, width: int = 60) -> RenderableType:
    """Win rates as a figure: interval, estimate and baseline on one axis."""
    known = summary.dropna(subset=["win_rate"])
    if known.empty:
        return Text("")
    low = min(known["ci_low"].min(), known["baseline"].min())
    high = max(known["ci_high"].max(), known["baseline"].max())
    low, high = np.floor(low * 50) / 50, np.ceil(high * 50) / 50

    def place(rate: float) -> int:
        return int(np.rint((rate - low) / max(high - low, 1e-9) * (width - 1)))

    lines = []
    for name, (_, row) in zip(short_names(known), known.iterrows(), strict=True):
        line = [" "] * width
        if not np.isnan(row["baseline"]):
            line[place(row["baseline"])] = "┊"
        for column in range(place(row["ci_low"]), place(row["ci_high"]) + 1):
            line[column] = "─" if line[column] == " " else "┼"
        line[place(row["win_rate"])] = "●"
        lines.append(f"{name[:28]:<28} {''.join(line)}")
    axis = f"{percent(low, 0)}{percent(high, 0):>{width - len(percent(low, 0))}}"
    lines.append(f"{'win rate (┊ baseline)':<28} {axis}")
    return Text("\n".join(lines))


def percent(value: float, digits: int = 1) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.{digits}f}%"


def points(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:+.1f}"


def number(value: float, form: str) -> str:
    return "-" if np.isnan(value) else format(value, form)


def p_value(p: float) -> str:
    if np.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.0e}"


def short(count: float) -> str:
    """A count in four or five characters: 812, 13.2k, 4.51M, 1.20G."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.0f}"
