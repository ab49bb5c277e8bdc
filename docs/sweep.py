"""A sweep's table as Markdown: `python docs/sweep.py game=uno agent=random,rule deals=400`.

Plays the sweep in a temporary folder, and prints its deterministic parts: no times, no speeds.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from gauntlet.pipeline.tables.formatting import Scale, heading, number, percent, row_scales
from gauntlet.pipeline.tables.registry import TERMINAL, Results, sheets, short_names
from gauntlet.pipeline.tables.sweep.terminal import show

Rows = Iterator[Sequence[str]]

UNREAD = ("malformed", "illegal")
"""The unusable replies that `replies` counts."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python docs/sweep.py", description="A sweep's table as Markdown."
    )
    parser.add_argument(
        "--table", choices=[*TABLES, *VIEWED], action="append", help="default: summary"
    )
    parser.add_argument("words", nargs="+", help="as of python -m pipeline.run")
    given = parser.parse_intermixed_args(arguments)
    with TemporaryDirectory() as place:
        folder = Path(place) / "first"  # tables name a run by its folder
        own = ("launch=inline", "tracking=none", f"output_dir={folder}")
        command = [sys.executable, "-m", "pipeline.run", *given.words, *own]
        status = subprocess.run(command, stdout=sys.stderr).returncode
        if not status:
            print("\n\n".join(table_markdown(folder, name) for name in given.table or ["summary"]))
    return status


def table_markdown(folder: Path, name: str) -> str:
    if name in VIEWED:
        return VIEWED[name](Results.load(folder))
    file = folder / f"{name}.csv"
    return markdown([*TABLES[name](pd.read_csv(file, keep_default_na=False, na_values=[""]))])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table of these rows, headings first; empty columns are left out."""
    kept = [place for place, cells in enumerate(zip(*rows[1:], strict=True)) if any(cells)]
    lines = ["| " + " | ".join(row[place] for place in kept) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(kept), *lines[1:]])


def summary(table: pd.DataFrame) -> Rows:
    """Each cell's result, also luck-adjusted where available, and the baseline."""
    yield (*_heads(table), "luck-adjusted", "95% interval", "baseline")
    for own, scale, row in _cells(table):
        yield (
            *own,
            *_adjusted(row, scale.mean, "estimate"),
            *_adjusted(row, partial(_span, scale), "ci_low", "ci_high"),
            _or_blank(scale.mean(row["baseline"])),
        )


def _heads(table: pd.DataFrame) -> Sequence[str]:
    return ("cell", "matches", heading(row_scales(table)), "95% interval")


def _cells(table: pd.DataFrame) -> Iterator[tuple[Sequence[str], Scale, pd.Series[Any]]]:
    """The first columns of each row, as in `_heads`; its scale and the row itself."""
    named = zip(short_names(table), row_scales(table), table.iterrows(), strict=True)
    for name, scale, (_, row) in named:
        span = _span(scale, row["raw_low"], row["raw_high"])
        yield (name, f"{row['matches']:,}", scale.mean(row["raw"]), span), scale, row


def debiasing(table: pd.DataFrame) -> Rows:
    """The cost of each method of `experiment=label_prior`, and how often it agrees."""
    yield ("method", "prompts a decision", "prompts before", "decisions", "agrees", "95% interval")
    wins = Scale("", share=True)
    for _, row in table[table["options"] == "all"].iterrows():
        yield (
            row["method"],
            number(row["prompts"], ".2f"),
            f"{row['preparation']:,}",
            f"{row['decisions']:,}",
            _or_blank(percent(row["agreement"])),
            _span(wins, row["ci_low"], row["ci_high"]),
        )


def labels(table: pd.DataFrame) -> Rows:
    """The mean share of each letter for two, three or four options."""
    yield ("options", "decisions", "A", "B", "C", "D")
    for options, own in table[table["options"] <= 4].groupby("options"):
        shares = [percent(share) for share in own["probability"]]
        yield (f"{options}", f"{own['decisions'].iloc[0]:,}", *shares, *[""] * (4 - len(shares)))


def components(table: pd.DataFrame) -> Rows:
    """The standard deviation of one match due to each component, by game, with its 95% interval."""
    games = list(dict.fromkeys(table["game"]))
    yield ("component", *(head for game in games for head in ("levels", game)))
    for component in dict.fromkeys(table["component"]):
        rows = [
            table[(table["game"] == game) & (table["component"] == component)] for game in games
        ]
        yield (component, *(cell for row in rows for cell in _component(row)))


def standings(table: pd.DataFrame) -> Rows:
    """Each player of a round robin over all its opponents, by win rate."""
    interval = "95% interval"
    yield ("player", "matches", "won", interval, "drew", "lost", interval)
    wins = Scale("", share=True)
    for _, row in table.sort_values("win", ascending=False, kind="stable").iterrows():
        yield (
            row["player"],
            f"{row['matches']:,}",
            percent(row["win"]),
            _span(wins, row["win_low"], row["win_high"]),
            percent(row["draw"]),
            percent(row["loss"]),
            _span(wins, row["loss_low"], row["loss_high"]),
        )


def noise(table: pd.DataFrame) -> Rows:
    """Each cell with the same player under a meaningless change of prompts."""
    heads = ("cell", "deals", "result", "again", "difference", "95% interval", "floor")
    yield (*heads, "decisions", "matches")
    wins = Scale("", share=True)
    for _, row in table.iterrows():
        yield (
            row["cell"],
            f"{row['deals']:,}",
            wins.mean(row["mean"]),
            wins.mean(row["noise_mean"]),
            wins.change(row["difference"]),
            wins.reach(row["ci_low"], row["ci_high"]),
            wins.change(row["floor"]).lstrip("+"),
            percent(row["changed"]),
            percent(row["changed_matches"]),
        )


TABLES: dict[str, Callable[[pd.DataFrame], Rows]] = {
    "summary": summary,
    "debiasing": debiasing,
    "labels": labels,
    "components": components,
    "standings": standings,
    "noise": noise,
}


def verdict(results: Results) -> str:
    """What a run prints at its end."""
    with redirect_stdout(StringIO()) as shown:
        show(results)
    lines = (line.rstrip() for line in shown.getvalue().splitlines())
    return "\n".join(("```", *lines, "```"))


def sheet(title: str, results: Results) -> str:
    """The other terminal table whose title begins with `title`."""
    (found,) = (one for _, one in sheets(results, TERMINAL) if one.title.startswith(title))
    return markdown([found.headings, *found.rows])


def replies(results: Results) -> str:
    """Each cell's result, its share of unreadable replies, and its calls per decision."""
    table = results["summary"]
    read, spent = (results[name].set_index("cell") for name in ("parser", "costs"))
    rows = [(*_heads(table), "malformed", "illegal", "calls a decision")]
    for own, _, row in _cells(table):
        cell = row["cell"]
        bad = read.loc[cell] if cell in read.index else pd.Series(dtype=float)
        shares = [bad.get(name, math.nan) / bad.get("replies", math.nan) for name in UNREAD]
        calls = number(spent["calls"][cell] / row["decisions"], ".1f")
        rows.append((*own, *(_or_blank(percent(share)) for share in shares), calls))
    return markdown(rows)


def pairs(results: Results) -> str:
    """Every compared pair of cells on their shared deals."""
    interval, names = "95% interval", results.names
    rows = [["pair", "deals", "A only", "B only", "A - B", interval, "luck-adjusted", interval]]
    for _, row in results["pairs"].iterrows():
        scale = results.scale(row.to_dict())
        rows.append(
            [
                f"{names[row['cell_a']]} - {names[row['cell_b']]}",
                *(f"{row[count]:,}" for count in ("deals", "a_only", "b_only")),
                scale.change(row["raw"]),
                scale.reach(row["raw_low"], row["raw_high"]),
                *_adjusted(row, scale.change, "difference"),
                *_adjusted(row, scale.reach, "ci_low", "ci_high"),
            ]
        )
    return markdown(rows)


def precision(results: Results) -> str:
    """The half-width of the interval of the first two cells' difference for three estimators,
    and how many deals each needs for the same width as the widest."""
    (_, row), cells = next(results["pairs"].iterrows()), results["summary"].set_index("cell")
    own = (cells.loc[row[side]] for side in ("cell_a", "cell_b"))
    halves = {
        "wins, each cell on deals of its own": math.hypot(
            *((cell["raw_high"] - cell["raw_low"]) / 2 for cell in own)
        ),
        "wins, both on the same deals": (row["raw_high"] - row["raw_low"]) / 2,
        "the same, luck taken out": (row["ci_high"] - row["ci_low"]) / 2,
    }
    widest = max(halves.values())
    rows = [
        (name, f"{100 * half:.2f}", f"{row['deals'] * (half / widest) ** 2:.0f}")
        for name, half in halves.items()
    ]
    return markdown([("", "half of the interval, points", "deals needed"), *rows])


VIEWED: dict[str, Callable[[Results], str]] = {
    "verdict": verdict,
    "replies": replies,
    "luck": partial(sheet, "luck-adjusted"),
    "renamed": partial(sheet, "Under other names"),
    "pairs": pairs,
    "precision": precision,
    "beliefs": partial(sheet, "What players believed"),
    "beliefs_used": partial(sheet, "Lost by not knowing"),
}
"""Tables that are not a single CSV."""


def _adjusted(row: pd.Series[Any], written: Callable[..., str], *columns: str) -> Iterator[str]:
    """The best estimate if it is the luck-adjusted one, else ""."""
    luck = "adjusted" in (row.get("estimator"), row.get("test"))
    yield _or_blank(written(*(row[column] for column in columns))) if luck else ""


def _or_blank(text: str) -> str:
    return "" if text == "-" else text


def _component(rows: pd.DataFrame) -> tuple[str, str]:
    """Levels and standard deviation in points of at most one row; negative variances count as 0."""
    if rows.empty:
        return "", ""
    row = rows.iloc[0]
    sd, low, high = (100 * max(row[name], 0.0) ** 0.5 for name in ("variance", "low", "high"))
    levels = "" if pd.isna(row["levels"]) else f"{row['levels']}"
    return levels, f"{sd:.1f} ({low:.1f} to {high:.1f})"


def _span(scale: Scale, low: float, high: float) -> str:
    return "" if pd.isna(low) else f"{scale.mean(low).removesuffix('%')} to {scale.mean(high)}"


if __name__ == "__main__":
    sys.exit(main())
